/**
 * The way permission rules are written and which tools their names mean: the configuration checks it, the
 * gate works with it.
 */
import { message, type MessageTexts, type ToolFamily, withRemedy } from "../core/mod.ts";
import { suggestNames } from "../util/suggest.ts";
import { globWeight, spelledOut } from "./path_glob.ts";

/** The subject of a rule: a family of tools, or tools by name, with `*` as wildcard. */
export type RuleTarget = { readonly family: ToolFamily } | { readonly tool: string };

/** A rule taken apart. */
export interface RuleParts {
  readonly name: string;
  readonly target: RuleTarget;
  /** The content of the parentheses, without blanks around it; absent: every call. Never empty. */
  readonly inner?: string;
  /** The text after `=`. */
  readonly literal?: string;
}

/** A text that is no rule. */
export interface RuleFault {
  readonly message: string;
  /** The form to write instead. */
  readonly remedy: string;
  /** It is a rule, but more than can be held: an error in every list, since part of it would be lost. */
  readonly isTooWide?: true;
  /** Both for other languages. */
  readonly texts: Required<MessageTexts>;
}

/** Names that users write in rules, older ones and those of other systems, by the name they mean here. */
const RULE_NAMES: Readonly<Record<string, string>> = {
  Bash: "Bash",
  bash: "Bash",
  shell: "Bash",
  powershell: "Bash",
  pwsh: "Bash",
  Shell: "Bash",
  Read: "Read",
  Edit: "Edit",
  Write: "Edit",
  MultiEdit: "Edit",
  NotebookEdit: "Edit",
  Mcp: "Mcp",
  MCP: "Mcp",
  Grep: "grep",
  Glob: "glob",
  LS: "ls",
  WebFetch: "web_fetch",
  WebSearch: "web_search",
  Task: "Task",
  Agent: "Task",
  task: "Task",
  read_only_task: "Task",
  TodoWrite: "todo_write",
  Skill: "skill",
  BashOutput: "job_output",
  KillShell: "job_kill",
};

const FAMILIES: ReadonlySet<string> = new Set(["Bash", "Read", "Edit", "Mcp", "Task"]);

/** Takes a rule apart: `Tool`, `Tool(what)` or `tool=literal`; see docs/permissions.md. */
export function readRule(written: string): RuleParts | RuleFault {
  const text = written.trim();
  if (text === "") {
    return {
      ...withRemedy(
        message`Cannot read an empty permission rule`,
        message`write Tool or Tool(what), such as Bash(go test:*)`,
      ),
    };
  }
  const split = /^([^\s(=]+)(?:\(([\s\S]*)\)|=([\s\S]*))?$/.exec(text);
  if (!split) {
    return {
      ...withRemedy(
        message`Cannot read permission rule ${quote(text)}`,
        message`write Tool or Tool(what) with both parentheses`,
      ),
    };
  }
  const [, name = "", between, literal] = split;
  const target = targetOf(name);
  if (!target) return unknownTool(name);
  // A literal is compared as it is, with the blanks at its end.
  if (literal !== undefined) return { name, target, literal: literal + (/\s*$/.exec(written)?.[0] ?? "") };
  const inner = between?.trim();
  if (inner === undefined || inner === "*") return { name, target };
  if (inner !== "") return isHeld(target, inner) ? { name, target, inner } : tooWide(text, name);
  return {
    ...withRemedy(
      message`Cannot read permission rule ${quote(text)}: nothing stands in its parentheses`,
      message`write ${name} alone for every call`,
    ),
  };
}

/** The most characters of a rule with wildcards, and of each name that it stands for: no path is longer. */
const MAX_LENGTH = 4096;
/** The most that a rule and the rules of one file may weigh, see {@linkcode ruleWeight}. */
const MAX_RULE_WEIGHT = 64 * 1024;
export const MAX_WEIGHT = 4 * MAX_RULE_WEIGHT;

/** The amount of text with wildcards that calls are compared with; 0 for no rule that can be held. */
export function ruleWeight(rule: unknown): number {
  const read = typeof rule === "string" ? readRule(rule) : undefined;
  if (!read || isFault(read)) return 0;
  return weightOf(read.target, read.inner ?? read.name);
}

function weightOf(target: RuleTarget, inner: string): number {
  if (!isCommandOrServer(target)) return globWeight(inner);
  return /[*?]/.test(inner) ? inner.length : 0;
}

function isCommandOrServer(target: RuleTarget): boolean {
  return "family" in target && /^(?:Bash|Mcp)$/.test(target.family);
}

/** Reports whether calls can be compared with all that a rule stands for. */
function isHeld(target: RuleTarget, inner: string): boolean {
  const names = isCommandOrServer(target) ? [/[*?]/.test(inner) ? inner : ""] : spelledOut(inner);
  return names !== undefined && names.every((name) => name.length <= MAX_LENGTH) &&
    weightOf(target, inner) <= MAX_RULE_WEIGHT;
}

function tooWide(text: string, name: string): RuleFault {
  return {
    ...withRemedy(
      message`Cannot hold permission rule ${
        quote(text)
      }: it is too long, or its braces stand for too many names`,
      message`write several rules for ${name}, or a wildcard in place of braces`,
    ),
    isTooWide: true,
  };
}

export function isFault(read: RuleParts | RuleFault): read is RuleFault {
  return "message" in read;
}

/** Undefined when no tool can have the name. */
function targetOf(name: string): RuleTarget | undefined {
  const known = RULE_NAMES[name];
  if (known !== undefined) return isFamily(known) ? { family: known } : { tool: known };
  if (name === "*") return { tool: "*" };
  if (name.length > MAX_LENGTH) return undefined;
  if (/^mcp__[\w.*-]+$/.test(name)) return { tool: name };
  return /^[a-z][a-z0-9_.-]*$/.test(name) ? { tool: name } : undefined;
}

function isFamily(name: string): name is ToolFamily {
  return FAMILIES.has(name);
}

function unknownTool(name: string): RuleFault {
  const near = suggestNames(name, Object.keys(RULE_NAMES), 1)[0];
  return {
    ...withRemedy(
      message`Cannot read permission rule for ${quote(name)}: no tool or family has this name`,
      near ? message`did you mean ${near}?` : message`use Bash, Read, Edit, Mcp or a tool's own name`,
    ),
  };
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}…` : text);
}
