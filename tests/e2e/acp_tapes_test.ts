/** Whole runs of clients are kept as tapes, and the program says the same again. */
import { methods, type PromptRequest, type SessionUpdate } from "@agentclientprotocol/sdk";
import SCHEMA from "@agentclientprotocol/sdk/schema" with { type: "json" };
import { startAcp } from "../support/acp.ts";
import { compareTape, Names, readTape, replay } from "../support/acp_tape.ts";
import { assertEquals } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { acpxConfig, startAcpxModel } from "../support/record_acpx.ts";

const { agent, client, protocol } = methods;

Deno.test("acpx prompts, lists sessions, cancels, and sets mode and model unchanged", async () => {
  await using server = startAcpxModel();
  await using world = await makeWorld(acpxConfig(server));
  const names = new Names(world);
  const lines = await replay(world, await readTape("acpx"), names, async ({ method }) => {
    if (method === agent.session.cancel) await server.received(4);
  });
  await compareTape("acpx", lines, names);
});

/** Kinds of updates of the schema, without pieces of a summary: the program sends summaries as a whole. */
const KINDS = SCHEMA.$defs.SessionUpdate.oneOf.map((each) => each.properties.sessionUpdate.const)
  .filter((kind) => kind !== "compaction_summary_chunk");

Deno.test("the official client sends every request, and gets every request and update of an agent", async () => {
  await using server = startModelServer([
    {
      reasoning: "It is simple.",
      text: "First a list.",
      calls: [
        { name: "todo_write", args: { todos: [{ content: "Write a.txt", status: "in_progress" }] } },
        { name: "write_file", args: { path: "a.txt", content: "one\n" } },
        { name: "bash", args: { command: "echo hi" } },
        {
          name: "ask",
          args: { questions: [{ question: "Which?", options: [{ label: "This" }, { label: "That" }] }] },
        },
      ],
    },
    { text: "Done." },
    { calls: [{ name: "read_file", args: { path: "long.txt" } }] },
    { text: "It is long." },
    { text: "Nothing more." },
    { text: "The user wanted a file." },
    async ({ gone }) => (await gone, { text: "never" }),
    async ({ gone }) => (await gone, { text: "never" }),
  ], { check: { prefix: false } });
  const extra = '[sandbox]\nbash = "off"\n';
  await using world = await makeWorld(mockConfig(server.url, extra, "context_window = 100000"));
  const more = `${world.dir}/../more`;
  await Deno.mkdir(more);
  await world.write("long.txt", "A line of a long text.\n".repeat(1000));
  const acp = await startAcp(world, {
    capabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      auth: { terminal: true },
      elicitation: { form: {} },
      session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
      _meta: { terminal_output: true },
    },
    on: {
      [client.session.requestPermission]: ({ params: { options } }) => ({
        outcome: {
          outcome: "selected",
          optionId: options.find(({ kind }) => kind === "allow_once")?.optionId ?? "",
        },
      }),
      [client.fs.readTextFile]: async ({ params: { path } }) => ({ content: await Deno.readTextFile(path) }),
      [client.fs.writeTextFile]: async ({ params: { path, content } }) => {
        await Deno.writeTextFile(path, content);
        return {};
      },
      [client.elicitation.create]: () => ({ action: "accept", content: { choice_0: "That" } }),
    },
  });
  await acp.error(agent.authenticate, { methodId: "setup" });
  await acp.error(agent.logout, {});
  const place = { cwd: world.dir, mcpServers: [] };
  const additionalDirectories = [await Deno.realPath(more)];
  const { sessionId } = await acp.agent.request(agent.session.new, { ...place, additionalDirectories });
  await acp.agent.request(agent.session.setMode, { sessionId, modeId: "auto" });
  await acp.agent.request(agent.session.setConfigOption, { sessionId, configId: "mode", value: "ask" });
  assertEquals(await acp.prompt(sessionId, "Write a file"), "end_turn");
  for (const text of ["Read long.txt", "And now?", "/compact"]) {
    assertEquals(await acp.prompt(sessionId, text), "end_turn");
  }

  const stopped = acp.prompt(sessionId, "Take your time");
  await server.received(7);
  await acp.agent.notify(agent.session.cancel, { sessionId });
  assertEquals(await stopped, "cancelled");
  const stopping = new AbortController();
  const request: PromptRequest = { sessionId, prompt: [{ type: "text", text: "Take more time" }] };
  const cancelled = acp.agent.request(agent.session.prompt, request, { cancellationSignal: stopping.signal });
  await server.received(8);
  stopping.abort();
  assertEquals((await cancelled).stopReason, "cancelled");

  await acp.agent.request(agent.session.list, { cwd: world.dir });
  await acp.agent.request(agent.session.close, { sessionId });
  await acp.agent.request(agent.session.resume, { ...place, sessionId });
  await acp.agent.request(agent.session.close, { sessionId });
  await acp.agent.request(agent.session.load, { ...place, sessionId });
  await acp.agent.request(agent.session.delete, { sessionId });
  const { code, stderr } = await acp.end();
  assertEquals([code, stderr], [0, ""]);

  const said = (from: "client" | "agent") =>
    new Set(acp.tape.lines.flatMap((line) => line.from === from ? line.message.method ?? [] : []));
  const { session, ...rest } = agent;
  const all = [...Object.values(rest), ...Object.values(session), protocol.cancelRequest];
  assertEquals([...said("client")].sort(), all.sort());
  const { session: { requestPermission, update }, fs, elicitation: { create } } = client;
  assertEquals([...said("agent")].sort(), [requestPermission, update, ...Object.values(fs), create].sort());
  const kinds = new Set(acp.updates().map(({ sessionUpdate }: SessionUpdate) => sessionUpdate as string));
  assertEquals(KINDS.filter((kind) => !kinds.has(kind)), []);
  await compareTape("official", acp.tape.lines, new Names(world));
});
