import { contains } from "../../path/lexical.ts";
import { ReasonixError } from "../../core/mod.ts";
import type { ToolContext } from "../tool.ts";
import { isDirectory } from "../../path/probe.ts";

export interface WorkingDirectory {
  readonly path: string;
  /** Says whether where the command leaves off matters to the next one. */
  readonly lasting: boolean;
  /** To be told to the model. */
  readonly note?: string;
}

/** The directory a command starts in: the one asked for, else where the last command left off. */
export async function workingDirectory(context: ToolContext, wanted: unknown): Promise<WorkingDirectory> {
  const memory = context.services?.shell;
  if (typeof wanted === "string" && wanted !== "") {
    const path = await context.paths.read(wanted);
    if (!isDirectory(path)) {
      throw new ReasonixError(`Cannot run in ${wanted}: it is not a directory`, {
        remedy: "name an existing directory",
      });
    }
    if (!(await isInside(context, path))) {
      throw new ReasonixError(`Cannot run in ${wanted}: it is outside the workspace`, {
        remedy: "leave workdir out and use absolute paths in the command",
      });
    }
    return { path, lasting: false };
  }
  if (memory?.cwd === undefined) return { path: context.cwd, lasting: memory !== undefined };
  if (isDirectory(memory.cwd)) return { path: memory.cwd, lasting: true };
  const note = `[${memory.cwd} is gone; ran in ${context.cwd}]`;
  delete memory.cwd;
  return { path: context.cwd, lasting: true, note };
}

/**
 * Remembers where a command left off, as long as that is inside the workspace; returns what the model should
 * know.
 */
export async function leftOff(context: ToolContext, folder: string): Promise<string | undefined> {
  const memory = context.services?.shell;
  if (!memory || !folder.startsWith("/")) return undefined;
  if (folder === (memory.cwd ?? context.cwd)) return undefined;
  const before = memory.cwd ?? await Deno.realPath(context.cwd);
  if (folder === before) return undefined;
  if (await isInside(context, folder)) {
    memory.cwd = folder;
    return `[now in ${folder}]`;
  }
  return `[${folder} is outside the workspace; the next command starts in ${before} again]`;
}

/** Inside the working directory, or in another directory that tools may write to. */
async function isInside(context: ToolContext, folder: string): Promise<boolean> {
  const [root, real] = await Promise.all([
    Deno.realPath(context.cwd),
    Deno.realPath(folder).catch(() => folder),
  ]);
  if (contains(root, real)) return true;
  return await context.paths.write(real).then(() => true, () => false);
}
