import { ReasonixError } from "../../core/mod.ts";
import { osReason } from "./os_reason.ts";
import type { ToolContext } from "../tool.ts";
import type { ExistingFile } from "./target.ts";

/** Time that a file that claims to be empty may take to say so; kernel files can block for ever. */
const EMPTY_DEADLINE_MS = 2000;
const EMPTY_CAP = 4 * 1024 * 1024;

/**
 * Reports whether the size of a file says how much there is to read. Kernel file systems give 0 or nonsense.
 */
function hasTrueSize(file: ExistingFile): boolean {
  return file.info.size > 0 && !/^\/(proc|sys|dev)\//.test(file.path);
}

/**
 * All of a file of at most `cap` bytes; of one without a true size, what it gives within the cap and a
 * deadline.
 */
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

/** Up to this size a regular file is read at once; longer ones let other work go on meanwhile. */
const SYNC_BYTES = 256 * 1024;

/** Everything in an open file; `size` is what it had a moment ago. */
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
  const { promise, reject } = Promise.withResolvers<never>();
  const stuck = () => reject(new ReasonixError(`Cannot read ${file.shown}: it gives no data and no end`));
  const timer = setTimeout(stuck, EMPTY_DEADLINE_MS);
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([collect(file), promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

async function collect(file: ExistingFile): Promise<Uint8Array> {
  using handle = await Deno.open(file.path, { read: true });
  let bytes = new Uint8Array(0);
  const chunk = new Uint8Array(65_536);
  while (bytes.length < EMPTY_CAP) {
    const count = await handle.read(chunk);
    if (count === null) return bytes;
    const joined = new Uint8Array(bytes.length + count);
    joined.set(bytes);
    joined.set(chunk.subarray(0, count), bytes.length);
    bytes = joined;
  }
  throw new ReasonixError(`Cannot read ${file.shown}: it has no end`, {
    remedy: "read a part of it with bash (head -c)",
  });
}
