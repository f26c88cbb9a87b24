import { previewRewind, turnTarget } from "../../../control/mod.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { loadTexts } from "../../../i18n/mod.ts";
import type { FileRestore } from "../../../session/mod.ts";
import { oneLine, terminalSafe } from "../../../util/terminal_text.ts";
import { lineFigures } from "../../../view/mod.ts";
import type { ChangedFile, CommandBody, CommandHost } from "../../command.ts";

/** Lines of all diffs together; more is asked for by path. */
const MOST_LINES = 400;

export const command: CommandBody = {
  async run(host, path) {
    const texts = await loadTexts("report_commands", host.locale);
    const changes = await changesOf(host);
    const wanted = path === "" ? changes : changes.filter((change) => change.path === path);
    if (changes.length === 0) return host.say(texts.noChanges);
    if (wanted.length === 0) {
      const names = changes.map((change) => change.path).slice(0, 20).join(", ");
      throw new ReasonixError(texts.notChanged(path), { exit: "usage", remedy: texts.changedAre(names) });
    }
    if (host.lookAt) return await host.lookAt(texts.changedFiles(wanted.length), wanted.map(fileOf(texts)));
    host.say(changesText(wanted, path === "" && !host.headless ? MOST_LINES : Infinity, texts));
  },
  complete: async (host) => (await changesOf(host)).map((change) => ({ value: change.path })),
};

interface Change {
  readonly path: string;
  readonly action: FileRestore["action"];
  /** Hunks of a unified diff; absent when the file is no text, or its old content was not kept. */
  readonly hunks?: readonly string[];
}

/** What the session changed in files since it began, as far as its turns stand. */
async function changesOf(host: CommandHost): Promise<Change[]> {
  const { rewindable, session: { state } } = await host.session();
  if (state.turns.length === 0) return [];
  const { files } = await previewRewind(rewindable, turnTarget(state, 0, "code"));
  const checkpoints = await rewindable.checkpoints();
  return await Promise.all(files.map(async (file): Promise<Change> => {
    // A restore leads back; the change is the way there.
    const diff = await checkpoints.diff({ ...file, now: file.target, target: file.now });
    const hunks = diff?.split("\n").slice(2).filter((line, at, all) => line !== "" || at < all.length - 1);
    const action = file.action === "create" ? "delete" : file.action === "delete" ? "create" : "update";
    return { path: oneLine(file.path, 400), action, ...(hunks ? { hunks } : {}) };
  }));
}

function fileOf(texts: ReportTexts): (change: Change) => ChangedFile {
  return ({ path, action, hunks }) => ({
    path,
    what: texts.actions[action],
    ...counts(hunks ?? []),
    ...(hunks ? { diff: hunks.join("\n") } : {}),
  });
}

type ReportTexts = Awaited<ReturnType<typeof loadTexts<"report_commands">>>;

function changesText(changes: readonly Change[], most: number, texts: ReportTexts): string {
  let left = most;
  const parts = changes.map(({ path, action, hunks }) => {
    const head = `**${path}** ${texts.actions[action]}${hunks ? ` ${lineFigures(counts(hunks))}` : ""}`;
    if (!hunks) return `${head}, ${texts.noText}`;
    const shown = hunks.slice(0, Math.max(0, left));
    left -= hunks.length;
    if (shown.length === 0) return `${head}, ${texts.askFor(path)}`;
    const more = shown.length < hunks.length ? `\n${texts.restOf(hunks.length - shown.length, path)}` : "";
    const fence = shown.some((line) => line.includes("```")) ? "````" : "```";
    return `${head}\n${fence}diff\n${shown.map(terminalSafe).join("\n")}\n${fence}${more}`;
  });
  return parts.join("\n\n");
}

function counts(hunks: readonly string[]): { added: number; removed: number } {
  const count = (mark: string) => hunks.filter((line) => line.startsWith(mark)).length;
  return { added: count("+"), removed: count("-") };
}
