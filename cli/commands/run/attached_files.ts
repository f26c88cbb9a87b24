import process from "node:process";
import { message, usageError } from "../../../src/core/mod.ts";
import { absolutePath, relativeTo } from "../../../src/path/lexical.ts";
import { exists } from "../../../src/path/probe.ts";
import { referenceTo } from "../../../src/path/reference_text.ts";

/**
 * Returns a message with `@path` for each file of `--file`, so that rules and sizes count as for every
 * reference. Paths are relative to where the command was started; `cwd` is where the run works. Throws a
 * ReasonixError (usage).
 */
export function withFiles(text: string, files: readonly string[], cwd: string): string {
  const references = files.map((file) => {
    const path = absolutePath(file, { cwd: process.cwd() });
    const reference = exists(path) ? referenceTo(relativeTo(path, cwd) ?? path) : undefined;
    if (reference !== undefined) return reference;
    const why = exists(path) ? "no reference can hold its name" : "there is no such file";
    throw usageError(
      message`Cannot attach ${file}: ${why}`,
      message`give --file an existing file or directory, once for each`,
    );
  });
  return [text, references.join(" ")].filter((part) => part !== "").join("\n\n");
}
