import { isFault, readRule } from "../../../rule/mod.ts";
import type { KeyPath } from "../../problem.ts";
import { isTable } from "../../schema/json_schema.ts";
import { type ForeignDocument, originOf } from "../document.ts";
import type { ImportPlan, Origin } from "../plan.ts";

export type Answer = "allow" | "ask" | "deny";

/** One line of opencode's permissions. The last one that matches a call decides there. */
interface Line {
  readonly tool: string;
  readonly pattern: string;
  readonly answer: Answer;
  readonly origin: Origin;
}

/** Families of rules by opencode's names; what else it has goes by the name of a tool. */
const SUBJECTS: Readonly<Record<string, string>> = {
  bash: "Bash",
  shell: "Bash",
  edit: "Edit",
  write: "Edit",
  patch: "Edit",
  read: "Read",
  grep: "grep",
  glob: "glob",
  list: "ls",
  webfetch: "web_fetch",
  websearch: "web_search",
  task: "Task",
  subagent: "Task",
  skill: "skill",
};

const STRICTNESS: readonly Answer[] = ["allow", "ask", "deny"];

/** Plans what opencode's permissions become: here deny goes before ask, and ask before allow. */
export function planOpencodeRules(plan: ImportPlan, document: ForeignDocument): void {
  const lines = linesOf(plan, document);
  const general = lines.findLast(({ tool }) => tool === "*");
  const families = new Map<string, Line[]>();
  for (const line of lines) {
    if (line.tool === "*") continue;
    const subject = SUBJECTS[line.tool];
    if (subject === undefined) plan.leave(line.origin, "it has no counterpart");
    else families.set(subject, [...families.get(subject) ?? [], line]);
  }
  const live = [...families].map(([subject, all]) => familyOf(subject, all, general?.answer));
  planAnswers(plan, live, general);
  planTools(plan, document);
}

/** What is said of one family: the answer for everything, and the exceptions that follow it. */
interface Family {
  readonly subject: string;
  readonly base: Answer;
  readonly line: Line | undefined;
  readonly exceptions: readonly Line[];
}

function familyOf(subject: string, lines: readonly Line[], general: Answer | undefined): Family {
  const at = lines.findLastIndex(({ pattern }) => pattern === "*" || pattern === "**");
  return {
    subject,
    base: lines[at]?.answer ?? general ?? (READERS.includes(subject) ? "allow" : "ask"),
    line: lines[at],
    exceptions: lines.slice(at + 1),
  };
}

const READERS = ["Read", "grep", "glob", "ls"];

/**
 * A family with exceptions that are laxer than its base can only be said through `permissions.mode`, since a
 * rule for the whole family would beat them.
 */
function planAnswers(plan: ImportPlan, families: readonly Family[], general: Line | undefined): void {
  const laxer = families.filter((family) =>
    !READERS.includes(family.subject) &&
    family.exceptions.some(({ answer }) => rank(answer) < rank(family.base))
  );
  const strictest = laxer.toSorted((a, b) => rank(b.base) - rank(a.base))[0];
  const wanted = [strictest?.base, general?.answer].filter((answer) => answer !== undefined);
  const mode = wanted.toSorted((a, b) => rank(b) - rank(a))[0] ?? "ask";
  const said = strictest?.line ?? general;
  if (said) plan.take(said.origin, { kind: "set", key: "permissions.mode", value: mode });
  for (const family of families) {
    const { subject, base, line } = family;
    const hides = family.exceptions.some(({ answer }) => rank(answer) < rank(base));
    const byMode = base === mode && (base === "ask" || hides);
    if (line && !byMode && !(READERS.includes(subject) && base === "allow")) {
      takeRule(
        plan,
        line,
        subject,
        hides ? "stricter: it goes before the allowances for single ones" : undefined,
      );
    } else if (line && byMode && line !== said) {
      plan.take(line.origin, { kind: "set", key: "permissions.mode", value: mode });
    }
    family.exceptions.forEach((exception, index) => {
      const later = family.exceptions.slice(index + 1).some(({ answer }) =>
        rank(answer) < rank(exception.answer)
      );
      takeException(plan, subject, exception, later);
    });
  }
  if (said) keepSilent(plan, families, { said, mode, base: general?.answer ?? "ask" });
}

/** What the mode would answer for a family that nothing is said of has to be what it was. */
function keepSilent(
  plan: ImportPlan,
  families: readonly Family[],
  { said, mode, base }: { readonly said: Line; readonly mode: Answer; readonly base: Answer },
): void {
  if (base === mode) return;
  for (const subject of ["Bash", "Edit"]) {
    if (families.some((family) => family.subject === subject && family.line)) continue;
    const note = `nothing else is said of it, and the mode would ${mode} it`;
    plan.take(said.origin, { kind: "item", key: `permissions.${base}`, item: subject }, note);
  }
}

