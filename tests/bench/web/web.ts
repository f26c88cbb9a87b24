/** The rows of the web page: in a real browser next to the Go product, and of its server. */
import type { Browser, Page } from "playwright-core";
import { startBrowser } from "../../support/browser.ts";
import { longLog } from "../../support/long_session.ts";
import { treeShare } from "../memory.ts";
import { TOKENS_MS } from "../model/tokens.ts";
import { installedPeers, peerProgram } from "../peers/peers.ts";
import { type Row, row } from "../report.ts";
import { type Bench, wait } from "../runner.ts";
import { firstSession } from "../sessions.ts";
import { appears, heap, keyToFrame, load } from "./page_times.ts";
import { composer, serve, type Served, type WebProgram } from "./served.ts";
import { approvalTimes, readerTimes } from "./stream_times.ts";

const RUNS = 7;
const SETTLE_MS = 1500;
/** Messages of the page and of the long session: each is in one of these. */
const ROWS = ".row[data-key]";
const FIRST_QUESTION = "Do the task.";
const LAST_ANSWER = "The answer for 2501 is that it works.";

/** Times of a visit to the page: milliseconds, KB and MB. */
interface Visit {
  readonly firstPaint: number;
  readonly transferred: number;
  readonly key: number;
  readonly streamKey: number;
  readonly shown: number;
  readonly heap: number;
}

/** Without Linux, which has the memory of processes, there are no rows. */
export async function webRows(bench: Bench): Promise<Row[]> {
  const { program, quick, peers, log } = bench;
  if (Deno.build.os !== "linux" || program.plain === undefined) return [];
  const ours: WebProgram = { program, signIn: true };
  const peer = peers ? (await installedPeers(log)).find(({ name }) => name === "Go Reasonix") : undefined;
  const programs = [ours, ...peer ? [{ program: peerProgram(peer) }] : []];
  const named = peer ? ` (floor: ${peer.name} ${peer.version})` : "";
  const runs = quick ? 2 : RUNS;
  await using started = await startBrowser();
  const { browser } = started;
  const visits = await inTurns(runs, programs, (each) => visit(bench, browser, each));
  const shares = await inTurns(quick ? 1 : 5, programs, (each) => memory(bench, browser, each));
  const long = await longVisits(bench, browser, ours, runs);
  const approvals = await approvalTimes(bench, browser, ours, runs);
  const readers = await readerTimes(bench, ours, quick ? 1 : 5);
  const compared = (figure: string, unit: string, target: Target, of: (visit: Visit) => number) => {
    const [reasonix, floor] = visits.map((list) => list.map(of));
    return row({ figure: figure + named, unit, target, reasonix, floor });
  };
  const alone = (figure: string, unit: string, target: number, reasonix: readonly number[]) =>
    row({ figure, unit, target, reasonix });
  return [
    compared("first paint", "ms", (floor) => Math.min(150, floor || 150), ({ firstPaint }) => firstPaint),
    compared("transferred for the page", "KB", 110, ({ transferred }) => transferred),
    compared("key to the end of its frame", "ms", 17, ({ key }) => key),
    compared("the same, while 2,000 tokens/s come", "ms", 17, ({ streamKey }) => streamKey),
    compared("reply of the model to the screen", "ms", 50, ({ shown }) => shown),
    compared("heap after a turn", "MB", 40, (one) => one.heap),
    alone("session of 10,000 messages: usable", "ms", 500, long.map(({ usable }) => usable)),
    alone("in it: key to the end of its frame", "ms", 17, long.map(({ key }) => key)),
    alone("in it: scrolled back to its beginning, heap", "MB", 40, long.map((one) => one.heap)),
    alone("in it: most mounted rows", "rows", 400, long.map(({ mounted }) => mounted)),
    alone("answer in the page until the turn continues", "ms", 20, approvals),
    row({
      figure: "server with one session, memory (PSS)" + named,
      unit: "MB",
      target: 60,
      reasonix: shares[0],
      floor: shares[1],
    }),
    row({
      figure: "step, ten readers at 2,000 events/s, one stuck (floor: one reader)",
      unit: "ms",
      target: (one) => 1.05 * one,
      reasonix: readers.map(({ ten }) => ten),
      floor: readers.map(({ one }) => one),
    }),
    alone("in it: memory that the server takes more", "MB", 20, readers.map(({ grown }) => grown)),
  ];
}

