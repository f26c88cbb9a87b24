import { reduce } from "../../support/reduce.ts";
import { checkPairing, tool } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import {
  contextFixture,
  isSummaryRequest,
  lastMessage,
  serverTokens,
} from "../../support/context_fixture.ts";
import type { RecordedRequest, Turn } from "../../support/model_server.ts";

const PAGE = "line of a long file that was read\n".repeat(60);
const read = tool("read_file", true, () => Promise.resolve({ content: PAGE, summary: "60 lines" }));
const SUMMARY = "Goal: keep going\nFacts and constraints: the port is 8080\nState and next step: continue";

/** Reads one file for every question, then answers. */
function worker(request: RecordedRequest): Turn {
  if (isSummaryRequest(request)) return { text: SUMMARY };
  const last = lastMessage(request);
  if (last.role === "tool") return { text: "Read it." };
  return { calls: [{ name: "read_file", args: { path: `f${request.json.messages.length}.ts` } }] };
}

const fact = (n: number) => `Fact ${n}: the secret word number ${n} is w${n * 7919}.`;

Deno.test("50 facts from separate turns are kept verbatim after three or more compactions", async () => {
  await using fixture = await contextFixture({
    window: 12_000,
    reply: worker,
    tools: [read],
    settings: { prune: false },
  });
  const { agent } = fixture;
  for (let n = 0; n < 50; n++) assertEquals((await agent.run(fact(n))).reason, "done");
  const compactions = fixture.compactions();
  assert(compactions.length >= 3, `only ${compactions.length} compactions`);
  const last = fixture.server.requests.filter((request) => !isSummaryRequest(request)).at(-1);
  const users = last?.json.messages.filter((message: { role: string }) => message.role === "user")
    .map((message: { content: string }) => message.content);
  for (let n = 0; n < 50; n++) assert(users.includes(fact(n)), `fact ${n} is gone`);
  const digests = users.filter((text: string) => text.startsWith("<compaction-summary>"));
  assertEquals(digests.length, compactions.length);
  checkPairing(agent.recorder.messages);
});

Deno.test("a summary request is the previous request plus one message, with tools declared but forbidden", async () => {
  await using fixture = await contextFixture({
    window: 12_000,
    reply: worker,
    tools: [read],
    settings: { prune: false },
  });
  for (let n = 0; fixture.compactions().length === 0 && n < 40; n++) await fixture.agent.run(fact(n));
  const { requests } = fixture.server;
  const at = requests.findIndex(isSummaryRequest);
  const [before, summary] = [requests[at - 1], requests[at]];
  assert(before && summary);
  const head = before.body.slice(0, before.body.lastIndexOf("}]") + 1);
  assert(summary.body.startsWith(head.slice(0, Math.floor(head.length * 0.99))));
  assertEquals(summary.json.tools, before.json.tools);
  assertEquals(summary.json.tool_choice, "none");
  assertEquals(summary.json.messages.length - before.json.messages.length, 3);
});

Deno.test("windows of 4k, 32k and 1M are never exceeded and not compacted too early", async () => {
  for (const window of [4_096, 32_768, 1_000_000]) {
    await using fixture = await contextFixture({
      window,
      reply: worker,
      tools: [read],
      checkPrefix: window > 4_096,
    });
    for (let n = 0; n < 45; n++) {
      const outcome = await fixture.agent.run(n % 3 === 0 ? fact(n) : `Look at file ${n}`);
      assertEquals([outcome.reason, outcome.detail], ["done", undefined], `window ${window}, turn ${n}`);
    }
    for (const request of fixture.server.requests) assert(serverTokens(request) <= window);
    for (const event of fixture.compactions()) {
      assert(event.tokensAfter < event.tokensBefore);
      assert(event.tokensBefore >= window * 0.7, `compacted at ${event.tokensBefore} of ${window}`);
    }
    assertEquals(fixture.compactions().length > 0, window < 1_000_000);
  }
});

Deno.test("a resumed session sends the same bytes as the original", async () => {
  const long = tool(
    "read_file",
    true,
    () => Promise.resolve({ content: PAGE.repeat(3), summary: "180 lines" }),
  );
  await using fixture = await contextFixture({ window: 24_000, reply: worker, tools: [long] });
  for (let n = 0; n < 120; n++) await fixture.agent.run(fact(n));
  assert(fixture.compactions().some((event) => event.action === "prune"));
  assert(fixture.compactions().some((event) => event.action !== "prune"));
  const again = reduce(fixture.agent.store.events);
  assertEquals(JSON.stringify(again.messages), JSON.stringify(fixture.agent.recorder.messages));
});

