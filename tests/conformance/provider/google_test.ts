/**
 * Sessions with the Gemini API: tools, thinking, images, a truncated reply, a busy server, an interrupt by
 * the user, and a killed process. The server rejects what its vendor rejects, checks each signature with its
 * part, and has the vendor's implicit cache.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { soakSize } from "../../support/seed.ts";
import type { RecordedRequest, Turn } from "../../support/model_server.ts";
import { runWireSession } from "../../support/wire_session.ts";
import { type GoogleWire, googleWire, type PartsAnswer } from "../../support/wires/google.ts";

/** The answer of the model in a step; each step has a different form. */
function answer(step: number): PartsAnswer {
  const call = (name: string, args: unknown, more = {}) => ({ functionCall: { name, args }, ...more });
  const look = (at: number, more = {}) => call("read_file", { path: `f${at}.txt` }, more);
  const note = call("todo_write", { todos: [{ content: `step ${step} 任务🦊`, status: "pending" }] });
  const signed = { signed: true };
  switch (step % 6) {
    case 0:
      return {
        reasoning: [`**Writing** ${step}`, " 任务🦊"],
        calls: [{ name: "write_file", args: { path: `f${step}.txt`, content: `line ${step}\n` } }],
      };
    case 1:
      return {
        parts: [
          { text: "I " },
          { text: `note ${step}`, ...signed },
          { text: ". ", ...signed },
          { ...note, ...signed },
        ],
      };
    case 2:
      return {
        parts: [{ text: `deep ${step}`, thought: true, ...signed }, look(step - 2, signed), look(step - 2)],
      };
    case 3:
      return { calls: [{ id: `srv/${step}`, name: "read_file", args: { path: "pixel.png" } }] };
    case 4:
      return {
        parts: Array.from(
          { length: step % 12 === 4 ? 20 : 2 },
          (_, n) => look(step - 4, n === 0 ? signed : {}),
        ),
      };
    default:
      return { text: `Missing ${step}?`, calls: [{ name: "read_file", args: { path: "missing.txt" } }] };
  }
}

interface Plan {
  readonly model: string;
  readonly steps: number;
  /** Numbers of the requests with a failure. */
  readonly busy: number;
  readonly killed: number;
  readonly stopped: number;
}

const BUSY = {
  status: 429,
  body: {
    error: {
      code: 429,
      message: "You exceeded your current quota, please check your plan and billing details.",
      status: "RESOURCE_EXHAUSTED",
      details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.01s" }],
    },
  },
};

/** Runs a session and checks cache use, signatures and totals. */
async function session(
  wire: GoogleWire,
  { model, steps, ...at }: Plan,
): Promise<readonly RecordedRequest[]> {
  const { requests, logged } = await runWireSession({
    wire,
    entry: `model = "${model}"`,
    steps,
    answer: (step) => answer(step) as Turn,
    at: { ...at, cut: at.busy + 1 },
    busy: BUSY,
    cutAfter: 300,
    begun: (request) => Iterator.from(wire.parts({ text: "I was about to" }, 0, request)).take(1).toArray(),
  });
  const could = wire.inputs.slice(0, -1).reduce((sum, { input }) => sum + input, 0);
  const cached = wire.inputs.slice(1).reduce((sum, input) => sum + input.cached, 0);
  assert(cached / could >= 0.99, `${cached} of ${could} tokens read from the cache`);
  const last = requests.at(-1)?.body ?? "";
  const lost = wire.signatures.given.filter((signature) => !last.includes(signature));
  // Those of the reply that was cut, of which nothing counts.
  assert(lost.length <= 4, `${lost.length} of ${wire.signatures.given.length} signatures lost`);
  assertEquals(wire.signatures.dummies.size, 0);
  const counted = { input: 0, cached: 0, output: 0, reasoning: 0 };
  for (const { inputTokens, cachedTokens, outputTokens, reasoningTokens } of logged) {
    counted.input += inputTokens;
    counted.cached += cachedTokens;
    counted.output += outputTokens;
    counted.reasoning += reasoningTokens;
  }
  assertEquals(counted, wire.counted);
  return requests;
}

const STEPS = soakSize(200, 30);

Deno.test(`a session of ${STEPS} steps is valid for the Gemini API at every request and cached`, async () => {
  const wire = googleWire({ counts: true, minimum: 2048 });
  const at = (share: number) => Math.round(share * STEPS);
  const plan = { model: "gemini-3-pro", steps: STEPS, busy: at(0.15), killed: at(0.4), stopped: at(0.7) };
  const requests = await session(wire, plan);
  assert(requests.length > plan.steps, `${requests.length} requests`);
  const last = requests.at(-1)?.body ?? "";
  assert(last.includes('"parts":[{"inlineData"') && last.includes('"id":"srv/3"'));
});

Deno.test("a session with a model before generation 3 is valid at every request, with images after results", async () => {
  const wire = googleWire({ counts: true, minimum: 1024, generation: 2.5 });
  const plan = { model: "gemini-2.5-flash", steps: 40, busy: 10, killed: 20, stopped: 30 };
  const requests = await session(wire, plan);
  assert(requests.at(-1)?.body.includes("Images from the tool results above:"));
});
