/** One visit to a chat, from its start to its end, with everything measured on the way. */
import { median } from "../figures.ts";
import { ownShare, processorTime } from "../memory.ts";
import { TOKENS_MS } from "../model/tokens.ts";
import { type Runner, wait } from "../runner.ts";
import { Pty } from "./pty.ts";
import { screenTimes } from "./screen_times.ts";

/** The prompt of the input line. */
const PROMPT = "> ";
/** Letters that form no other text on the screen. */
const MESSAGE = "qzxwvkjpqzxwvkjpqzxwvkjp";
const WHILE_STREAMING = "jvkwzqpxjvkwzqpxjvkwzqpx";
const AFTER_PASTE = "xkcdqz";
const PASTE = "The quick brown fox jumps over it\tand on.\n".repeat(24_000);
/** Keys of someone who types very fast; not in step with the frames of a screen. */
const KEY_MS = 37;
const SETTLE_MS = 1500;
const ANSWER_MS = 800;

/** The results of a visit; times in milliseconds. */
export interface Visit {
  /** From the start of the process until a prompt was on the screen. */
  readonly prompt: number;
  /** Until a key typed then was on it too. */
  readonly echo: number;
  /** From a key to the screen: while nothing happens, and while an answer of 2,000 tokens a second comes. */
  readonly key?: number;
  readonly streamKey?: number;
  /** From Enter until the first request had arrived. */
  readonly submit?: number;
  /** The same for a later message. */
  readonly nextSubmit?: number;
  /** From a paste of 1 MB until the screen showed what was typed behind it. */
  readonly paste?: number;
  /** After a start and a rest: MB of the process that it shares with no other, and percent of a processor. */
  readonly memory?: number;
  readonly idle?: number;
}

export interface VisitOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The server's key for the recorded requests: `<scenario>/<run>`. */
  readonly path: string;
  /** Measures only the start. */
  readonly startOnly?: boolean;
  /** It has no input line while an answer streams. */
  readonly plain?: boolean;
  readonly idleMs: number;
}

export async function visit({ server }: Runner, options: VisitOptions): Promise<Visit> {
  await using pty = new Pty(options);
  await pty.until("a prompt", (printed) => printed.includes(PROMPT));
  pty.send(MESSAGE.slice(0, 1));
  await pty.until("a key", (printed) => printed.lastIndexOf(MESSAGE.slice(0, 1)) > printed.indexOf(PROMPT));
  const since = (time: number | undefined) => (time ?? NaN) - pty.started;
  // The letter may have come with the rest of the screen: what it belongs to is awaited.
  await wait(ANSWER_MS);
  const [prompt, echo] = screenTimes(pty.chunks, [PROMPT.trim(), PROMPT + MESSAGE.slice(0, 1)]);
  const start = { prompt: since(prompt), echo: since(echo) };
  if (options.startOnly) return start;
  await wait(SETTLE_MS);
  const memory = ownShare(pty.pid());
  const before = processorTime(pty.pid());
  await wait(options.idleMs);
  const idle = (processorTime(pty.pid()) - before) / options.idleMs * 100;
  const key = await typed(pty, MESSAGE, 1);
  const submitted = server.clock();
  pty.send("\r");
  await wait(ANSWER_MS);
  const rest = options.plain ? undefined : await busy(pty, server);
  const { exchanges, lastBody } = await server.report(options.path);
  const [first, second] = exchanges;
  if (first === undefined) throw new Error(`No request came; it printed:\n${pty.printed().slice(-2000)}`);
  if (!options.plain && !lastBody.includes(`${JSON.stringify(PASTE).slice(1, -1)}${AFTER_PASTE}`)) {
    throw new Error(`The paste did not arrive whole; the request ends: ${lastBody.slice(-300)}`);
  }
  const found = { ...start, memory, idle, key, submit: first.arrived - submitted };
  if (!rest || !second) return found;
  const { streamKey, paste, submitted: again } = rest;
  return { ...found, streamKey, paste, nextSubmit: second.arrived - again };
}

/** Types while an answer streams in, and pastes. */
async function busy(
  pty: Pty,
  server: Runner["server"],
): Promise<{ readonly streamKey: number; readonly paste: number; readonly submitted: number }> {
  pty.send("Say much.");
  await wait(KEY_MS);
  const submitted = server.clock();
  pty.send("\r");
  await wait(ANSWER_MS);
  const streamKey = await typed(pty, WHILE_STREAMING, 0);
  await wait(TOKENS_MS);
  pty.send("\r");
  await wait(ANSWER_MS);
  const from = pty.send(`\x1b[200~${PASTE}\x1b[201~${AFTER_PASTE}`);
  await pty.until("what was typed behind a paste", () => pty.printed(from).includes(AFTER_PASTE.slice(-1)));
  await wait(ANSWER_MS);
  const [pasted = NaN] = screenTimes(pty.chunks, [AFTER_PASTE]);
  pty.send("\r");
  await wait(2 * ANSWER_MS);
  return { streamKey, paste: pasted - from, submitted };
}

/** The median time from a key to the screen; `present` letters of the text are there already. */
async function typed(pty: Pty, text: string, present: number): Promise<number> {
  const sent: number[] = [];
  for (const letter of text.slice(present)) {
    sent.push(pty.send(letter));
    await wait(KEY_MS);
  }
  await wait(ANSWER_MS);
  const prefixes = sent.map((_, index) => PROMPT + text.slice(0, present + index + 1));
  const shown = screenTimes(pty.chunks, prefixes);
  return median(sent.map((time, index) => (shown[index] ?? NaN) - time)) ?? NaN;
}
