import { HUNK_HEADER, readLoose } from "./parse_hunk.ts";
import { type FilePatch, type Hunk, PatchError, type PatchLine } from "./patch.ts";

/** A directive, with blanks around it. */
const DIRECTIVE =
  /^[ \t]*(\*\*\* (?:Begin Patch|End Patch|End of File|(?:Add|Update|Delete) File: .*|Move to: .*))$/;

/** Reports whether a patch is written in the `*** Begin Patch` form. */
export function isBeginPatch(lines: readonly string[]): boolean {
  return lines.some((line) => /^[ \t]*\*\*\* (Begin Patch\s*$|(Add|Update|Delete) File: )/.test(line));
}

/** Reads the `*** Begin Patch` form. Lines before it and after `*** End Patch` are ignored. */
export function parseBeginPatch(source: readonly string[]): FilePatch[] {
  const lines = withPlainDirectives(source);
  const files: FilePatch[] = [];
  const begin = lines.findIndex((line) => line.startsWith("*** Begin Patch"));
  for (let at = begin + 1; at < lines.length;) {
    const line = lines[at] ?? "";
    if (line.startsWith("*** End Patch")) break;
    const header = /^\*\*\* (Add|Update|Delete) File: (.+)$/.exec(line);
    if (!header) {
      if (line.trim() !== "" && files.length > 0) {
        throw new PatchError(`Line ${at + 1} of the patch is not a file header: ${line}`);
      }
      at++;
      continue;
    }
    const path = (header[2] ?? "").trim();
    const end = sectionEnd(lines, at + 1);
    const body = lines.slice(at + 1, end);
    files.push(
      header[1] === "Add"
        ? added(path, body)
        : header[1] === "Delete"
        ? deleted(path, body)
        : updated(path, body),
    );
    at = end;
  }
  return files;
}

/**
 * The lines with directives at the line start and without blanks behind them. An indented directive is one
 * only where no line of content can be: in a patch that is indented as a whole, outside of a change, and as
 * its last line.
 */
function withPlainDirectives(source: readonly string[]): string[] {
  const first = source.find((line) => DIRECTIVE.test(line.trimEnd())) ?? "";
  const margin = /^[ \t]*/.exec(first)?.[0] ?? "";
  const indented = margin !== "" && source.every((line) => line.trim() === "" || line.startsWith(margin));
  const lines = indented ? source.map((line) => line.slice(margin.length)) : source;
  const last = lines.findLastIndex((line) => line.trim() !== "");
  let inChange = false;
  return lines.map((line, index) => {
    const directive = DIRECTIVE.exec(line.trimEnd())?.[1];
    if (directive === undefined) {
      if (line.trim() !== "") inChange = true;
      return line;
    }
    if (/^[ \t]/.test(line) && inChange && index !== last) return line;
    if (/File: |End Patch/.test(directive)) inChange = false;
    return directive;
  });
}

function sectionEnd(lines: readonly string[], from: number): number {
  let at = from;
  while (at < lines.length && !/^\*\*\* ((Add|Update|Delete) File: |End Patch)/.test(lines[at] ?? "")) at++;
  return at;
}

function added(path: string, body: readonly string[]): FilePatch {
  const lines: PatchLine[] = [];
  // A blank line between others is one whose + was left out; those at the end only set the sections apart.
  const end = body.findLastIndex((line) => line.trim() !== "") + 1;
  for (const line of body.slice(0, end)) {
    const bare = line.trim() === "";
    if (!bare && !line.startsWith("+")) {
      throw new PatchError(`A line of the new file ${path} does not begin with "+": ${line}`);
    }
    lines.push({ kind: "+", text: bare ? "" : line.slice(1), newline: true });
  }
  const hunk: Hunk = { lines, line: 0, anchors: [], atEnd: false };
  return { ...PLAIN, from: undefined, to: path, hunks: lines.length > 0 ? [hunk] : [] };
}

function deleted(path: string, body: readonly string[]): FilePatch {
  const line = body.find((text) => text.trim() !== "");
  if (line !== undefined) {
    throw new PatchError(
      `*** Delete File: ${path} deletes the whole file and takes no lines, but "${line}" follows; ` +
        "to remove single lines use *** Update File",
    );
  }
  return { ...PLAIN, from: path, to: undefined, hunks: [], unlisted: true };
}

const PLAIN = { copy: false, executable: undefined, unlisted: false };

function updated(path: string, body: readonly string[]): FilePatch {
  const head = body.findIndex((line) => line.trim() !== "");
  const move = /^\*\*\* Move to: (.+)$/.exec(body[head] ?? "")?.[1]?.trim();
  const hunks: Hunk[] = [];
  for (let at = move === undefined ? 0 : head + 1; at < body.length;) {
    const anchors: string[] = [];
    let line: number | undefined;
    for (; (body[at] ?? "").startsWith("@@"); at++) {
      const counted = HUNK_HEADER.exec(body[at] ?? "");
      if (counted) line = Number(counted[1]);
      else anchors.push(anchorOf(body[at] ?? ""));
    }
    const { lines, next } = readLoose(body, at);
    if (next === at && (body[at] ?? "").trim() !== "" && !(body[at] ?? "").startsWith("*** End of File")) {
      throw new PatchError(`A line of the change to ${path} begins with neither blank, + nor -: ${body[at]}`);
    }
    const atEnd = (body[next] ?? "").startsWith("*** End of File");
    if (lines.length > 0) {
      hunks.push({
        lines,
        line,
        anchors: anchors.filter((anchor) => anchor !== ""),
        atEnd,
      });
    }
    at = Math.max(next + (atEnd ? 1 : 0), next === at ? at + 1 : at);
  }
  if (hunks.length === 0 && move === undefined) throw new PatchError(`The change to ${path} is empty`);
  return { ...PLAIN, from: path, to: move ?? path, hunks };
}

function anchorOf(line: string): string {
  const text = line.replace(/^@@ ?/, "").replace(/ ?@@$/, "");
  return text.trim() === "..." ? "" : text;
}
