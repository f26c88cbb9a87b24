import { runProgram, shellWord } from "../../util/process.ts";
import { type EmitGroup, type EmitPlan, MAX_RETRIES, RETRY, unitLines } from "./plan.ts";

const DEFAULT_ARRAY_SIZE = 1001;
const SCONTROL_MS = 10_000;
/** Time that a check or a command of the setup may take. */
const STEP_SECONDS = 600;
const START_MINUTES = 5;

/** Elements that an array of the cluster of this machine may have; SLURM's default where there is none. */
export async function maxArraySize(): Promise<number> {
  try {
    const signal = AbortSignal.timeout(SCONTROL_MS);
    const { text } = await runProgram(["scontrol", "show", "config"], { signal });
    return Number(/^MaxArraySize\s*=\s*(\d+)$/m.exec(text)?.[1] ?? DEFAULT_ARRAY_SIZE);
  } catch {
    return DEFAULT_ARRAY_SIZE;
  }
}

/**
 * Writes the script of a job array. An element that a retry can help puts itself back into the queue; SLURM
 * does so with those of a machine that is lost.
 */
export function slurm(plan: EmitPlan): string {
  const { name, tasks, shards, jobs, machine: { variables: keys }, resources: { cpus, memoryBytes } } = plan;
  const limit = shards === tasks.length ? `%${jobs}` : "";
  const logs = shellWord(`${plan.resultsDir}/log`);
  const within = (group: EmitGroup) => ["run", ...containerWords(plan, group)];
  return [
    "#!/bin/bash",
    `# ${tasks.length} tasks as an array of ${shards} elements. Submit it where the tasks file is.`,
    ...(keys.length === 0 ? [] : [`# Set before that, and not written here: ${keys.join(", ")}`]),
    `#SBATCH --job-name=${name}`,
    `#SBATCH --array=0-${shards - 1}${limit}`,
    "#SBATCH --requeue",
    "#SBATCH --ntasks=1",
    `#SBATCH --cpus-per-task=${Math.ceil(cpus)}`,
    `#SBATCH --mem=${Math.ceil(memoryBytes / 1024 ** 2)}M`,
    ...timeLimit(plan),
    "# A minute before the time limit the tasks save what they have.",
    "#SBATCH --signal=TERM@60",
    "# What SLURM says; the output of each element is in the directory of the results.",
    "#SBATCH --output=%x-%A.out",
    "#SBATCH --open-mode=append",
    "",
    "index=$SLURM_ARRAY_TASK_ID",
    `mkdir -p -- ${logs} && exec >>${logs}/"$index".txt 2>&1 || exit 2`,
    'run() { srun --ntasks=1 --cpus-per-task="$SLURM_CPUS_PER_TASK" --input=none "$@"; }',
    ...unitLines(plan, within),
    "code=$?",
    `case $code in ${RETRY.join(" | ")})`,
    `  if [ "\${SLURM_RESTART_COUNT:-0}" -lt ${MAX_RETRIES} ]; then`,
    '    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"',
    "  fi",
    "  ;;",
    "esac",
    'exit "$code"',
    "",
  ].join("\n");
}

/** Apptainer, with the home and the working directory of the host, as it mounts them, and the results. */
function containerWords({ resultsDir, container }: EmitPlan, { image = container }: EmitGroup): string[] {
  if (image === undefined) return [];
  const field = (name: string) => `"${`${name}=${resultsDir}`.replaceAll('"', '""')}"`;
  const mount = resultsDir.startsWith("/")
    ? ["--mount", shellWord(`type=bind,${field("src")},${field("dst")}`)]
    : [];
  const source = /:\/\/|\.sif$/.test(image) ? image : `docker://${image}`;
  return ["apptainer", "exec", ...mount, shellWord(source)];
}

/** The longest that an element can take; nothing where a task has no time limit. */
function timeLimit({ tasks, groups, jobs }: EmitPlan): string[] {
  const longest = tasks.reduce((longest, { limits, setup, checks }) => {
    const steps = checks.length + (setup?.length ?? 0);
    return Math.max(longest, (limits?.seconds ?? Infinity) + steps * STEP_SECONDS);
  }, 0);
  const rounds = Math.max(...groups.map(({ count, shards }) => Math.ceil(Math.ceil(count / shards) / jobs)));
  const minutes = Math.ceil(longest * rounds / 60) + START_MINUTES;
  return minutes === Infinity ? [] : [`#SBATCH --time=${minutes}`];
}
