/** One trace over processes: from the environment to commands, hooks and MCP servers of runs and agents. */
import { startAgentServer } from "../support/agents_stage.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { pluginToml } from "../support/mcp/config.ts";
import { readRecord } from "../support/mcp/scripted_mcp_server.ts";
import type { Turn } from "../support/model_server.ts";
import { OtlpReceiver } from "../support/otlp_receiver.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const INHERITED = { TRACEPARENT: `00-${TRACE}-${SPAN}-01`, TRACESTATE: "a=1" };

/** A line that notes a word and the trace that its process got. */
const noting = (word: string) => `echo "${word} $TRACEPARENT $TRACESTATE" >> seen`;
const calls = (name: string, args: object): Turn => ({ calls: [{ name, args }] });

/** A run and an agent that start processes in every way; what those got, by their words. */
async function run(settings: string) {
  await using server = startAgentServer({
    main: [
      calls("bash", { command: noting("front") }),
      calls("bash", { command: noting("back"), run_in_background: true }),
      calls("mcp__docs__echo", { text: "hello" }),
      calls("task", { prompt: "the agent's work", description: "work" }),
      calls("job_output", { job_id: "job-1", wait_seconds: 60 }),
      { text: "done" },
    ],
    "the agent's work": [calls("bash", { command: noting("agent") }), { text: "worked" }],
  });
  const hook = (event: string, more = "") =>
    `[[hooks]]\nevent = "${event}"\ncommand = '''${noting(event)}'''\n${more}\n`;
  await using world = await makeWorld();
  const record = `${world.home}/record`;
  const config = `[permissions]\nallow = ["Bash", "Task", "mcp__docs__echo"]\n` +
    `[workflow]\nenabled = true\n[workflow.verify_commands]\n"*" = ['''${noting("verify")}''']\n` +
    hook("PreToolUse", 'matcher = "mcp__docs__echo"') + hook("SessionStart") +
    pluginToml("docs", { record }) +
    settings;
  await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(server.url, config));
  const done = await world.run(["run", "go"], { env: INHERITED });
  assertEquals(done.code, 0, done.stderr);
  const lines = (await world.read("seen")).trim().split("\n");
  const [called] = (await readRecord(record)).filter(({ method }) => method === "tools/call");
  const { traceparent, tracestate, ...meta } = called?.params?._meta as Record<string, unknown>;
  return {
    seen: Object.fromEntries(lines.map((line) => {
      const [word = "", ...got] = line.split(" ");
      return [word, got];
    })),
    server: [traceparent, tracestate],
    meta: Object.keys(meta).filter((key) => !key.includes("/")),
  };
}

Deno.test("commands, hooks and MCP servers of a run and of its agents get the spans that are exported", async () => {
  await using receiver = new OtlpReceiver();
  const { seen, server } = await run(`[telemetry]\notlp = "${receiver.url}"\n`);
  /** Names of the span of a header and of those above it; the last is the parent from the environment. */
  const path = ([header = "", state]: readonly unknown[]): string[] => {
    assertEquals(state, "a=1");
    const [, trace, id] = /^00-(\w{32})-(\w{16})-01$/.exec(String(header)) ?? [];
    assertEquals(trace, TRACE);
    const names: string[] = [];
    for (let at = id; at !== undefined;) {
      const span = receiver.spans.find((span) => span.id === at);
      names.push(span?.name.replace(/^(invoke_agent|chat) .*/, "$1") ?? at);
      at = span?.parent;
    }
    return names;
  };
  assertEquals(path(seen.front ?? []), ["execute_tool bash", "invoke_agent", SPAN]);
  assertEquals(path(seen.back ?? []), ["execute_tool bash", "invoke_agent", SPAN]);
  assert(seen.front?.[0] !== seen.back?.[0], "each call has its span");
  assertEquals(path(seen.agent ?? []), [
    "execute_tool bash",
    "invoke_agent",
    "execute_tool task",
    "invoke_agent",
    SPAN,
  ]);
  assertEquals(path(seen.verify ?? []), ["invoke_agent", SPAN]);
  assertEquals(path(server), ["execute_tool mcp__docs__echo", "invoke_agent", SPAN]);
  assertEquals(seen.PreToolUse, server);
  // No span has begun yet.
  assertEquals(seen.SessionStart, Object.values(INHERITED));
});

Deno.test("without telemetry the variables pass as they are, and calls of servers have none", async () => {
  const { seen, server, meta } = await run("");
  const inherited = Object.values(INHERITED);
  for (const word of ["front", "back", "agent", "verify", "PreToolUse", "SessionStart"]) {
    assertEquals(seen[word], inherited, word);
  }
  assertEquals([server, meta], [[undefined, undefined], ["progressToken"]]);
});
