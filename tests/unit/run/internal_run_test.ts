import {
  createAgent,
  type Event,
  type Provider,
  ReasonixError,
  runInternal,
  type Tool,
} from "../../../mod.ts";
import { assertEquals, assertRejects } from "../../support/assert.ts";
import { call, say, scriptedProvider } from "../../support/agent_fixture.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { jailed } from "../sandbox/jail/jail_support.ts";

const USAGE = { inputTokens: 1_000_000, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
const PRICE = { input: 1, cachedInput: 1, output: 1, currency: "USD" };

/** Replies with the request and whether it had tools. */
const echo: Provider = {
  name: "echo",
  model: { provider: "echo", id: "echo-1", contextWindow: 0, vision: false, price: PRICE },
  async *stream({ messages, prefix }) {
    const last = messages.at(-1);
    yield { type: "text", text: `${prefix.tools.length > 0 ? "tools" : "no tools"}: ${last?.content}` };
    yield { type: "usage", usage: USAGE };
    yield { type: "done", reason: "stop" };
  },
};

Deno.test("runInternal runs a completion outside of the conversation and adds its cost to the agent", async () => {
  const events: Event[] = [];
  await using agent = await createAgent({ provider: echo, onEvent: (event) => void events.push(event) });
  const made = await runInternal(agent, { prompt: "@nothing here", capture: "raw" });
  assertEquals([made.text, made.outcome.reason], ["no tools: @nothing here", "done"]);
  assertEquals(made.events?.some(({ type }) => type === "message.end"), true);
  const end = events.find((event) => event.type === "subagent.end");
  assertEquals(end?.cost, { amount: 1, currency: "USD" });
  // The conversation itself has nothing of it.
  assertEquals(agent.controller.recorder.messages.filter(({ role }) => role === "assistant"), []);
  const turn = await agent.run("hello");
  assertEquals([turn.answer, turn.cost], ["tools: hello", { amount: 2, currency: "USD" }]);
});

Deno.test("runInternal runs an agent with the given tools and returns all of its text", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, "content\n");
  const provider = scriptedProvider([
    [{ type: "text", text: "I look." }, call("1", "read_file", { path: "a.txt" }), {
      type: "done",
      reason: "tool_calls",
    }],
    say("It is there."),
  ]);
  const made = await runInternal({ provider, cwd: dir.path }, {
    prompt: "look",
    steps: 3,
    overrides: { tools: ["read_file"] },
    output: "full",
  });
  assertEquals([made.text, made.outcome.steps], ["I look.\n\nIt is there.", 1]);
});

Deno.test("runInternal applies the cost limit of the agent and rejects an unknown model", async () => {
  await using agent = await createAgent({ provider: echo, config: { agent: { max_cost: 1.5 } } });
  assertEquals((await runInternal(agent, { prompt: "one" })).outcome.reason, "done");
  assertEquals((await runInternal(agent, { prompt: "two" })).outcome.reason, "done");
  await assertRejects(() => runInternal(agent, { prompt: "three" }), ReasonixError);
  await assertRejects(
    () => runInternal(agent, { prompt: "x", overrides: { model: "none/such" } }),
    ReasonixError,
  );
  await assertRejects(() => runInternal(agent, { prompt: "x", signal: AbortSignal.abort() }));
});

Deno.test("runInternal gives an agent its name, its tools in place of built-in ones, and the form of its answer", async () => {
  const offered: string[][] = [];
  const scripted = scriptedProvider([
    [call("1", "read_file", { path: "a.txt" }), call("2", "find", {}), {
      type: "done",
      reason: "tool_calls",
    }],
    say("wrong"),
    say("right"),
  ]);
  const provider: Provider = {
    ...scripted,
    stream(request, signal) {
      offered.push(request.prefix.tools.map(({ name }) => name));
      return scripted.stream(request, signal);
    },
  };
  const tool = (name: string, content: string): Tool => ({
    name,
    description: name,
    schema: { type: "object", properties: {} },
    readOnly: true,
    reads: () => [],
    execute: () => Promise.resolve({ content, summary: name }),
  });
  const events: Event[] = [];
  await using agent = await createAgent({
    provider,
    config: { lsp: { tools: true } },
    onEvent: (event) => void events.push(event),
  });
  const made = await runInternal(agent, {
    prompt: "look",
    agent: "review",
    description: "a look",
    steps: 5,
    tools: [tool("read_file", "from objects"), tool("find", "found")],
    answerForm: {
      request: "Answer with right.",
      problem: (answer) => Promise.resolve(answer === "right" ? undefined : "That is not right."),
    },
    overrides: { tools: ["grep"], readOnly: true, offline: true },
    capture: "raw",
  });
  assertEquals([made.text, made.outcome.reason], ["right", "done"]);
  assertEquals(offered[0], ["read_file", "grep", "find"]);
  const results = made.events?.flatMap((event) => event.type === "tool.end" ? [event.content] : []);
  assertEquals(results, ["from objects", "found"]);
  const texts = scripted.requests.at(-1)?.filter(({ role }) => role === "user").map(({ content }) => content);
  assertEquals(texts?.slice(-2), [
    "Answer with right.\n\nlook",
    "That is not right.\nAnswer again: the corrected JSON value and nothing else.",
  ]);
  assertEquals(
    events.flatMap((event) => event.type === "subagent.start" ? [event.agent, event.description] : []),
    [
      "review",
      "a look",
    ],
  );
});

Deno.test("a model that is not configured is reported once, whatever the number of runs", async () => {
  const texts: string[] = [];
  await using agent = await createAgent({
    provider: echo,
    config: { agent: { subagent_models: { review: "gone/x" } } },
    onEvent: (event) => void (event.type === "notice" && event.code === "agents" && texts.push(event.text)),
  });
  for (const prompt of ["one", "two"]) await runInternal(agent, { prompt, agent: "review" });
  await runInternal(agent, { prompt: "three", agent: "other" });
  assertEquals(texts.map((text) => text.replace(/\(.*/, "(")), ['agent review: Unknown model "gone/x" (']);
});

Deno.test({
  ...jailed("commands of an offline run reach no network, although those of its agent do"),
  async fn() {
    await using dir = await makeTempDir();
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => new Response(""));
    const command = `bash -c "exec 3<>/dev/tcp/127.0.0.1/${server.addr.port}" && echo reached`;
    const results: boolean[] = [];
    for (const offline of [false, true]) {
      const provider = scriptedProvider([
        [call("1", "bash", { command }), { type: "done", reason: "tool_calls" }],
        say("done"),
      ]);
      const config = { sandbox: { network: true } };
      await using agent = await createAgent({ provider, cwd: dir.path, config, onAsk: "allow" });
      await runInternal(agent, { prompt: "look", steps: 2, overrides: { tools: ["bash"], offline } });
      const result = provider.requests.at(-1)?.findLast(({ role }) => role === "tool");
      results.push(String(result?.content).startsWith("reached"));
    }
    await server.shutdown();
    assertEquals(results, [true, false]);
  },
});
