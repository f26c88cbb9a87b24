import { createHash } from "node:crypto";
import { type LoadedConfig, nonInteractive, resolveModel } from "../../config/mod.ts";
import { message, usageError } from "../../core/mod.ts";
import { shellWord } from "../../util/process.ts";
import type { BatchTask } from "../task.ts";
import type { TaskFlags } from "../task_file.ts";

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
  readonly tasksFrom?: TaskFlags["tasksFrom"] | undefined;
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
  /** The npm package of this version of the program, for machines that do not have it. */
  readonly npmPackage: string;
}

/** A writer of what an engine runs. */
export interface Engine {
  readonly emit: (plan: EmitPlan) => string | Promise<string>;
  /** Indexes that it takes at most. */
  readonly maxIndexes: number;
}

export interface PlanInput {
  readonly tasks: readonly BatchTask[];
  readonly tasksFile: string;
  readonly tasksFrom?: TaskFlags["tasksFrom"] | undefined;
  readonly tasksText: string;
  readonly resultsDir: string;
  readonly maxIndexes: number;
  readonly shards?: number | undefined;
  readonly jobs?: number | undefined;
  readonly runFlags: readonly string[];
  /** `--model` of these flags. */
  readonly model?: string | undefined;
  readonly loaded: LoadedConfig;
  readonly npmPackage: string;
}

const DEFAULT_JOBS = 4;
const DEFAULT_RESOURCES = { cpus: 1, memoryBytes: 2 * 1024 ** 3 };

/** Attempts after the first one that an index may have; see {@linkcode NO_RETRY}. */
export const MAX_RETRIES = 3;

/** Exit codes of an index that another attempt would repeat; see docs/exit-codes.md. */
export const NO_RETRY: readonly number[] = [1, 2, 3, 4, 6, 7];

/** Exit codes of an index after which another attempt makes sense: the provider failed, or it was stopped. */
export const RETRY: readonly number[] = [5, 130, 137, 143];

/** Throws a ReasonixError for an unknown model, and for more shards than tasks or than the engine takes. */
export function planOf(input: PlanInput): EmitPlan {
  const { tasks, tasksFile, tasksFrom, tasksText, resultsDir, maxIndexes, jobs, runFlags } = input;
  const most = Math.min(tasks.length, maxIndexes);
  const { shards = most } = input;
  if (shards > most) {
    throw usageError(
      most === tasks.length
        ? message`Cannot make ${shards} shards of the ${most} tasks of ${tasksFile}`
        : message`Cannot make ${shards} shards of ${tasksFile}: the engine takes at most ${most}`,
      message`give --shards at most ${most}, or leave it out`,
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
    tasksFrom,
    tasksText,
    resultsDir,
    groups: [{ count: tasks.length, shards }],
    runFlags,
    jobs: jobs ?? DEFAULT_JOBS,
    keys: [...new Set([...entries].map(({ api_key_env }) => api_key_env))].filter((name) => name !== ""),
    models: [...entries].flatMap(({ base_url }) => endpointOf(base_url)),
    resources: DEFAULT_RESOURCES,
    npmPackage: input.npmPackage,
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
  { tasksFile, tasksFrom, resultsDir, jobs, runFlags }: Pick<
    EmitPlan,
    "tasksFile" | "tasksFrom" | "resultsDir" | "jobs" | "runFlags"
  >,
  { image, count, shards }: EmitGroup,
  index: string,
): string[] {
  const unit = shards === count
    ? ["--task-index", `"${index}"`]
    : ["--shard", `"$((${index} + 1))/${shards}"`, "-j", String(jobs)];
  return [
    "reasonix",
    "run",
    ...(tasksFrom === undefined ? ["--tasks"] : ["--tasks-from", tasksFrom]),
    ...[tasksFile, "--results-dir", resultsDir].map(shellWord),
    ...(image === undefined ? [] : ["--image", shellWord(image)]),
    ...unit,
    ...runFlags.map(shellWord),
  ];
}

/**
 * Lines of a POSIX shell that do what the index `$index` of all groups together is for; `within` returns the
 * words of a program that starts those of a group.
 */
export function unitLines(plan: EmitPlan, within: (group: EmitGroup) => readonly string[]): string[] {
  const { groups } = plan;
  const line = (group: EmitGroup) => [...within(group), ...unitCommand(plan, group, "$index")].join(" ");
  const [only] = groups;
  if (only && groups.length === 1) return [line(only)];
  let first = 0;
  return [
    ...groups.flatMap((group, at) => {
      const before = first;
      first += group.shards;
      return [
        `${at === 0 ? "if" : "elif"} [ "$index" -lt ${first} ]; then`,
        `  index=$((index - ${before}))`,
        `  ${line(group)}`,
      ];
    }),
    "fi",
  ];
}
