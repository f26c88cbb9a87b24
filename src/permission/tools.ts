import { PATH_ARGUMENTS } from "../util/path_arguments.ts";
import { familyOf } from "../rule/mod.ts";

export { familyOf };

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
