import { previewRewind, turnTarget } from "../control/mod.ts";
import type { Assembly } from "../run/mod.ts";
import type { FileRestore } from "../session/mod.ts";
import { defined } from "../util/json.ts";
import { oneLine } from "../util/terminal_text.ts";

/** A file as it is now against how it was before the first turn of the session. */
export interface SessionChange {
  readonly path: string;
  readonly action: FileRestore["action"];
  readonly added: number;
  readonly removed: number;
  /** Hunks of a unified diff; absent when the file is no text, or its old content was not kept. */
  readonly diff?: string;
}

/** The files that the session has changed. */
export async function sessionChanges(
  { rewindable, session: { state } }: Pick<Assembly, "rewindable" | "session">,
): Promise<SessionChange[]> {
  if (state.turns.length === 0) return [];
  const { files } = await previewRewind(rewindable, turnTarget(state, 0, "code"));
  const checkpoints = await rewindable.checkpoints();
  return await Promise.all(files.map(async (file): Promise<SessionChange> => {
    // A restore leads back; the change is the way there.
    const whole = await checkpoints.diff({ ...file, now: file.target, target: file.now });
    const diff = whole?.split("\n").slice(2).join("\n").replace(/\n$/, "");
    const action = file.action === "create" ? "delete" : file.action === "delete" ? "create" : "update";
    const count = (mark: RegExp) => diff?.match(mark)?.length ?? 0;
    return {
      path: oneLine(file.path, 400),
      action,
      added: count(/^\+/gm),
      removed: count(/^-/gm),
      ...defined({ diff }),
    };
  }));
}
