/** An editor drives the program by the Agent Client Protocol. */
import { methods } from "@agentclientprotocol/sdk";
import type { PromptRequest, RequestPermissionRequest } from "@agentclientprotocol/sdk";
import { startAcp } from "../support/acp.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { processesWith } from "../support/processes.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const { session } = methods.agent;
const bash = (id: string, command: string) => ({ calls: [{ id, name: "bash", args: { command } }] });

Deno.test("an editor initializes, is refused what it may not do yet, and survives lines that are no messages", async () => {
  await using world = await makeWorld();
  const early = await startAcp(world, { initialize: false });
  const refused = await early.error(session.new, { cwd: world.dir, mcpServers: [] });
  assertEquals(refused.code, -32600);
  assertStringIncludes(refused.message, "must be initialized");
  assertEquals((await early.end()).code, 0);

  const acp = await startAcp(world, { capabilities: { auth: { terminal: true } } });
  assertEquals(acp.initialized?.protocolVersion, 1);
  assertEquals(acp.initialized?.agentInfo?.name, "reasonix");
  assertEquals(acp.initialized?.authMethods?.map(({ id }) => id), ["setup"]);
  // Clients append the arguments of the method to the command of the agent; older ones replace them.
  for (const [at, line] of [["acp", "setup"], ["--acp", "--model", "mock", "setup"], ["setup"]].entries()) {
    const home = `${world.home}/set_up_${at}`;
    assertStringIncludes((await world.run(line, { env: { REASONIX_HOME: home } })).stdout, `Wrote ${home}`);
  }
  const refusal = (code: number) => acp.tape.seen(({ id, error }) => id === null && error.code === code);
  await acp.raw("no json\n");
  assertStringIncludes((await refusal(-32700)).error.message, "no json");
  await acp.raw('[{"jsonrpc":"2.0","id":7,"method":"initialize"}]\n');
  assertStringIncludes((await refusal(-32600)).error.message, "batch");
  const broken = `${world.dir}/broken`;
  await Deno.mkdir(broken);
  await Deno.writeTextFile(`${broken}/reasonix.toml`, '[agent]\nmax_steps = "ten"\n');
  const faults: readonly (readonly [method: string, params: unknown, code: number, text: string])[] = [
    ["session/unknown", {}, -32601, 'Cannot find the method "session/unknown"'],
    [methods.agent.initialize, { protocolVersion: "one" }, -32602, "protocolVersion"],
    [methods.agent.authenticate, { methodId: 3 }, -32602, "methodId"],
    [methods.agent.authenticate, { methodId: "setup" }, -32602, "reasonix setup"],
    [methods.agent.logout, {}, -32602, "Cannot sign out"],
    [session.new, { mcpServers: [] }, -32602, "it has no cwd"],
    [session.new, { cwd: "src", mcpServers: [] }, -32602, 'in "src": the path is relative'],
    [session.new, { cwd: `${world.dir}/none`, mcpServers: [] }, -32602, `${world.dir}/none`],
    [session.new, { cwd: world.dir, additionalDirectories: [4] }, -32602, "additionalDirectories[0]"],
    [session.new, { cwd: world.dir, mcpServers: [{ name: "x" }] }, -32602, "mcpServers[0]"],
    [session.new, { cwd: broken, mcpServers: [] }, -32603, "/broken/reasonix.toml:2:"],
    // There is no provider.
    [session.new, { cwd: world.dir, mcpServers: [] }, -32000, "reasonix setup"],
    [session.load, { sessionId: "none", cwd: world.dir, mcpServers: [] }, -32002, '"none"'],
    [session.resume, { sessionId: "../x", cwd: world.dir }, -32002, '"../x"'],
    [session.prompt, { sessionId: "none", prompt: [] }, -32002, '"none"'],
    [session.setMode, { sessionId: [], modeId: "ask" }, -32602, "sessionId"],
    [session.list, { cursor: "x" }, -32602, "cursor"],
    [session.list, { cwd: "src" }, -32602, '"src" is relative'],
  ];
  for (const [method, params, code, text] of faults) {
    const error = await acp.error(method, params);
    assertEquals(error.code, code, `${method}: ${error.message}`);
    assertStringIncludes(error.message, text);
    assert(!error.message.includes("\n"), error.message);
  }
  // Deep nesting, in what is checked and in what is not.
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  await acp.raw(
    `{"jsonrpc":"2.0","id":"deep","method":"session/new","params":{"cwd":${deep},"_meta":${deep}}}\n`,
  );
  assertEquals((await acp.tape.seen(({ id }) => id === "deep")).error.code, -32602);
  const long = new Uint8Array(1024 * 1024).fill(120);
  for (let times = 0; times < 40; times++) await acp.raw(long);
  await acp.raw("\n");
  await acp.tape.seen(({ id, error }) => id === null && error.message.includes("characters"));
  await acp.raw('{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}\n');
  assertEquals((await acp.agent.request(session.list, {})).sessions, []);
  acp.tape.problems.length = 0;
  assertEquals(await acp.end(), { code: 0, stderr: "" });
});

