import { tokenKinds } from "../../src/core/mod.ts";
import { lastSession, loadEvents, projectDir } from "../../src/session/mod.ts";
import { startAgentServer } from "../support/agents_stage.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { OtlpReceiver } from "../support/otlp_receiver.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

const SECRET = "sk-live-0123456789abcdef";
const PRICE = 'api_key_env = "MODEL_KEY"\nprice = { input = 1, cached_input = 0.5, output = 2 }';

function startModel() {
  return startAgentServer({
    main: [
      { status: 503, body: "busy" },
      { calls: [{ name: "task", args: { agent: "explore", prompt: "find the alpha" } }] },
      { calls: [{ name: "write_file", args: { path: "new.ts", content: `// ${SECRET}\nexport {};\n` } }] },
      { text: "first answer" },
      { calls: [{ name: "read_file", args: { path: "big.txt" } }] },
      { text: "second answer" },
      { text: "SUMMARY", usage: { input: 900 } },
    ],
    alpha: [{ calls: [{ name: "grep", args: { pattern: "needle" } }] }, { text: "nowhere" }],
  });
}

/**
 * Works in three processes, the second and third of which resume the session; the last one compacts it.
 * Returns the totals of the session's file.
 */
async function work(world: World) {
  await world.write("big.txt", `${SECRET}\n`.repeat(400));
  for (const args of [[`find ${SECRET}`], ["-c", "look again"], ["-c", "/compact"]]) {
    const done = await world.run(["run", "-q", ...args], { env: { MODEL_KEY: SECRET } });
    assertEquals([done.code, done.stderr], [0, ""]);
  }
  const session = lastSession(projectDir(world.home, world.dir));
  if (!session) throw new Error("There is no session");
  return { ...loadEvents(session.path).state, id: session.id };
}

function config(modelUrl: string, receiverUrl: string, names: string): string {
  const telemetry =
    `[telemetry]\notlp = "${receiverUrl}"\nsignals = ["metrics", "logs"]\nnames = "${names}"\n`;
  return mockConfig(modelUrl, "", PRICE) + telemetry;
}

/** The sum over the processes: each has exported its metrics once. */
function total(receiver: OtlpReceiver, name: string, wanted: Record<string, unknown> = {}): number {
  return receiver.metrics.filter((metric) => metric.name === name).flatMap(({ points }) => points)
    .filter(({ attributes }) => Object.entries(wanted).every(([key, value]) => attributes[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

Deno.test("metrics of a run and its continuation add up to the session", async () => {
  await using model = startModel();
  await using receiver = new OtlpReceiver();
  await using world = await makeWorld(config(model.url, receiver.url, "gen_ai"));
  const { usage, costs } = await work(world);
  const used = (name: string) => total(receiver, `gen_ai.client.inference.usage.${name}`);
  assertEquals(
    [used("input_tokens"), used("cache_read.input_tokens"), used("cache_write.input_tokens")],
    [usage.inputTokens, usage.cachedTokens, usage.cacheWriteTokens ?? 0],
  );
  assertEquals(
    [used("output_tokens"), used("reasoning.output_tokens")],
    [usage.outputTokens, usage.reasoningTokens],
  );
  assertEquals(total(receiver, "reasonix.cost").toFixed(9), (costs.USD ?? 0).toFixed(9));
  assert((costs.USD ?? 0) > 0);
  assertEquals(total(receiver, "reasonix.tool.results", { "reasonix.tool.outcome": "ok" }), 4);
  assertEquals(total(receiver, "reasonix.lines", { "reasonix.change": "added" }), 2);
  const duration = receiver.metric("gen_ai.client.inference.duration");
  assertEquals([duration?.unit, duration?.kind, duration?.temporality], ["s", "histogram", "cumulative"]);
  assertEquals(total(receiver, "reasonix.retries", { "error.type": "503" }), 1);
  const points = receiver.metrics.filter(({ name }) => name.startsWith("gen_ai.client."))
    .flatMap(({ points }) => points);
  for (const { attributes } of points) {
    assertEquals(attributes["gen_ai.operation.name"], "chat");
    assertEquals([attributes["gen_ai.provider.name"], attributes["gen_ai.request.model"]], [
      "mock",
      "mock-1",
    ]);
  }
  assertEquals(receiver.raw.some((text) => text.includes(SECRET)), false);
});

Deno.test("dashboards for Claude Code get its metrics and events", async () => {
  await using model = startModel();
  await using receiver = new OtlpReceiver();
  await using world = await makeWorld(config(model.url, receiver.url, "claude_code"));
  const { usage, costs, id } = await work(world);
  const { input, cached, cache_write } = tokenKinds(usage);
  const tokens = (type: string) => total(receiver, "claude_code.token.usage", { type });
  assertEquals(
    ["input", "output", "cacheRead", "cacheCreation"].map(tokens),
    [input, usage.outputTokens, cached, cache_write],
  );
  assertEquals(total(receiver, "claude_code.cost.usage").toFixed(9), (costs.USD ?? 0).toFixed(9));
  const starts = ["fresh", "resume"].map((start_type) =>
    total(receiver, "claude_code.session.count", { start_type })
  );
  assertEquals(starts, [1, 1]);
  assert(total(receiver, "claude_code.token.usage", { query_source: "auxiliary" }) > 900);
  const decision = receiver.metric("claude_code.code_edit_tool.decision")?.points[0]?.attributes;
  assertEquals(decision, {
    "session.id": id,
    tool_name: "Write",
    decision: "accept",
    source: "config",
    language: "TypeScript",
  });
  const usageMetric = receiver.metric("claude_code.token.usage");
  assertEquals([usageMetric?.unit, usageMetric?.temporality, usageMetric?.monotonic], [
    "tokens",
    "delta",
    true,
  ]);
  const events = (name: string) => receiver.logs.filter(({ body }) => body === `claude_code.${name}`);
  assertEquals(
    ["user_prompt", "api_request", "api_error", "tool_decision", "tool_result"].map((name) =>
      events(name).length
    ),
    [2, 8, 1, 4, 4],
  );
  const [error] = events("api_error");
  assertEquals([error?.attributes.status_code, error?.attributes.attempt], [503, 1]);
  const sequence = receiver.logs.map(({ attributes }) => attributes["event.sequence"]);
  assertEquals(sequence.slice(0, 3), [0, 1, 2]);
  const results = events("tool_result").map(({ attributes }) => attributes.tool_name).sort();
  assertEquals(results, ["Grep", "Read", "Task", "Write"]);
  for (const { attributes } of receiver.logs) {
    assertEquals([attributes["session.id"], attributes.prompt, attributes.tool_input], [
      id,
      undefined,
      undefined,
    ]);
  }
  assertEquals(receiver.raw.some((text) => text.includes(SECRET)), false);
});
