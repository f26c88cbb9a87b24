import { type LoadedConfig, nonInteractive } from "../../config/mod.ts";
import { EXIT, message, usageError } from "../../core/mod.ts";
import { shellWord } from "../../util/process.ts";
import { ResultsDir } from "../results_dir.ts";
import { type BatchTask, DEFAULT_JOBS } from "../task.ts";
import type { TaskFlags } from "../task_file.ts";
import { type MachineConfig, machineConfig } from "./machine_config.ts";
import { sha256 } from "../../util/digest.ts";

/** Tasks that run in the same container image, as one job of the engine. */
export interface EmitGroup {
  readonly image?: string;
  readonly count: number;
  /** Indexes of the job, from 0; as many as tasks: one task for each. */
  readonly shards: number;
}

interface GivenBatch {
  readonly tasks: readonly BatchTask[];
  /** As given. */
  readonly tasksFile: string;
  readonly tasksFrom?: TaskFlags["tasksFrom"] | undefined;
  readonly tasksText: string;
  readonly resultsDir: string;
  /** Flags of `run` for every task, as they are after `--`. */
  readonly runFlags: readonly string[];
  /** The image of tasks that name none. */
  readonly container?: string | undefined;
  /** The npm package of this version of the program, for machines that do not have it. */
  readonly npmPackage: string;
}

/** A batch as engines need it, however they write it. */
export interface EmitPlan extends GivenBatch {
  /** From the name of the file, as RFC 1123 demands of labels, at most 40 characters. */
  readonly name: string;
  readonly groups: readonly EmitGroup[];
  /** Indexes of all groups together. */
  readonly shards: number;
  /** Tasks at the same time: of a shard, or, where each index is one task, of all. */
  readonly jobs: number;
  /** The user's configuration for machines that do not have it. */
  readonly machine: MachineConfig;
  /** Needs of one index. */
  readonly resources: { readonly cpus: number; readonly memoryBytes: number };
}

export interface PlanInput extends GivenBatch {
  /** Indexes that the engine takes at most. */
  readonly maxIndexes: number;
  readonly shards?: number | undefined;
  readonly jobs?: number | undefined;
  /** Directory of results whose measured figures the resources follow. */
  readonly measured?: string | undefined;
  /** `--model` of the flags. */
  readonly model?: string | undefined;
  readonly loaded: LoadedConfig;
}

/** Indexes at the same time where each is one task. */
const DEFAULT_INDEXES = 16;
const DEFAULT_RESOURCES = { cpus: 1, memoryBytes: 2 * 1024 ** 3 };

/** Attempts after the first one that an index may have; see {@linkcode NO_RETRY}. */
export const MAX_RETRIES = 3;

/**
 * Exit codes of an index that another attempt may change: the provider failed, or it was stopped or killed;
 * see docs/exit-codes.md.
 */
export const RETRY: readonly number[] = [EXIT.provider, EXIT.interrupt, 137, EXIT.terminated];

/** Exit codes of an index that another attempt would repeat. */
export const NO_RETRY: readonly number[] = Object.values(EXIT)
  .filter((code) => code !== EXIT.done && !RETRY.includes(code));

/** Throws a ReasonixError for an unknown model, or more shards or images than there may be. */
export function planOf({ maxIndexes, measured, model, loaded, ...given }: PlanInput): EmitPlan {
  const { tasks, tasksFile, jobs, shards = Math.min(tasks.length, maxIndexes) } = given;
  if (shards > maxIndexes) {
    throw usageError(
      message`Cannot make ${shards} shards of ${tasksFile}: the engine takes at most ${maxIndexes}`,
      message`give --shards at most ${maxIndexes}, or leave it out`,
    );
  }
  if (shards > tasks.length) {
    throw usageError(
      message`Cannot make ${shards} shards of the ${tasks.length} tasks of ${tasksFile}`,
      message`give --shards at most ${tasks.length}, or leave it out: one task for each index`,
    );
  }
  const groups = groupsOf(tasks, shards);
  if (groups.length > maxIndexes) {
    throw usageError(
      message`Cannot divide ${tasksFile}: its tasks name ${groups.length} images, and the engine takes at most ${maxIndexes} indexes`,
      message`write the tasks into several files`,
    );
  }
  const machine = machineConfig(
    nonInteractive(loaded),
    new Set(tasks.map((task) => task.model ?? model ?? "")),
  );
  const isSharded = shards < tasks.length;
  const atOnce = Math.min(jobs ?? DEFAULT_JOBS, Math.ceil(tasks.length / shards));
  return {
    ...given,
    name: jobName(tasksFile),
    groups,
    shards: groups.reduce((sum, group) => sum + group.shards, 0),
    jobs: jobs ?? (isSharded ? DEFAULT_JOBS : DEFAULT_INDEXES),
    machine,
    resources: measured === undefined ? limitsOf(tasks, atOnce) : measuredIn(measured, atOnce),
  };
}

