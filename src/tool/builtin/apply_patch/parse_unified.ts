import { HUNK_HEADER, isFileHeader, readCounted, readLoose } from "./parse_hunk.ts";
import { type FilePatch, type Hunk, PatchError } from "./patch.ts";
import { gitHeaderPaths, headerPath, unquotePath, withoutPrefixes } from "./patch_paths.ts";

/** The header of one file while it is read. */
interface Header {
  from: string | undefined;
  to: string | undefined;
  copy: boolean;
  executable: boolean | undefined;
  created: boolean;
  deleted: boolean;
}

/** Reads a unified diff as diff, git diff and git format-patch write it. Text around the files is ignored. */
export function parseUnified(lines: readonly string[]): FilePatch[] {
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

/** One extended header line of git; false when it is none. */
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
  const name = /^(rename|copy) (from|to) (.+)$/.exec(line);
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
