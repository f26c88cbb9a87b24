/**
 * Sessions of 200 steps with the Responses API: tools, reasoning, images, a reply that is cut, a server that
 * is busy, a stop by the user, and a process that dies. The server refuses what its vendor refuses and keeps
 * the vendor's prompt cache.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import {
  type Part,
  type RecordedRequest,
  type ScriptedAnswer,
  startModelServer,
} from "../../support/model_server.ts";
import type { ScriptedTurn } from "../../support/model_server.ts";
import { finished, makeWorld, type World } from "../../support/program.ts";
import { type CountedReply, ResponsesWire } from "../../support/wires/responses.ts";

const STEPS = 200;
/** A PNG of one pixel. */
const PIXEL = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);
const never = new Promise<never>(() => {});

/** Requests that do not go as usual, by their number. */
const BUSY = 30;
const CUT = 31;
const KILLED = 80;
const LOST = 110;
const STOPPED = 140;

/** The answer of the model in a step; no two steps are alike, and each kind of step has another shape. */
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
  /** Counts of the server for the replies that came through. */
  readonly counted: readonly CountedReply[];
  /** Usage of all replies in the session's log. */
  readonly logged: readonly CountedReply[];
}

/** Reports the test that the request came by which it stops the program. */
class Signal {
  arrived = Promise.withResolvers<void>();

  async next(): Promise<void> {
    await this.arrived.promise;
    this.arrived = Promise.withResolvers<void>();
  }
}

/** The replies of the server, by the number of the request. */
function script(wire: ResponsesWire, requestsSoFar: () => number, signal: Signal): ScriptedTurn {
  let step = 0;
  return (request) => {
    switch (requestsSoFar()) {
      case BUSY:
        return {
          status: 429,
          headers: { "retry-after": "0" },
          body: { error: { message: "Rate limit reached", code: "rate_limit_exceeded" } },
        };
      case CUT:
        return { ...answer(step), cutAfter: 1500 };
      case KILLED:
        signal.arrived.resolve();
        return { before: never };
      case STOPPED: {
        const begun = [...wire.parts({ text: "I was about to" }, 0, request)].slice(0, 5);
        return { stream: stuckAfter(begun, signal) };
      }
    }
    return step < STEPS ? answer(step++) : { text: "done" };
  };
}

/** Sends what has begun, then reports the test and goes no further. */
function* stuckAfter(begun: readonly Part[], signal: Signal): Generator<Part> {
  yield* begun;
  signal.arrived.resolve();
  yield never;
}

/** Runs the session to its end; the server's rules are checked at every request. */
async function session(wire: ResponsesWire, settings: string): Promise<Session> {
  const signal = new Signal();
  await using server = startModelServer([], {
    wire,
    fallback: (request) => turns(request),
  });
  const turns = script(wire, () => server.requests.length, signal) as (request: RecordedRequest) => object;
  const config = `default_model = "mock"\n[sandbox]\nbash = "off"\n[[providers]]\nname = "mock"\n` +
    `kind = "responses"\nbase_url = "${server.url}"\nmodel = "mock-1"\nvision = true\n${settings}\n`;
  await using world = await makeWorld(config);
  await Deno.writeFile(`${world.dir}/pixel.png`, PIXEL);
  const run = (...words: string[]) =>
    world.spawn(["run", "--permission-mode", "danger-full-access", ...words]);
  for (const [how, ...words] of [["SIGKILL", "go"], ["SIGINT", "-c", "continue"]] as const) {
    const child = await run(...words);
    const ended = finished(child);
    await Promise.race([signal.next(), ended.then(({ stderr }) => assert(false, stderr))]);
    child.kill(how);
    await ended;
  }
  const { stdout, stderr, code } = await finished(await run("-c", "finish it"));
  assertEquals([stdout, code], ["done\n", 0], stderr);
  return {
    requests: server.requests,
    counted: wire.replies.filter(({ request }) => ![CUT, STOPPED].includes(request)).map(({ tokens }) =>
      tokens
    ),
    logged: await loggedUsage(world),
  };
}

async function loggedUsage(world: World): Promise<CountedReply[]> {
  const [{ path }] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  const lines = (await Deno.readTextFile(path)).trimEnd().split("\n").map((line) => JSON.parse(line));
  return lines.filter(({ type, usage }) => type === "message.end" && usage).map(({ usage }) => ({
    input: usage.inputTokens,
    cached: usage.cachedTokens,
    output: usage.outputTokens,
    reasoning: usage.reasoningTokens,
  }));
}

function countOf(body: string, type: string): number {
  return body.split(`"type":"${type}"`).length - 1;
}

Deno.test("a session of 200 steps is valid at every request of the Responses API, and read from its cache", async () => {
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

Deno.test("a session of 200 steps sends little more than what is new when the server keeps it", async () => {
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