type Target = number | ((floor: number) => number);

/** Samples of each program, in turns. An uncounted round before them fills the code cache. */
async function inTurns<T>(
  runs: number,
  programs: readonly WebProgram[],
  work: (each: WebProgram) => Promise<T>,
): Promise<T[][]> {
  const samples = programs.map((): T[] => []);
  for (let round = -1; round < runs; round++) {
    for (const [at, each] of programs.entries()) {
      const sample = await work(each);
      if (round >= 0) samples[at]?.push(sample);
    }
  }
  return samples;
}

async function send(page: Page, text: string): Promise<void> {
  const input = await composer(page);
  await input.fill(text);
  await input.press("Enter");
}

async function visit(bench: Bench, browser: Browser, each: WebProgram): Promise<Visit> {
  await using served = await serve(bench, each, { script: "hello" });
  await using context = await served.context(browser);
  const { page, session, ...loaded } = await load(context, served.page);
  const key = await keyToFrame(page);
  const shown = await replyToScreen(bench, served, page);
  const used = await heap(session);
  await using streaming = await serve(bench, each, { script: "tokens" });
  await using other = await streaming.context(browser);
  const { page: busy } = await load(other, streaming.page);
  await send(busy, "Say much.");
  await appears(busy, "some word text read");
  const streamKey = await keyToFrame(busy);
  await wait(TOKENS_MS);
  return { ...loaded, key, shown, heap: used, streamKey };
}

/** From the last byte of the model's reply until the frame that shows it, by the median of three turns. */
async function replyToScreen({ runner: { server } }: Bench, served: Served, page: Page): Promise<number> {
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const appeared = appears(page, "Hello.", 1);
    await send(page, "Do the task.");
    times.push(await appeared);
    await wait(SETTLE_MS);
  }
  const ahead = server.clock() - (performance.timeOrigin + performance.now());
  const { exchanges } = await server.report(served.path);
  const replies = exchanges.map(({ replied }) => replied - ahead);
  // Titles of sessions are requests as well: the reply before the text is meant.
  const waits = times.map((time) => Math.min(...replies.map((reply) => time - reply).filter((ms) => ms > 0)));
  return waits.sort((a, b) => a - b)[1] ?? NaN;
}

/** MB of all processes of the server after a turn. */
async function memory(bench: Bench, browser: Browser, each: WebProgram): Promise<number> {
  await using served = await serve(bench, each, { script: "hello", alone: true });
  await using context = await served.context(browser);
  const { page } = await load(context, served.page);
  const appeared = appears(page, "Hello.", 1);
  await send(page, "Do the task.");
  await appeared;
  await wait(SETTLE_MS);
  return treeShare(served.pid);
}

/** Visits to a session of 10,000 messages. */
async function longVisits(bench: Bench, browser: Browser, ours: WebProgram, runs: number) {
  const home = `${bench.runner.stage.root}/home_web_long`;
  const { id, path, text } = await firstSession(bench, home);
  await Deno.writeTextFile(`${home}/${path}`, longLog(text));
  await using served = await serve(bench, ours, { script: "hello", home });
  const visits: { usable: number; key: number; heap: number; mounted: number }[] = [];
  for (let round = -1; round < runs; round++) {
    await using context = await served.context(browser);
    const { page, session } = await load(context, served.page);
    const began = performance.timeOrigin + performance.now();
    await page.goto(`${served.origin}/s/${id}`);
    const usable = await appears(page, LAST_ANSWER) - began;
    const key = await keyToFrame(page);
    const mounted = await scrollBack(page);
    const visit = { usable, key, heap: await heap(session), mounted };
    if (round >= 0) visits.push(visit);
  }
  return visits;
}

/** Scrolls to the beginning of the session, and returns the most rows that were mounted on the way. */
async function scrollBack(page: Page): Promise<number> {
  let most = 0;
  for (let at = 0; at < 2_000; at++) {
    const { mounted, first } = await page.evaluate(`(() => {
      const rows = document.querySelectorAll(${JSON.stringify(ROWS)});
      rows[0]?.scrollIntoView({ block: "start" });
      return { mounted: rows.length, first: rows[0]?.textContent ?? "" };
    })()`) as { mounted: number; first: string };
    most = Math.max(most, mounted);
    if (first.includes(FIRST_QUESTION)) return most;
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
  }
  throw new Error("The beginning of the session does not come");
}
