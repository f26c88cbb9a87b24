import { ReasonixError } from "../../core/mod.ts";
import type { ToolContext } from "../tool.ts";
import { osReason } from "./os_reason.ts";
import type { Surroundings } from "./suggest_paths.ts";

/** A path of a call after the path policy: what to open, and what to call it in messages. */
export interface Target {
  /** Real absolute path. */
  readonly path: string;
  /** Relative to the working directory where it lies below it. */
  readonly shown: string;
}

export interface ExistingFile extends Target {
  readonly info: Deno.FileInfo;
}

/** Resolves a path for writing (and reading, since every writer shows parts of the file). */
export async function resolveWrite(context: ToolContext, path: string): Promise<Target> {
  const real = await context.paths.write(checkedPath(path));
  if (context.paths.hidden(real)) await context.paths.read(path);
  return { path: real, shown: shownPath(context, real) };
}

export async function resolveRead(context: ToolContext, path: string): Promise<Target> {
  const real = await context.paths.read(checkedPath(path));
  return { path: real, shown: shownPath(context, real) };
}

/** No system takes a longer one (PATH_MAX of Linux; the long paths of Windows). */
const MAX_PATH_CHARS = Deno.build.os === "windows" ? 32_767 : 4096;

/** A path as the model wrote it, if it can be one at all. */
export function checkedPath(path: string): string {
  if (path === "") throw new ReasonixError("The path is empty");
  if (path.length > MAX_PATH_CHARS) {
    throw new ReasonixError(`The path is too long (${path.length} characters): ${path.slice(0, 80)}…`);
  }
  if (path.includes("\0")) throw new ReasonixError(`The path ${JSON.stringify(path)} has a NUL character`);
  return path;
}

function shownPath(context: ToolContext, real: string): string {
  const separator = Deno.build.os === "windows" ? "\\" : "/";
  const root = context.cwd.endsWith(separator) ? context.cwd : context.cwd + separator;
  const shown = real.startsWith(root) ? real.slice(root.length) : real;
  return separator === "/" ? shown : shown.replaceAll(separator, "/");
}

/**
 * The status of something that can be read as a file without blocking. A directory, device, pipe or socket is
 * refused before it is opened, since opening alone can hang. With `context`, the error about a missing one
 * names files of that name elsewhere.
 */
export async function statRegular(target: Target, context?: Surroundings): Promise<ExistingFile> {
  let info: Deno.FileInfo;
  try {
    // A call into the kernel takes microseconds, the way to a thread and back a hundred times that.
    info = Deno.statSync(target.path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      throw await missing(target, context);
    }
    throw new ReasonixError(`Cannot read ${target.shown}: ${osReason(error)}`);
  }
  if (info.isDirectory) {
    throw new ReasonixError(`${target.shown} is a directory`, { remedy: "use ls to list it" });
  }
  if (!info.isFile) {
    throw new ReasonixError(`Cannot read ${target.shown}: it is a ${kindOf(info)}, not a regular file`);
  }
  return { ...target, info };
}

/** Like {@linkcode statRegular}, with undefined for a path where nothing is. */
export async function statRegularOrNothing(target: Target): Promise<ExistingFile | undefined> {
  try {
    Deno.lstatSync(target.path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw new ReasonixError(`Cannot write ${target.shown}: ${osReason(error)}`);
  }
  return await statRegular(target);
}

export function kindOf(info: Deno.FileInfo): string {
  if (info.isFifo) return "named pipe";
  if (info.isSocket) return "socket";
  if (info.isBlockDevice || info.isCharDevice) return "device";
  return "special file";
}

async function missing(target: Target, context?: Surroundings): Promise<ReasonixError> {
  const { suggestPaths } = await import("./suggest_paths.ts");
  const near = await suggestPaths(target, context);
  const remedy = near.length > 0 ? `near names: ${near.join(", ")}` : "use glob or ls to find it";
  return new ReasonixError(`${target.shown} does not exist`, { remedy });
}