Deno.test("a prompt runs a turn: text, a call that needs permission, its end, and it is a session like others", async () => {
  await using server = startModelServer([
    { text: "Hello there" },
    bash("c1", "echo made > a.txt; cat a.txt"),
    { text: "Made it" },
    bash("c2", "echo no > b.txt"),
    { text: "Not made" },
    bash("c3", "echo never > b.txt"),
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  const asked: RequestPermissionRequest[] = [];
  const acp = await startAcp(world, {
    on: {
      [methods.client.session.requestPermission]: ({ params }) => {
        asked.push(params);
        if (asked.length === 3) return { outcome: { outcome: "cancelled" } };
        const kind = asked.length === 1 ? "allow_once" : "reject_once";
        const optionId = params.options.find((option) => option.kind === kind)?.optionId ?? "";
        return { outcome: { outcome: "selected", optionId } };
      },
    },
  });
  const id = await acp.newSession();
  assertEquals(await acp.prompt(id, "Say hello"), "end_turn");
  const text = () =>
    acp.updates(id).flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text"
        ? [update.content.text]
        : []
    ).join("");
  assertEquals(text(), "Hello there");
  assertEquals(await acp.prompt(id, "Make a.txt"), "end_turn");
  assertEquals(await world.read("a.txt"), "made\n");
  const [request] = asked;
  assertEquals(request?.toolCall.title, "$ echo made > a.txt; cat a.txt");
  const [content] = request?.toolCall.content ?? [];
  assert(content?.type === "content" && content.content.type === "text");
  assertStringIncludes(content.content.text, "echo made > a.txt; cat a.txt");
  assertEquals(
    new Set(request?.options.map(({ kind }) => kind)),
    new Set(["allow_once", "allow_always", "reject_once"]),
  );
  assertEquals(await acp.prompt(id, "Make b.txt"), "end_turn");
  // A question that the client cancels interrupts the turn.
  assertEquals(await acp.prompt(id, "Make b.txt after all"), "cancelled");
  assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name), ["a.txt"]);
  const { sessions } = await acp.agent.request(session.list, { cwd: world.dir });
  assertEquals(sessions.map(({ sessionId, title }) => [sessionId, title]), [[id, "Say hello"]]);
  assertEquals((await acp.end()).code, 0);
  // Clients append the arguments of the method to the command of the agent; older ones replace them.
  for (const line of [["acp", "setup"], ["--acp", "--model", "mock", "setup"], ["setup"]]) {
    assertStringIncludes((await world.run(line)).stderr, "run `reasonix setup` on a terminal");
  }
  const listed = await world.run(["session", "list"]);
  assertStringIncludes(listed.stdout, id);
});

/** A predicate for the answer to the n-th request of a method, from 0. */
function answerTo(acp: Acp, method: string, nth = 0) {
  const asked = () =>
    acp.tape.lines.filter(({ from, message }) => from === "client" && message.method === method)[nth];
  return (message: { id?: unknown; method?: string }) =>
    message.method === undefined && message.id === asked()?.message.id;
}

type Acp = Awaited<ReturnType<typeof startAcp>>;

