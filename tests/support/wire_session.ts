/**
 * A long session of the real program with a scripted wire: a busy server, a reply that is cut, a process that
 * dies, and a stop by the user. The wire checks its vendor's rules at every request.
 */
import type { Usage } from "../../src/core/mod.ts";
import { assert, assertEquals } from "./assert.ts";
import { type Part, type RecordedRequest, startModelServer, type Turn } from "./model_server.ts";
import { finished, makeWorld } from "./program.ts";
import type { ScriptedWire } from "./wires/scripted_wire.ts";

/** A PNG of one pixel, which the model reads as pixel.png. */
const PIXEL = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);
const never = () => new Promise<never>(() => {});

export interface WireSession {
  readonly wire: ScriptedWire;
  /** Lines of the provider entry, its model among them. */
  readonly entry: string;
  readonly steps: number;
  /** The answer of the model in a step. */
  answer(step: number): Turn;
  /** Numbers of the requests that do not end as usual. */
  readonly at: {
    readonly busy: number;
    readonly cut: number;
    readonly killed: number;
    readonly stopped: number;
  };
  readonly busy: Turn;
  /** Bytes of the reply that is cut. */
  readonly cutAfter: number;
  /** The beginning of the reply during which the user stops the program. */
  begun(request: RecordedRequest): readonly Part[];
}

/** Runs the session to its end; returns the requests, and the usage of all replies in the session's log. */
export async function runWireSession(
  { wire, entry, steps, answer, at, busy, cutAfter, begun }: WireSession,
): Promise<{ readonly requests: readonly RecordedRequest[]; readonly logged: readonly Usage[] }> {
  let step = 0;
  let arrived = Promise.withResolvers<void>();
  function* stuckAfter(parts: readonly Part[]): Generator<Part> {
    yield* parts;
    arrived.resolve();
    yield never();
  }
  const special: Record<number, (request: RecordedRequest) => Turn> = {
    [at.busy]: () => busy,
    [at.cut]: () => ({ ...answer(step), cutAfter }),
    [at.killed]: () => (arrived.resolve(), { before: never() }),
    [at.stopped]: (request) => ({ stream: stuckAfter(begun(request)) }),
  };
  await using server = startModelServer([], {
    wire,
    fallback: (request) => {
      const turn = special[server.requests.length]?.(request);
      return turn ?? (step < steps ? answer(step++) : { text: "done" });
    },
  });
  await using world = await makeWorld(
    `default_model = "mock"\n[sandbox]\nbash = "off"\n[[providers]]\nname = "mock"\nkind = "${wire.kind}"\n` +
      `base_url = "${server.url}"\nvision = true\n${entry}\n`,
  );
  await Deno.writeFile(`${world.dir}/pixel.png`, PIXEL);
  const run = (...words: string[]) =>
    world.spawn(["run", "--permission-mode", "danger-full-access", ...words]);
  for (const [signal, ...words] of [["SIGKILL", "go"], ["SIGINT", "-c", "continue"]] as const) {
    arrived = Promise.withResolvers();
    const child = await run(...words);
    const ended = finished(child);
    await Promise.race([arrived.promise, ended.then(({ stderr }) => assert(false, stderr))]);
    child.kill(signal);
    await ended;
  }
  const { stdout, stderr, code } = await finished(await run("-c", "finish it"));
  assertEquals([stdout, code], ["done\n", 0], stderr);
  const [{ path }] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  const lines = (await Deno.readTextFile(path)).trimEnd().split("\n").map((line) => JSON.parse(line));
  const logged = lines.filter(({ type, usage }) => type === "message.end" && usage).map(({ usage }) => usage);
  return { requests: server.requests, logged };
}
