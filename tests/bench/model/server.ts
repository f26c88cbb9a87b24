/**
 * The scripted model server of the benchmarks, in a separate process. Prints its port, then serves
 * `POST /<manner>/<run>/v1/chat/completions`, `GET /<manner>/<run>/count`, `GET /<manner>/<run>/report` and
 * `GET /clock`; a manner is what `mannerPath` writes.
 */
import { answerParts, DONE, finishEvent, sse, textEvent, usageEvent } from "../../support/model_wire.ts";
import { BENCH_KINDS } from "./kinds.ts";
import { type Manner, readManner, silence } from "./manner.ts";
import { SCRIPTS, STREAM_EVENTS } from "./scripts.ts";
import { streamTokens, writeSlowly } from "./tokens.ts";
import { Connection, HEAD, type Request } from "./wire.ts";

/** When one request had fully arrived and when its reply was handed to the kernel, in the server's clock. */
export interface Exchange {
  readonly arrived: number;
  replied: number;
  readonly bytes: number;
}

export interface RunReport {
  readonly exchanges: readonly Exchange[];
  /** The last request, to check what the tools answered. */
  readonly lastBody: string;
}

const runs = new Map<string, { exchanges: Exchange[]; last: Uint8Array }>();
const encoder = new TextEncoder();

const PIECE = 65_536;

/** Head and body of a reply in chunked encoding, as bytes. */
function chunked(text: string): Uint8Array {
  const parts = [HEAD];
  for (let at = 0; at < text.length; at += PIECE) {
    const piece = text.slice(at, at + PIECE);
    parts.push(`${encoder.encode(piece).length.toString(16)}\r\n${piece}\r\n`);
  }
  return encoder.encode(`${parts.join("")}0\r\n\r\n`);
}

/** 2 MB of text in events of 16 characters, made once. */
const streamReply = chunked(streamText());

function streamText(): string {
  const events: string[] = [];
  for (let index = 0; index < STREAM_EVENTS; index++) {
    events.push(sse(textEvent(`${String(index).padStart(10, "-")} word${index % 8 === 7 ? "\n" : " "}`)));
  }
  events.push(sse(finishEvent()), sse(usageEvent({ input: 1000, output: STREAM_EVENTS })), DONE);
  return events.join("");
}

/** Sends the reply to request `index`. */
async function reply(connection: Connection, manner: Manner, index: number, request: Request): Promise<void> {
  const { script, kind, write } = manner;
  if (kind !== undefined) return await connection.write(replyOfKind(kind, request));
  if (script === "stream") return await connection.write(streamReply);
  // The speed of the fastest models; in a chat only the second answer has it.
  if (script === "tokens" || script === "chat" && index === 1) return await streamTokens(connection);
  const answer = { ...scriptOf(script).reply(index), usage: { input: 1000, output: 10 } };
  if (write !== undefined && answer.calls !== undefined) {
    return await writeSlowly(connection, answer, index, write);
  }
  const parts = answerParts(answer, index);
  await connection.write(chunked(parts.map((part) => typeof part === "string" ? part : sse(part)).join("")));
}

function scriptOf(name: string) {
  const script = SCRIPTS[name];
  if (script === undefined) throw new Error(`Cannot find the script ${name}`);
  return script;
}

function replyOfKind(kind: string, { path, body }: Request): Uint8Array {
  const text = new TextDecoder().decode(body);
  const request = { path, headers: new Headers(), body: text, json: JSON.parse(text) };
  const parts = BENCH_KINDS[kind]?.wire().parts({ text: "Hello." }, 1, request) ?? [];
  return chunked([...parts].map((part) => typeof part === "string" ? part : sse(part)).join(""));
}

async function sendJson(connection: Connection, value: unknown): Promise<void> {
  const body = encoder.encode(JSON.stringify(value));
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  await connection.write(encoder.encode(head));
  await connection.write(body);
}

function report(key: string): RunReport {
  const run = runs.get(key);
  runs.delete(key);
  return {
    exchanges: run?.exchanges ?? [],
    lastBody: new TextDecoder().decode(run?.last ?? new Uint8Array()),
  };
}

async function answer(connection: Connection, request: Request): Promise<void> {
  const arrived = now();
  const [, words = "", id = "", what] = request.path.split("/");
  if (words === "clock") return await sendJson(connection, { now: arrived });
  const key = `${words}/${id}`;
  if (what === "count") return await sendJson(connection, { requests: runs.get(key)?.exchanges.length ?? 0 });
  if (what === "report") return await sendJson(connection, report(key));
  const manner = readManner(words);
  const path = BENCH_KINDS[manner.kind ?? ""]?.path ?? "/chat/completions";
  if (!request.path.endsWith(path)) {
    return await connection.write(encoder.encode("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"));
  }
  const run = runs.get(key) ?? { exchanges: [], last: request.body };
  runs.set(key, run);
  run.last = request.body;
  const exchange: Exchange = { arrived, replied: 0, bytes: request.body.length };
  run.exchanges.push(exchange);
  const index = run.exchanges.length - 1;
  const wait = scriptOf(manner.script).think?.(index) ?? silence(manner, index);
  if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
  await reply(connection, manner, index, request);
  exchange.replied = now();
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

async function serve(conn: Deno.TcpConn): Promise<void> {
  const connection = new Connection(conn);
  try {
    for (let request; (request = await connection.request()) !== undefined;) {
      await answer(connection, request);
    }
  } catch (error) {
    // A program that was stopped leaves while it is being answered.
    if (!(error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.ConnectionReset)) {
      throw error;
    }
  }
  connection.close();
}

if (import.meta.main) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await Deno.stdout.write(encoder.encode(`${listener.addr.port}\n`));
  for await (const conn of listener) void serve(conn);
}
