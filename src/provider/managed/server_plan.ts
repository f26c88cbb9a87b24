import { type ProviderEntry, reasonixHome, withModelSettings } from "../../config/mod.ts";
import { type LocalizedMessage, message, ReasonixError, type Text } from "../../core/mod.ts";
import { baseName, isAbsolute, join, parentOf } from "../../path/lexical.ts";
import { isFile } from "../../path/probe.ts";
import { readEnv } from "../../path/read_env.ts";
import type { KindOptions } from "../kind.ts";
import { isSameRunning, running, ServerFiles, serversDirectory } from "./server_files.ts";
import { findProgram, systemText } from "../../util/process.ts";
import { attempt } from "../../util/lazy.ts";
import { readPieceOf } from "../../util/file_bytes.ts";

/** A server that can be started; its settings are validated. */
export interface ServerPlan {
  readonly provider: string;
  readonly model: string;
  readonly binary: string;
  /** Arguments without port and key file. */
  readonly args: readonly string[];
  readonly host: string;
  readonly ports: readonly [first: number, last: number];
  readonly startupMs: number;
  readonly log: string;
  readonly files: ServerFiles;
  /** The file name of the model. */
  readonly modelName: string;
  readonly modelBytes: number;
}

type Entry = KindOptions["entry"];

interface PlanOptions extends Pick<KindOptions, "entry" | "values"> {
  readonly model: { readonly id: string };
}

/** Arguments that the program sets, and the setting to use in their place. */
const OWN_FLAGS: Readonly<Record<string, string>> = {
  "-m": "model_path",
  "--model": "model_path",
  "--host": "host",
  "--port": "port_range",
  "--api-key": "nothing: a key is made for each server",
  "--api-key-file": "nothing: a key is made for each server",
  "--api-prefix": "nothing",
  "--ssl-key-file": "nothing",
  "--ssl-cert-file": "nothing",
  "--log-disable": "log_path",
};

/** Validates the settings of an entry; equal settings get the same directory. Throws a ReasonixError. */
export async function serverPlan({ entry, model, values }: PlanOptions): Promise<ServerPlan> {
  const { server, name: provider } = entry;
  if (Deno.build.os === "windows") {
    const remedy = 'start llama-server yourself and use kind = "openai"';
    throw noStart(provider, "kind", "kind is not supported on Windows", remedy);
  }
  if (server === undefined || server.model_path === "") {
    const remedy = "add the model file to its table [providers.server]";
    throw noStart(provider, "server", "server names no model_path", remedy);
  }
  const { model_path, draft_model_path, extra_flags, port_range, log_path } = server;
  const { workspace, home = reasonixHome(readEnv, workspace ?? "/") } = values;
  const binary = programOf(entry, server.binary, workspace);
  const models = [model_path, draft_model_path].filter((path) => path !== "");
  checkModelFile(provider, "server.model_path", model_path);
  if (draft_model_path !== "") checkModelFile(provider, "server.draft_model_path", draft_model_path);
  checkFlags(entry, extra_flags);
  if (server.check_memory && !extra_flags.some(isGpuFlag)) checkMemory(provider, models);
  const ports = portsOf(entry, port_range);
  const args = argumentsOf(entry, server, model.id);
  const identity = JSON.stringify([binary, args, ports, log_path]);
  const files = new ServerFiles(join(serversDirectory(home), await shortHash(identity)));
  return {
    provider,
    model: model.id,
    binary,
    args,
    host: server.host,
    ports,
    startupMs: server.startup_timeout_seconds * 1000,
    log: log_path === "" ? files.log : log_path,
    files,
    modelName: baseName(model_path),
    modelBytes: bytesOf(models),
  };
}

