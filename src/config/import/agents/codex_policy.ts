import { isTable } from "../../schema/json_schema.ts";
import { type ForeignDocument, originOf, textsOf } from "../document.ts";
import type { ImportPlan } from "../plan.ts";

/** Plans what codex's sandbox and approvals become: never more than they allow. */
export function planCodexPolicy(plan: ImportPlan, document: ForeignDocument): void {
  const { approval_policy: approval, sandbox_mode: mode } = document.table;
  const set = (path: string, value: unknown, ours: readonly [key: string, value: unknown], note?: string) =>
    plan.take(originOf(document, [path], value), { kind: "set", key: ours[0], value: ours[1] }, note);
  if (mode === "read-only") {
    set("sandbox_mode", mode, ["permissions.mode", "deny"], "nothing writes unless a rule allows it");
  } else if (mode === "workspace-write") set("sandbox_mode", mode, ["sandbox.bash", "enforce"]);
  else if (mode !== undefined) {
    plan.leave(
      originOf(document, ["sandbox_mode"], mode),
      "no file lifts the jail; --permission-mode does for one run",
    );
  }
  if (approval === "untrusted" || approval === "on-request") {
    if (mode !== "read-only") {
      set(
        "approval_policy",
        approval,
        ["permissions.mode", "ask"],
        "every writer without a rule is asked about",
      );
    }
  } else if (approval !== undefined) {
    const shown = isTable(approval) ? undefined : approval;
    plan.leave(
      originOf(document, ["approval_policy"], shown),
      "no file lifts every question; --on-ask allow does for one run",
    );
  }
  planWorkspace(plan, document);
}

function planWorkspace(plan: ImportPlan, document: ForeignDocument): void {
  const section = "sandbox_workspace_write";
  const workspace = document.table[section];
  for (const [key, value] of Object.entries(isTable(workspace) ? workspace : {})) {
    const path = [section, key];
    if (key === "network_access") {
      plan.take(originOf(document, path, value), {
        kind: "set",
        key: "sandbox.network",
        value: value === true,
      });
    } else if (key === "writable_roots") {
      for (const { path: at, text } of textsOf(plan, document, path, value)) {
        plan.take(originOf(document, at, text), { kind: "item", key: "sandbox.allow_write", item: text });
      }
    } else plan.leave(originOf(document, path, value), "commands have a /tmp of their own in the jail");
  }
}

const LISTS: Readonly<Record<string, string>> = { allow: "allow", prompt: "ask", forbidden: "deny" };
/** More alternatives than anybody writes by hand. */
const MOST_RULES = 64;

/** Plans what the rules of a `.rules` file become: each names the first words of a command. */
export function planCodexRules(plan: ImportPlan, document: ForeignDocument): void {
  const { rules } = document.table;
  for (const [index, rule] of (Array.isArray(rules) ? rules : []).entries()) {
    const { pattern, decision } = rule as { pattern: unknown; decision: string };
    const commands = commandsOf(pattern);
    const list = LISTS[decision];
    const shown = commands?.length === 1 ? commands[0] : undefined;
    const origin = { ...originOf(document, ["rules", index], shown), text: `${decision} ${shown ?? "rule"}` };
    if (!commands || list === undefined) {
      plan.leave(
        origin,
        commands ? "it is none of allow, prompt and forbidden" : "its pattern is no plain list of words",
      );
      continue;
    }
    for (const command of commands) {
      if (list === "allow" && /[*?]/.test(command)) {
        plan.leave(origin, "a * or ? is any text here, so it would allow more");
      } else plan.take(origin, { kind: "item", key: `permissions.${list}`, item: `Bash(${command}:*)` });
    }
  }
}

/** The beginnings of commands that a pattern names; a list in it is a choice of words. */
function commandsOf(pattern: unknown): readonly string[] | undefined {
  if (!Array.isArray(pattern) || pattern.length === 0) return undefined;
  let commands = [""];
  for (const part of pattern) {
    const words: unknown[] = Array.isArray(part) ? part : [part];
    if (!words.every((word) => typeof word === "string" && word !== "" && !/['"\\]/.test(word))) {
      return undefined;
    }
    commands = commands.flatMap((begun) => words.map((word) => `${begun} ${quoted(String(word))}`.trim()));
    if (commands.length > MOST_RULES) return undefined;
  }
  return commands;
}

function quoted(word: string): string {
  return /^[\w./:=@%+,*?-]+$/.test(word) ? word : `'${word}'`;
}
