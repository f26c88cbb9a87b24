import type { SkillScope } from "../../context/mod.ts";
import { listField, parseFrontmatter, textField } from "../../util/frontmatter.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { type Piece, piecesOf } from "./template.ts";

/** A command that a Markdown file brings. */
export interface CommandFile {
  /** Without the slash; `git:commit` for `git/commit.md`. */
  readonly name: string;
  readonly file: string;
  readonly scope: SkillScope;
  readonly description: string;
  readonly argumentHint?: string;
  /** The model its turn is answered by. */
  readonly model?: string;
  /** Allow rules of its turn. */
  readonly allowedTools: readonly string[];
  readonly pieces: readonly Piece[];
}

/** Why a file cannot be used, and at which line. */
export class FileProblem extends Error {
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }
}

const MAX_BYTES = 256 * 1024;

/** Reads a command file. Throws FileProblem when it cannot be used. */
export function readCommandFile(
  { file, name, scope }: Pick<CommandFile, "file" | "name" | "scope">,
): CommandFile {
  const head = parseFrontmatter(readText(file));
  // A text with a colon that should be in quotes is understood all the same.
  const fault = head.problems.find(({ text }) => /has no end|not of the form/.test(text));
  if (fault) throw new FileProblem(fault.text, fault.line);
  const body = head.body.trim();
  if (body === "") throw new FileProblem("it has no text to send");
  const model = textField(head, "model");
  const argumentHint = hintOf(head.fields["argument-hint"]);
  const firstLine = body.split("\n").find((line) => line.trim() !== "") ?? "";
  return {
    name,
    file,
    scope,
    description: oneLine(textField(head, "description") || firstLine.replace(/^#+\s*/, ""), 160),
    allowedTools: listField(head, "allowed-tools"),
    pieces: piecesOf(body),
    ...(model ? { model } : {}),
    ...(argumentHint ? { argumentHint: oneLine(argumentHint, 60) } : {}),
  };
}

/** Hints look like lists: `[file] [line]`. */
function hintOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? `[${value.join(", ")}]` : undefined;
}

function readText(file: string): string {
  const { isFile, size } = Deno.statSync(file);
  if (!isFile || size > MAX_BYTES) {
    throw new FileProblem(`it is no text file of at most ${MAX_BYTES / 1024} KiB`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(file));
  } catch (error) {
    if (error instanceof TypeError) throw new FileProblem("it is not UTF-8 text");
    throw error;
  }
}
