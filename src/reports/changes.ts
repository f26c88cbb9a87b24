import { previewRewind, turnTarget } from "../control/mod.ts";
import type { Assembly } from "../run/mod.ts";
import type { FileRestore } from "../session/mod.ts";
import { oneLine } from "../util/terminal_text.ts";

/** A file as it is now against how it was before the first turn of the session. */
export interface SessionChange {
  readonly path: string;
  readonly action: FileRestore["action"];
  readonly added: number;
  readonly removed: number;
  /** Hunks of a unified diff; absent when the file is no text, or its old content was not kept. */
  readonly hunks?: readonly string[];
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
    const diff = await checkpoints.diff({ ...file, now: file.target, target: file.now });
    const hunks = diff?.split("\n").slice(2).filter((line, at, all) => line !== "" || at < all.length - 1);
    const action = file.action === "create" ? "delete" : file.action === "delete" ? "create" : "update";
    const count = (mark: string) => hunks?.filter((line) => line.startsWith(mark)).length ?? 0;
    return {
      path: oneLine(file.path, 400),
      action,
      added: count("+"),
      removed: count("-"),
      ...(hunks ? { hunks } : {}),
    };
  }));
}
