import type { Message } from "../../../../src/core/mod.ts";
import { assertEquals } from "../../../support/assert.ts";
import { openClient } from "../../../support/model_client.ts";
import {
  callEvent,
  finishEvent,
  type Part,
  startModelServer,
  textEvent,
} from "../../../support/model_server.ts";

const CALL = '<tool_call>\n{"name": "ls", "arguments": {"path": "."}}\n</tool_call>';
const LS = { name: "ls", description: "Lists", parameters: { type: "object" } } as const;
const MESSAGES: readonly Message[] = [{ role: "user", content: "Hello" }];

async function reply(stream: readonly Part[], toolChoice: "auto" | "none" = "auto", textCalls = true) {
  await using server = startModelServer([{ stream }]);
  const provider = await openClient(server, {
    entry: { max_attempts: 1, compat: { text_calls: textCalls } },
  });
  const prefix = { system: "Be brief", tools: [LS] };
  let text = "";
  const calls: string[] = [];
  let reason = "";
  const { signal } = new AbortController();
  for await (const chunk of provider.stream({ prefix, messages: MESSAGES, toolChoice }, signal)) {
    if (chunk.type === "text") text += chunk.text;
    if (chunk.type === "tool_call") calls.push(`${chunk.call.id} ${chunk.call.name} ${chunk.call.arguments}`);
    if (chunk.type === "done") reason = chunk.reason;
  }
  return { text, calls, reason };
}

Deno.test("openai provider gives a call that came as text when the entry asks for it", async () => {
  const stream = ["<think>hm</think>I look.\n", CALL.slice(0, 7), CALL.slice(7)].map(textEvent);
  assertEquals(await reply([...stream, finishEvent()]), {
    text: "I look.\n",
    calls: ['call_1_0 ls {"path":"."}'],
    reason: "tool_calls",
  });
  assertEquals((await reply([textEvent(CALL), finishEvent()])).calls.length, 1);
});

Deno.test("openai provider leaves calls in the text when the entry does not ask, tools are forbidden, or the reply was cut", async () => {
  const text = { text: CALL, calls: [] };
  assertEquals(await reply([textEvent(CALL), finishEvent()], "auto", false), { ...text, reason: "stop" });
  assertEquals(await reply([textEvent(CALL), finishEvent()], "none"), { ...text, reason: "stop" });
  assertEquals(await reply([textEvent(CALL), finishEvent("length")]), { ...text, reason: "length" });
});

Deno.test("openai provider executes only what the server calls when the text repeats it", async () => {
  const call = callEvent({ index: 0, id: "a", function: { name: "ls", arguments: '{"path":"."}' } });
  const { text, calls } = await reply([textEvent(CALL), call, finishEvent("tool_calls")]);
  assertEquals([text, calls], [CALL, ['a ls {"path":"."}']]);
});
