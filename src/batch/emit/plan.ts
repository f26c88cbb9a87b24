import { createHash } from "node:crypto";
import { type LoadedConfig, nonInteractive, resolveModel } from "../../config/mod.ts";
import { message, usageError } from "../../core/mod.ts";
import { shellWord } from "../../util/process.ts";
import type { BatchTask } from "../task_file.ts";

/** Tasks that run in the same container image, as one job of the engine. */
export interface EmitGroup {
  readonly image?: string;
  readonly count: number;
  /** Indexes of the job, from 0; as many as tasks: one task for each. */
  readonly shards: number;
}

/** A server that the tasks talk to. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** A batch as engines need it, however they write it. */
export interface EmitPlan {
  /** From the name of the file, as RFC 1123 demands of labels, at most 40 characters. */
  readonly name: string;
  readonly tasks: readonly BatchTask[];
  /** As given. */
  readonly tasksFile: string;
  readonly tasksText: string;
  readonly resultsDir: string;
  readonly groups: readonly EmitGroup[];
  /** Flags of `run` for every task, as they are after `--`. */
  readonly runFlags: readonly string[];
  /** `-j`: tasks of a shard at the same time; where each index is one task, indexes at the same time. */
  readonly jobs: number;
  /** Names of the environment variables with the keys of providers. */
  readonly keys: readonly string[];
  /** The servers of the models. */
  readonly models: readonly Endpoint[];
  /** Needs of one index. */
  readonly resources: { readonly cpus: number; readonly memoryBytes: number };
}

/** Writes what an engine runs. */
export type Emitter = (plan: EmitPlan) => string;

export interface PlanInput {
  readonly tasks: readonly BatchTask[];
  readonly tasksFile: string;
  readonly tasksText: string;
  readonly resultsDir: string;
  readonly shards?: number | undefined;
  readonly jobs?: number | undefined;
  readonly runFlags: readonly string[];
  /** `--model` of these flags. */
  readonly model?: string | undefined;
  readonly loaded: LoadedConfig;
}

const DEFAULT_JOBS = 4;
const DEFAULT_RESOURCES = { cpus: 1, memoryBytes: 2 * 1024 ** 3 };

/** Attempts after the first one that an index may have; see {@linkcode NO_RETRY}. */
export const MAX_RETRIES = 3;

/** Exit codes of an index that another attempt would repeat; see docs/exit-codes.md. */
export const NO_RETRY: readonly number[] = [1, 2, 3, 4, 6, 7];

/** Throws a ReasonixError for a model that is not configured, or more shards than tasks. */
export function planOf(input: PlanInput): EmitPlan {
  const { tasks, tasksFile, tasksText, resultsDir, shards = tasks.length, jobs, runFlags } = input;
  if (shards > tasks.length) {
    throw usageError(
      message`Cannot make ${shards} shards of the ${tasks.length} tasks of ${tasksFile}`,
      message`give --shards at most ${tasks.length}, or leave it out: one task for each index`,
    );
  }
  const { config, needsTrust } = nonInteractive(input.loaded);
  const untrusted = needsTrust.flatMap(({ kind, name }) => kind === "provider" ? [name] : []);
  const names = new Set(tasks.map(({ model }) => model ?? input.model ?? ""));
  const entries = new Set([...names].map((name) => resolveModel(config, name, untrusted).entry));
  return {
    name: jobName(tasksFile),
    tasks,
    tasksFile,
    tasksText,
    resultsDir,
    groups: [{ count: tasks.length, shards }],
    runFlags,
    jobs: jobs ?? DEFAULT_JOBS,
    keys: [...new Set([...entries].map(({ api_key_env }) => api_key_env))].filter((name) => name !== ""),
    models: [...entries].flatMap(({ base_url }) => endpointOf(base_url)),
    resources: DEFAULT_RESOURCES,
  };
}

function endpointOf(address: string): Endpoint[] {
  const url = URL.parse(address);
  if (!url) return [];
  return [{ host: url.hostname, port: Number(url.port || (url.protocol === "http:" ? 80 : 443)) }];
}

const MAX_NAME = 40;

/** A label by RFC 1123; where characters are lost, two files keep two names. */
function jobName(file: string): string {
  const base = file === "-" ? "tasks" : file.slice(file.lastIndexOf("/") + 1).replace(/\.jsonl?$/, "");
  const name = base.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  if (name.length <= MAX_NAME && name === base.toLowerCase()) return name;
  const digest = createHash("sha256").update(base).digest("hex").slice(0, 6);
  return `${name.slice(0, MAX_NAME - digest.length - 1).replace(/-$/, "") || "tasks"}-${digest}`;
}

/**
 * The words of the command line of one index, quoted for a POSIX shell. `index` is shell text, such as
 * `$JOB_COMPLETION_INDEX`, that yields a number from 0.
 */
export function unitCommand(
  { tasksFile, resultsDir, jobs, runFlags }: Pick<EmitPlan, "tasksFile" | "resultsDir" | "jobs" | "runFlags">,
  { image, count, shards }: EmitGroup,
  index: string,
): string[] {
  const unit = shards === count
    ? ["--task-index", `"${index}"`]
    : ["--shard", `"$((${index} + 1))/${shards}"`, "-j", String(jobs)];
  return [
    "reasonix",
    "run",
    ...["--tasks", tasksFile, "--results-dir", resultsDir].map(shellWord),
    ...(image === undefined ? [] : ["--image", shellWord(image)]),
    ...unit,
    ...runFlags.map(shellWord),
  ];
}
