/** An answer that comes as fast as the fastest models speak: 2,000 tokens a second, each an event. */
import { DONE, finishEvent, sse, textEvent, usageEvent } from "../../support/model_wire.ts";
import type { Connection } from "../wire.ts";

const TOKENS_PER_MS = 2;
const TOKENS = 8000;
/** How long the answer takes. */
export const TOKENS_MS = TOKENS / TOKENS_PER_MS;

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const encoder = new TextEncoder();

/** Words of four characters in lines and paragraphs. */
const events = Array.from({ length: TOKENS }, (_, index) => {
  const end = index % 60 === 59 ? "\n\n" : index % 12 === 11 ? "\n" : " ";
  return sse(textEvent(`${["some", "word", "text", "read"][index % 4]}${end}`));
});

/** Answers a request at that speed, whatever the timers of the machine are like. */
export async function streamTokens(connection: Connection): Promise<void> {
  const send = (text: string) =>
    connection.write(encoder.encode(`${encoder.encode(text).length.toString(16)}\r\n${text}\r\n`));
  await connection.write(encoder.encode(HEAD));
  const started = performance.now();
  for (let sent = 0; sent < TOKENS;) {
    const due = Math.min(TOKENS, Math.floor((performance.now() - started) * TOKENS_PER_MS));
    if (due > sent) await send(events.slice(sent, due).join(""));
    sent = due;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const end = sse(finishEvent()) + sse(usageEvent({ input: 1000, output: TOKENS })) + DONE;
  await send(end);
  await connection.write(encoder.encode("0\r\n\r\n"));
}
