import { PATH_ARGUMENTS } from "../util/path_arguments.ts";

/** Which rule family a tool belongs to, and what its calls act on. */

export type Family = "Bash" | "Read" | "Edit" | "Mcp";

const READ_TOOLS = new Set([
  "read_file",
  "view_image",
  "ls",
  "list_dir",
  "grep",
  "glob",
  "code_index",
  "document_symbols",
]);
const EDIT_TOOLS = new Set([
  "write_file",
  "edit_file",
  "multi_edit",
  "move_file",
  "apply_patch",
  "notebook_edit",
]);
const SHELL_TOOLS = new Set(["bash", "shell", "powershell", "pwsh"]);

/** Names of other systems that users write in rules, by the name they mean here. */
const RULE_NAMES: Readonly<Record<string, string>> = {
  Bash: "Bash",
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
  Task: "task",
};

const FAMILIES: ReadonlySet<string> = new Set(["Bash", "Read", "Edit", "Mcp"]);

export function familyOf(tool: string): Family | undefined {
  if (SHELL_TOOLS.has(tool)) return "Bash";
  if (READ_TOOLS.has(tool)) return "Read";
  if (EDIT_TOOLS.has(tool) || tool.startsWith("delete_")) return "Edit";
  return tool.startsWith("mcp__") ? "Mcp" : undefined;
}

/** A family or a tool name for what stands before the parenthesis of a rule; undefined when no tool can have it. */
export function ruleTarget(name: string): { family: Family } | { tool: string } | undefined {
  const known = RULE_NAMES[name];
  if (known !== undefined) return isFamily(known) ? { family: known } : { tool: known };
  if (SHELL_TOOLS.has(name)) return { family: "Bash" };
  if (name === "*") return { tool: "*" };
  if (/^mcp__[\w.*-]+$/.test(name)) return { tool: name };
  return /^[a-z][a-z0-9_.-]*$/.test(name) ? { tool: name } : undefined;
}

function isFamily(name: string): name is Family {
  return FAMILIES.has(name);
}

/** Every name a rule may start with, for near matches. */
export function ruleNames(): string[] {
  return [...Object.keys(RULE_NAMES), ...READ_TOOLS, ...EDIT_TOOLS, ...SHELL_TOOLS];
}

/** What a call acts on, as its arguments name it. */
export interface Subjects {
  readonly command?: string;
  readonly paths: readonly string[];
  /** Values a literal tool rule compares itself with. */
  readonly literals: readonly string[];
  /** The paths could not be read from the arguments. */
  readonly unknownPaths: boolean;
}

const PATH_KEYS = [...PATH_ARGUMENTS, "from", "to", "old_path", "new_path"];
const LITERAL_KEYS = ["command", ...PATH_KEYS, "pattern", "url", "query", "name"];

export function subjectsOf(tool: string, args: Record<string, unknown>): Subjects {
  const family = familyOf(tool);
  const literals = LITERAL_KEYS.flatMap((key) => texts(args[key]));
  if (family === "Bash") {
    const command = texts(args.command)[0];
    return { ...(command === undefined ? {} : { command }), paths: [], literals, unknownPaths: false };
  }
  if (family !== "Read" && family !== "Edit") return { paths: [], literals, unknownPaths: false };
  const paths = [...PATH_KEYS, "paths", "files"].flatMap((key) => texts(args[key]));
  if (tool === "apply_patch") paths.push(...patchPaths(args));
  if (tool === "glob") {
    return { paths: [globRoot(paths[0] ?? ".", args.pattern)], literals, unknownPaths: false };
  }
  if (paths.length === 0 && family === "Read") paths.push(".");
  return { paths, literals, unknownPaths: paths.length === 0 };
}

function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return [];
  return value.flatMap((item) =>
    typeof item === "string" ? [item] : isRecord(item) ? [...texts(item.path), ...texts(item.file_path)] : []
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function globRoot(base: string, pattern: unknown): string {
  if (typeof pattern !== "string") return base;
  const head = pattern.split(/[*?[{!]/, 1)[0] ?? "";
  const folder = head === pattern ? head : head.slice(0, head.lastIndexOf("/") + 1);
  return folder.startsWith("/") ? folder : folder === "" ? base : `${base}/${folder}`;
}

const PATCH_LINE =
  /^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |(?:---|\+\+\+) (?:[ab]\/)?|rename (?:from|to) )(.+)$/gm;

function patchPaths(args: Record<string, unknown>): string[] {
  const patch = [args.patch, args.input, args.diff].find((value) => typeof value === "string");
  if (typeof patch !== "string") return [];
  return [...patch.matchAll(PATCH_LINE)]
    .map((match) => (match[1] ?? "").split("\t", 1)[0]?.trim() ?? "")
    .filter((path) => path !== "" && path !== "/dev/null");
}
