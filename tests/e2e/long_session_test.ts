import { startModelServer } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals } from "../support/assert.ts";

const TURNS = 2_500;
const usage = { inputTokens: 100, cachedTokens: 0, outputTokens: 10, reasoningTokens: 0 };

/** A session of 10,000 messages, about 8 MB, behind the given lines. */
function longLog(lines: string): string {
  const time = "2026-01-01T00:00:00.000Z";
  let seq = lines.split("\n").length;
  const made: string[] = [lines];
  const add = (event: Record<string, unknown>) =>
    made.push(`${JSON.stringify({ v: 1, seq: ++seq, time, ...event })}\n`);
  for (let turn = 2; turn < TURNS + 2; turn++) {
    const call = { id: `c${turn}`, name: "read_file", arguments: `{"path":"src/file${turn}.ts"}` };
    const reply = { type: "message.end", model: "mock-1", usage, durationMs: 5 };
    const answer = `The answer for ${turn} is that it works. `.repeat(6);
    add({ type: "turn.start", turn });
    add({ type: "message.user", content: `What about ${turn}? `.repeat(8), origin: "user" });
    add({ ...reply, step: 1, content: "Looking.", calls: [call], finish: "tool_calls" });
    add({ type: "tool.start", call, readOnly: true, summary: "a file" });
    const content = `line ${turn} of the file with some text in it\n`.repeat(25);
    const end = { callId: call.id, name: call.name, outcome: "ok", summary: "25 lines", durationMs: 1 };
    add({ type: "tool.end", ...end, content });
    add({ ...reply, step: 2, content: answer, finish: "stop" });
    add({ type: "turn.end", turn, reason: "done", answer, steps: 2, usage, durationMs: 12 });
  }
  return made.join("");
}

Deno.test({
  name: "resuming 10,000 messages sends all of them and takes at most 60 MB more than a new session",
  ignore: Deno.build.os !== "linux",
  async fn() {
    let pid = 0;
    const peaks: number[] = [];
    await using server = startModelServer([], {
      check: { prefix: false },
      fallback: async () => {
        const status = await Deno.readTextFile(`/proc/${pid}/status`);
        peaks.push(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
        return { text: "ok" };
      },
    });
    await using world = await makeWorld(mockConfig(server.url));
    const run = async (...args: string[]) => {
      const child = await world.spawn(["run", ...args]);
      pid = child.pid;
      assertEquals((await finished(child)).code, 0);
    };
    await run("begin");
    const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
    await Deno.writeTextFile(session.path, longLog(await Deno.readTextFile(session.path)));
    await run("-c", "go on");
    assertEquals(server.requests[1]?.json.messages.length, 4 + 4 * TURNS + 1);
    const [fresh = 0, resumed = Infinity] = peaks;
    assert(resumed - fresh <= 60, `${Math.round(resumed - fresh)} MB more than the ${Math.round(fresh)} MB`);
  },
});
