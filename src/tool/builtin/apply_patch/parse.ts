/** A parsed patch, the same for both formats. */

export interface PatchLine {
  readonly kind: " " | "-" | "+";
  /** Without the LF; a CR before it belongs to the text. */
  readonly text: string;
  /** False where the patch says that the file ends without a newline here. */
  readonly newline: boolean;
}

export interface Hunk {
  readonly lines: readonly PatchLine[];
  /** From 1: the first old line, or the line before a pure insertion. */
  readonly line: number | undefined;
  /** Lines that stand somewhere above, from `@@ text`. */
  readonly anchors: readonly string[];
  readonly atEnd: boolean;
}

/** The lines that a hunk expects in the file: context and removed ones. */
export function oldLines(hunk: Hunk): PatchLine[] {
  return hunk.lines.filter((line) => line.kind !== "+");
}

export function leadingContext({ lines }: Hunk): number {
  const first = lines.findIndex((line) => line.kind !== " ");
  return first < 0 ? lines.length : first;
}

export function trailingContext({ lines }: Hunk): number {
  return lines.length - 1 - lines.findLastIndex((line) => line.kind !== " ");
}

/** The change of one file. `from` is absent for a new file, `to` for a deleted one. */
export interface FilePatch {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly hunks: readonly Hunk[];
  /** The source stays (git's copy). */
  readonly copy: boolean;
  readonly executable: boolean | undefined;
  /** The content to remove is not listed; the file is deleted as it is. */
  readonly unlisted: boolean;
}

/** The text is for the model. */
export class PatchError extends Error {
  override readonly name = "PatchError";
}

/** Reads a patch in either form; throws a {@linkcode PatchError} that says what is wrong with it. */
export function parsePatch(text: string): FilePatch[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const headers = lines.filter((line) => /^(--- |\+\+\+ |diff --git |\*\*\* )/.test(line));
  // CR on the header lines means that the patch was written with CRLF, not that the file has them.
  const wrapped = headers.length > 0 && headers.every((line) => line.endsWith("\r"));
  const clean = wrapped ? lines.map((line) => line.replace(/\r$/, "")) : lines;
  const files = isBeginPatch(clean) ? parseBeginPatch(clean) : parseUnified(clean);
  if (files.length > 0) return files;
  throw new PatchError(
    text.includes("*** Begin Patch")
      ? "No file was found in the patch; put each directive (*** Update File: path), @@ and changed line on a separate line"
      : "No file header was found in the patch; give ---/+++ lines, or the *** Begin Patch form",
  );
}

/** Files whose content a patch shows. A patch that cannot be read shows and writes nothing. */
export function patchReads(text: string): string[] {
  return pathsOf(text, ({ from }) => [from]);
}

export function patchWrites(text: string): string[] {
  return pathsOf(text, ({ from, to, copy }) => [copy ? undefined : from, to]);
}

function pathsOf(text: string, pick: (file: FilePatch) => readonly (string | undefined)[]): string[] {
  try {
    return [...new Set(parsePatch(text).flatMap(pick).filter((path) => path !== undefined))];
  } catch (error) {
    if (error instanceof PatchError) return [];
    throw error;
  }
}

const DIRECTIVE =
  /^[ \t]*(\*\*\* (?:Begin Patch|End Patch|End of File|(?:Add|Update|Delete) File: [^]*|Move to: [^]*))$/;

function isBeginPatch(lines: readonly string[]): boolean {
  return lines.some((line) => /^[ \t]*\*\*\* (Begin Patch\s*$|(Add|Update|Delete) File: )/.test(line));
}

