import { oneLine } from "../../util/terminal_text.ts";

/** A log that has grown beyond this keeps only its end. */
const LARGEST = 16 * 1024 * 1024;
const KEPT = 1024 * 1024;
const TAIL = 8 * 1024;
const LAST_LINES = 3;
const LONGEST_LINE = 200;

/** Size of a log; 0 when there is none. */
export function logSize(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch {
    return 0;
  }
}

/** Cuts a log that has become too large. Who writes to it appends, so the rest of it goes on at the end. */
export function boundLog(path: string): void {
  if (logSize(path) <= LARGEST) return;
  try {
    const end = endOf(path, KEPT);
    const file = Deno.openSync(path, { write: true, append: true });
    try {
      file.truncateSync(0);
      file.writeSync(new TextEncoder().encode(end.slice(end.indexOf("\n") + 1)));
    } finally {
      file.close();
    }
  } catch { /* it stays as it is */ }
}

/** The last lines that were written after `start`, in one; "" when there are none. */
export function lastLines(path: string, start: number): string {
  const lines = textSince(path, start).split("\n").map((line) => oneLine(line, LONGEST_LINE)).filter(Boolean);
  return lines.slice(-LAST_LINES).join(" | ");
}

/** Reports whether the server said that it did not get its port. */
export function saysPortTaken(path: string, start: number): boolean {
  return /couldn't bind|could ?n[o']t bind|failed to bind|address already in use/i.test(
    textSince(path, start),
  );
}

function textSince(path: string, start: number): string {
  const size = logSize(path);
  // A log that was cut in the meantime has only what is new.
  return endOf(path, Math.min(TAIL, size >= start ? size - start : size));
}

function endOf(path: string, bytes: number): string {
  try {
    const file = Deno.openSync(path);
    try {
      const { size } = file.statSync();
      file.seekSync(Math.max(0, size - bytes), Deno.SeekMode.Start);
      const buffer = new Uint8Array(Math.min(size, bytes));
      let length = 0;
      while (length < buffer.length) {
        const read = file.readSync(buffer.subarray(length));
        if (read === null) break;
        length += read;
      }
      return new TextDecoder().decode(buffer.subarray(0, length));
    } finally {
      file.close();
    }
  } catch {
    return "";
  }
}
