import type { CommandHost, OpenRequest } from "./command.ts";
import { loadTexts } from "../i18n/mod.ts";

/** Asks a question whose safe answer is no, and says so when that is the answer. */
export async function confirmed(host: CommandHost, question: string): Promise<boolean> {
  const [first = "", ...rest] = question.split("\n");
  const text = rest.join("\n");
  const agrees = await host.confirm(first, { danger: true, ...(text === "" ? {} : { text }) });
  if (!agrees) host.say((await loadTexts("commands", host.locale)).left);
  return agrees;
}

/** A time as people read it, of this machine's clock: to the minute. */
export function minuteOf(time: string): string {
  const date = new Date(time);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return isNaN(date.getTime()) ? time : local.toISOString().slice(0, 16).replace("T", " ");
}

/** Continues the open session, assembled again with the changes. */
export async function continueSession(
  host: CommandHost,
  changed: Omit<OpenRequest, "resume"> = {},
): Promise<void> {
  const { session: { id, state }, modes: { sessionRules } } = await host.session();
  // A session that has not begun is in no file yet.
  await host.reopen({ ...changed, ...(state.lastSeq > 0 ? { resume: id } : { sessionId: id }) });
  const { modes } = await host.session();
  for (const rule of sessionRules) modes.allowForSession(rule);
}