/** The tasks of each image, and their part of the shards. */
function groupsOf(tasks: readonly BatchTask[], shards: number): EmitGroup[] {
  const counts = new Map<string | undefined, number>();
  for (const { image } of tasks) counts.set(image, (counts.get(image) ?? 0) + 1);
  let [groupsLeft, shardsLeft, tasksLeft] = [counts.size, shards, tasks.length];
  return [...counts].map(([image, count]) => {
    const share = Math.min(Math.round(shardsLeft * count / tasksLeft), shardsLeft - --groupsLeft);
    const group = { count, shards: Math.max(1, share), ...(image === undefined ? {} : { image }) };
    [shardsLeft, tasksLeft] = [shardsLeft - group.shards, tasksLeft - count];
    return group;
  });
}

/** The largest limits of tasks, of which an index runs some at the same time. */
function limitsOf(tasks: readonly BatchTask[], atOnce: number): EmitPlan["resources"] {
  const most = (name: "cpus" | "memory") =>
    tasks.reduce((most, { limits }) => Math.max(most, limits?.[name] ?? 0), 0);
  return {
    cpus: (most("cpus") || DEFAULT_RESOURCES.cpus) * atOnce,
    memoryBytes: (most("memory") || DEFAULT_RESOURCES.memoryBytes) * atOnce,
  };
}

const MEMORY_RESERVE = 1.25;
const MEMORY_STEP = 64 * 1024 ** 2;

/** The highest memory and the mean processor time of a run. Throws a ReasonixError without figures. */
function measuredIn(directory: string, atOnce: number): EmitPlan["resources"] {
  let [memory, cpuSeconds, seconds] = [0, 0, 0];
  for (const { stored } of ResultsDir.read(directory).entries()) {
    if (!stored?.runner) continue;
    const { peak_memory_bytes, cpu_seconds, jobs } = stored.runner;
    memory = Math.max(memory, peak_memory_bytes * Math.max(1, atOnce / jobs));
    cpuSeconds += cpu_seconds * atOnce / jobs;
    seconds += stored.result.duration_ms / 1000;
  }
  if (memory === 0) {
    throw usageError(
      message`Cannot take resources from ${directory}: no result there has figures of its runner`,
      message`leave --measured out, or run some tasks with --results-dir ${directory} first`,
    );
  }
  return {
    cpus: Math.max(0.1, Math.ceil(10 * cpuSeconds / Math.max(seconds, 1)) / 10),
    memoryBytes: Math.ceil(memory * MEMORY_RESERVE / MEMORY_STEP) * MEMORY_STEP,
  };
}

const MAX_NAME = 40;

/** A label by RFC 1123; where characters are lost, two files keep two names. */
function jobName(file: string): string {
  const base = file === "-" ? "tasks" : file.slice(file.lastIndexOf("/") + 1).replace(/\.jsonl?$/, "");
  const name = base.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  if (name.length <= MAX_NAME && name === base.toLowerCase()) return name;
  const digest = sha256(base).slice(0, 6);
  return `${name.slice(0, MAX_NAME - digest.length - 1).replace(/-$/, "") || "tasks"}-${digest}`;
}

/**
 * The words of the command line of one index, quoted for a POSIX shell. `index` is shell text, such as
 * `$JOB_COMPLETION_INDEX`, that yields a number from 0.
 */
export function unitCommand(
  { tasksFile, tasksFrom, resultsDir, groups, jobs, runFlags }: EmitPlan,
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
    ...(image === undefined && groups.length === 1 ? [] : ["--image", shellWord(image ?? "")]),
    ...unit,
    ...runFlags.map(shellWord),
  ];
}

/**
 * Lines of a POSIX shell that do what the index `$index` of all groups together is for; `within` returns the
 * words of a program that starts those of a group.
 */
export function unitLines(plan: EmitPlan, within: (group: EmitGroup) => readonly string[]): string[] {
  const { groups, tasksFile } = plan;
  if (tasksFile === "-") {
    throw usageError(
      message`Cannot read standard input on other machines`,
      message`give --tasks a file that they see, too`,
    );
  }
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
