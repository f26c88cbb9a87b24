import { checkPairing, tool } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { contextFixture, isSummaryRequest, lastMessage } from "../../support/context_fixture.ts";
import type { RecordedRequest, Turn } from "../../support/model_server.ts";

const PAGE = "line of a long file that was read\n".repeat(90);
const read = tool("read_file", true, () => Promise.resolve({ content: PAGE, summary: "90 lines" }));

function worker(request: RecordedRequest): Turn {
  if (isSummaryRequest(request)) return { text: "Goal: continue" };
  if (lastMessage(request).role === "tool") return { text: "Read it." };
  return { calls: [{ name: "read_file", args: { path: "a.ts" } }] };
}

/** Reads repeatedly within one turn, like a run with one task. */
function longTask(steps: number): (request: RecordedRequest) => Turn {
  let left = steps;
  return (request) => {
    if (isSummaryRequest(request)) return { text: "Goal: continue" };
    return left-- > 0 ? { calls: [{ name: "read_file", args: { path: "a.ts" } }] } : { text: "All read." };
  };
}

for (const window of [0, 1_000_000]) {
  Deno.test(`a turn continues when the server rejects a request within the declared ${window} tokens`, async () => {
    await using fixture = await contextFixture({
      window,
      realWindow: 8_000,
      reply: worker,
      tools: [read],
      checkPrefix: false,
    });
    for (let n = 0; n < 25; n++) assertEquals((await fixture.agent.run(`Task ${n}`)).reason, "done");
    assert(fixture.compactions().length > 0);
    assert(fixture.compactions().every((event) => event.reason === "overflow" || window > 0));
    for (let n = 0; n < 25; n++) {
      assert(fixture.agent.recorder.messages.some((message) => message.content === `Task ${n}`));
    }
    checkPairing(fixture.agent.recorder.messages);
  });
}

Deno.test("strategy prune keeps the first task, drops the oldest part and sends no request", async () => {
  await using fixture = await contextFixture({
    window: 0,
    realWindow: 8_000,
    reply: longTask(60),
    tools: [read],
    settings: { auto: false, strategy: "prune", prune: false },
  });
  const outcome = await fixture.agent.run("The task");
  assertEquals([outcome.reason, outcome.answer], ["done", "All read."]);
  assert(fixture.compactions().length >= 3);
  assert(!fixture.server.requests.some(isSummaryRequest));
  const { messages } = fixture.agent.recorder;
  assertEquals(messages.slice(0, 2).map((message) => message.content), ["<e>x</e>", "The task"]);
  assertEquals(messages.filter((message) => message.content.includes("<compaction-summary>")), []);
  checkPairing(messages);
});

Deno.test("strategy prune drops whole turns if possible", async () => {
  await using fixture = await contextFixture({
    window: 0,
    realWindow: 8_000,
    reply: worker,
    tools: [read],
    settings: { strategy: "prune" },
  });
  for (let n = 0; n < 20; n++) assertEquals((await fixture.agent.run(`Task ${n}`)).reason, "done");
  const { messages } = fixture.agent.recorder;
  assertEquals(messages[1]?.content, "Task 0");
  assertEquals(messages[2]?.role, "user");
  checkPairing(messages);
});

Deno.test("an output larger than the window is shortened, and the model is notified", async () => {
  const huge = tool(
    "read_file",
    true,
    () => Promise.resolve({ content: `first\n${PAGE.repeat(20)}last`, summary: "much" }),
  );
  await using fixture = await contextFixture({
    window: 8_000,
    reply: worker,
    tools: [huge],
    checkPrefix: false,
  });
  assertEquals((await fixture.agent.run("Read it")).reason, "done");
  const output = fixture.agent.recorder.messages.find((message) => message.role === "tool")?.content ?? "";
  assertStringIncludes(output, "first");
  assertStringIncludes(output, "last");
  assertStringIncludes(output, "shortened to make room");
  assert(fixture.notices().some((text) => text.includes("did not fit as it was")));
});

Deno.test("a turn ends with the provider's error when nothing can be shortened", async () => {
  await using fixture = await contextFixture({ window: 8_000, realWindow: 40, reply: worker });
  const outcome = await fixture.agent.run("word ".repeat(100));
  assertEquals(outcome.reason, "provider");
  assertStringIncludes(outcome.detail ?? "", "context");
});

Deno.test("an activated skill is sent again in full when its result is compacted", async () => {
  const body = `<skill name="release">\n${"Do it carefully.\n".repeat(40)}</skill>`;
  const skill = tool("skill", true, () => Promise.resolve({ content: body, summary: "release" }));
  let first = true;
  await using fixture = await contextFixture({
    window: 8_000,
    tools: [read, skill],
    checkPrefix: false,
    settings: { prune: false },
    carry: (message) => message.role === "tool" && message.name === "skill" ? message.content : undefined,
    reply: (request) => {
      if (!first) return worker(request);
      first = false;
      return { calls: [{ name: "skill", args: { name: "release" } }] };
    },
  });
  for (let n = 0; fixture.compactions().length < 3 && n < 60; n++) await fixture.agent.run(`Task ${n}`);
  const bodies = fixture.agent.recorder.messages.filter((message) => message.content === body);
  assertEquals(bodies.map((message) => message.role), ["user"]);
});
