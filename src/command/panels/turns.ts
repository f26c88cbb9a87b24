import type { Assembly } from "../../assembly/mod.ts";
import { previewRewind, type RewindScope, turnTarget } from "../../control/mod.ts";
import { loadTexts, type Texts } from "../../i18n/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { userText } from "../../util/user_text.ts";
import type { Choice, CommandHost } from "../command.ts";

/** Files that a preview names. */
const SHOWN_FILES = 3;

/** The moment to go back to: the end of a turn, 0 before the first, and what is brought back. */
export interface ChosenMoment {
  readonly turn: number;
  readonly scope: RewindScope;
}

/** Lets the user choose where to go back to and what to bring back; undefined when they left. */
export async function chooseMoment(
  host: CommandHost,
  scope?: RewindScope,
): Promise<ChosenMoment | undefined> {
  const texts = (await loadTexts("overlay", host.locale)).turns;
  const assembly = await host.session();
  const turn = await host.choose(texts.title, momentsOf(assembly, texts));
  if (turn === undefined) return undefined;
  const chosen = scope ?? await host.choose<RewindScope>(texts.what, [
    { label: texts.both, key: "b", value: "both" },
    { label: texts.code, key: "f", value: "code" },
    { label: texts.conversation, key: "c", value: "conversation" },
  ]);
  return chosen === undefined ? undefined : { turn, scope: chosen };
}

/** Where one can go back to, the latest first. */
function momentsOf(assembly: Assembly, texts: Texts["overlay"]["turns"]): Choice<number>[] {
  const { turns } = assembly.session.state;
  // The end of the latest turn is where the session is.
  const ended = turns.slice(0, -1).filter(({ to }) => to !== undefined);
  const moments = [
    ...ended.map(({ turn, prompt }) => ({
      label: texts.after(turn, oneLine(userText(prompt), 200)),
      value: turn,
    })).reverse(),
    { label: texts.before, value: 0 },
  ];
  const known = new Map<number, Promise<string>>();
  return moments.map((moment) => ({
    ...moment,
    preview: () => {
      const found = known.get(moment.value) ?? preview(assembly, moment.value, texts);
      known.set(moment.value, found);
      return found;
    },
  }));
}

/** What going back there would leave behind and bring back. */
async function preview(assembly: Assembly, turn: number, texts: Texts["overlay"]["turns"]): Promise<string> {
  const { state } = assembly.session;
  const target = turnTarget(state, turn, "both");
  const { files } = await previewRewind(assembly.rewindable, target);
  const left = state.turns.filter(({ from }) => from > target.to);
  const names = files.slice(0, SHOWN_FILES).map((file) =>
    `  ${texts.actions[file.action]} ${oneLine(file.path)}`
  );
  const more = files.length - names.length;
  return [
    texts.leaves(left.length),
    files.length === 0 ? texts.noFiles : texts.files(files.length),
    ...names,
    ...(more > 0 ? [texts.moreFiles(more)] : []),
  ].join("\n");
}
