import { type AgentOptions, createAgent } from "../../../src/features/mod.ts";
import type { Chunk, Event } from "../../../src/core/mod.ts";
import { call, say, scriptedProvider, tool } from "../../support/agent_fixture.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const calls = (...chunks: Chunk[]): Chunk[] => [...chunks, { type: "done", reason: "tool_calls" }];
const write = (path: string) => calls(call("1", "write_file", { path, content: "made\n" }));
const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

Deno.test("createAgent keeps one conversation over several turns", async () => {
  const provider = scriptedProvider([say("one"), say("two")]);
  await using agent = await createAgent({ provider });
  assertEquals((await agent.run("first")).answer, "one");
  assertEquals((await agent.run({ text: "second" })).answer, "two");
  const roles = provider.requests[1]?.map((message) => message.role);
  assertEquals(roles?.slice(-3), ["user", "assistant", "user"]);
});

Deno.test("createAgent runs custom tools and emits every event", async () => {
  const events: Event[] = [];
  const echo = tool("echo", true, () => Promise.resolve({ content: "heard", summary: "" }));
  const provider = scriptedProvider([calls(call("1", "echo")), say("ok")]);
  await using agent = await createAgent({
    provider,
    tools: [echo],
    onEvent: (event) => void events.push(event),
  });
  await agent.run("go");
  assert(events.some((event) => event.type === "tool.end" && event.content === "heard"));
  assertEquals(events[0]?.type, "context.prefix");
});

Deno.test("createAgent stops a turn at the caller's signal, before and during the run", async () => {
  const controller = new AbortController();
  const provider = scriptedProvider([async function* () {
    yield { type: "text", text: "so far" };
    controller.abort();
    await Promise.resolve();
    yield { type: "error", error: { kind: "aborted", message: "Aborted" } };
  }]);
  await using agent = await createAgent({ provider });
  assertEquals((await agent.run("go", controller.signal)).reason, "interrupted");
  await assertRejects(() => agent.run("go", controller.signal), Error, "Stopped before the turn began");
  assertEquals(provider.requests.length, 1);
});

Deno.test("createAgent refuses calls that its gate denies", async () => {
  let ran = false;
  const danger = tool("danger", false, () => {
    ran = true;
    return Promise.resolve({ content: "", summary: "" });
  });
  const provider = scriptedProvider([calls(call("1", "danger")), say("ok")]);
  const gate = { check: () => ({ decision: "deny", source: "rule", reason: "No" } as const) };
  await using agent = await createAgent({ provider, tools: [danger], gate });
  await agent.run("go");
  assertEquals(ran, false);
});

/** Lets the agent write one file and run one command, and returns which of them happened. */
async function attempts(cwd: string, options: Omit<AgentOptions, "provider" | "cwd">): Promise<string[]> {
  const provider = scriptedProvider([
    write("file"),
    calls(call("2", "bash", { command: "touch command" })),
    calls(call("3", "own")),
    say("ok"),
  ]);
  const own = tool("own", false, async () => {
    await Deno.writeTextFile(`${cwd}/own`, "");
    return { content: "", summary: "" };
  });
  await using agent = await createAgent({ cwd, provider, tools: [own], ...options });
  await agent.run("go");
  const made = ["file", "command", "own"];
  const found = await Promise.all(made.map((name) => exists(`${cwd}/${name}`)));
  return made.filter((_, i) => found[i]);
}

Deno.test("createAgent does not allow calls of ask rules because the run shows no prompt", async () => {
  await using temp = await makeTempDir();
  assertEquals(await attempts(temp.path, {}), []);
  assertEquals(await attempts(temp.path, { config: { permissions: { allow: ["Edit(file)"] } } }), ["file"]);
});

Deno.test("createAgent calls its approver, and a configured rule precedes the answer", async () => {
  await using temp = await makeTempDir();
  const asked: string[] = [];
  const approver = {
    ask: (request: { tool: string }) => {
      asked.push(request.tool);
      return Promise.resolve({ allow: true, scope: "once" } as const);
    },
  };
  const config = { permissions: { deny: ["Bash"] } };
  assertEquals(await attempts(temp.path, { config, approver }), ["file", "own"]);
  assertEquals(asked, ["write_file", "own"]);
});

