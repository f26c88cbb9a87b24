import { loadConfig } from "../../../src/config/mod.ts";
import { type Chunk, type Event, type Message, textOf } from "../../../src/core/mod.ts";
import { type AgentOptions, assemble, createAgent } from "../../../src/features/mod.ts";
import type { ApprovalRequest } from "../../../src/permission/mod.ts";
import { SandboxSession } from "../../../src/run/access/sandbox_session.ts";
import { loadTrustedConfig } from "../../../src/run/mod.ts";
import { createWorkspace } from "../../../src/sandbox/mod.ts";
import { call, type Reply, say, scriptedProvider, tool } from "../../support/agent_fixture.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { startModelServer } from "../../support/model_server.ts";
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

Deno.test("an approval of a command says what confines it", async () => {
  await using temp = await makeTempDir();
  const limits: (readonly [string, string | undefined])[] = [];
  const approver = {
    ask({ tool, confinement }: ApprovalRequest) {
      limits.push([tool, confinement && textOf(confinement)]);
      return Promise.resolve({ allow: false, scope: "once" } as const);
    },
  };
  assertEquals(await attempts(temp.path, { config: { sandbox: { bash: "off" } }, approver }), []);
  const [file, command] = limits;
  assertEquals(file, ["write_file", undefined]);
  assertEquals(command?.[0], "bash");
  assertMatch(command?.[1] ?? "", /^Commands are not confined \(/);
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
  const turn = agent.run({ text: "go", id: "first" });
  await started.promise;
  await assertRejects(() => agent.run("too early"), TypeError, "another one is running");
  await agent.controller.submit({ type: "steer", text: "by the way", id: "second" });
  gate.resolve();
  await turn;
  assertEquals(provider.requests[1]?.at(-1), { role: "user", content: "by the way" });
  assertEquals([...agent.controller.recorder.state.messageIds], ["first", "second"]);
});

Deno.test({
  name: "disposing of agents, also during a turn, leaks no process, timer, descriptor or directory",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using temp = await makeTempDir();
    const [cwd, tmp] = [`${temp.path}/work`, `${temp.path}/tmp`];
    await Deno.mkdir(cwd);
    await Deno.mkdir(tmp);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", new URL("./lives.ts", import.meta.url).pathname, cwd],
      env: { TMPDIR: tmp },
      signal: AbortSignal.timeout(300_000),
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    const { output, reason, before, after } = JSON.parse(new TextDecoder().decode(stdout));
    assertStringIncludes(output, "made");
    assertEquals(reason, "interrupted");
    assertEquals([before.children, before.directories], [[], []]);
    assertEquals([after.children, after.directories], [[], []]);
    // Six lifecycles are between the counts: a leaked descriptor would be there at least three times. The
    // runtime creates a private pair of sockets, once, at any time.
    assert(after.descriptors - before.descriptors <= 2, `${before.descriptors} → ${after.descriptors}`);
  },
});

Deno.test("SandboxSession leaks nothing when it is closed while the jail is being selected", async () => {
  await using temp = await makeTempDir();
  const [cwd, home] = [`${temp.path}/work`, `${temp.path}/home`];
  await Deno.mkdir(cwd);
  const paths = { cwd, home, env: () => undefined };
  const workspace = createWorkspace({ cwd, home, roots: [cwd], forbidRead: [] });
  const sessionDir = `${home}/session`;
  const jail = new SandboxSession({ paths, loaded: await loadConfig(paths), workspace, sessionDir });
  const opened = jail.open();
  await jail.close();
  await opened;
  assertEquals([...Deno.readDirSync(sessionDir)].map(({ name }) => name), []);
});

Deno.test("a warm-up sends, records and changes nothing, and does not affect the first request", async () => {
  await using temp = await makeTempDir();
  const server = startModelServer([{ text: "one" }, { text: "two" }]);
  await using _server = server;
  const paths = { cwd: `${temp.path}/work`, home: `${temp.path}/home`, env: () => undefined };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const config = {
    default_model: "mock",
    providers: [{ name: "mock", kind: "openai", base_url: server.url, model: "mock-1" }],
  };
  const open = async () =>
    await assemble({
      paths,
      loaded: await loadTrustedConfig({ ...paths, flags: config, noFiles: true }, {}),
    });
  {
    await using warm = await open();
    const files = () => [...Deno.readDirSync(paths.home)].map(({ name }) => name);
    const before = files();
    const seen: string[] = [];
    await warm.warmUp((event) => void seen.push(event.type));
    assertEquals([seen[0], seen.at(-1)], ["session.start", "turn.state"]);
    assert(seen.includes("message.delta"), "the reply was read to its end");
    assertEquals(files(), before);
    assertEquals([server.requests.length, warm.session.state.lastSeq], [0, 0]);
    assertEquals((await warm.run("say one")).answer, "one");
    assertEquals(warm.session.state.turns.map(({ prompt }) => prompt), ["say one"]);
  }
  await using plain = await open();
  await plain.run("say one");
  const [first, second] = server.requests.map(({ body }) => JSON.stringify(body));
  assertEquals(first, second);
});

// Messages to the model at the end: its mode, and its todo list.

