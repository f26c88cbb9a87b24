/** The trace that commands, hooks and MCP servers of a run get, by the call that they work for. */
import type { Chunk } from "../../../src/core/mod.ts";
import { assemble } from "../../../src/features/mod.ts";
import { loadTrustedConfig } from "../../../src/run/mod.ts";
import { call, say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assertEquals } from "../../support/assert.ts";
import { readRecord, scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const calls = (...chunks: Chunk[]): Chunk[] => [...chunks, { type: "done", reason: "tool_calls" }];
/** A line that notes a word and the trace that its process got. */
const noting = (word: string) => `echo "${word} $TRACEPARENT $TRACESTATE" >> seen`;

Deno.test("commands, hooks and servers of a run and of its agents get the trace of their call", async () => {
  await using temp = await makeTempDir();
  const paths = {
    cwd: `${temp.path}/work`,
    home: `${temp.path}/home`,
    env: (name: string) => Deno.env.get(name),
  };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const record = `${temp.path}/record`;
  const bash = (id: string, more = {}) => calls(call(id, "bash", { command: noting(id), ...more }));
  const provider = scriptedProvider([
    bash("front"),
    bash("back", { run_in_background: true }),
    calls(call("server", "mcp__docs__echo", { text: "hello" })),
    calls(call("agent", "task", { prompt: "work", description: "work" })),
    bash("inner"),
    say("worked"),
    calls(call("job", "job_output", { job_id: "job-1", wait_seconds: 60 })),
    say("done"),
  ]);
  const hooks = [
    { event: "PreToolUse", matcher: "mcp__docs__echo", command: noting("call-hook") },
    { event: "UserPromptSubmit", command: noting("prompt-hook") },
  ];
  await using assembly = await assemble({
    paths,
    loaded: await loadTrustedConfig({
      ...paths,
      noFiles: true,
      flags: {
        hooks,
        plugins: [{ name: "docs", ...scriptedServer({ record }) }],
        // A busy machine starts servers late.
        tools: { mcp_startup_wait_seconds: 60 },
        permissions: { allow: ["Bash", "Task", "mcp__docs__echo"] },
        workflow: { enabled: true, verify_commands: { "*": [noting("verify")] } },
      },
    }, {}),
    provider,
    telemetry: { traceparent: (session, callId = "open") => `${session}/${callId}`, tracestate: "a=1" },
  });
  const agents: string[] = [];
  assembly.controller.subscribe((event) => {
    if (event.type === "subagent.start") agents.push(event.id);
  });
  await assembly.run("go");
  await assembly.runShell(noting("user"));
  const seen = (await Deno.readTextFile(`${paths.cwd}/seen`)).trim().split("\n").sort();
  const { id } = assembly.session;
  assertEquals(seen.map((line) => line.replace(/own-\w+/, "own")), [
    `back ${id}/back a=1`,
    `call-hook ${id}/server a=1`,
    `front ${id}/front a=1`,
    `inner ${agents[0]}/inner a=1`,
    `prompt-hook ${id}/open a=1`,
    `user ${id}/shell-2 a=1`,
    `verify ${id}/own a=1`,
  ]);
  const [called] = (await readRecord(record)).filter(({ method }) => method === "tools/call");
  const { traceparent, tracestate } = called?.params?._meta as Record<string, unknown>;
  assertEquals([traceparent, tracestate], [`${id}/server`, "a=1"]);
});
