import { errorMessage, message, withRemedy } from "../../core/mod.ts";
import type { ConfigProblem } from "../problem.ts";

/** Larger files are not configuration; reading them would only use up memory. */
const MAX_BYTES = 1 << 20;

/**
 * The text of a file of the user; undefined when there is none, or none that can be read (a problem says
 * why).
 */
export function readText(file: string, problems: ConfigProblem[]): string | undefined {
  try {
    return checkText(file, Deno.readTextFileSync(file), problems);
  } catch (error) {
    return unread(file, error, problems);
  }
}

/** The same for a file that came with a project: it may be a link to a device, which would never end. */
export function readProjectText(file: string, problems: ConfigProblem[]): string | undefined {
  try {
    const info = Deno.statSync(file);
    if (info.isFile && info.size <= MAX_BYTES) return readText(file, problems);
    return reject(file, info.isDirectory ? "it is a directory" : describe(info), problems);
  } catch (error) {
    return unread(file, error, problems);
  }
}

function describe(info: Deno.FileInfo): string {
  return info.isFile ? tooLarge(info.size) : "it is not a regular file";
}

function tooLarge(size: number): string {
  return `its size of ${size} is above the limit of 1 MiB`;
}

function checkText(file: string, text: string, problems: ConfigProblem[]): string | undefined {
  if (text.length > MAX_BYTES) return reject(file, tooLarge(text.length), problems);
  // The fast read replaces broken bytes; only then is the slow look worth it.
  if (text.includes("\uFFFD") && !isUtf8(file)) return reject(file, "it is not UTF-8", problems);
  return text;
}

function unread(file: string, error: unknown, problems: ConfigProblem[]): undefined {
  if (error instanceof Deno.errors.NotFound) return undefined;
  const isDirectory = error instanceof Deno.errors.IsADirectory;
  return reject(file, isDirectory ? "it is a directory" : errorMessage(error), problems);
}

function isUtf8(file: string): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(file));
    return true;
  } catch {
    return false;
  }
}

function reject(file: string, reason: string, problems: ConfigProblem[]): undefined {
  problems.push({
    level: "error",
    ...withRemedy(
      message`Cannot read the configuration file: ${reason}`,
      message`put a readable text file in UTF-8 there, or remove it`,
    ),
    place: { file },
  });
}

/**
 * Reads the lines of a `.env` file: `NAME=value`, an optional `export`, single or double quotes, `#`
 * comments. Values are taken as they are: nothing is expanded, so that a key with a `$` in it survives.
 */
function parseDotenv(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)$/.exec(line);
    if (match) values.set(match[1] ?? "", unquote(match[2] ?? ""));
  }
  return values;
}

function unquote(raw: string): string {
  const quoted = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')\s*(?:#.*)?$/.exec(raw);
  if (quoted) {
    return quoted[2] ?? (quoted[1] ?? "").replace(/\\(.)/g, (_, char) => char === "n" ? "\n" : char);
  }
  return raw.replace(/\s#.*$/, "").trim();
}

/** The values of a `.env` file, none when it is missing or unreadable. Read on first use only. */
export function lazyDotenv(read: () => string | undefined): () => ReadonlyMap<string, string> {
  let values: ReadonlyMap<string, string> | undefined;
  return () => values ??= parseDotenv(read() ?? "");
}
