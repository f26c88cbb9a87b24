/** MCP servers in an agent of a program: tools, questions, changed lists, and their end. */
import { type AgentOptions, createAgent } from "../../../src/features/mod.ts";
import type { Chunk, Event } from "../../../src/core/mod.ts";
import { call, type Reply, say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import type { Behaviour } from "../../support/mcp/behaviour.ts";
import { readRecord, scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const calls = (name: string, args: unknown = {}): Chunk[] => [
  call("1", name, args),
  { type: "done", reason: "tool_calls" },
];

interface Open extends Pick<AgentOptions, "asker" | "permissionMode" | "approvalMode" | "approver"> {
  readonly replies: readonly Reply[];
  /** `[agent] plan_mode_allowed_tools`. */
  readonly believed?: readonly string[];
  readonly behaviour?: Behaviour;
}

async function open({ replies, behaviour = {}, believed = [], ...options }: Open) {
  const dir = await makeTempDir();
  const record = `${dir.path}/record`;
  const events: Event[] = [];
  const provider = scriptedProvider(replies);
  const agent = await createAgent({
    provider,
    cwd: dir.path,
    config: {
      agent: { plan_mode_allowed_tools: [...believed] },
      plugins: [{ name: "docs", ...scriptedServer({ ...behaviour, record }) }],
      // A busy machine starts servers late.
      tools: { mcp_startup_wait_seconds: 60 },
      permissions: { allow: ["mcp__docs__ask", "mcp__docs__sample", "mcp__docs__change", "mcp__docs__echo"] },
    },
    onEvent: (event) => void events.push(event),
    ...options,
  });
  return {
    agent,
    events,
    provider,
    record,
    results: () => events.filter((event) => event.type === "tool.end").map(({ content }) => content),
    notices: () => events.filter((event) => event.type === "notice").map(({ text }) => text),
    resets: () => events.filter((event) => event.type === "context.prefix").map(({ detail }) => detail),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const alive = (pid: number) => Deno.stat(`/proc/${pid}`).then(() => true, () => false);

Deno.test("a programmatic agent has the tools of its plugins, which stop with it", async () => {
  const run = await open({ replies: [calls("mcp__docs__echo", { text: "hello 世界" }), say("done")] });
  await run.agent.run("go");
  assertEquals(run.results(), ["hello 世界"]);
  const [{ pid } = { pid: 0 }] = await readRecord(run.record);
  assert(await alive(pid));
  await run.agent[Symbol.asyncDispose]();
  assert(!await alive(pid));
});

Deno.test("a server with cached tools starts only after the first request is sent", async () => {
  await using dir = await makeTempDir();
  const home = `${dir.path}/home`;
  const plugins = [{ name: "docs", ...scriptedServer() }];
  const config = { plugins, tools: { mcp_startup_wait_seconds: 60 } };
  const starts: number[] = [];
  for (let life = 0; life < 2; life++) {
    let started = 0;
    const provider = scriptedProvider([async function* () {
      starts.push(started);
      yield* await Promise.resolve(say("done"));
    }]);
    const onEvent = (event: Event) => {
      if (event.type === "mcp.server" && event.state === "starting") started++;
    };
    await using agent = await createAgent({ provider, cwd: dir.path, home, config, onEvent });
    await agent.run("go");
  }
  assertEquals(starts, [1, 0]);
});

for (const era of ["old", "new"] as const) {
  Deno.test(`requests of a server of the ${era} protocol prompt the user, and its model requests, too`, async () => {
    const answers = [["Ada"], ["36"], ["red"], ["Send"], ["Allow once"]];
    await using run = await open({
      behaviour: { era },
      replies: [
        calls("mcp__docs__ask"),
        calls("mcp__docs__sample", { prompt: "Hi" }),
        say("Hello"),
        say("done"),
      ],
      asker: { ask: () => Promise.resolve([answers.shift() ?? []]) },
    });
    await run.agent.run("go");
    const [asked = "", sampled = ""] = run.results();
    assertStringIncludes(asked, '"action":"accept"');
    assertStringIncludes(asked, '"age":36');
    assertStringIncludes(sampled, '"text":"Hello"');
    assertEquals(run.provider.requests[2]?.map(({ content }) => content), ["Hi"]);
  });

  Deno.test(`a server of the ${era} protocol gets no answer in headless runs in any approval mode`, async () => {
    await using run = await open({
      behaviour: { era },
      replies: [calls("mcp__docs__ask"), calls("mcp__docs__sample"), say("done")],
    });
    await run.agent.run("go");
    const [asked = "", sampled = ""] = run.results();
    assertStringIncludes(asked, '"action":"cancel"');
    assertStringIncludes(sampled, "No user is available to allow");
    assertEquals(run.notices().filter((text) => text.includes("this run has no prompt")).length, 2);
  });
}

Deno.test("a tool list that changes during a turn applies after it, as one declared reset", async () => {
  await using run = await open({
    replies: [
      calls("mcp__docs__change"),
      calls("mcp__docs__echo", { text: "a" }),
      say("one"),
      say("two"),
      say("three"),
    ],
  });
  await run.agent.run("go");
  assertEquals(run.resets(), [undefined]);
  // The server has announced the change; the list is read again a little later.
  while (!run.events.some((event) => event.type === "mcp.server" && event.tools === 12)) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await run.agent.run("again");
  assertEquals(run.resets(), [undefined, "+mcp__docs__late"]);
  await run.agent.run("and again");
  assertEquals(run.resets().length, 2);
});

Deno.test("plan mode prompts for a read-only claim, and programmatic settings cannot save the answer", async () => {
  const asked: (readonly string[])[] = [];
  await using run = await open({
    permissionMode: "plan",
    replies: [calls("mcp__docs__echo", { text: "a" }), calls("mcp__docs__echo", { text: "b" }), say("done")],
    approver: {
      ask: ({ scopes }) => {
        asked.push(scopes);
        return Promise.resolve({ allow: true, scope: "session" });
      },
    },
  });
  await run.agent.run("go");
  assertEquals(run.results(), ["a", "b"]);
  assertEquals(asked, [["once", "session"]]);
});

Deno.test("headless plan mode runs only server tools listed by full name in plan_mode_allowed_tools", async () => {
  const replies = [
    [
      call("1", "mcp__docs__echo", { text: "a" }),
      call("2", "mcp__docs__change", {}),
      { type: "done", reason: "tool_calls" } as const,
    ],
    say("done"),
  ];
  for (const believed of [[], ["mcp__docs__echo"], ["echo", "docs", "mcp__docs", "mcp__doc__echo"]]) {
    await using run = await open({ permissionMode: "plan", approvalMode: "yolo", believed, replies });
    await run.agent.run("go");
    const ran = run.results().map((content) => content.startsWith("blocked") ? "blocked" : content);
    assertEquals(ran, [believed[0] === "mcp__docs__echo" ? "a" : "blocked", "blocked"], `${believed}`);
  }
  // A tool without a read-only claim is trusted when the user names it.
  await using run = await open({ permissionMode: "plan", believed: ["mcp__docs__change"], replies });
  await run.agent.run("go");
  assertEquals(run.results().map((content) => content.startsWith("blocked")), [true, false]);
});
