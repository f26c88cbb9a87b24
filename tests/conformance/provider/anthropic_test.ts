/**
 * A session of 200 steps with the Messages API: tools, thinking, images, a truncated reply, a busy server, an
 * interrupt by the user, and a killed process. The server rejects what its vendor rejects, signs thinking
 * together with its prefix, and has a prompt cache.
 */
import type { Usage } from "../../../src/core/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { soakSize } from "../../support/seed.ts";
import type { Turn } from "../../support/model_server.ts";
import { runWireSession } from "../../support/wire_session.ts";
import { type AnthropicWire, anthropicWire, type BlockAnswer } from "../../support/wires/anthropic.ts";

/** The answer of the model in a step; each step has a different form. */
function answer(step: number): BlockAnswer {
  const thought = (text: string) => ({ type: "thinking", thinking: `${text} ${step} 任务🦊` });
  const call = (name: string, input: unknown, n = 0) => ({
    type: "tool_use",
    id: `toolu_${step}_${n}`,
    name,
    input,
  });
  const finish = "tool_calls";
  const note = (step: number) => ({ todos: [{ content: `step ${step}`, status: "pending" }] });
  switch (step % 6) {
    case 0:
      return {
        blocks: [thought("write"), call("write_file", { path: `f${step}.txt`, content: `line ${step}\n` })],
        finish,
      };
    case 1:
      return { blocks: [{ type: "text", text: `I note ${step}.` }, call("todo_write", note(step))], finish };
    case 2:
      return {
        blocks: [
          thought("look"),
          "redacted",
          { type: "text", text: "I look. " },
          thought("again"),
          call("read_file", {
            path: `f${step - 2}.txt`,
          }),
        ],
        finish,
      };
    case 3:
      return { blocks: [thought(""), call("read_file", { path: "pixel.png" })], finish };
    case 4: {
      const calls = Array.from(
        { length: step % 12 === 4 ? 30 : 2 },
        (_, n) => call("read_file", { path: `f${step - 4}.txt` }, n),
      );
      return { blocks: [thought("many"), ...calls], finish };
    }
    default:
      return { blocks: [call("read_file", { path: `missing${step}.txt` })], finish };
  }
}

interface Plan {
  readonly steps: number;
  /** Lines of the provider entry. */
  readonly entry: string;
  answer(step: number): BlockAnswer;
}

function totalOf({ fresh, read, written }: AnthropicWire["inputs"][number]): number {
  return fresh + read + written;
}

/** Runs a session and checks each request, its use of the cache, and the totals. */
async function checkSession(wire: AnthropicWire, { steps, entry, answer }: Plan): Promise<void> {
  const at = (share: number) => Math.round(share * steps);
  const { requests, logged } = await runWireSession({
    wire,
    entry: `model = "claude-sonnet-4-5"\n${entry}`,
    steps,
    answer: (step) => answer(step) as Turn,
    at: { busy: at(0.15), cut: at(0.25), killed: at(0.4), stopped: at(0.7) },
    busy: {
      status: 429,
      body: { type: "error", error: { type: "rate_limit_error" } },
      headers: { "retry-after": "0" },
    },
    cutAfter: 700,
    begun: () => [`event: ping\ndata: {"type":"ping"}\n\n`],
  });
  assert(requests.length > steps, `${requests.length} requests`);
  const last = requests.at(-1)?.body ?? "";
  const thoughts = last.match(/"type":"thinking"/g)?.length ?? 0;
  assert(thoughts > steps / 2, `${thoughts} thoughts`);
  assert(last.includes('"type":"image"'));
  // Every byte that one request had is read from the cache by the next, but for the very first ones.
  const inputs = wire.inputs.slice(1);
  const could = wire.inputs.slice(0, -1).reduce((sum, input) => sum + totalOf(input), 0);
  const read = inputs.reduce((sum, input) => sum + input.read, 0);
  assert(read / could >= 0.99, `${read} of ${could} tokens read from the cache`);
  assertEquals(inputs.filter(({ fresh }) => fresh > 0), []);
  const sum = (count: (usage: Usage) => number) => logged.reduce((total, usage) => total + count(usage), 0);
  const written = sum(({ cacheWriteTokens = 0 }) => cacheWriteTokens);
  const cached = sum(({ cachedTokens }) => cachedTokens);
  assertEquals({
    input: sum(({ inputTokens }) => inputTokens) - cached - written,
    read: cached,
    written,
    output: sum(({ outputTokens }) => outputTokens),
  }, wire.counted);
}

const STEPS = soakSize(200, 30);

Deno.test(`a session of ${STEPS} steps is valid for the Messages API at every request and cached`, async () => {
  const plan = { steps: STEPS, entry: "", answer };
  await checkSession(anthropicWire({ counts: true, bound: true }), plan);
});

Deno.test("a session with a thinking budget is valid at every request and cached", async () => {
  const plan: Plan = {
    steps: soakSize(60, 30),
    entry: 'facts = "anthropic"\neffort = "low"\ncache_ttl = "1h"',
    // With a budget a reply begins with a thought.
    answer: (step) => {
      const { blocks = [], ...rest } = answer(step);
      const first = { type: "thinking", thinking: `First ${step}.` };
      return { ...rest, blocks: [first, ...blocks] };
    },
  };
  await checkSession(anthropicWire({ counts: true, thinking: "budget" }), plan);
});
