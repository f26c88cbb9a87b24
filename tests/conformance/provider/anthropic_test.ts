/**
 * A session of 200 steps with the Messages API: tools, thoughts, images, a reply that is cut, a busy server,
 * a stop by the user, and a process that dies. The server refuses what its vendor refuses, signs thoughts
 * over all that came before them, and keeps a prompt cache.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { soakSize } from "../../support/seed.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../../support/model_server.ts";
import { finished, makeWorld, mockConfig } from "../../support/program.ts";
import { type AnthropicWire, anthropicWire, type BlockAnswer } from "../../support/wires/anthropic.ts";

/** A PNG of one pixel. */
const PIXEL = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);

/** The answer of the model in a step; every one of them has another shape. */
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

interface Session {
  readonly wire: AnthropicWire;
  readonly requests: readonly RecordedRequest[];
  /** Usage of all replies in the session's log. */
  readonly logged: { input: number; read: number; written: number; output: number };
}

interface Plan {
  readonly steps: number;
  /** Lines of the provider entry. */
  readonly entry: string;
  answer(step: number): BlockAnswer;
}

/** Runs the session; the server's rules are checked at every request. */
async function session(wire: AnthropicWire, { steps, entry, answer }: Plan): Promise<Session> {
  let step = 0;
  const at = (share: number) => Math.round(share * steps);
  let arrived: () => void = () => {};
  const hang = () => new Promise<never>(() => {});
  const happen: Record<number, (request: RecordedRequest) => Turn> = {
    [at(0.15)]: () => ({
      status: 429,
      body: { type: "error", error: { type: "rate_limit_error" } },
      headers: { "retry-after": "0" },
    }),
    [at(0.25)]: () => ({ ...answer(step), cutAfter: 700 }),
    [at(0.4)]: () => (arrived(), { before: hang() }),
    [at(0.7)]: () => ({ stream: [`event: ping\ndata: {"type":"ping"}\n\n`, arrival(), hang()] }),
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
  const config = mockConfig(server.url, '[sandbox]\nbash = "off"', `vision = true\n${entry}`)
    .replace('"openai"', '"anthropic"').replace('"mock-1"', '"claude-sonnet-4-5"');
  await using world = await makeWorld(config);
  await Deno.writeFile(`${world.dir}/pixel.png`, PIXEL);
  const run = (...words: string[]) =>
    world.spawn(["run", "--permission-mode", "danger-full-access", ...words]);
  const stopped = async (signal: Deno.Signal, ...words: string[]) => {
    const asked = new Promise<void>((resolve) => arrived = resolve);
    const child = await run(...words);
    const ended = finished(child);
    const early = await Promise.race([asked, ended]);
    assert(!early, `ended early: ${early?.stderr}`);
    child.kill(signal);
    await ended;
  };
  await stopped("SIGKILL", "go");
  await stopped("SIGINT", "-c", "continue");
  const { stdout, stderr, code } = await finished(await run("-c", "finish it"));
  assertEquals([stdout, code], ["done\n", 0], stderr);
  const [found] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  return { wire, requests: server.requests, logged: await loggedUsage(found.path) };
}

async function loggedUsage(path: string): Promise<Session["logged"]> {
  const logged = { input: 0, read: 0, written: 0, output: 0 };
  for (const line of (await Deno.readTextFile(path)).trimEnd().split("\n")) {
    const { type, usage } = JSON.parse(line);
    if (type !== "message.end" || !usage) continue;
    const written = usage.cacheWriteTokens ?? 0;
    logged.input += usage.inputTokens - usage.cachedTokens - written;
    logged.read += usage.cachedTokens;
    logged.written += written;
    logged.output += usage.outputTokens;
  }
  return logged;
}

function totalOf({ fresh, read, written }: AnthropicWire["inputs"][number]): number {
  return fresh + read + written;
}

/** Checks what the server saw: a valid request each time, the one before read from the cache, true totals. */
function checkSession({ wire, requests, logged }: Session, { steps }: Plan): void {
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
  assertEquals(logged, wire.counted);
}

const STEPS = soakSize(200, 60);

Deno.test(`a session of ${STEPS} steps is valid at every request of the Messages API, and read from its cache`, async () => {
  const plan = { steps: STEPS, entry: "", answer };
  checkSession(await session(anthropicWire({ counts: true, bound: true }), plan), plan);
});

Deno.test("a session with a budget for thoughts is valid at every request, and read from the cache", async () => {
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
  checkSession(await session(anthropicWire({ counts: true, thinking: "budget" }), plan), plan);
});
