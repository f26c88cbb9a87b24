import { parseBeginPatch } from "./parse_begin.ts";
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
  const files = clean.some((line) => /^\*\*\* (Begin Patch|(Add|Update|Delete) File: )/.test(line))
    ? parseBeginPatch(clean)
    : parseUnified(clean);
  if (files.length > 0) return files;
  throw new PatchError(
    text.includes("*** Begin Patch")
      ? "No file was found in the patch; put each directive (*** Update File: path), @@ and changed line on a line of its own"
      : "No file header was found in the patch; give ---/+++ lines, or the *** Begin Patch form",
  );
}

/** Every path a patch would write or remove, for the gate. A patch that cannot be read writes nothing. */
export function patchPaths(text: string): string[] {
  try {
    const paths = new Set<string>();
    for (const file of parsePatch(text)) {
      if (file.from !== undefined && !file.copy) paths.add(file.from);
      if (file.to !== undefined) paths.add(file.to);
    }
    return [...paths];
  } catch {
    return [];
  }
}
