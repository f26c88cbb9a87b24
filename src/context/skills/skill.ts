import { type Bundle, namedIn } from "../../config/mod.ts";
import { errorMessage } from "../../core/mod.ts";
import { contains } from "../../path/lexical.ts";
import { attempt } from "../../util/lazy.ts";
import { defined } from "../../util/json.ts";
import { type Frontmatter, listField, parseFrontmatter, textField } from "../../util/frontmatter.ts";
import { readPieceOf } from "../../util/file_bytes.ts";

export type SkillScope = "project" | "configured" | "user";

/** One skill as its SKILL.md describes it (Agent Skills specification). The body is read on activation. */
export interface Skill {
  readonly name: string;
  /** Its purpose and when to use it, on one line. */
  readonly description: string;
  readonly file: string;
  readonly dir: string;
  readonly scope: SkillScope;
  readonly bundle?: Bundle;
  /** Permission rules of calls that need no question in the turn in which the skill is activated. */
  readonly allowedTools: readonly string[];
  /** "subagent": needs a separate conversation (`run-as`, `runAs`, or `context: fork`). */
  readonly runAs: "inline" | "subagent";
  readonly model?: string;
  readonly argumentHint?: string;
  /** True when the prompt lists it; else only the user can start it. */
  readonly listed: boolean;
  /** True when `/name` starts it. */
  readonly slash: boolean;
}

export interface SkillWarning {
  readonly path: string;
  readonly text: string;
}

export interface SkillSource {
  readonly file: string;
  readonly dir: string;
  readonly scope: SkillScope;
  /** The installed bundle that it is a part of. */
  readonly bundle?: Bundle | undefined;
}

const MAX_FILE_BYTES = 1024 * 1024;
/** A frontmatter is rarely longer; a file is read whole only when its block is longer. */
const HEAD_BYTES = 8 * 1024;
const MAX_DESCRIPTION = 1_024;

/** Reads the frontmatter of a skill; undefined, with a warning, when it cannot be used. */
export function readSkill(source: SkillSource, warn: (text: string) => void): Skill | undefined {
  let head: Frontmatter;
  try {
    head = parseFrontmatter(readHead(source.file));
  } catch (error) {
    warn(`could not be read: ${errorMessage(error)}`);
    return undefined;
  }
  for (const problem of head.problems) warn(`line ${problem.line}: ${problem.text}`);
  const description = (textField(head, "description") ?? "").replace(/\s+/g, " ").trim();
  if (description === "") {
    warn("left out: it has no description that says when to use it");
    return undefined;
  }
  const directory = source.dir.split(/[\\/]/).at(-1) ?? source.dir;
  const name = (textField(head, "name") ?? "").trim() || directory;
  if (name !== directory) warn(`its name "${name}" differs from its directory "${directory}"`);
  if (!/^[^\s/]+$/.test(name)) {
    warn(`left out: "${name}" cannot be a name, it has blanks or slashes`);
    return undefined;
  }
  return {
    ...{ file: source.file, dir: source.dir, scope: source.scope },
    ...(source.bundle ? { bundle: source.bundle } : {}),
    name: namedIn(source.bundle, name),
    description: description.slice(0, MAX_DESCRIPTION),
    ...optional(head),
  };
}

function optional(head: Frontmatter) {
  const model = textField(head, "model");
  const argumentHint = textField(head, "argument-hint");
  const runAs = textField(head, "run-as") ?? textField(head, "runAs");
  const subagent = runAs === "subagent" || textField(head, "context") === "fork";
  return {
    allowedTools: listField(head, "allowed-tools"),
    runAs: subagent ? "subagent" as const : "inline" as const,
    listed: textField(head, "disable-model-invocation") !== "true",
    slash: textField(head, "user-invocable") !== "false",
    ...defined({ model, argumentHint }),
  };
}

function readHead(path: string): string {
  // Opening a pipe would wait forever.
  const { isFile, size } = Deno.statSync(path);
  if (!isFile || size > MAX_FILE_BYTES) throw new Error("It is no text file of at most 1 MiB");
  const bytes = readPieceOf(path, 0, HEAD_BYTES);
  const text = new TextDecoder().decode(bytes, { stream: true });
  return bytes.length < HEAD_BYTES || /\n---\s*\n/.test(text) ? text : Deno.readTextFileSync(path);
}

export interface SkillRoots {
  readonly cwd: string;
  readonly home: string;
  /** Home of the user, for `~/.agents` and `~/.claude`. */
  readonly userHome?: string | undefined;
  /** `[skills]` of the configuration; paths absolute. */
  readonly paths?: readonly string[];
  readonly excluded?: readonly string[];
  readonly disabled?: readonly string[];
  readonly bundles?: readonly Bundle[];
}

export interface SkillRoot {
  readonly path: string;
  readonly scope: SkillScope;
  readonly within?: string;
  readonly bundle?: Bundle;
}

/** Reports whether something is there and its links, if any, do not lead out of a directory. */
export function staysInside(path: string, root: string): boolean {
  return attempt(() => contains(root, Deno.realPathSync(path))) ?? false;
}