Deno.test("prompts wait their turn, are cancelled in order, and say why they end", async () => {
  const held = Promise.withResolvers<void>();
  const mark = `600.0${Deno.pid}`;
  await using server = startModelServer([
    bash("c1", `echo begun; sleep ${mark}`),
    { text: "cut", finish: "length" },
    { text: "refused", finish: "content_filter" },
    bash("c2", "true"),
    { before: held.promise, text: "late" },
    { text: "after" },
    { status: 401, body: { error: { message: "bad key" } } },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  const acp = await startAcp(world, { args: ["--approval-mode=yolo"] });
  const id = await acp.newSession();
  const first = acp.prompt(id, "Sleep");
  await acp.tape.seen((line) => JSON.stringify(line).includes("begun\\n"));
  const second = acp.prompt(id, "Never asked");
  await acp.agent.notify(session.cancel, { sessionId: id });
  assertEquals([await first, await second], ["cancelled", "cancelled"]);
  const failed = acp.tape.at(({ params }) => params?.update?.status === "failed");
  const cancel = acp.tape.at(({ method }) => method === session.cancel, "client");
  const answers = [0, 1].map((nth) => acp.tape.at(answerTo(acp, session.prompt, nth)));
  assert(cancel < failed && failed < (answers[0] ?? 0), `${cancel} ${failed} ${answers}`);
  assertEquals(server.requests.length, 1);
  assertEquals(await processesWith(mark), []);

  assertEquals(await acp.prompt(id, "Write long"), "max_tokens");
  assertEquals(await acp.prompt(id, "Write what is filtered"), "refusal");
  // A request is cancelled while another one waits for its turn.
  const stopping = new AbortController();
  const hold: PromptRequest = { sessionId: id, prompt: [{ type: "text", text: "Hold" }] };
  const running = acp.agent.request(session.prompt, hold, { cancellationSignal: stopping.signal });
  const next = acp.prompt(id, "Go on");
  await server.received(5);
  stopping.abort();
  assertEquals((await running).stopReason, "cancelled");
  held.resolve();
  assertEquals(await next, "end_turn");
  const error = await acp.error(session.prompt, hold);
  assertEquals(error.code, -32603);
  assertStringIncludes(error.message, "401");
  assertEquals((await acp.end()).code, 0);
});

Deno.test("sessions are loaded, resumed, closed and deleted, and one that is open elsewhere is copied", async () => {
  await using server = startModelServer([
    { text: "One" },
    { calls: [{ id: "c1", name: "read_file", args: { path: "a.txt" } }] },
    { text: "Two" },
    { text: "Three" },
    { text: "Four" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "content");
  const forms: string[] = [];
  const on = {
    [methods.client.elicitation.create]: ({ params }: { readonly params: { readonly message: string } }) => {
      forms.push(params.message);
      return { action: "accept" as const, content: { choice: "1" } };
    },
  };
  const acp = await startAcp(world);
  const id = await acp.newSession();
  await acp.prompt(id, "First");
  await acp.prompt(id, "Second");
  const shown = acp.updates(id).length;
  await acp.agent.request(session.resume, { sessionId: id, cwd: world.dir });
  const replayed = () => acp.updates(id).slice(shown).map(({ sessionUpdate }) => sessionUpdate);
  assert(!replayed().some((update) => /chunk|tool_call/.test(update)), replayed().join());

  const other = await startAcp(world, { capabilities: { elicitation: { form: {} } }, on });
  await other.agent.request(session.load, { sessionId: id, cwd: world.dir, mcpServers: [] });
  assertEquals(forms.length, 1);
  assertStringIncludes(forms[0] ?? "", String(acp.child.pid));
  assertEquals(await other.prompt(id, "In the copy"), "end_turn");
  assertEquals(other.updates().length, other.updates(id).length);
  const busy = await startAcp(world);
  const refused = await busy.error(session.resume, { sessionId: id, cwd: world.dir });
  assertStringIncludes(refused.message, `process ${acp.child.pid} has it open`);
  const denied = await busy.error(session.delete, { sessionId: id });
  assertStringIncludes(denied.message, `process ${acp.child.pid} has it open`);

  await acp.agent.request(session.close, { sessionId: id });
  assertEquals((await acp.error(session.prompt, { sessionId: id, prompt: [] })).code, -32002);
  await busy.agent.request(session.load, { sessionId: id, cwd: world.dir, mcpServers: [] });
  const answer = busy.tape.at(answerTo(busy, session.load));
  const kinds = busy.tape.lines.slice(0, answer).flatMap(({ message }) =>
    message.params?.update?.sessionUpdate ?? []
  );
  assertEquals(kinds.filter((kind) => /chunk|tool_call/.test(kind)), [
    "user_message_chunk",
    "agent_message_chunk",
    "user_message_chunk",
    "tool_call",
    "agent_message_chunk",
  ]);
  assertEquals(await busy.prompt(id, "Third"), "end_turn");
  await busy.agent.request(session.delete, { sessionId: id });
  const { sessions } = await busy.agent.request(session.list, { cwd: world.dir });
  assert(!sessions.some(({ sessionId }) => sessionId === id));
  for (const each of [acp, other, busy]) assertEquals((await each.end()).code, 0);
});

/** Logs when the program is about to listen to signals, as a dependency could. */
const LOGGING = `const listen = Deno.addSignalListener;
Deno.addSignalListener = (...given) => (console.log("a log"), console.table(["a table"]), listen(...given));
`;

Deno.test("a turn ends as terminated when the client goes or a signal comes, and logs stay off the output", async () => {
  await using server = startModelServer(["c1", "c2", "c3"].map((id) => bash(id, "sleep 600")), {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const preload = `${world.home}/logging.js`;
  await Deno.writeTextFile(preload, LOGGING);
  for (const how of ["input", "output", "signal"] as const) {
    const acp = await startAcp(world, { args: ["--approval-mode=yolo"], preload });
    const id = await acp.newSession();
    const running = acp.prompt(id, `Sleep until the ${how} ends`).catch(() => "gone");
    await acp.tape.seen(({ params }) => params?.update?.status === "in_progress");
    if (how === "signal") acp.child.kill("SIGTERM");
    if (how === "output") {
      await acp.closeOutput();
      await acp.raw('{"jsonrpc":"2.0","id":"more","method":"session/list","params":{}}\n');
    }
    if (how !== "input") await acp.child.status;
    const { code, stderr } = await acp.end();
    assertEquals([how, code, await running], [how, 143, how === "output" ? "gone" : "cancelled"]);
    for (const text of ["a log", "a table"]) assertStringIncludes(stderr, text);
    const shown = await world.run(["session", "export", id, "--format", "json"]);
    assertStringIncludes(shown.stdout, '"terminated"');
  }
});
