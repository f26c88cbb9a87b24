import { relativeTo } from "./lexical.ts";

/** Directory of everything kept for one working directory: `<home>/projects/<slug>`. */
export function projectDir(home: string, cwd: string): string {
  return `${home.replace(/[\\/]+$/, "")}/projects/${projectSlug(cwd)}`;
}

/**
 * A directory name people recognise plus a short hash, since `/a/b` and `/a-b` read the same once the
 * separators are gone.
 */
function projectSlug(cwd: string): string {
  const trimmed = cwd.length > 1 ? cwd.replace(/[\\/]+$/, "") : cwd;
  const words = trimmed.replace(/[^\p{L}\p{N}._]+/gu, "-").replace(/^[-.]+|-+$/g, "");
  const readable = [...words].slice(-48).join("").replace(/^[-.]+/, "");
  return `${readable || "root"}-${hash(trimmed)}`;
}

/** FNV-1a, 32 bit: only has to keep two paths of one machine apart. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  }
  return value.toString(16).padStart(8, "0").slice(0, 6);
}

/**
 * The directory of the work trees of agents: `<home>/worktrees/<id>/tree/<name>`. Of all
 * that is in the Reasonix home only these belong to agents; what describes a work tree is next to `tree`.
 */
export function worktreesDir(home: string): string {
  return `${home.replace(/[\\/]+$/, "")}/worktrees`;
}

/** The identifier of the work tree that contains a path, or undefined. Both paths are real. */
export function worktreeIdOf(home: string, path: string): string | undefined {
  const [id, kind, name] = relativeTo(path, worktreesDir(home))?.split("/") ?? [];
  return id && kind === "tree" && name ? id : undefined;
}
