/** Times in a page, taken by the page's clock: paint, keys, and a text that appears. */
import type { BrowserContext, CDPSession, Page } from "playwright-core";
import { median } from "../figures.ts";
import { wait } from "../runner.ts";
import { composer } from "./served.ts";

/** Keys of someone who types very fast; not in step with the frames of a screen. */
const KEY_MS = 37;
const LETTERS = "qzxwvkjpqzxwvkjpqzxwvkjp";
const SETTLE_MS = 300;

/** Runs before the scripts of a page: times of keys with their frames, and of texts that appear. */
const WATCH = `(() => {
  const afterFrame = (then) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => then(performance.now());
    channel.port2.postMessage(0);
  });
  window.benchKeys = [];
  addEventListener("keydown", ({ timeStamp }) => afterFrame((now) => benchKeys.push(now - timeStamp)), true);
  const count = (text) => (document.body?.textContent ?? "").split(text).length - 1;
  window.benchAppears = (text, more) => new Promise((resolve) => {
    const least = more ? count(text) + more : 1;
    const look = () => {
      if (count(text) < least) return requestAnimationFrame(look);
      const channel = new MessageChannel();
      channel.port1.onmessage = () => resolve(performance.timeOrigin + performance.now());
      channel.port2.postMessage(0);
    };
    look();
  });
})()`;

/** An open page, with its first paint and its size. */
export interface Load {
  readonly firstPaint: number;
  /** KB over the network. */
  readonly transferred: number;
  readonly page: Page;
  readonly session: CDPSession;
}

/** Opens a page with a watch on its network. */
export async function load(context: BrowserContext, address: string): Promise<Load> {
  await context.addInitScript(WATCH);
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let transferred = 0;
  session.on("Network.loadingFinished", ({ encodedDataLength }) => void (transferred += encodedDataLength));
  await session.send("Network.enable");
  await page.goto(address);
  await composer(page);
  await wait(SETTLE_MS);
  const firstPaint = Number(
    await page.evaluate(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN`),
  );
  return { firstPaint, transferred: transferred / 1024, page, session };
}

/** The median time from a key to the end of the frame that shows it. */
export async function keyToFrame(page: Page): Promise<number> {
  const input = await composer(page);
  await input.focus();
  await page.evaluate("void (benchKeys.length = 0)");
  for (const letter of LETTERS) {
    await page.keyboard.press(letter);
    await wait(KEY_MS);
  }
  await wait(SETTLE_MS);
  const times = await page.evaluate("benchKeys") as number[];
  await input.fill("");
  return median(times) ?? NaN;
}

/** When a text had appeared, or `more` times in addition, on the clock of this process. */
export async function appears(page: Page, text: string, more = 0): Promise<number> {
  const time = Number(await page.evaluate(`benchAppears(${JSON.stringify(text)}, ${more})`));
  return time - await pageAhead(page);
}

/** Milliseconds that the clock of the page is ahead of this process. */
export async function pageAhead(page: Page): Promise<number> {
  let found = { took: Infinity, ahead: 0 };
  for (let question = 0; question < 10; question++) {
    const before = performance.timeOrigin + performance.now();
    const theirs = Number(await page.evaluate("performance.timeOrigin + performance.now()"));
    const took = performance.timeOrigin + performance.now() - before;
    if (took < found.took) found = { took, ahead: theirs - before - took / 2 };
  }
  return found.ahead;
}

/** MB of the JavaScript heap after a collection. */
export async function heap(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / 1024 / 1024;
}
