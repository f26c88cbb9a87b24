/**
 * Replaces files so that readers see the old content or the new, never a part. System calls are synchronous:
 * each takes microseconds, a change of threads a hundred times that.
 */

import { errorMessage, message, ReasonixError } from "../core/mod.ts";
import { attempt } from "./lazy.ts";

export interface AtomicWriteOptions {
  /** Mode of a file that does not exist yet; otherwise the mode it has is kept. */
  readonly mode?: number;
  readonly setMode?: number;
  readonly sync?: boolean;
  /**
   * Checks each file opened for writing before anything is written; rejects to stop. The path is already
   * resolved then, and is not resolved again.
   */
  readonly verify?: ((file: Deno.FsFile, path: string) => Promise<void>) | undefined;
  /** Name of the new file next to the old one, to recognize it after a crash; absent: a random one. */
  readonly temporaryName?: string;
}

/**
 * Saves a file of the user and makes its directory. Throws a ReasonixError with the reason; the file is
 * unchanged then.
 */
export async function saveFile(path: string, text: string, options: AtomicWriteOptions = {}): Promise<void> {
  try {
    const directory = path.replace(/[^/\\]+$/, "");
    if (directory !== "") await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFileAtomic(path, text, options);
  } catch (error) {
    // The system names the call and a temporary file as well.
    const reason = errorMessage(error).split("\n", 1)[0]?.replace(/ \(os error \d+\).*$/, "");
    throw new ReasonixError(message`Cannot save ${path}: ${reason ?? ""}`, {
      exit: "config",
      remedy: message`free space there or make it writable, and try again; the file is unchanged`,
      cause: error,
    });
  }
}

/** New content in a file next to its target, to replace it. */
export interface StagedFile {
  /** The file that will be replaced: the target of a symlink, not the link. */
  readonly path: string;
  commit(): Promise<void>;
  discard(): Promise<void>;
}

/** Writes content in place of a file, keeping its mode, owner and, when it is a symlink, the link. */
export async function writeFileAtomic(
  path: string,
  data: Uint8Array | string,
  options: AtomicWriteOptions = {},
): Promise<void> {
  const staged = await stageFile(path, data, options);
  try {
    await staged.commit();
  } catch (error) {
    await staged.discard();
    throw error;
  }
}

/**
 * Writes the new file. Where it cannot be made or would change the owner, the commit writes into the old
 * file.
 */
export async function stageFile(
  path: string,
  data: Uint8Array | string,
  options: AtomicWriteOptions = {},
): Promise<StagedFile> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const { verify } = options;
  const target = verify ? path : resolveLink(path);
  const existing = statOrUndefined(target);
  const mode = options.setMode ?? (existing?.mode ?? undefined);
  const name = options.temporaryName ?? `.reasonix-${crypto.randomUUID().slice(0, 13)}.tmp`;
  const temporary = `${target.slice(0, target.search(/[^/\\]*$/))}${name}`;
  try {
    await writeNew(temporary, bytes, { ...options, ...(existing ? { mode: 0o600 } : {}) });
    if (existing && !keepOwner(temporary, existing)) throw new Deno.errors.PermissionDenied("owner");
    if (mode !== undefined && Deno.build.os !== "windows") Deno.chmodSync(temporary, mode & 0o7777);
  } catch (error) {
    removeQuietly(temporary);
    // Writing into the file would also reach its other names, which may lie anywhere.
    const canRewrite = existing !== undefined && (existing.nlink ?? 1) < 2;
    const refused = error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable;
    if (!canRewrite || !refused) throw error;
    return {
      path: target,
      commit: () => rewrite(target, bytes, verify),
      discard: () => Promise.resolve(),
    };
  }
  return {
    path: target,
    commit: () => replace(temporary, target, existing ? () => rewrite(target, bytes, verify) : undefined),
    discard: () => Promise.resolve(removeQuietly(temporary)),
  };
}

async function writeNew(path: string, bytes: Uint8Array, options: AtomicWriteOptions): Promise<void> {
  const { mode, sync, verify } = options;
  using file = Deno.openSync(path, {
    write: true,
    createNew: true,
    ...(mode === undefined ? {} : { mode }),
  });
  await verify?.(file, path);
  writeFully(file, bytes);
  if (sync) await file.syncData();
}

async function rewrite(path: string, bytes: Uint8Array, verify: AtomicWriteOptions["verify"]): Promise<void> {
  using file = Deno.openSync(path, { write: true });
  await verify?.(file, path);
  file.truncateSync(0);
  writeFully(file, bytes);
}

/** A file that is a mount point cannot be replaced, only rewritten. */
async function replace(
  temporary: string,
  target: string,
  inPlace: (() => Promise<void>) | undefined,
): Promise<void> {
  try {
    Deno.renameSync(temporary, target);
  } catch (error) {
    const busy = error instanceof Error && /os error (16|18)\b/.test(error.message);
    if (!busy || !inPlace) throw error;
    await inPlace();
    removeQuietly(temporary);
  }
}

function keepOwner(path: string, existing: Deno.FileInfo): boolean {
  if (existing.uid === null || existing.uid === undefined) return true;
  const made = Deno.lstatSync(path);
  if (made.uid === existing.uid && made.gid === existing.gid) return true;
  try {
    Deno.chownSync(path, existing.uid, existing.gid);
    return true;
  } catch {
    // A group that cannot be kept is no reason to give up atomicity; another owner is.
    return made.uid === existing.uid;
  }
}

function resolveLink(path: string): string {
  try {
    if (!Deno.lstatSync(path).isSymlink) return path;
    return Deno.realPathSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return path;
    throw error;
  }
}

function statOrUndefined(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** It may be gone already, or was never made. */
function removeQuietly(path: string): void {
  attempt(() => Deno.removeSync(path));
}

export function writeFully(target: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += target.writeSync(bytes.subarray(at));
}
