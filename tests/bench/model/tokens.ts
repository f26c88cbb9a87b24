/** Replies that come in pieces over a time, as models write them. */
import {
  callEvent,
  deltaEvent,
  DONE,
  finishEvent,
  type Part,
  type ScriptedAnswer,
  sse,
  textEvent,
  usageEvent,
} from "../../support/model_wire.ts";
import { type Connection, HEAD } from "./wire.ts";

const TOKENS_PER_MS = 2;
const TOKENS = 8000;
/** Returns the duration of the answer of `streamTokens`. */
export const TOKENS_MS = TOKENS / TOKENS_PER_MS;

const PIECE_MS = 10;
const encoder = new TextEncoder();

/** Words of four characters in lines and paragraphs. */
const texts = Array.from({ length: TOKENS }, (_, index) => {
  const end = index % 60 === 59 ? "\n\n" : index % 12 === 11 ? "\n" : " ";
  return `${["some", "word", "text", "read"][index % 4]}${end}`;
});
const words = texts.map((text) => sse(textEvent(text)));
/** The length of that answer in bytes. */
export const TOKENS_BYTES = texts.join("").length;

/** Answers with 2,000 tokens a second, each an event, on any timer resolution. */
export async function streamTokens(connection: Connection): Promise<void> {
  await connection.write(encoder.encode(HEAD));
  await spread(connection, words, { within: TOKENS_MS, everyMs: 1 });
  await end(connection, [finishEvent(), usageEvent({ input: 1000, output: TOKENS })]);
}

/** Names the tool of a call at once, and writes its arguments over this many milliseconds. */
export async function writeSlowly(
  connection: Connection,
  { calls: [call] = [], usage }: ScriptedAnswer,
  turn: number,
  within: number,
): Promise<void> {
  const opening = { index: 0, id: `call_${turn}_0`, type: "function" };
  const named = callEvent({ ...opening, function: { name: call?.name, arguments: "" } });
  await connection.write(encoder.encode(HEAD));
  await send(connection, [deltaEvent({ role: "assistant", content: "" }), named].map(sse).join(""));
  const text = JSON.stringify(call?.args);
  const size = Math.ceil(text.length * PIECE_MS / within);
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) {
    pieces.push(sse(callEvent({ index: 0, function: { arguments: text.slice(at, at + size) } })));
  }
  await spread(connection, pieces, { within, everyMs: PIECE_MS });
  await end(connection, [finishEvent("tool_calls"), usageEvent(usage || {})]);
}

/** Sends events one after the other, so that the last of them goes out when the time is over. */
async function spread(
  connection: Connection,
  events: readonly string[],
  { within, everyMs }: { readonly within: number; readonly everyMs: number },
): Promise<void> {
  const started = performance.now();
  for (let sent = 0; sent < events.length;) {
    const part = (performance.now() - started) / within;
    const due = Math.min(events.length, Math.floor(part * events.length));
    if (due > sent) await send(connection, events.slice(sent, due).join(""));
    sent = due;
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

async function end(connection: Connection, parts: readonly Part[]): Promise<void> {
  await send(connection, parts.map(sse).join("") + DONE);
  await connection.write(encoder.encode("0\r\n\r\n"));
}

async function send(connection: Connection, text: string): Promise<void> {
  await connection.write(encoder.encode(`${encoder.encode(text).length.toString(16)}\r\n${text}\r\n`));
}
