import { decodeAs, detectEncoding, type Encoding } from "../text/encoding.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const NEWLINE = 10;

/**
 * Returns what a program printed, as text; undefined when it is not text. Programs print what the files have
 * they read, so lines that are not UTF-8 are read in the encoding they look like (GBK, Latin-1). A list
 * separated by NUL becomes lines.
 */
export function decodeOutput(bytes: Bytes): string | undefined {
  if (bytes.includes(0)) return decodeWithNuls(bytes);
  if (hasManyControls(bytes)) return undefined;
  return asUtf8(bytes) ?? lineByLine(bytes);
}

function decodeWithNuls(bytes: Bytes): string | undefined {
  const encoding = detectEncoding(bytes.subarray(0, bytes.length & ~1), true)?.encoding;
  if (encoding?.startsWith("utf-16")) return decodeAs(bytes, encoding).replace(/^\ufeff/, "");
  for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, at + 1)) {
    if (bytes[at + 1] === 0 || at === 0) return undefined;
  }
  const lines = bytes.map((byte) => byte === 0 ? NEWLINE : byte);
  return hasManyControls(lines) ? undefined : asUtf8(lines);
}

/** Undefined when the bytes are something else; a character that is cut off at the end counts as none. */
function asUtf8(bytes: Bytes): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}

/** Each line in UTF-8 if it is that, else in the one encoding that fits all the others. */
function lineByLine(bytes: Bytes): string | undefined {
  const lines: { readonly bytes: Bytes; readonly text: string | undefined }[] = [];
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(NEWLINE, start);
    const line = bytes.subarray(start, found < 0 ? bytes.length : found + 1);
    lines.push({ bytes: line, text: asUtf8(line) });
    start += line.length;
  }
  const odd = lines.filter((line) => line.text === undefined).map((line) => line.bytes);
  const encoding = encodingOf(odd);
  if (encoding === "utf-8" && isMostlyBroken(bytes)) return undefined;
  return lines.map((line) => line.text ?? decodeAs(line.bytes, encoding)).join("");
}

function encodingOf(lines: readonly Bytes[]): Encoding {
  const joined = new Uint8Array(lines.reduce((sum, line) => sum + line.length, 0));
  let at = 0;
  for (const line of lines) {
    joined.set(line, at);
    at += line.length;
  }
  const found = detectEncoding(joined, false)?.encoding;
  if (found === "gb18030") return found;
  if (found !== "windows-1252" || isMostlyBroken(joined)) return "utf-8";
  // Any bytes are Latin-1; beside a whole UTF-8 character the others are more likely damage.
  return /[^\0-\x7f\ufffd]/.test(new TextDecoder().decode(joined)) ? "utf-8" : found;
}

function isMostlyBroken(bytes: Bytes): boolean {
  const text = new TextDecoder().decode(bytes);
  let broken = 0;
  for (let at = text.indexOf("\ufffd"); at >= 0; at = text.indexOf("\ufffd", at + 1)) broken++;
  return broken > text.length / 4;
}

/** Control characters that terminals and text do without; escape sequences are neither. */
function hasManyControls(bytes: Bytes): boolean {
  const sample = bytes.subarray(0, 8192);
  let odd = 0;
  for (const byte of sample) {
    if (byte < 7 || (byte > 13 && byte < 27) || (byte > 27 && byte < 32)) odd++;
  }
  return odd > 2 && odd > sample.length / 10;
}

/** Turns what a program wrote for a terminal into plain text. */

/** CSI, OSC, DCS and other strings, charset choices, and two-character escapes (ECMA-48). */
const ESCAPES =
  // deno-lint-ignore no-control-regex
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])|\u009b[0-?]*[ -/]*[@-~]/g;
// deno-lint-ignore no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

export function stripEscapes(text: string): string {
  return text.includes("\u001b") || text.includes("\u009b") ? text.replace(ESCAPES, "") : text;
}

/** Plain text without escape sequences, with lines as they looked after carriage returns and backspaces. */
export function cleanText(text: string): string {
  let out = stripEscapes(text);
  if (out.includes("\r")) {
    out = out.replaceAll("\r\n", "\n").split("\n").map(afterReturns).join("\n");
  }
  if (out.includes("\b")) out = out.split("\n").map(afterBackspaces).join("\n");
  return out.replace(CONTROLS, "");
}

/** A progress bar writes one line over and over; what stands at the end is what counts. */
function afterReturns(line: string): string {
  if (!line.includes("\r")) return line;
  let shown = "";
  for (const part of line.split("\r")) {
    shown = part.length >= shown.length ? part : part + shown.slice(part.length);
  }
  return shown;
}

function afterBackspaces(line: string): string {
  if (!line.includes("\b")) return line;
  const out: string[] = [];
  for (const char of line) {
    if (char === "\b") out.pop();
    else out.push(char);
  }
  return out.join("");
}
