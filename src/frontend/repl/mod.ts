/** The chat: the interactive front end in the terminal. */
import { loadTexts, loadTranslator, type Locale } from "../../i18n/mod.ts";
import type { ApprovalRequest } from "../../permission/mod.ts";
import { palette } from "../../view/mod.ts";
import { Chat, type ChatOptions } from "./chat.ts";
import { ChatTexts } from "./chat_texts.ts";
import { Looks, type LooksOptions } from "./looks.ts";
import type { PlanAnswer } from "../../run/mod.ts";
import type { ApprovalLines, QuestionInLines } from "./overlay/questions.ts";
import { DenoTerminal } from "./terminal/deno_terminal.ts";

import { lazy } from "../../util/lazy.ts";

export { executeMessage } from "./submissions.ts";
export { ChatTexts } from "./chat_texts.ts";
export { ServerUpdates } from "../server_updates.ts";
export { ChatLeft, type Person, SessionHost } from "./session_host.ts";
export type { ApprovalLines, QuestionInLines } from "./overlay/questions.ts";

/** Formats an approval request as plain lines of at most `columns` cells. */
export async function approvalLines(
  request: ApprovalRequest,
  { locale, columns }: { readonly locale: Locale; readonly columns: number },
): Promise<ApprovalLines> {
  const { approvalInLines } = await import("./overlay/questions.ts");
  const [texts, translator] = await Promise.all([
    loadTexts("overlay", locale),
    loadTranslator(locale),
  ]);
  const style = { palette: palette(false), texts, translator, changed() {} };
  return await approvalInLines(request, style, columns);
}

export async function planLines(locale: Locale): Promise<QuestionInLines<PlanAnswer | "leave">> {
  const { planEntries, planTitle } = await import("./overlay/questions.ts");
  const { plan } = await loadTexts("overlay", locale);
  return { text: planTitle(plan), entries: planEntries(plan) };
}

export interface RunChatOptions extends Omit<ChatOptions, "terminal" | "texts" | "looks">, LooksOptions {
  readonly locale: Locale;
}

/** Opens the chat on the terminal of the program; resolves with the exit code when the user leaves. */
export async function runChat({ locale, ...options }: RunChatOptions): Promise<number> {
  const texts = await ChatTexts.load(locale);
  const looks = new Looks(options);
  return await new Chat({ ...options, texts, looks, terminal: new DenoTerminal() }).run();
}

/** The chat in plain lines. */
export const loadLines = lazy(() => import("./lines.ts"));