/** Reads the `*** Begin Patch` form. Lines before it and after `*** End Patch` are ignored. */
function parseBeginPatch(source: readonly string[]): FilePatch[] {
  const lines = withPlainDirectives(source);
  const files: FilePatch[] = [];
  const begin = lines.findIndex((line) => line.startsWith("*** Begin Patch"));
  for (let at = begin + 1; at < lines.length;) {
    const line = lines[at] ?? "";
    if (line.startsWith("*** End Patch")) break;
    const header = /^\*\*\* (Add|Update|Delete) File: ([^]+)$/.exec(line);
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
  const move = /^\*\*\* Move to: ([^]+)$/.exec(body[head] ?? "")?.[1]?.trim();
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

interface Header {
  from: string | undefined;
  to: string | undefined;
  copy: boolean;
  executable: boolean | undefined;
  created: boolean;
  deleted: boolean;
}

/** Reads a unified diff as diff, git diff and git format-patch write it. Text around the files is ignored. */
function parseUnified(lines: readonly string[]): FilePatch[] {
  const files: FilePatch[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    let header: Header;
    if (line.startsWith("diff --git ")) [header, at] = readGitHeader(lines, at);
    else if (line.startsWith("diff --cc ") || line.startsWith("diff --combined ")) {
      throw new PatchError("A combined diff of a merge cannot be applied; give a diff against one parent");
    } else if (isFileHeader(lines, at)) [header, at] = readPlainHeader(lines, at);
    else if (HUNK_HEADER.test(line)) {
      throw new PatchError(`Line ${at + 1} of the patch is a hunk without ---/+++ lines before it`);
    } else {
      at++;
      continue;
    }
    const hunks: Hunk[] = [];
    while ((lines[at] ?? "").startsWith("@@")) {
      const [hunk, next] = readHunk(lines, at);
      hunks.push(hunk);
      at = next;
    }
    files.push(fileOf(header, hunks));
  }
  return files;
}

function fileOf(header: Header, hunks: Hunk[]): FilePatch {
  const { from, to, copy, executable } = header;
  if (from === undefined && to === undefined) throw new PatchError("A file of the patch has no name");
  return {
    from: header.created ? undefined : from,
    to: header.deleted ? undefined : to,
    hunks,
    copy,
    executable,
    unlisted: false,
  };
}

function readHunk(lines: readonly string[], at: number): [Hunk, number] {
  const head = HUNK_HEADER.exec(lines[at] ?? "");
  const count = (text: string | undefined) => text === undefined ? 1 : Number(text);
  const body = (head && readCounted(lines, at + 1, [count(head[2]), count(head[4])])) ??
    readLoose(lines, at + 1);
  if (body.lines.length === 0) throw new PatchError(`The hunk at line ${at + 1} of the patch is empty`);
  const anchor = head ? "" : (lines[at] ?? "").replace(/^@@+ ?/, "").replace(/ ?@@$/, "").trim();
  const anchors = anchor === "" || anchor === "..." ? [] : [anchor];
  return [{ lines: body.lines, line: head ? Number(head[1]) : undefined, anchors, atEnd: false }, body.next];
}

function readPlainHeader(lines: readonly string[], at: number): [Header, number] {
  const [from, to] = withoutPrefixes(headerPath(lines[at] ?? ""), headerPath(lines[at + 1] ?? ""));
  const header: Header = {
    from,
    to,
    copy: false,
    executable: undefined,
    created: from === undefined,
    deleted: to === undefined,
  };
  // Different names without a rename header: `diff -u old new`; the file meant is the one that is patched.
  if (from !== undefined && to !== undefined && from !== to) header.from = header.to = plainTarget(from, to);
  return [header, at + 2];
}

/** `x.orig` and `x`, `old/x` and `new/x`: the shorter name, or the second one. */
function plainTarget(from: string, to: string): string {
  return from.startsWith(to) ? to : to.startsWith(from) ? from : to;
}

function readGitHeader(lines: readonly string[], at: number): [Header, number] {
  const names = gitHeaderPaths((lines[at] ?? "").slice("diff --git ".length));
  const header: Header = {
    from: names?.[0],
    to: names?.[1],
    copy: false,
    executable: undefined,
    created: false,
    deleted: false,
  };
  for (at++; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (line.startsWith("--- ") && (lines[at + 1] ?? "").startsWith("+++ ")) {
      const [from, to] = withoutPrefixes(headerPath(line), headerPath(lines[at + 1] ?? ""));
      if (!names || (from !== undefined && to !== undefined)) {
        header.from = from ?? header.from;
        header.to = to ?? header.to;
      }
      at += 2;
      break;
    }
    if (!readExtended(header, line)) break;
  }
  return [header, at];
}

function readExtended(header: Header, line: string): boolean {
  const mode = /^(new file|deleted file|old|new) mode (\d+)/.exec(line);
  if (mode) {
    if (/^(12|16)0000$/.test(mode[2] ?? "")) {
      throw new PatchError(
        `Symbolic links and submodules cannot be patched: ${header.to ?? header.from}; use bash`,
      );
    }
    if (mode[1] === "new file") header.created = true;
    if (mode[1] === "deleted file") header.deleted = true;
    if (mode[1] === "new" || (mode[1] === "new file" && mode[2] === "100755")) {
      header.executable = mode[2] === "100755";
    }
    return true;
  }
  const name = /^(rename|copy) (from|to) ([^]+?)\r?$/.exec(line);
  if (name) {
    header[name[2] === "from" ? "from" : "to"] = unquotePath(name[3] ?? "");
    header.copy ||= name[1] === "copy";
    return true;
  }
  if (line.startsWith("Binary files ") || line.startsWith("GIT binary patch")) {
    throw new PatchError(`The patch changes a binary file: ${header.to ?? header.from}; use bash`);
  }
  return /^(similarity index|dissimilarity index|index) /.test(line);
}

const HUNK_HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

interface HunkBody {
  readonly lines: PatchLine[];
  readonly next: number;
}

/** Reads exactly as many lines as the header promises; undefined when the lines are not there. */
function readCounted(
  lines: readonly string[],
  at: number,
  counts: [number, number],
): HunkBody | undefined {
  let [old, fresh] = counts;
  const out: PatchLine[] = [];
  for (; old > 0 || fresh > 0; at++) {
    const line = lines[at];
    if (line === undefined) return undefined;
    const parsed = lineOf(line);
    if (!parsed) {
      if (!markNoNewline(out, line)) return undefined;
      continue;
    }
    if (parsed.kind !== "+") old--;
    if (parsed.kind !== "-") fresh--;
    if (old < 0 || fresh < 0) return undefined;
    out.push(parsed);
  }
  if (markNoNewline(out, lines[at] ?? "")) at++;
  return continues(lines, at) ? undefined : { lines: out, next: at };
}

/** Reads up to the next header: the counts that models write are often wrong. */
function readLoose(lines: readonly string[], at: number): HunkBody {
  const out: PatchLine[] = [];
  let solid = 0;
  let next = at;
  for (; at < lines.length && !isHeader(lines, at); at++) {
    const line = lines[at] ?? "";
    const parsed = lineOf(line);
    if (parsed) out.push(parsed);
    else if (!markNoNewline(out, line)) break;
    if (line === "") continue;
    // Empty lines count only when more of the hunk follows.
    solid = out.length;
    next = at + 1;
  }
  return { lines: out.slice(0, solid), next };
}

function lineOf(line: string): PatchLine | undefined {
  if (line === "" || line === "\r") return { kind: " ", text: line, newline: true };
  const kind = line[0];
  return kind === " " || kind === "+" || kind === "-"
    ? { kind, text: line.slice(1), newline: true }
    : undefined;
}

function markNoNewline(out: PatchLine[], line: string): boolean {
  if (!line.startsWith("\\ ")) return false;
  const last = out.pop();
  if (last) out.push({ ...last, newline: false });
  return true;
}

/** The counts are wrong where the line after a complete hunk looks like a part of it. */
function continues(lines: readonly string[], at: number): boolean {
  const line = lines[at];
  // `-- ` is the signature at the end of a mailed patch.
  if (line === undefined || line === "-- " || isHeader(lines, at)) return false;
  return /^[ +-]/.test(line) && line.trim() !== "";
}

function isHeader(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  if (/^(@@|diff --git |Index: |\*\*\* (Add|Update|Delete|End) )/.test(line)) return true;
  return isFileHeader(lines, at);
}

/** `---` and `+++` lines followed by a hunk; a removed line can look like the first of them. */
function isFileHeader(lines: readonly string[], at: number): boolean {
  return (lines[at] ?? "").startsWith("--- ") && (lines[at + 1] ?? "").startsWith("+++ ") &&
    /^(@@|$)/.test(lines[at + 2] ?? "");
}

/** The name on a `---` or `+++` line, or undefined for /dev/null. A time after a tab is dropped. */
function headerPath(line: string): string | undefined {
  const text = line.slice(4).replace(/\r$/, "");
  const name = text.startsWith('"')
    ? unquotePath(text.replace(/\t[^"]*$/, ""))
    : text.replace(/\t.*$/, "").trimEnd();
  return name === "/dev/null" ? undefined : name;
}

/**
 * Takes git's `a/` and `b/` (or its mnemonic letters, in either order) off a pair of names, when both have
 * one and they differ. Next to /dev/null only `a/` and `b/` count.
 */
function withoutPrefixes(
  from: string | undefined,
  to: string | undefined,
): [string | undefined, string | undefined] {
  const letter = (name: string | undefined) => /^([abciow])\//.exec(name ?? "")?.[1];
  const single = from === undefined || to === undefined;
  const prefixed = single
    ? /^[ab]\//.test(from ?? to ?? "")
    : letter(from) !== undefined && letter(to) !== undefined && letter(from) !== letter(to);
  return prefixed ? [from?.slice(2), to?.slice(2)] : [from, to];
}

/** Both names of a `diff --git` line. Unquoted names may hold blanks: then both halves name the same file. */
function gitHeaderPaths(text: string): [string, string] | undefined {
  const trimmed = text.replace(/\r$/, "");
  const pair = /^("(?:[^"\\]|\\.)*"|[^ "]+) ("(?:[^"\\]|\\.)*"|[^ "]+)$/.exec(trimmed);
  if (pair?.[1] && pair[2]) return stripped(unquotePath(pair[1]), unquotePath(pair[2]));
  const middle = (trimmed.length - 1) / 2;
  const halves: [string, string] = [trimmed.slice(0, middle), trimmed.slice(middle + 1)];
  const names = stripped(...halves);
  return trimmed[middle] === " " && names[0] === names[1] ? names : undefined;
}

function stripped(from: string, to: string): [string, string] {
  const [first, second] = withoutPrefixes(from, to);
  return [first ?? from, second ?? to];
}

/** Undoes git's C-style quoting; octal escapes are bytes of UTF-8. */
function unquotePath(text: string): string {
  const trimmed = text.replace(/\r$/, "");
  if (!trimmed.startsWith('"') || !trimmed.endsWith('"') || trimmed.length < 2) return trimmed;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const [token, octal, escape] of trimmed.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/gs)) {
    if (octal !== undefined) bytes.push(parseInt(octal, 8));
    else bytes.push(...encoder.encode(escape === undefined ? token : ESCAPES[escape] ?? escape));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};