const repliesWithCalls = (
  ...made: ReturnType<typeof call>[]
): Reply => [...made, { type: "done", reason: "tool_calls" }];
const LOOK = repliesWithCalls(call("l", "ls", { path: "." }));
const todos = (...names: string[]): Reply =>
  repliesWithCalls(
    call("t", "todo_write", { todos: names.map((content) => ({ content, status: "pending" })) }),
  );

interface Part {
  readonly replies: readonly Reply[];
  readonly turns: readonly string[];
  readonly options?: AgentOptions;
}

/** Runs one session in one process after the other; returns all requests and events. */
async function inProcesses(...parts: readonly Part[]) {
  await using temp = await makeTempDir();
  const [cwd, home] = [`${temp.path}/work`, `${temp.path}/home`];
  await Deno.mkdir(cwd);
  const events: Event[] = [];
  const requests: (readonly Message[])[] = [];
  for (const { replies, turns, options = {} } of parts) {
    const first = events.find((event) => event.type === "session.start");
    const provider = scriptedProvider(replies);
    await using agent = await createAgent({
      cwd,
      home,
      provider,
      session: first?.type === "session.start" ? { resume: first.session } : "file",
      config: { sandbox: { bash: "off" } },
      onEvent: (event) => void events.push(event),
      ...options,
    });
    for (const turn of turns) await agent.run(turn);
    requests.push(...provider.requests);
  }
  for (const [at, messages] of requests.slice(1).entries()) {
    assertEquals(messages.slice(0, requests[at]?.length), requests[at], "each request extends the last one");
  }
  return { events, requests };
}

const tagged = (messages: readonly Message[] | undefined, tag: string) =>
  (messages ?? []).flatMap(({ role, content }) =>
    role === "user" && content.startsWith(`<${tag}>`) ? [content] : []
  );
const modesTold = (messages: readonly Message[] | undefined) =>
  tagged(messages, "mode").map((content) => content.slice("<mode>\n".length, content.indexOf(" mode is on")));

Deno.test("a session resumed in another mode notifies the model once per change", async () => {
  const inMode = (permissionMode: AgentOptions["permissionMode"], ...turns: string[]): Part => ({
    replies: turns.map(say),
    turns,
    options: permissionMode === undefined ? {} : { permissionMode },
  });
  const { requests, events } = await inProcesses(
    inMode(undefined, "1"),
    inMode("read-only", "2", "3"),
    inMode("read-only", "4"),
    inMode(undefined, "5"),
    inMode("danger-full-access", "6"),
    inMode(undefined, "7"),
  );
  assertEquals(requests.map((messages) => modesTold(messages).join(" ")), [
    "",
    "Read-only",
    "Read-only",
    "Read-only",
    "Read-only Workspace-write",
    "Read-only Workspace-write Full-access",
    "Read-only Workspace-write Full-access Workspace-write",
  ]);
  const recorded = events.flatMap((event) => event.type === "mode.change" ? [event.mode] : []);
  assertEquals(recorded, ["read-only", "workspace-write", "danger-full-access", "workspace-write"]);
  const sources = events.flatMap((event) =>
    event.type === "message.user" && event.content.startsWith("<mode>") ? [event.origin] : []
  );
  assertEquals(new Set(sources), new Set(["context"]));
});

Deno.test("a session that starts with full access has no notice until that changes", async () => {
  const full: AgentOptions = { permissionMode: "danger-full-access" };
  const { requests } = await inProcesses(
    { replies: [say("1")], turns: ["1"], options: full },
    { replies: [say("2")], turns: ["2"], options: full },
    { replies: [say("3")], turns: ["3"] },
  );
  assertEquals(requests.map((messages) => modesTold(messages)), [[], [], ["Workspace-write"]]);
});

Deno.test("open todo entries are repeated as reminders, also in another process", async () => {
  const { requests, events } = await inProcesses(
    { replies: [todos("解析器を直す 🛠️", "Test"), say("later")], turns: ["go"] },
    {
      replies: [LOOK, todos("Test"), ...Array.from({ length: 12 }, () => LOOK), say("done"), say("fine")],
      turns: ["go on", "thanks"],
    },
  );
  assertEquals(requests.map((messages) => tagged(messages, "todos").length), [
    ...[0, 0],
    // The list of the first process, ten replies after the second list, and nothing new for the last turn.
    ...[1, 1],
    ...Array.from({ length: 10 }, () => 1),
    ...[2, 2, 2, 2],
  ]);
  const reminders = events.flatMap((event) =>
    event.type === "message.user" && event.origin === "reminder" ? [event.content] : []
  );
  assert(reminders[0]?.includes("2 of 2") && reminders[0].includes("[ ] 解析器を直す 🛠️\n[ ] Test"));
  assert(reminders[1]?.includes("1 of 1"));
});

Deno.test("a model without the todo tool gets no reminder", async () => {
  const { requests } = await inProcesses(
    { replies: [todos("Test"), say("later")], turns: ["go"] },
    {
      replies: [say("so")],
      turns: ["go on"],
      options: { config: { tools: { disabled: ["todo_write"] }, sandbox: { bash: "off" } } },
    },
  );
  assertEquals(tagged(requests.at(-1), "todos"), []);
});