Deno.test("compacted messages are archived, and the digest names the file", async () => {
  await using fixture = await contextFixture({
    window: 8_000,
    reply: worker,
    tools: [read],
    settings: { prune: false },
  });
  for (let n = 0; fixture.compactions().length === 0 && n < 40; n++) await fixture.agent.run(fact(n));
  const [removal] = fixture.compactions();
  assertEquals(removal?.archive, "/archive/1.jsonl");
  assertStringIncludes(removal?.digest ?? "", "/archive/1.jsonl");
  assertStringIncludes(removal?.digest ?? "", SUMMARY);
  assertEquals(fixture.archived[0]?.filter((message) => message.role === "user"), []);
  assert((fixture.archived[0]?.length ?? 0) > 4);
});

const FAILURES: Record<string, Turn> = {
  "500": { status: 500, body: { error: { message: "boom" } } },
  "an empty answer": { text: "" },
  "context too long": {
    status: 400,
    body: { error: { code: "context_length_exceeded", message: "maximum context length exceeded" } },
  },
  "a broken connection": { drop: true },
  "calls instead of text": { calls: [{ name: "read_file", args: {} }] },
};

for (const [name, failure] of Object.entries(FAILURES)) {
  Deno.test(`the session continues with a notice when every summary request returns ${name}`, async () => {
    await using fixture = await contextFixture({
      window: 8_000,
      tools: [read],
      checkPrefix: false,
      settings: { prune: false },
      reply: (request) => isSummaryRequest(request) ? failure : worker(request),
    });
    for (let n = 0; n < 30; n++) assertEquals((await fixture.agent.run(fact(n))).reason, "done");
    const [removal] = fixture.compactions();
    assertStringIncludes(removal?.digest ?? "", "Files read:");
    assert(fixture.notices().some((text) => text.startsWith("Context compacted (extract)")));
    for (let n = 0; n < 30; n++) {
      assert(fixture.agent.recorder.messages.some((message) => message.content === fact(n)));
    }
    checkPairing(fixture.agent.recorder.messages);
  });
}

Deno.test("focus texts of the user and of a hook are part of the summary request", async () => {
  const asked: string[] = [];
  const triggers: string[] = [];
  await using fixture = await contextFixture({
    window: 12_000,
    tools: [read],
    hooks: {
      before: (trigger) => {
        triggers.push(trigger);
        return Promise.resolve(undefined);
      },
      guide: () => "the build flags",
      after: () => Promise.resolve(),
    },
    reply(request) {
      if (isSummaryRequest(request)) asked.push(lastMessage(request).content);
      return worker(request);
    },
  });
  for (let n = 0; n < 8; n++) await fixture.agent.run(fact(n));
  const report = await fixture.compaction.compact("the port", new AbortController().signal);
  assertEquals(report.method, "summary");
  assertStringIncludes(asked[0] ?? "", "keep in particular: the port\nthe build flags");
  assert(report.tokensAfter < report.tokensBefore);
  assertEquals((await fixture.agent.run("Go on")).reason, "done");
});

Deno.test("a compaction keeps the todo list and the user text of a message that was too long to keep", async () => {
  await using fixture = await contextFixture({
    window: 12_000,
    reply: worker,
    tools: [read],
    settings: { prune: false },
  });
  const { agent } = fixture;
  await agent.recorder.record({
    type: "todo.update",
    items: [{ content: "Write tests", status: "in_progress" }],
  });
  await agent.run(`<file path="big.txt">\n${"data ".repeat(2_000)}\n</file>\n\nNever touch the port 9999.`);
  for (let n = 0; fixture.compactions().length === 0 && n < 40; n++) await agent.run(fact(n));
  const digest = fixture.compactions()[0]?.digest ?? "";
  assertStringIncludes(digest, "[~] Write tests");
  assertStringIncludes(digest, "<user>\nNever touch the port 9999.\n</user>");
  assert(!agent.recorder.messages.some((message) => message.content.includes("data data")));
});

Deno.test("/compact on a short conversation keeps turns of normal size unchanged", async () => {
  await using fixture = await contextFixture({ window: 100_000, reply: worker, tools: [read] });
  const brief = `Keep this: ${"a rule of the project. ".repeat(250)}`;
  await fixture.agent.run(brief);
  for (let n = 0; n < 60; n++) await fixture.agent.run(fact(n));
  assertEquals((await fixture.compaction.compact(undefined, new AbortController().signal)).method, "summary");
  assert(fixture.agent.recorder.messages.some((message) => message.content === brief));
});
