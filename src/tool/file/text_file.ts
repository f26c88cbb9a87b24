import { message, ReasonixError } from "../../core/mod.ts";
import { osReason } from "./os_reason.ts";
import type { PathEnvironment } from "./suggest_paths.ts";
import { decodeAs, type Decoded, decodeText, encodeText, type Encoding } from "../text/encoding.ts";
import type { FileVersion, ToolContext } from "../tool.ts";
import { contains } from "../../path/lexical.ts";
import { joinBytes } from "../../util/bytes.ts";
import { lazy } from "../../util/lazy.ts";
import { after, unlessAborted } from "../../util/timer.ts";

/** A path of a call after the path policy: what to open, and what to call it in messages. */
export interface Target {
  readonly path: string;
  /** Relative to the working directory where it is inside. */
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
export async function statRegular(target: Target, context?: PathEnvironment): Promise<ExistingFile> {
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

async function missing(target: Target, context?: PathEnvironment): Promise<ReasonixError> {
  const { suggestPaths } = await import("./suggest_paths.ts");
  const near = await suggestPaths(target, context);
  const remedy = near.length > 0 ? `near names: ${near.join(", ")}` : "use glob or ls to find it";
  return new ReasonixError(message`${target.shown} does not exist`, { remedy });
}

const MAX_EDIT_BYTES = 50 * 1024 * 1024;

export interface TextFile extends LoadedFile {
  /** Without the byte order mark; line ends as they are. */
  readonly text: string;
  readonly encoding: Encoding;
  readonly bom: boolean;
}

export interface LoadedFile extends ExistingFile {
  readonly bytes: Uint8Array;
  /** The bytes are the text of an editor, which is not saved. */
  readonly unsaved?: true;
  /** The bytes are those on the disk, but an editor shows the file; why its text does not count. */
  readonly conflict?: ReasonixError;
}

/** Loads a file that is to be changed. */
export async function loadBytes(context: ToolContext, file: ExistingFile): Promise<LoadedFile> {
  if (file.info.size > MAX_EDIT_BYTES) {
    throw new ReasonixError(
      `${file.shown} is too large to edit (${file.info.size} bytes, at most ${MAX_EDIT_BYTES})`,
      {
        remedy: "use bash (sed, perl) instead",
      },
    );
  }
  const loaded = await loadCurrent(context, file);
  if (loaded.conflict) throw loaded.conflict;
  return loaded;
}

type FileAccess = Pick<ToolContext, "files" | "paths" | "seen" | "signal">;

/** Loads a file as it is on the disk, or as an editor has it that shows it. */
export async function loadCurrent(context: FileAccess, file: ExistingFile): Promise<LoadedFile> {
  const loaded = { ...file, bytes: await readBytes(file, context) };
  return context.files?.read ? await asInEditor(context, loaded) : loaded;
}

/** Returns the text of an editor that is not saved, for a real path; undefined: the file counts. */
export async function unsavedText(
  context: Omit<FileAccess, "seen">,
  path: string,
): Promise<string | undefined> {
  const file = await statRegular({ path, shown: path });
  const { unsaved, bytes } = await loadCurrent({ ...context, seen: new Map() }, file);
  return unsaved && plainText(bytes);
}

/** Larger files are read and written on the disk. */
const MAX_EDITOR_BYTES = 8 * 1024 * 1024;

/** Reports whether an editor has a say in this file: it shows its directory, and the file is plain UTF-8. */
export function isForEditor({ files }: Pick<ToolContext, "files">, path: string, bytes: Uint8Array): boolean {
  return files?.directories.some((directory) => contains(directory, path)) === true &&
    bytes.length <= MAX_EDITOR_BYTES && plainText(bytes) !== undefined;
}

/** Returns the text of UTF-8 without a byte order mark. */
export function plainText(bytes: Uint8Array): string | undefined {
  const decoded = decodeText(bytes);
  return decoded?.encoding === "utf-8" && !decoded.bom ? decoded.text : undefined;
}

/** Time for an editor to notice that a file has changed on the disk. */
const NOTICE_MS = 300;

async function asInEditor(context: FileAccess, file: LoadedFile): Promise<LoadedFile> {
  if (!isForEditor(context, file.path, file.bytes)) return file;
  const disk = plainText(file.bytes) ?? "";
  const seen = context.seen.get(file.path);
  const conflict = (error: ReasonixError) => ({ ...file, conflict: error });
  for (let waited = false;; waited = true) {
    let text: string | undefined;
    try {
      text = await context.files?.read?.(file.path, context.signal);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof ReasonixError) || error.exit === "blocked") throw error;
      return conflict(new ReasonixError(message`Cannot read ${file.shown}: ${error.texts.message}`));
    }
    if (text === undefined || isSameText(text, disk)) return file;
    const bytes = new TextEncoder().encode(await asFileText(text, disk));
    const isOutdated = seen?.hash === digest(bytes) && seen.mtimeMs !== file.info.mtime?.getTime();
    if (!isOutdated) return { ...file, bytes, unsaved: true };
    if (waited) {
      return conflict(
        new ReasonixError(message`${file.shown} has changed on the disk, and the editor has another text`, {
          remedy: "have the user save or reload it in the editor",
        }),
      );
    }
    const noticed = Promise.withResolvers<void>();
    after(NOTICE_MS, noticed.resolve);
    await unlessAborted(noticed.promise, context.signal);
  }
}