Deno.test("two agents in one process have independent configuration", async () => {
  await using left = await makeTempDir();
  await using right = await makeTempDir();
  const replies = () => [write(`${left.path}/x`), write(`${right.path}/x`), say("ok")];
  const one = scriptedProvider(replies());
  const two = scriptedProvider(replies());
  const allow = { permissions: { allow: ["Edit"] } };
  await using first = await createAgent({
    provider: one,
    cwd: left.path,
    config: { ...allow, agent: { system_prompt: "You are the first" }, tools: { disabled: ["bash"] } },
  });
  await using second = await createAgent({
    provider: two,
    cwd: right.path,
    config: { ...allow, agent: { system_prompt: "You are the second", max_steps: 1 } },
  });
  const [a, b] = await Promise.all([first.run("go"), second.run("go")]);
  assertEquals([a.reason, b.reason], ["done", "limit"]);
  const { prefix: left_ } = first.controller.recorder;
  const { prefix: right_ } = second.controller.recorder;
  assert(left_.system.includes("the first") && right_.system.includes("the second"));
  const offersBash = [left_, right_].map(({ tools }) => tools.some(({ name }) => name === "bash"));
  assertEquals(offersBash, [false, true]);
  // Each writes only below its own directory.
  assertEquals(await exists(`${left.path}/x`), true);
  assertEquals(await exists(`${right.path}/x`), false);
  assertEquals(JSON.stringify(first.controller.recorder.messages).includes("the second"), false);
});

Deno.test("createAgent reads no file of the user or the project unless the configuration is loaded", async () => {
  await using temp = await makeTempDir();
  const [cwd, home] = [`${temp.path}/work`, `${temp.path}/home`];
  await Deno.mkdir(cwd);
  await Deno.mkdir(home);
  await Deno.writeTextFile(`${home}/config.toml`, '[agent]\nsystem_prompt = "From the user"\n');
  await Deno.writeTextFile(`${cwd}/reasonix.toml`, '[permissions]\nallow = ["Edit"]\n');
  const systemOf = async (options: AgentOptions) => {
    await using agent = await createAgent({ ...options, cwd, home, provider: scriptedProvider([say("ok")]) });
    await agent.run("go");
    return agent.controller.recorder.prefix.system;
  };
  assertEquals((await systemOf({})).includes("From the user"), false);
  assertEquals((await systemOf({ config: "load" })).includes("From the user"), true);
});

Deno.test("createAgent saves a session file and continues it in a later process", async () => {
  await using temp = await makeTempDir();
  const [cwd, home] = [`${temp.path}/work`, `${temp.path}/home`];
  await Deno.mkdir(cwd);
  const events: Event[] = [];
  {
    const provider = scriptedProvider([say("one")]);
    const onEvent = (event: Event) => void events.push(event);
    await using agent = await createAgent({ provider, cwd, home, session: "file", onEvent });
    await agent.run("first");
  }
  const start = events.find((event) => event.type === "session.start");
  assert(start?.type === "session.start");
  const provider = scriptedProvider([say("two")]);
  await using agent = await createAgent({ provider, cwd, home, session: { resume: start.session } });
  await agent.run("second");
  assert(JSON.stringify(provider.requests[0]).includes("first"));
  await assertRejects(() => createAgent({ provider, cwd, session: "file" }), Error, "the agent has no home");
});

Deno.test("createAgent rewinds the files and the conversation of a turn", async () => {
  await using temp = await makeTempDir();
  const provider = scriptedProvider([write("file"), say("made"), say("again")]);
  const config = { permissions: { allow: ["Edit"] } };
  await using agent = await createAgent({ cwd: temp.path, provider, config });
  await agent.run("make it");
  assertEquals(await exists(`${temp.path}/file`), true);
  const { restored } = await agent.rewind(0);
  assertEquals(restored.map(({ action }) => action), ["delete"]);
  assertEquals(await exists(`${temp.path}/file`), false);
  await agent.run("say it");
  assertEquals(JSON.stringify(provider.requests[2]).includes("make it"), false);
  await assertRejects(() => agent.rewind(7), Error, "no such finished turn");
});

Deno.test("the controller rejects a second turn and passes steering to the running one", async () => {
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const wait = tool("wait", true, async () => {
    started.resolve();
    await gate.promise;
    return { content: "waited", summary: "" };
  });
  const provider = scriptedProvider([calls(call("1", "wait")), say("ok")]);
  await using agent = await createAgent({ provider, tools: [wait] });
  const turn = agent.run("go");
  await started.promise;
  await assertRejects(() => agent.run("too early"), TypeError, "another one is running");
  await agent.controller.submit({ type: "steer", text: "by the way" });
  gate.resolve();
  await turn;
  const last = provider.requests[1]?.at(-1);
  assertEquals([last?.role, last?.content], ["user", "by the way"]);
});
