import { loadTexts, type Texts } from "../i18n/mod.ts";
import { previewRewind, type RewindScope, type RewindTarget, turnTarget } from "../control/mod.ts";
import type { SessionState } from "../session/mod.ts";
import { oneLine } from "../util/terminal_text.ts";
import { userText } from "../util/user_text.ts";
import { confirmed } from "./asking.ts";
import type { ArgumentValue, CommandHost } from "./command.ts";
import { fileReportText, pathList } from "./file_report.ts";

/** Turns that have ended, the latest first, with what the user asked in each. */
export function turnValues({ turns }: SessionState): readonly ArgumentValue[] {
  return turns.filter(({ to }) => to !== undefined).toReversed()
    .map(({ turn, prompt }) => ({ value: String(turn), detail: oneLine(userText(prompt), 60) }));
}

/** What is to be brought back, and what the user is told when it was. */
export interface BringBack {
  readonly turn: number;
  readonly scope: RewindScope;
  readonly done: string;
}

/**
 * Goes back to the end of a turn, with the user's word where changes of somebody else would go too. Returns
 * false when the user left it.
 */
export async function bringBack(host: CommandHost, { turn, scope, done }: BringBack): Promise<boolean> {
  const assembly = await host.session();
  const texts = await loadTexts("session_commands", host.locale);
  const target = turnTarget(assembly.session.state, turn, scope);
  if (!await agrees(host, target, texts)) return false;
  const report = await assembly.rewind(turn, scope);
  host.say(scope === "conversation" ? done : `${done}\n\n${fileReportText(report, texts)}`);
  return true;
}

/** Changes of somebody else can be brought back, but nobody expects them to go. */
async function agrees(
  host: CommandHost,
  target: RewindTarget,
  texts: Texts["session_commands"],
): Promise<boolean> {
  if (host.headless || target.scope === "conversation") return true;
  const { files } = await previewRewind((await host.session()).rewindable, target);
  const foreign = files.filter(({ alsoByUser }) => alsoByUser).map(({ path }) => path);
  return foreign.length === 0 || await confirmed(host, texts.overwriteForeign(pathList(foreign, texts)));
}