/** Compares texts without line ends, which an editor keeps apart, and without that of the last line. */
export function isSameText(a: string, b: string): boolean {
  return a === b || bareLines(a) === bareLines(b);
}

function bareLines(text: string): string {
  return text.replaceAll(/\r\n?/g, "\n").replace(/\n$/, "");
}

const loadTextEdit = lazy(() => import("../edit/text_edit.ts"));

/** Returns a text of an editor as it would save it: with the line ends of the file. */
export async function asFileText(text: string, disk: string): Promise<string> {
  const after = (await loadTextEdit()).withEolsOf(disk, text);
  const [end] = /\r?\n$|\r$/.exec(disk) ?? [""];
  return after === "" || /[\r\n]$/.test(after) ? after : after + end;
}

/** Loads a file whose bytes can be written back as they are after an edit of the text. */
export async function loadText(context: ToolContext, target: Target): Promise<TextFile> {
  const file = await loadBytes(context, await statRegular(target, context));
  return { ...file, ...decodeReversible(file, context.seen.get(file.path)?.encoding) };
}

/**
 * A remembered encoding counts where the bytes alone are no proof: a legacy encoding is guessed, and plain
 * ASCII fits them all.
 */
export function decodeRemembering(bytes: Uint8Array, remembered: string | undefined): Decoded | undefined {
  const decoded = decodeText(bytes);
  if (!decoded || (remembered !== "gb18030" && remembered !== "windows-1252")) return decoded;
  const isAscii = decoded.encoding === "utf-8" && !decoded.bom && decoded.text.length === bytes.length;
  if (!isAscii && !LEGACY.has(decoded.encoding)) return decoded;
  const again: Decoded = { text: decodeAs(bytes, remembered), encoding: remembered, bom: false };
  return isReversible(again, bytes) ? again : decoded;
}

/** Decodes text that encodes to the same bytes again, with Latin-1 where the likelier encoding would not. */
export function decodeReversible(
  file: Target & { readonly bytes: Uint8Array },
  remembered: string | undefined,
): Decoded {
  const { bytes } = file;
  const decoded = decodeRemembering(bytes, remembered);
  if (!decoded) {
    throw new ReasonixError(`${file.shown} is a binary file`, { remedy: "text tools cannot edit it" });
  }
  if (decoded.encoding !== "gb18030" || isReversible(decoded, bytes)) return decoded;
  return { text: decodeAs(bytes, "windows-1252"), encoding: "windows-1252", bom: false };
}

function isReversible(decoded: Decoded, bytes: Uint8Array): boolean {
  const again = encodeText(decoded.text, decoded.encoding, decoded.bom);
  return typeof again !== "string" && again.length === bytes.length &&
    again.every((byte, index) => byte === bytes[index]);
}

/** The version to remember; without its content when that is too large. */
export function stampOf(
  path: string,
  info: Deno.FileInfo,
  content?: { readonly bytes: Uint8Array; readonly encoding: Encoding },
): FileVersion {
  const stamp = { path, mtimeMs: info.mtime?.getTime() ?? 0, size: content?.bytes.length ?? info.size };
  if (!content) return stamp;
  const legacy = LEGACY.has(content.encoding) ? { encoding: content.encoding } : {};
  return { ...stamp, hash: digest(content.bytes), ...legacy };
}

const LEGACY: ReadonlySet<string> = new Set<Encoding>(["gb18030", "windows-1252"]);