function argumentsOf(entry: Entry, server: NonNullable<Entry["server"]>, model: string): string[] {
  const { model_path, draft_model_path, host, extra_flags, cache_prompt } = server;
  const says = (...names: string[]) => extra_flags.some((flag) => names.includes(nameOfFlag(flag)));
  const window = entry.context_window ?? 0;
  return [
    "--model",
    model_path,
    ...draft_model_path === "" ? [] : ["--model-draft", draft_model_path],
    "--host",
    host,
    ...says("--alias", "-a") ? [] : ["--alias", model],
    ...says("--webui", "--no-webui", "--ui", "--no-ui") ? [] : ["--no-webui"],
    ...says("--jinja", "--no-jinja") ? [] : ["--jinja"],
    ...window === 0 || says("-c", "--ctx-size") ? [] : ["--ctx-size", String(window)],
    ...cache_prompt === false ? ["--no-cache-prompt"] : [],
    ...extra_flags,
  ];
}

function nameOfFlag(flag: string): string {
  return flag.split("=", 1)[0] ?? "";
}

/** With layers on a GPU the memory of this machine says little. */
function isGpuFlag(flag: string): boolean {
  return ["-ngl", "--gpu-layers", "--n-gpu-layers"].includes(nameOfFlag(flag));
}

function checkFlags(entry: Entry, flags: readonly string[]): void {
  for (const flag of flags) {
    const name = nameOfFlag(flag);
    const instead = Object.hasOwn(OWN_FLAGS, name) ? OWN_FLAGS[name] : undefined;
    if (instead === undefined) continue;
    throw wrong(entry, "server.extra_flags", message`may not contain ${name}`, message`use ${instead}`);
  }
}

function portsOf(entry: Entry, range: readonly number[]): [number, number] {
  const [first = 0, last = 0] = range;
  if (range.length === 2 && first <= last && last < 65_536) return [first, last];
  const shown = JSON.stringify(range);
  throw wrong(
    entry,
    "server.port_range",
    message`is ${shown}`,
    message`write its first and last port, such as [18400, 18499]`,
  );
}

/** A program on PATH counts unless it is in the workspace. */
function programOf(entry: Entry, binary: string, workspace: string | undefined): string {
  const advice = message`install llama.cpp, or give the full path of its llama-server as binary`;
  if (!binary.includes("/")) {
    const found = findProgram(binary, readEnv("PATH") ?? "", workspace === undefined ? [] : [workspace]);
    if (found !== undefined) return found;
    throw wrong(entry, "server.binary", message`names "${binary}", which is not on PATH`, advice);
  }
  const path = binary.startsWith("~/") ? `${readEnv("HOME") ?? "~"}${binary.slice(1)}` : binary;
  if (!isAbsolute(path)) {
    throw wrong(entry, "server.binary", message`is "${binary}", which is not a full path`, advice);
  }
  if (!isFile(path)) throw wrong(entry, "server.binary", message`names ${path}, which is not a file`, advice);
  if (((Deno.statSync(path).mode ?? 0) & 0o111) !== 0) return path;
  throw wrong(
    entry,
    "server.binary",
    message`names ${path}, which is not executable`,
    message`make it executable: chmod +x ${path}`,
  );
}

function wrong({ name }: Entry, setting: string, what: Text, remedy: Text): ReasonixError {
  return noStart(name, setting, message`${setting.replace(/^server\./, "")} ${what}`, remedy);
}

async function shortHash(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).toHex().slice(0, 16);
}

const MAGIC = "GGUF";
const GB = 1e9;
const PART = /-(\d{5})-of-(\d{5})\.gguf$/;

/** Throws a ReasonixError of exit "config" for a file that is missing or no model. */
function checkModelFile(provider: string, setting: string, path: string): void {
  const fail = (problem: LocalizedMessage, remedy: LocalizedMessage) =>
    noStart(provider, setting, message`${path} ${problem}`, remedy);
  const start = startOf(path, fail);
  if (start !== MAGIC) {
    const what = start.startsWith("ver")
      ? message`is a Git LFS pointer, not the model`
      : message`is not a model file: it begins with ${JSON.stringify(start)} instead of "GGUF"`;
    throw fail(what, message`download the model as a GGUF file, or convert it`);
  }
  const missing = partsOf(path).find((part) => sizeOf(part) === undefined);
  if (missing === undefined) return;
  const what = message`is one of several parts, and ${baseName(missing)} is missing`;
  throw fail(what, message`download that part, too`);
}

