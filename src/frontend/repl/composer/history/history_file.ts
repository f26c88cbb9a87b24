import { isRecord, parseJson } from "../../../../util/json.ts";
import type { Piece } from "../parts.ts";

/** A longer entry is remembered only until the program ends. */
const MAX_ENTRY_BYTES = 256 * 1024;
/** A file that has grown beyond this is cut to its newest half. */
const MAX_FILE_BYTES = 2 * 1024 * 1024;

const LINE_FEED = new Uint8Array([10]);

/**
 * What was sent from a directory, newest last: one JSON line for each, `{"at": RFC 3339, "pieces": […]}`.
 *
 * Contract: several processes may append at the same time. Broken lines are passed over. What cannot be read
 * or written is not there: the history is a convenience, and the messages are in the sessions.
 */
export class HistoryFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  read(): Piece[][] {
    let text: string;
    try {
      text = Deno.readTextFileSync(this.#path);
    } catch {
      return [];
    }
    return text.split("\n").flatMap((line) => {
      const pieces = line === "" ? undefined : piecesOf(parseJson(line));
      return pieces ? [pieces] : [];
    });
  }

  append(pieces: readonly Piece[]): void {
    const entry = { at: new Date().toISOString(), pieces: pieces.map(storable) };
    const line = new TextEncoder().encode(`${JSON.stringify(entry)}\n`);
    if (line.length > MAX_ENTRY_BYTES) return;
    try {
      Deno.mkdirSync(this.#path.replace(/[\\/][^\\/]*$/, ""), { recursive: true, mode: 0o700 });
      using file = Deno.openSync(this.#path, { read: true, append: true, create: true, mode: 0o600 });
      // Another process may be cutting the file; it is in use for a moment only.
      file.lockSync(true);
      if (file.statSync().size + line.length > MAX_FILE_BYTES) this.#cut(file);
      if (!endsWithLine(file)) writeAll(file, LINE_FEED);
      writeAll(file, line);
    } catch { /* no history then */ }
  }

  /** Drops the older half, in place: others have the same file open. */
  #cut(file: Deno.FsFile): void {
    const text = Deno.readTextFileSync(this.#path);
    const from = text.indexOf("\n", Math.floor(text.length / 2)) + 1;
    file.truncateSync(0);
    writeAll(file, new TextEncoder().encode(text.slice(from)));
  }
}

/** False when the last writer died within a line. */
function endsWithLine(file: Deno.FsFile): boolean {
  if (file.statSync().size === 0) return true;
  file.seekSync(-1, Deno.SeekMode.End);
  const last = new Uint8Array(1);
  file.readSync(last);
  return last[0] === LINE_FEED[0];
}

function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
}

/** An image of the clipboard stays out: it is in the session. */
function storable(piece: Piece): Piece {
  return typeof piece !== "string" && piece.kind === "image" ? "[image]" : piece;
}

function piecesOf(value: unknown): Piece[] | undefined {
  if (!isRecord(value) || !Array.isArray(value.pieces)) return undefined;
  const pieces = value.pieces.flatMap((piece) => pieceOf(piece) ?? []);
  return pieces.length > 0 ? pieces : undefined;
}

function pieceOf(value: unknown): Piece | undefined {
  if (typeof value === "string") return value.toWellFormed();
  if (!isRecord(value)) return undefined;
  const { kind, content, path } = value;
  if (kind === "paste" && typeof content === "string") return { kind, content: content.toWellFormed() };
  return kind === "file" && typeof path === "string" ? { kind, path } : undefined;
}