/** The "read before edit" rule: refuses a file the model has not seen, or not in its present state. */
export function requireSeen(context: ToolContext, file: TextFile): void {
  if (!context.seen.get(file.path)) {
    throw new ReasonixError(message`${file.shown} has not been read in this session`, {
      remedy: "read_file it first",
    });
  }
  requireUnchanged(context, file);
}

/** Refuses a file that is no longer what the model saw; one it never saw passes. */
export function requireUnchanged(context: ToolContext, file: LoadedFile): void {
  const stamp = context.seen.get(file.path);
  if (!stamp) return;
  const same = stamp.hash === undefined
    ? stamp.mtimeMs === (file.info.mtime?.getTime() ?? 0) && stamp.size === file.info.size
    : stamp.size === file.bytes.length && stamp.hash === digest(file.bytes);
  if (same) return;
  const where = file.unsaved ? "in the editor" : "on disk";
  throw new ReasonixError(`${file.shown} has changed ${where} since it was read`, {
    remedy: "read_file it again",
  });
}

/** A 53-bit digest of a content, for noticing that a file changed (not for security). */
function digest(bytes: Uint8Array): string {
  let a = 0xdeadbeef ^ bytes.length;
  let b = 0x41c6ce57 ^ bytes.length;
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? 0;
    a = Math.imul(a ^ word, 2654435761);
    a ^= a >>> 15;
    b = Math.imul(b ^ word, 1597334677);
    b ^= b >>> 13;
  }
  for (let index = words.length * 4; index < aligned.length; index++) {
    a = Math.imul(a ^ (aligned[index] ?? 0), 2654435761);
    b = Math.imul(b ^ (aligned[index] ?? 0), 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}

/** Time for a file with size 0 to show its end; kernel files can block forever. */
const EMPTY_DEADLINE_MS = 2000;
const EMPTY_CAP = 4 * 1024 * 1024;

/** Kernel file systems give a size of 0 or nonsense. */
function hasTrueSize(file: ExistingFile): boolean {
  return file.info.size > 0 && !/^\/(proc|sys|dev)\//.test(file.path);
}

/** The whole file; where the size is not true, its bytes within a limit and a deadline. */
export async function readBytes(
  file: ExistingFile,
  context: Pick<ToolContext, "signal" | "paths">,
): Promise<Uint8Array> {
  const { signal } = context;
  try {
    if (!hasTrueSize(file)) return await readUnsized(file, signal);
    using handle = Deno.openSync(file.path, { read: true });
    await context.paths.verifyOpened?.(handle, file.path);
    return await readAll(handle, file.info.size, signal);
  } catch (error) {
    if (signal.aborted || error instanceof ReasonixError) throw error;
    throw new ReasonixError(`Cannot read ${file.shown}: ${osReason(error)}`);
  }
}

/** Up to this size a regular file is read at once; longer ones let other work run meanwhile. */
const SYNC_BYTES = 256 * 1024;

async function readAll(handle: Deno.FsFile, size: number, signal: AbortSignal): Promise<Uint8Array> {
  let bytes = new Uint8Array(size + 1);
  let length = 0;
  for (;;) {
    signal.throwIfAborted();
    const rest = bytes.subarray(length);
    const count = size <= SYNC_BYTES ? handle.readSync(rest) : await handle.read(rest);
    if (count === null) return bytes.subarray(0, length);
    length += count;
    if (length < bytes.length) continue;
    const larger = new Uint8Array(bytes.length * 2);
    larger.set(bytes);
    bytes = larger;
  }
}

async function readUnsized(file: ExistingFile, signal: AbortSignal): Promise<Uint8Array> {
  const late = AbortSignal.timeout(EMPTY_DEADLINE_MS);
  return await unlessAborted(collect(file), AbortSignal.any([signal, late])).catch((error) => {
    if (!late.aborted) throw error;
    throw new ReasonixError(`Cannot read ${file.shown}: it gives no data and no end`);
  });
}

async function collect(file: ExistingFile): Promise<Uint8Array> {
  using handle = await Deno.open(file.path, { read: true });
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const chunk = new Uint8Array(65_536);
  for (let length = 0; length < EMPTY_CAP;) {
    const count = await handle.read(chunk);
    if (count === null) return joinBytes(chunks);
    chunks.push(chunk.slice(0, count));
    length += count;
  }
  throw new ReasonixError(`Cannot read ${file.shown}: it has no end`, {
    remedy: "read a part of it with bash (head -c)",
  });
}
