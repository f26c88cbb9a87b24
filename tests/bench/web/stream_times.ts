/** Times of the server's stream: an answer until the turn continues, and many readers of one turn. */
import type { Browser } from "playwright-core";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { treeShare } from "../memory.ts";
import { type Bench, wait } from "../runner.ts";
import { load, pageAhead } from "./page_times.ts";
import { authorization, composer, post, serve, type Served, type WebProgram } from "./served.ts";

const READERS = 10;
const SETTLE_MS = 500;

/** A reader of one session, which waits for events. */
async function follow({ origin }: Served, session: string) {
  const abort = new AbortController();
  const response = await fetch(`${origin}/api/v1/stream?session=${session}@0`, {
    headers: { authorization },
    signal: abort.signal,
  });
  const waiting: { readonly parts: readonly string[]; readonly found: (time: number) => void }[] = [];
  const reading = (async () => {
    const events = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(
      new EventSourceParserStream(),
    );
    try {
      for await (const { data } of events ?? []) {
        for (const { parts, found } of waiting) if (parts.every((part) => data.includes(part))) found(now());
      }
    } catch { /* aborted */ }
  })();
  return {
    /** When the first event with these texts comes. */
    comes: (...parts: readonly string[]) =>
      new Promise<number>((found) => void waiting.push({ parts, found })),
    async [Symbol.asyncDispose]() {
      abort.abort();
      await reading;
    },
  };
}

/** A reader that takes nothing from its connection. */
async function stuck({ origin }: Served, session: string): Promise<Disposable> {
  const { hostname, port } = new URL(origin);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const lines = [
    `GET /api/v1/stream?session=${session}@0 HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: ${authorization}`,
  ];
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  return { [Symbol.dispose]: () => connection.close() };
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

/** Milliseconds from the key that approves a command until it is allowed, as another reader sees it. */
export async function approvalTimes(bench: Bench, browser: Browser, ours: WebProgram, runs: number) {
  await using served = await serve(bench, ours, { script: "writes" });
  const { session } = served;
  await using reader = await follow(served, session);
  await using context = await served.context(browser);
  const { page } = await load(context, served.page);
  await composer(page);
  await post(served.origin, `/sessions/${session}/messages`, {
    id: crypto.randomUUID(),
    text: "Do the task.",
  });
  const times: number[] = [];
  for (let run = -1; run < runs; run++) {
    const yes = page.locator("dialog[open] .answers button:enabled").first();
    await yes.waitFor();
    const starts = reader.comes('"type":"approval.decision"', `call_${run + 1}_`);
    const ahead = await pageAhead(page);
    const pressed = await yes.evaluate((button) => {
      const time = performance.timeOrigin + performance.now();
      (button as unknown as { click(): void }).click();
      return time;
    });
    const time = await starts - (pressed - ahead);
    if (run >= 0) times.push(time);
  }
  await bench.runner.stage.reset();
  return times;
}

/** Milliseconds of a turn of 8,000 tokens in four seconds, with one reader and with ten (one stuck). */
export async function readerTimes(bench: Bench, ours: WebProgram, runs: number) {
  const found: { one: number; ten: number; grown: number }[] = [];
  for (let run = 0; run < runs; run++) {
    await using served = await serve(bench, ours, { script: "tokens" });
    const { session } = served;
    const turn = async (number: number) => {
      await using reader = await follow(served, session);
      const ended = reader.comes('"type":"turn.end"', `"turn":${number},`);
      const sent = now();
      await post(served.origin, `/sessions/${session}/messages`, { id: crypto.randomUUID(), text: "Go." });
      const took = await ended - sent;
      await wait(SETTLE_MS);
      return took;
    };
    const one = await turn(1);
    const before = treeShare(served.pid);
    await using stack = new AsyncDisposableStack();
    stack.use(await stuck(served, session));
    for (let at = 2; at < READERS; at++) stack.use(await follow(served, session));
    const ten = await turn(2);
    found.push({ one, ten, grown: treeShare(served.pid) - before });
  }
  return found;
}
