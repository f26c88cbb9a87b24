import { isBeginPatch, parseBeginPatch } from "./parse_begin.ts";
import { parseUnified } from "./parse_unified.ts";
import { type FilePatch, PatchError } from "./patch.ts";

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
      ? "No file was found in the patch; put each directive (*** Update File: path), @@ and changed line on a line of its own"
      : "No file header was found in the patch; give ---/+++ lines, or the *** Begin Patch form",
  );
}

/** Files whose content a patch shows. A patch that cannot be read shows and writes nothing. */
export function patchReads(text: string): string[] {
  return pathsOf(text, ({ from }) => [from]);
}

/** Files a patch writes, moves or removes. */
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
