import { contains } from "../../../path/lexical.ts";
import { ReasonixError } from "../../../core/mod.ts";
import { parentOf, requireSaved, writesDenied } from "../../file/commit.ts";
import { osReason } from "../../file/os_reason.ts";
import { loadCurrent, resolveWrite, statRegular, type Target } from "../../file/text_file.ts";
import type { FileChange, ToolContext, ToolResult } from "../../tool.ts";

export async function moveFile(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  const from = await entryAt(context, String(args.source_path));
  const to = await entryAt(context, String(args.destination_path));
  const info = await Deno.lstat(from.path).catch(() => undefined);
  if (!info) await statRegular(from, context);
  await requireFree(from, to, info);
  if (context.files && info?.isFile) requireSaved(await loadCurrent(context, { ...from, info }));
  const line = `${from.shown} → ${to.shown}`;
  const change: FileChange = { path: to.path, change: "moved", from: from.path, added: 0, removed: 0 };
  const result = { summary: line, changes: [change] };
  if (context.settings.writes === "dry-run") {
    const content = `dry run, nothing was moved; would move ${line}`;
    return { ...result, content, changes: [{ ...change, written: false }] };
  }
  context.signal.throwIfAborted();
  try {
    await Deno.mkdir(parentOf(to.path), { recursive: true });
    await rename(from.path, to.path, info);
  } catch (error) {
    throw new ReasonixError(`Cannot move ${from.shown} to ${to.shown}: ${osReason(error)}`);
  }
  moveStamps(context, from.path, to.path);
  return { ...result, content: `moved ${line}` };
}

/**
 * The real path of the entry: a link is moved as a link. The path policy checks its directory and also its
 * target.
 */
async function entryAt(context: ToolContext, path: string): Promise<Target> {
  const resolved = await resolveWrite(context, path);
  const bare = (Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path).replace(/\/+$/, "");
  const name = bare.slice(bare.lastIndexOf("/") + 1);
  if (name === "" || name === "." || name === "..") return resolved;
  const directory = bare.slice(0, bare.length - name.length) || ".";
  const parent = await context.paths.write(directory).catch(() => undefined);
  if (parent === undefined) return resolved;
  const own = `${parent === "/" ? "" : parent}/${name}`;
  const link = await Deno.lstat(own).catch(() => undefined);
  return link?.isSymlink ? { path: own, shown: bare } : resolved;
}

async function requireFree(from: Target, to: Target, info: Deno.FileInfo | undefined): Promise<void> {
  if (from.path === to.path) throw new ReasonixError(`${from.shown} is already there`);
  if (to.path !== from.path && contains(from.path, to.path)) {
    throw new ReasonixError(`Cannot move ${from.shown} into itself`);
  }
  const taken = await Deno.lstat(to.path).catch(() => undefined);
  if (!taken) return;
  // On a file system that ignores case, another spelling of the same name is the same entry.
  const same = taken.ino !== null && taken.ino === info?.ino && taken.dev === info.dev;
  if (same && from.path.toLowerCase() === to.path.toLowerCase()) return;
  throw new ReasonixError(`${to.shown} already exists`, {
    remedy: taken.isDirectory
      ? `name the place in it: ${to.shown}/${from.path.slice(from.path.lastIndexOf("/") + 1)}`
      : "choose another name; move_file never overwrites",
  });
}

/** Renames; across file systems a single file is copied and then removed. */
async function rename(from: string, to: string, info: Deno.FileInfo | undefined): Promise<void> {
  try {
    await Deno.rename(from, to);
  } catch (error) {
    const crossing = error instanceof Error && /os error 18\b/.test(error.message);
    if (!crossing || !info?.isFile) throw error;
    await Deno.copyFile(from, to);
    await Deno.remove(from);
  }
}

function moveStamps({ seen }: ToolContext, from: string, to: string): void {
  const own = seen.get(from);
  const below = [...seen.values()].filter((stamp) => stamp.path !== from && contains(from, stamp.path));
  for (const stamp of own ? [own, ...below] : below) {
    seen.delete(stamp.path);
    const path = to + stamp.path.slice(from.length);
    seen.set(path, { ...stamp, path });
  }
}