type Fail = (problem: LocalizedMessage, remedy: LocalizedMessage) => ReasonixError;

function startOf(path: string, fail: Fail): string {
  try {
    if (!Deno.statSync(path).isFile) throw fail(message`is not a file`, message`name the model file itself`);
    return new TextDecoder("latin1").decode(readPieceOf(path, 0, MAGIC.length));
  } catch (error) {
    if (error instanceof ReasonixError) throw error;
    throw error instanceof Deno.errors.NotFound
      ? fail(message`does not exist`, message`download the model, or correct the path`)
      : fail(message`cannot be read`, message`make it readable for you`);
  }
}

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
  return attempt(() => Deno.statSync(path).size);
}

function bytesOf(paths: readonly string[]): number {
  return paths.flatMap(partsOf).reduce((sum, part) => sum + (sizeOf(part) ?? 0), 0);
}

/** Throws a ReasonixError of exit "config" for models that are larger than the available memory. */
export function checkMemory(provider: string, paths: readonly string[], available = availableMemory()): void {
  const bytes = bytesOf(paths);
  if (available === undefined || bytes <= available) return;
  const [needed, free] = [modelSize(bytes), modelSize(available)];
  const what = message`${baseName(paths[0] ?? "")} needs ${needed}, and ${free} of memory are available`;
  const remedy =
    message`choose a smaller model or end other programs; if a GPU holds it, set check_memory = false`;
  throw noStart(provider, "server.model_path", what, remedy);
}

export function modelSize(bytes: number): string {
  if (bytes < GB) return `${Math.ceil(bytes / 1e6)} MB`;
  return `${(bytes / GB).toFixed(bytes < 10 * GB ? 1 : 0)} GB`;
}

/** Available memory in bytes, also where a container has less than the machine. */
function availableMemory(): number | undefined {
  const available = attempt(() => Deno.systemMemoryInfo().available) ?? 0;
  return available > 0 ? Math.min(available, containerMemory()) : undefined;
}

/** The free memory of a container; cached file pages count as free. */
function containerMemory(): number {
  const directory = "/sys/fs/cgroup";
  const [limit, used] = systemText([`${directory}/memory.max`, `${directory}/memory.current`]).split("\n");
  const files = /^inactive_file (\d+)$/m.exec(systemText([`${directory}/memory.stat`]))?.[1];
  const left = Number(limit || NaN) - Number(used) + Number(files ?? 0);
  return Number.isFinite(left) ? Math.max(left, 0) : Infinity;
}

function noStart(provider: string, setting: string, what: Text, remedy: Text): ReasonixError {
  return new ReasonixError(message`Cannot start the server of provider "${provider}": ${what}`, {
    exit: "config",
    setting,
    remedy,
  });
}

/** The server of an entry, read from its files; nothing is started. */
export interface ServerState {
  readonly log: string;
  readonly running?: {
    readonly pid: number;
    readonly port: number;
    /** RFC 3339. */
    readonly since: string;
    readonly users: readonly number[];
  };
}

/** Finds the server of an entry. Rejects with a ReasonixError for settings that cannot start one. */
export async function serverState(
  entry: ProviderEntry,
  { model, ...values }: { readonly model: string; readonly home: string; readonly workspace: string },
): Promise<ServerState> {
  const { files, log } = await serverPlan({
    entry: withModelSettings(entry, model),
    model: { id: model },
    values,
  });
  const lease = files.lease();
  if (!lease || !isSameRunning(lease)) return { log };
  const { supervisor, port, since, users } = lease;
  const pids = [...new Set(running(users).map(({ pid }) => pid))];
  return { log, running: { pid: supervisor.pid, port, since, users: pids } };
}
