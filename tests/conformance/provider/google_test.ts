/**
 * Sessions with Gemini's wire: tools, thoughts, images, a reply that is cut, a server that is busy, a stop by
 * the user, and a process that dies. The server refuses what its vendor refuses, knows each signature that it
 * gave and the part it belongs to, and keeps the vendor's implicit cache.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { soakSize } from "../../support/seed.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../../support/model_server.ts";
import { finished, makeWorld } from "../../support/program.ts";
import { type Counted, type GoogleWire, googleWire, type PartsAnswer } from "../../support/wires/google.ts";

/** A PNG of one pixel. */
const PIXEL = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);
const never = () => new Promise<never>(() => {});

/** The answer of the model in a step; every one of them has another shape. */
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

interface Session {
  readonly requests: readonly RecordedRequest[];
  /** Usage of all replies in the session's log. */
  readonly logged: Counted;
}

interface Plan {
  readonly model: string;
  readonly steps: number;
  /** Numbers of the requests that do not go as usual. */
  readonly busy: number;
  readonly killed: number;
  readonly stopped: number;
}

/** Runs the session; the server's rules are checked at every request. */
async function session(wire: GoogleWire, { model, steps, busy, killed, stopped }: Plan): Promise<Session> {
  let step = 0;
  let arrived: () => void = () => {};
  const happen: Record<number, (request: RecordedRequest) => Turn> = {
    [busy]: () => ({
      status: 429,
      body: {
        error: {
          code: 429,
          message: "You exceeded your current quota, please check your plan and billing details.",
          status: "RESOURCE_EXHAUSTED",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.01s" }],
        },
      },
    }),
    [busy + 1]: () => ({ ...answer(step), cutAfter: 300 }),
    [killed]: () => (arrived(), { before: never() }),
    [stopped]: (request) => {
      const [begun] = wire.parts({ text: "I was about to" }, 0, request);
      return { stream: [begun ?? "", arrival(), never()] };
    },
  };
  const arrival = () => new Promise((resolve) => resolve(arrived()));
  await using server = startModelServer([], {
    wire,
    fallback: (request) => {
      const special = happen[server.requests.length];
      if (special) return special(request);
      return step < steps ? answer(step++) as Turn : { text: "done" };
    },
  });
  await using world = await makeWorld(
    `default_model = "mock"\n[sandbox]\nbash = "off"\n[[providers]]\nname = "mock"\nkind = "google"\n` +
      `base_url = "${server.url}"\nmodel = "${model}"\nvision = true\n`,
  );
  await Deno.writeFile(`${world.dir}/pixel.png`, PIXEL);
  const run = (...words: string[]) =>
    world.spawn(["run", "--permission-mode", "danger-full-access", ...words]);
  for (const [how, ...words] of [["SIGKILL", "go"], ["SIGINT", "-c", "continue"]] as const) {
    const asked = new Promise<void>((resolve) => arrived = resolve);
    const child = await run(...words);
    const ended = finished(child);
    await Promise.race([asked, ended.then(({ stderr }) => assert(false, stderr))]);
    child.kill(how);
    await ended;
  }
  const { stdout, stderr, code } = await finished(await run("-c", "finish it"));
  assertEquals([stdout, code], ["done\n", 0], stderr);
  const [found] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  return { requests: server.requests, logged: await loggedUsage(found.path) };
}

async function loggedUsage(path: string): Promise<Counted> {
  const logged = { input: 0, cached: 0, output: 0, reasoning: 0 };
  for (const line of (await Deno.readTextFile(path)).trimEnd().split("\n")) {
    const { type, usage } = JSON.parse(line);
    if (type !== "message.end" || !usage) continue;
    logged.input += usage.inputTokens;
    logged.cached += usage.cachedTokens;
    logged.output += usage.outputTokens;
    logged.reasoning += usage.reasoningTokens;
  }
  return logged;
}

/** Checks a session: what could come from the cache did, nothing signed was lost, sums agree. */
function check(wire: GoogleWire, { requests, logged }: Session): void {
  const could = wire.inputs.slice(0, -1).reduce((sum, { input }) => sum + input, 0);
  const cached = wire.inputs.slice(1).reduce((sum, input) => sum + input.cached, 0);
  assert(cached / could >= 0.99, `${cached} of ${could} tokens read from the cache`);
  const last = requests.at(-1)?.body ?? "";
  const lost = wire.signatures.given.filter((signature) => !last.includes(signature));
  // Those of the reply that was cut, of which nothing counts.
  assert(lost.length <= 4, `${lost.length} of ${wire.signatures.given.length} signatures lost`);
  assertEquals(wire.signatures.dummies.size, 0);
  assertEquals(logged, wire.counted);
}

const STEPS = soakSize(200, 60);

Deno.test(`a session of ${STEPS} steps is valid at every request of Gemini's wire, and read from its cache`, async () => {
  const wire = googleWire({ counts: true, minimum: 2048 });
  const at = (share: number) => Math.round(share * STEPS);
  const plan = { model: "gemini-3-pro", steps: STEPS, busy: at(0.15), killed: at(0.4), stopped: at(0.7) };
  const done = await session(wire, plan);
  assert(done.requests.length > plan.steps, `${done.requests.length} requests`);
  check(wire, done);
  const last = done.requests.at(-1)?.body ?? "";
  assert(last.includes('"parts":[{"inlineData"') && last.includes('"id":"srv/3"'));
});

Deno.test("a session with a model before generation 3 is valid at every request, its images behind the results", async () => {
  const wire = googleWire({ counts: true, minimum: 1024, generation: 2.5 });
  const plan = { model: "gemini-2.5-flash", steps: 40, busy: 10, killed: 20, stopped: 30 };
  const done = await session(wire, plan);
  check(wire, done);
  assert(done.requests.at(-1)?.body.includes("Images from the tool results above:"));
});
