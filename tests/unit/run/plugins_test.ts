/** MCP servers in an agent of a program: tools, questions, changed lists, and their end. */
import type { Chunk, Event } from "../../../src/core/mod.ts";
import { type AgentOptions, createAgent } from "../../../src/features/mod.ts";
import { call, type Reply, say, scriptedProvider, tool } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import type { Behaviour } from "../../support/mcp/behaviour.ts";
import { pluginToml } from "../../support/mcp/config.ts";
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

// The effect of an answer about a read-only claim, and when late tools are offered.

Deno.test("trust in a read-only claim is saved in the user's file with the server, else shown", async () => {
  await using dir = await makeTempDir();
  const home = `${dir.path}/home`;
  const cwd = `${dir.path}/work`;
  await Deno.mkdir(home);
  await Deno.mkdir(cwd);
  await Deno.writeTextFile(
    `${home}/config.toml`,
    `# mine\n[tools]\nmcp_startup_wait_seconds = 60\n${pluginToml("docs")}`,
  );
  await Deno.writeTextFile(
    `${home}/.mcp.json`,
    JSON.stringify({ mcpServers: { other: scriptedServer() } }),
  );
  const notices: string[] = [];
  const asked: string[] = [];
  const run = async () => {
    await using agent = await createAgent({
      provider: scriptedProvider([
        calls("mcp__docs__echo", { text: "a" }),
        calls("mcp__other__echo", { text: "b" }),
        calls("mcp__other__echo", { text: "c" }),
        say("done"),
      ]),
      config: "load",
      home,
      cwd,
      permissionMode: "plan",
      approver: {
        ask: ({ tool }) => {
          asked.push(tool);
          return Promise.resolve({ allow: true, scope: "always" });
        },
      },
      onEvent: (event) => void (event.type === "notice" && notices.push(event.text)),
    });
    await agent.run("go");
  };
  await run();
  assertEquals(asked, ["mcp__docs__echo", "mcp__other__echo"]);
  assertStringIncludes(await Deno.readTextFile(`${home}/config.toml`), "trusted_read_only_tools");
  assertEquals(notices.filter((text) => text.includes("for this session only")).length, 1);
  asked.length = 0;
  await run();
  assertEquals(asked, ["mcp__other__echo"]);
});

Deno.test("an answer about a project server does not affect the user's server of the same name", async () => {
  await using dir = await makeTempDir();
  const [home, cwd] = [`${dir.path}/home`, `${dir.path}/work`];
  await Deno.mkdir(home);
  await Deno.mkdir(cwd);
  const own = `[tools]\nmcp_startup_wait_seconds = 60\n${pluginToml("docs", { tools: "none" })}`;
  await Deno.writeTextFile(`${home}/config.toml`, own);
  await Deno.writeTextFile(`${cwd}/reasonix.toml`, pluginToml("docs"));
  const notices: string[] = [];
  await using agent = await createAgent({
    provider: scriptedProvider([calls("mcp__docs__echo", { text: "a" }), say("done")]),
    config: "load",
    home,
    cwd,
    trustProject: true,
    approver: { ask: () => Promise.resolve({ allow: true, scope: "always" }) },
    onEvent: (event) => void (event.type === "notice" && notices.push(event.text)),
  });
  await agent.run("go");
  assertEquals(notices.filter((text) => text.includes("for this session only")).length, 1);
  assertEquals(await Deno.readTextFile(`${home}/config.toml`), own);
});

Deno.test("a server approved during a turn connects between steps, and the same list changes nothing", async () => {
  await using dir = await makeTempDir();
  const events: Event[] = [];
  const isReady = () => events.some((event) => event.type === "mcp.server" && event.state === "ready");
  const wait = tool("wait_for_it", true, async () => {
    while (!isReady()) await new Promise((resolve) => setTimeout(resolve, 10));
    return { content: "it is there", summary: "there" };
  });
  const open = () =>
    createAgent({
      provider: scriptedProvider([
        calls("ls"),
        calls("wait_for_it"),
        calls("mcp__docs__echo", { text: "late" }),
        say("done"),
      ]),
      home: `${dir.path}/home`,
      cwd: dir.path,
      tools: [wait],
      config: {
        plugins: [{
          name: "docs",
          ...scriptedServer({ shuffled: true }),
          trusted_read_only_tools: ["echo"],
        }],
        tools: { mcp_startup_wait_seconds: 0 },
      },
      onEvent: (event) => void events.push(event),
    });
  const resets = () =>
    events.flatMap((event) => event.type === "context.prefix" ? [event.detail ?? event.reason] : []);
  {
    await using agent = await open();
    await agent.run("go");
    assertEquals(resets(), ["start", "+mcp_resource +11 of docs"]);
  }
  events.length = 0;
  await using again = await open();
  await again.run("go");
  assertEquals(resets(), ["start"]);
  assertEquals(events.filter((event) => event.type === "tool.end").map(({ content }) => content).slice(1), [
    "it is there",
    "late",
  ]);
});
