/**
 * Sessions of 200 steps with the Responses API: tools, reasoning, images, a truncated reply, a busy server,
 * an interrupt by the user, and a killed process. The server rejects what its vendor rejects and has the
 * vendor's prompt cache.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import type { RecordedRequest, ScriptedAnswer } from "../../support/model_server.ts";
import { runWireSession } from "../../support/wire_session.ts";
import { type CountedReply, ResponsesWire } from "../../support/wires/responses.ts";

const STEPS = 200;

/** Requests with a failure, by number. */
const BUSY = 30;
const CUT = 31;
const KILLED = 80;
const LOST = 110;
const STOPPED = 140;

/** The answer of the model in a step; steps differ, and each kind has a different form. */
function answer(step: number): ScriptedAnswer {
  const note = { name: "todo_write", args: { todos: [{ content: `step ${step}`, status: "pending" }] } };
  const look = (at: number) => ({ name: "read_file", args: { path: `f${at}.txt` } });
  switch (step % 5) {
    case 0:
      return {
        reasoning: `I write ${step} 任务🦊`,
        calls: [{ name: "write_file", args: { path: `f${step}.txt`, content: `line ${step}\n` } }],
      };
    case 1:
      return {
        reasoning: `First ${step}.\n\nThen ${step}.`,
        text: [`I look at ${step}`, ", and note it."],
        calls: [look(step - 1), note],
      };
    case 2:
      return { text: `Noted ${step}.`, calls: [note] };
    case 3:
      return { reasoning: `A picture? ${step}`, calls: [{ name: "read_file", args: { path: "pixel.png" } }] };
    default:
      return { calls: [look(step - 4), look(step + 1000), note] };
  }
}

interface Session {
  readonly requests: readonly RecordedRequest[];
  /** Counts of the server for the completed replies. */
  readonly counted: readonly CountedReply[];
  /** Usage of all replies in the session's log. */
  readonly logged: readonly CountedReply[];
}

/** Runs the session to its end and checks the server's rules at every request. */
async function session(wire: ResponsesWire, settings: string): Promise<Session> {
  const { requests, logged } = await runWireSession({
    wire,
    entry: `model = "mock-1"\n${settings}`,
    steps: STEPS,
    answer,
    at: { busy: BUSY, cut: CUT, killed: KILLED, stopped: STOPPED },
    busy: {
      status: 429,
      headers: { "retry-after": "0" },
      body: { error: { message: "Rate limit reached", code: "rate_limit_exceeded" } },
    },
    cutAfter: 1500,
    begun: (request) => [...wire.parts({ text: "I was about to" }, 0, request)].slice(0, 5),
  });
  const whole = wire.replies.filter(({ request }) => ![CUT, STOPPED].includes(request));
  return {
    requests,
    counted: whole.map(({ tokens }) => tokens),
    logged: logged.map(({ inputTokens, cachedTokens, outputTokens, reasoningTokens }) => ({
      input: inputTokens,
      cached: cachedTokens,
      output: outputTokens,
      reasoning: reasoningTokens,
    })),
  };
}

function countOf(body: string, type: string): number {
  return body.split(`"type":"${type}"`).length - 1;
}

Deno.test("a session of 200 steps is valid for the Responses API at every request and cached", async () => {
  const wire = new ResponsesWire({ counts: true });
  const { requests, counted, logged } = await session(wire, 'effort = "low"');
  assert(requests.length > STEPS, `${requests.length} requests`);
  const last = requests.at(-1)?.body ?? "";
  assert(countOf(last, "reasoning") > STEPS / 2, `${countOf(last, "reasoning")} items of reasoning`);
  assert(countOf(last, "input_image") > STEPS / 10);
  assertEquals(logged, counted);
  // The cache reads whole steps of 128 tokens; every one of them that the request before had is read.
  const all = wire.replies.map(({ tokens }) => tokens);
  for (const [at, { input }] of all.slice(0, -1).entries()) {
    const next = all[at + 1];
    assert(next && next.cached >= Math.floor(input / 128) * 128, `reply ${at + 1}: ${JSON.stringify(next)}`);
  }
  const sum = (field: keyof CountedReply) => all.slice(1).reduce((total, one) => total + one[field], 0);
  const share = sum("cached") / sum("input");
  assert(share >= 0.985, `${share} of the input came from the cache`);
});

Deno.test("a session of 200 steps sends little more than the new items when the server stores it", async () => {
  const wire = new ResponsesWire({ counts: true, losesAt: LOST });
  const { requests, counted, logged } = await session(wire, "store = true");
  assertEquals(logged, counted);
  const whole = requests.flatMap(({ json }, at) => json.previous_response_id === undefined ? [at + 1] : []);
  // All of it goes out first, and when the server has lost its replies, once.
  assertEquals(whole, [1, LOST + 1]);
  const longest = Math.max(
    ...requests.filter((_, at) => !whole.includes(at + 1)).map(({ json }) =>
      JSON.stringify(json.input).length
    ),
  );
  assert(longest < 6000, `${longest} characters of items in a request`);
});
