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
