import { ReasonixError } from "../../core/mod.ts";
import { systemText } from "../../util/process/process_start.ts";
import { baseName, join, parentOf } from "../../path/lexical.ts";

/** First bytes of a model file of llama.cpp. */
const MAGIC = "GGUF";
const GB = 1e9;
/** Name of one of several files that are a model together. */
const PART = /-(\d{5})-of-(\d{5})\.gguf$/;

/** Reports a model file that is missing or none. Throws a ReasonixError of exit "config". */
export function checkModelFile(provider: string, setting: string, path: string): void {
  const problem = problemOf(path);
  if (problem === undefined) return;
  throw wrong(provider, setting, `${path} ${problem.what}`, problem.remedy);
}

interface Problem {
  readonly what: string;
  readonly remedy: string;
}

function problemOf(path: string): Problem | undefined {
  let file: Deno.FsFile;
  try {
    if (!Deno.statSync(path).isFile) return { what: "is no file", remedy: "name the model file itself" };
    file = Deno.openSync(path);
  } catch (error) {
    const missing = error instanceof Deno.errors.NotFound;
    return missing
      ? { what: "does not exist", remedy: "download the model, or correct the path" }
      : { what: "cannot be read", remedy: "make it readable for you" };
  }
  using opened = file;
  const bytes = new Uint8Array(MAGIC.length);
  const read = opened.readSync(bytes) ?? 0;
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, read));
  if (start !== MAGIC) {
    const what = start.startsWith("ver")
      ? "is a Git LFS pointer, not the model"
      : `is no model file: it begins with ${JSON.stringify(start)} in place of "GGUF"`;
    return { what, remedy: "download the model as GGUF file, or convert it" };
  }
  const missing = partsOf(path).find((part) => sizeOf(part) === undefined);
  return missing === undefined ? undefined : {
    what: `is one of several parts, and ${baseName(missing)} is missing`,
    remedy: "download that part, too",
  };
}

/** All files of a model. */
function partsOf(path: string): string[] {
  const [match, , count = ""] = PART.exec(path) ?? [];
  if (match === undefined || Number(count) > 1000) return [path];
  const stem = baseName(path).slice(0, -match.length);
  return Array.from(
    { length: Number(count) },
    (_, index) => join(parentOf(path), `${stem}-${String(index + 1).padStart(5, "0")}-of-${count}.gguf`),
  );
}

function sizeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch {
    return undefined;
  }
}

/** Size of a model in bytes, all its parts together. */
export function modelBytes(path: string): number {
  return partsOf(path).reduce((sum, part) => sum + (sizeOf(part) ?? 0), 0);
}

/**
 * Reports models that are larger than the memory that is available, before a server makes the machine swap.
 * Throws a ReasonixError of exit "config".
 */
export function checkMemory(provider: string, paths: readonly string[], available = availableMemory()): void {
  const bytes = paths.reduce((sum, path) => sum + modelBytes(path), 0);
  if (available === undefined || bytes <= available) return;
  const [needed, free] = [modelSize(bytes), modelSize(available)];
  const what = `${baseName(paths[0] ?? "")} has ${needed}, and ${free} of memory are available`;
  const remedy =
    "choose a smaller model or end other programs; where a GPU holds it, set check_memory = false";
  throw wrong(provider, "server.model_path", what, remedy);
}

/** A size as people know sizes of models. */
export function modelSize(bytes: number): string {
  if (bytes < GB) return `${Math.ceil(bytes / 1e6)} MB`;
  return `${(bytes / GB).toFixed(bytes < 10 * GB ? 1 : 0)} GB`;
}

/** Bytes that programs can still get, also where a container has less than the machine. */
function availableMemory(): number | undefined {
  try {
    const { available } = Deno.systemMemoryInfo();
    return available > 0 ? Math.min(available, containerMemory()) : undefined;
  } catch {
    return undefined;
  }
}

/** What the limit of a container leaves. Pages of files count as used there, and are given back. */
function containerMemory(): number {
  const directory = "/sys/fs/cgroup";
  const [limit, used] = systemText([`${directory}/memory.max`, `${directory}/memory.current`]).split("\n");
  const files = /^inactive_file (\d+)$/m.exec(systemText([`${directory}/memory.stat`]))?.[1];
  const left = Number(limit || NaN) - Number(used) + Number(files ?? 0);
  return Number.isFinite(left) ? Math.max(left, 0) : Infinity;
}

function wrong(provider: string, setting: string, what: string, remedy: string): ReasonixError {
  return new ReasonixError(`Cannot start the server of provider "${provider}": ${what}`, {
    exit: "config",
    setting,
    remedy,
    said: [["noServerStart", provider, what]],
  });
}