function rank(answer: Answer): number {
  return STRICTNESS.indexOf(answer);
}

function takeException(plan: ImportPlan, subject: string, line: Line, overruled: boolean): void {
  const { answer, pattern } = line;
  if (READERS.includes(subject) && answer === "allow") {
    return plan.leave(line.origin, "reading needs no rule here, and a refusal goes before an allowance");
  }
  const path = subject === "Edit" || READERS.includes(subject);
  const inner = path ? pathGlob(pattern) : pattern;
  const rule = `${subject}(${inner})`;
  const read = readRule(rule);
  if (isFault(read)) return plan.leave(line.origin, read.message);
  const note = overruled ? `stricter: ${answer} goes before what follows it there` : undefined;
  takeRule(plan, line, rule, note);
}

/** Brackets and braces are plain characters there. */
function pathGlob(pattern: string): string {
  return pattern.replace(/^\$HOME(?=\/|$)/, "~").replace(/[[\]{}\\]/g, "\\$&").replace(/^\/(?!\/)/, "//");
}

function takeRule(plan: ImportPlan, { answer, origin }: Line, item: string, note?: string): void {
  plan.take(origin, { kind: "item", key: `permissions.${answer}`, item }, note);
}

function linesOf(plan: ImportPlan, document: ForeignDocument): Line[] {
  const { permission, permissions } = document.table;
  if (Array.isArray(permissions)) {
    return permissions.flatMap((item, index) => versionTwo(plan, document, item, index));
  }
  const answer = answerOf(permission);
  if (answer) {
    return [{ tool: "*", pattern: "*", answer, origin: originOf(document, ["permission"], permission) }];
  }
  return Object.entries(isTable(permission) ? permission : {}).flatMap(([tool, value]) => {
    const path = ["permission", tool];
    if (!isTable(value)) return lineOf(plan, document, path, { tool, pattern: "*", value });
    return Object.entries(value).flatMap(([pattern, answer]) =>
      lineOf(plan, document, [...path, pattern], { tool, pattern, value: answer })
    );
  });
}

function versionTwo(plan: ImportPlan, document: ForeignDocument, item: unknown, index: number): Line[] {
  const path = ["permissions", index];
  if (!isTable(item)) {
    plan.leave(originOf(document, path, item), "it is no permission");
    return [];
  }
  const tool = String(item.action ?? item.permission ?? "*");
  const pattern = String(item.resource ?? item.pattern ?? "*");
  return lineOf(plan, document, path, { tool, pattern, value: item.effect });
}

function lineOf(
  plan: ImportPlan,
  document: ForeignDocument,
  path: KeyPath,
  { tool, pattern, value }: { readonly tool: string; readonly pattern: string; readonly value: unknown },
): Line[] {
  const answer = answerOf(value);
  const origin = originOf(document, path, answer ?? value);
  if (answer && (tool !== "*" || pattern === "*")) return [{ tool, pattern, answer, origin }];
  plan.leave(origin, answer ? "it has no counterpart" : "it is none of allow, ask and deny");
  return [];
}

function answerOf(value: unknown): Answer | undefined {
  return STRICTNESS.find((answer) => answer === value);
}

export const TOOLS: Readonly<Record<string, readonly string[]>> = {
  bash: ["bash"],
  edit: ["edit_file", "multi_edit", "apply_patch"],
  write: ["write_file"],
  read: ["read_file"],
  grep: ["grep"],
  glob: ["glob"],
  list: ["ls"],
  patch: ["apply_patch"],
  webfetch: ["web_fetch"],
  websearch: ["web_search"],
  task: ["task"],
  skill: ["skill"],
  todowrite: ["todo_write"],
  todoread: ["todo_read"],
};

/** Returns the strictest of several answers; what is none of them counts as a refusal. */
export function strictest(answers: readonly unknown[]): Answer {
  return STRICTNESS[Math.max(...answers.map((answer) => rank(answerOf(answer) ?? "deny")))] ?? "deny";
}

/** The older switches of single tools. */
function planTools(plan: ImportPlan, document: ForeignDocument): void {
  const { tools } = document.table;
  for (const [name, on] of Object.entries(isTable(tools) ? tools : {})) {
    const origin = originOf(document, ["tools", name], on);
    const own = TOOLS[name];
    if (on !== false) plan.leave(origin, "usual tools are on");
    else if (!own) plan.leave(origin, "there is no such tool");
    else own.forEach((item) => plan.take(origin, { kind: "item", key: "tools.disabled", item }));
  }
}
