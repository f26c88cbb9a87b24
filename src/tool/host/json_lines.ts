/** Messages as lines of JSON over the pipes of a child process. */
import { parseJson } from "../../util/json.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * The values of a stream of lines. A line that is not JSON is left out: something printed where it should
 * not.
 */
export async function* readLines<T>(stream: AsyncIterable<Bytes>): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  for await (const chunk of stream) {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    const last = parts.pop() ?? "";
    for (const part of parts) {
      const line = rest.length > 0 ? rest.join("") + part : part;
      rest = [];
      const value = parseJson(line) as T | undefined;
      if (value !== undefined) yield value;
    }
    if (last !== "") rest.push(last);
  }
}

const ENCODER = new TextEncoder();

/** One message as bytes. */
export function asLine(message: unknown): Bytes {
  return ENCODER.encode(`${JSON.stringify(message)}\n`);
}

/**
 * The place where a process of ours hears and answers. Its entry module fills it in: libraries own no
 * standard streams.
 */
export interface LinePort {
  /** A piece is read before the next one is asked for, so that all may be the same memory. */
  readonly input: AsyncIterable<Bytes>;
  /** Writes at once, as much as fits; returns the number of bytes written. */
  readonly write: (bytes: Bytes) => number;
}

/** Sends one message whole before anything else happens. */
export function tell(port: LinePort, message: unknown): void {
  const bytes = asLine(message);
  for (let at = 0; at < bytes.length;) at += port.write(bytes.subarray(at));
}
