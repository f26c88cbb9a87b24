import { reasonixHome } from "../../config/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { baseName, isAbsolute, join } from "../../path/lexical.ts";
import { isFile } from "../../path/probe.ts";
import { readEnv } from "../../path/read_env.ts";
import { findProgram } from "../../util/find_program.ts";
import type { KindOptions } from "../kind.ts";
import { checkMemory, checkModelFile, modelBytes } from "./model_file.ts";
import { ServerFiles, serversDirectory } from "./server_files.ts";

/** A server that can be started: everything that could be looked at beforehand is in order. */
export interface ServerPlan {
  readonly provider: string;
  readonly model: string;
  readonly binary: string;
  /** Arguments but for port and key file. */
  readonly args: readonly string[];
  readonly host: string;
  readonly ports: readonly [first: number, last: number];
  readonly startupMs: number;
  readonly log: string;
  readonly files: ServerFiles;
  /** The model file as people know it. */
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

/**
 * Looks at the settings of an entry. Throws a ReasonixError of exit "config" for what cannot be started; two
 * entries that ask for the same server get the same directory.
 */
export async function serverPlan({ entry, model, values }: PlanOptions): Promise<ServerPlan> {
  const { server } = entry;
  if (Deno.build.os === "windows") {
    throw wrong(
      entry,
      "kind",
      "is not supported on Windows",
      'start llama-server yourself and use kind = "openai"',
    );
  }
  if (server === undefined || server.model_path === "") {
    throw wrong(entry, "server", "names no model_path", "add the model file to its table [providers.server]");
  }
  const binary = programOf(entry, server.binary);
  const models = [server.model_path, server.draft_model_path].filter((path) => path !== "");
  const [path = ""] = models;
  checkModelFile(entry.name, "server.model_path", path);
  if (models[1] !== undefined) checkModelFile(entry.name, "server.draft_model_path", models[1]);
  checkFlags(entry, server.extra_flags);
  if (server.check_memory && !server.extra_flags.some(isGpuFlag)) checkMemory(entry.name, models);
  const ports = portsOf(entry, server.port_range);
  const args = argumentsOf(entry, model.id);
  const home = values.home ?? reasonixHome(readEnv, Deno.cwd());
  const identity = JSON.stringify([binary, args, ports, server.log_path]);
  const files = new ServerFiles(join(serversDirectory(home), await shortHash(identity)));
  return {
    provider: entry.name,
    model: model.id,
    binary,
    args,
    host: server.host,
    ports,
    startupMs: server.startup_timeout_seconds * 1000,
    log: server.log_path === "" ? files.log : server.log_path,
    files,
    modelName: baseName(path),
    modelBytes: models.reduce((sum, one) => sum + modelBytes(one), 0),
  };
}

function argumentsOf(entry: Entry, model: string): string[] {
  const { model_path = "", draft_model_path = "", host = "", extra_flags = [], cache_prompt } =
    entry.server ??
      {};
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
    throw wrong(entry, "server.extra_flags", `may not hold ${name}`, `use ${instead}`);
  }
}

function portsOf(entry: Entry, range: readonly number[]): [number, number] {
  const [first = 0, last = 0] = range;
  if (range.length === 2 && first <= last && last < 65_536) return [first, last];
  const shown = JSON.stringify(range);
  throw wrong(
    entry,
    "server.port_range",
    `is ${shown}`,
    "write its first and last port, such as [18400, 18499]",
  );
}

function programOf(entry: Entry, binary: string): string {
  const advice = "install llama.cpp, or give the full path of its llama-server as binary";
  if (!binary.includes("/")) {
    const found = findProgram(binary, readEnv("PATH") ?? "", [Deno.cwd()]);
    if (found !== undefined) return found;
    throw wrong(entry, "server.binary", `names "${binary}", which is not on PATH`, advice);
  }
  const path = binary.startsWith("~/") ? `${readEnv("HOME") ?? "~"}${binary.slice(1)}` : binary;
  if (!isAbsolute(path)) throw wrong(entry, "server.binary", `is "${binary}", no full path`, advice);
  if (!isFile(path)) throw wrong(entry, "server.binary", `names ${path}, which is no file`, advice);
  if (((Deno.statSync(path).mode ?? 0) & 0o111) !== 0) return path;
  throw wrong(
    entry,
    "server.binary",
    `names ${path}, which is not executable`,
    `make it so: chmod +x ${path}`,
  );
}

function wrong({ name }: Entry, setting: string, what: string, remedy: string): ReasonixError {
  const shown = setting.replace(/^server\./, "");
  return new ReasonixError(`Cannot start the server of provider "${name}": ${shown} ${what}`, {
    exit: "config",
    setting,
    remedy,
    said: [["noServerStart", name, `${shown} ${what}`]],
  });
}

async function shortHash(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).toHex().slice(0, 16);
}
