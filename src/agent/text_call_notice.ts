import { readTextCalls } from "../provider/mod.ts";
import type { AgentParts } from "./ports.ts";

/**
 * Tells the user when an answer is in truth a call that the model's server did not recognise: nothing was
 * done.
 */
export async function noticeTextCalls({ conversation, provider }: AgentParts, answer: string): Promise<void> {
  const tools = new Set(conversation.prefix.tools.map(({ name }) => name));
  const [call] = readTextCalls(answer, tools);
  if (!call) return;
  await conversation.record({
    type: "notice",
    level: "warning",
    code: "text-call",
    text: `The model wrote a call of ${call.name} as text, which is not executed; ` +
      `if that was its intention, set compat = { text_calls = true } for provider "${provider.name}"`,
  });
}
