import type { PreparedCall } from "../core/mod.ts";
import { CLAUDE_TOOLS } from "../tool/mod.ts";
import { absolutePath, normalize } from "../path/lexical.ts";
import { canonicalJson } from "../util/json.ts";

/** The facts of a call that hooks see. */
export type HookedCall = Pick<PreparedCall, "call" | "tool" | "args" | "family" | "writes">;

/** The name of a tool in the input of hooks: Claude Code's where there is the same tool, else our own. */
export function hookToolName(tool: string): string {
  return Object.entries(CLAUDE_TOOLS).find(([name, [exact]]) => exact === tool && name !== "Agent")
    ?.[0] ?? tool;
}

/**
 * All names that a matcher may call a tool by. Whatever changes files also answers to `Edit` and `Write`, so
 * that a hook written for those cannot be gone around with another tool.
 */
export function hookToolNames({ call, tool, family }: HookedCall): readonly string[] {
  const theirs = Object.entries(CLAUDE_TOOLS).filter(([, ours]) => ours.includes(tool)).map(([name]) => name);
  const names = [tool, call.name, ...theirs];
  if (family === "Bash") names.push("Bash");
  const changesFiles = family === "Edit" &&
    !["edit_file", "multi_edit", "write_file", "notebook_edit"].includes(tool);
  if (family === "Edit" && tool !== "write_file" && tool !== "notebook_edit") names.push("Edit");
  if (changesFiles) names.push("Write");
  return [...new Set(names)];
}

/** Names that arguments have in Claude Code, by ours. */
const ARGUMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Bash: { timeout_ms: "timeout" },
  Edit: { path: "file_path" },
  Grep: { include: "glob" },
  MultiEdit: { path: "file_path" },
  NotebookEdit: { path: "notebook_path", cell: "cell_id" },
  Read: { path: "file_path" },
  Skill: { name: "skill" },
  Write: { path: "file_path" },
};

/** Files that a call changes, for tools that have no argument for one of them. */
const FILES = ["file_path", "file_paths"] as const;

/**
 * The arguments as hooks see them: under our names, and Claude Code's beside those that differ, whose paths
 * are absolute. Of a tool that names its files in another way they are added.
 */
export function hookToolInput(call: HookedCall, cwd: string): Record<string, unknown> {
  const { args, family, writes = [] } = call;
  const input: Record<string, unknown> = { ...args };
  for (const [ours, theirs] of renamed(call)) {
    const value = args[ours];
    if (value !== undefined) input[theirs] = theirs.endsWith("_path") ? absolute(String(value), cwd) : value;
  }
  if (family === "Edit" && renamed(call).length === 0 && writes.length > 0) {
    const paths = writes.map((path) => absolute(path, cwd));
    Object.assign(input, { file_path: paths[0], file_paths: paths });
  }
  return input;
}

/**
 * The arguments that a hook wants in place of those it saw. Where an argument has two names the one that was
 * changed counts; Claude Code's when both were.
 */
export function ownArguments(
  call: HookedCall,
  updated: Readonly<Record<string, unknown>>,
  cwd: string,
): string {
  const seen = hookToolInput(call, cwd);
  const args: Record<string, unknown> = { ...updated };
  for (const [ours, theirs] of renamed(call)) {
    if (!Object.hasOwn(updated, theirs)) continue;
    delete args[theirs];
    const changed = canonicalJson(updated[theirs]) !== canonicalJson(seen[theirs]);
    if (changed || !Object.hasOwn(updated, ours)) args[ours] = updated[theirs];
  }
  if (renamed(call).length === 0) {
    for (const name of FILES) if (!Object.hasOwn(call.args, name)) delete args[name];
  }
  return JSON.stringify(args);
}

function renamed({ tool }: HookedCall): [ours: string, theirs: string][] {
  return Object.entries(ARGUMENTS[hookToolName(tool)] ?? {});
}

function absolute(path: string, cwd: string): string {
  return normalize(absolutePath(path, { cwd, home: undefined }));
}
