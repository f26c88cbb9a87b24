import type { NewEvent } from "../../../src/core/mod.ts";
import { loadTexts } from "../../../src/i18n/mod.ts";
import { Sampling } from "../../../src/mcp/sampling.ts";
import { say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";

const texts = await loadTexts("mcp_questions", "en");

const signal = new AbortController().signal;
const params = {
  messages: [{ role: "user" as const, content: { type: "text" as const, text: "Say hello" } }],
  systemPrompt: "Be brief",
  maxTokens: 100,
};

function desk(answers: (string | undefined)[] | undefined, budget = 20_000) {
  const asked: string[] = [];
  const told: string[] = [];
  const events: NewEvent[] = [];
  const sampling = new Sampling({
    asker: answers && {
      ask: ([question]) => {
        asked.push(question?.question ?? "");
        const answer = answers.shift();
        return Promise.resolve(answer === undefined ? undefined : [[answer]]);
      },
    },
    texts: () => Promise.resolve(texts),
    notify: (text) => told.push(text),
    provider: scriptedProvider([say("Hello"), say("Again"), say("More")], { provider: "mock", id: "one" }),
    budget,
    record: (event) => void events.push(event),
  });
  return { asked, told, events, sample: sampling.sample };
}

Deno.test("the model writes for a server after a yes; it is counted and leaves the conversation alone", async () => {
  const { sample, asked, events, told } = desk(["Allow once", "Allow once"]);
  const result = await sample("docs", params, signal);
  assertEquals([result.content, result.model, result.stopReason], [
    { type: "text", text: "Hello" },
    "one",
    "endTurn",
  ]);
  assertStringIncludes(asked[0] ?? "", "MCP server docs wants the model to write a message");
  assertStringIncludes(asked[0] ?? "", "System prompt: Be brief\nLast message: Say hello");
  assertEquals(
    events.map((event) => [event.type, "origin" in event ? event.origin : "step" in event && event.step]),
    [
      ["message.user", "summary"],
      ["message.end", 0],
    ],
  );
  assertEquals(told.length, "usage" in (events[1] ?? {}) ? 1 : 0);
  await sample("docs", params, signal);
  assertEquals(asked.length, 2);
});

Deno.test("a yes for the session holds for that server alone", async () => {
  const { sample, asked } = desk(["Allow this server for the session", "Decline"]);
  await sample("docs", params, signal);
  await sample("docs", params, signal);
  assertEquals(asked.length, 1);
  await assertRejects(() => sample("other", params, signal), Error, "The user declined");
  assertEquals(asked.length, 2);
});

Deno.test("a dismissed prompt, and a run without a user, refuse", async () => {
  await assertRejects(() => desk([undefined]).sample("docs", params, signal), Error, "The user declined");
  const nobody = desk(undefined);
  await assertRejects(() => nobody.sample("docs", params, signal), Error, "No user is available");
  assertStringIncludes(nobody.told[0] ?? "", "this run has no prompt");
  assertEquals(nobody.events, []);
});

Deno.test("a server that has used up its budget is refused without a question, and others are not", async () => {
  const small = desk(["Allow once", "Allow once"], 30);
  await small.sample("docs", { ...params, maxTokens: 10 }, signal);
  const long = {
    ...params,
    messages: [{ role: "user" as const, content: { type: "text" as const, text: "x".repeat(200) } }],
  };
  await assertRejects(() => small.sample("docs", long, signal), Error, "budget");
  assertEquals(small.asked.length, 1);
  assertStringIncludes(small.told.at(-1) ?? "", "of 30 tokens");
  await small.sample("other", params, signal);
});
