/** A chat whose model calls tools, with access to its prompts. */
import { call, type Reply } from "./agent_fixture.ts";
import { type ChatStage, type ChatStageOptions, openChat } from "./chat_stage.ts";

/** A reply that calls tools. */
export const calls = (...chunks: ReturnType<typeof call>[]): Reply => [...chunks, {
  type: "done",
  reason: "tool_calls",
}];

export const bash = (id: string, command: string, more: object = {}) =>
  call(id, "bash", { command, ...more });

/** A chat with commands outside of a jail: these tests do not cover the jail. */
export function openApprovalChat(
  replies: readonly Reply[],
  rest: Partial<ChatStageOptions> = {},
): Promise<ChatStage> {
  return openChat({ replies, config: { sandbox: { bash: "off" } }, columns: 80, rows: 40, ...rest });
}

/** Answers the panel with no, without a note. */
export async function decline({ terminal, pause }: ChatStage): Promise<void> {
  terminal.press("tab", "n", "enter");
  await pause();
  terminal.press("enter");
}

/** Number of prompts so far. */
export const asked = ({ events }: ChatStage) =>
  events.filter(({ type }) => type === "approval.request").length;

/** Turns that have ended. */
export const ended = ({ events }: ChatStage) => events.filter(({ type }) => type === "turn.end").length;

/** Outcomes of the calls. */
export const results = ({ events }: ChatStage) =>
  events.flatMap((event) => event.type === "tool.end" ? [event.outcome] : []);

/** Waits for the nth panel, and until it takes keys. */
export async function panel(chat: ChatStage, count: number): Promise<void> {
  await chat.until(() => asked(chat) === count);
  await chat.until(() => chat.terminal.screen().some((line) => line.startsWith("────")));
  await chat.pause();
}

/** The command as the panel shows it: wrapped rows are joined. */
export function shownCommand(chat: ChatStage): string {
  const rows = chat.terminal.screen().filter((row) => /^[│┆] ?/.test(row));
  return rows.reduce((text, row) => row[0] === "┆" ? text + row.slice(2) : `${text}\n${row.slice(2)}`, "")
    .slice(1);
}

/** Names of the entries of the workspace. */
export const filesOf = ({ cwd }: ChatStage) => [...Deno.readDirSync(cwd)].map(({ name }) => name).sort();
