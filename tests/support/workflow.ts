/** A runner for workflows of GitHub with a matrix: shell steps are executed, artifacts are directories. */
import { parse } from "yaml";

interface Step {
  readonly if?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string | number | boolean>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly shell?: string;
  readonly run?: string;
}

interface Job {
  readonly needs?: string;
  readonly container?: string;
  readonly strategy?: { readonly matrix: { readonly include: readonly Readonly<Record<string, unknown>>[] } };
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface RunnerOptions {
  /** Repository that is checked out. */
  readonly repository: string;
  /** Empty directory for jobs and artifacts. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

interface JobRun {
  /** The image, "" without one. */
  readonly container: string;
  /** Exit code of the step that failed. */
  readonly code: number;
  readonly log: string;
}

/** Runs every job, those of a matrix at the same time, and returns their ends. */
export async function runWorkflow(text: string, options: RunnerOptions): Promise<JobRun[]> {
  const { jobs }: Workflow = parse(text);
  const runs: JobRun[] = [];
  for (const [name, job] of Object.entries(jobs)) {
    const entries = job.strategy?.matrix.include ?? [{}];
    runs.push(
      ...await Promise.all(entries.map((matrix, at) => runJob(job, `${name}${at}`, { matrix, ...options }))),
    );
  }
  return runs;
}

async function runJob(
  job: Job,
  name: string,
  { matrix, repository, directory, env, secrets }: RunnerOptions & {
    readonly matrix: Readonly<Record<string, unknown>>;
  },
): Promise<JobRun> {
  const work = `${directory}/${name}/work`;
  const temp = `${directory}/${name}/temp`;
  await Deno.mkdir(work, { recursive: true });
  await Deno.mkdir(temp);
  const contexts = { matrix, secrets, github: { run_attempt: 1 } };
  const filled = (text: unknown) =>
    String(text).replaceAll(/\$\{\{(.*?)\}\}/g, (_, expression: string) => evaluate(expression, contexts));
  let [code, log] = [0, ""];
  const execute = async (
    program: string,
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ) => {
    const output = await new Deno.Command(program, {
      args: [...args],
      cwd: work,
      clearEnv: true,
      env: { ...env, RUNNER_TEMP: temp, ...more },
      stdin: "null",
    }).output();
    log += new TextDecoder().decode(output.stdout) + new TextDecoder().decode(output.stderr);
    return output.code;
  };
  for (const step of job.steps) {
    const condition = step.if === undefined
      ? "true"
      : filled(/\$\{\{/.test(step.if) ? step.if : `\${{ ${step.if} }}`);
    if (condition !== "true" || code !== 0 && !step.if?.includes("cancelled()")) continue;
    const inputs = Object.fromEntries(
      Object.entries(step.with ?? {}).map(([key, value]) => [key, filled(value)]),
    );
    const { name: artifact = "", pattern = artifact, path = "" } = inputs;
    if (step.uses?.startsWith("actions/checkout@")) {
      code = await execute("git", ["clone", "-q", repository, "."]);
    } else if (step.uses?.startsWith("actions/upload-artifact@")) {
      const target = `${directory}/artifacts/${artifact}`;
      await Deno.mkdir(target, { recursive: true });
      // A single directory is uploaded without its name.
      const paths = path.split("\n").filter((each) => each !== "");
      const from = paths.length === 1 ? paths.map((each) => `${each}/.`) : paths;
      await execute("cp", ["-r", ...(paths.length === 1 ? [] : ["--parents"]), ...from, target]);
    } else if (step.uses?.startsWith("actions/download-artifact@")) {
      await Deno.mkdir(`${work}/${path}`, { recursive: true });
      const names = [...Deno.readDirSync(`${directory}/artifacts`)].map(({ name }) => name);
      const wanted = names.filter((each) => new RegExp(`^${pattern.replace("*", ".*")}$`).test(each));
      for (const each of wanted) await execute("cp", ["-r", `${directory}/artifacts/${each}/.`, path]);
    } else if (step.run !== undefined) {
      const variables = Object.entries(step.env ?? {}).map(([key, value]) => [key, filled(value)]);
      const shell = step.shell === "sh" ? ["sh", "-e"] : ["bash", "--noprofile", "--norc", "-eo", "pipefail"];
      const [program = "", ...args] = [...shell, "-c", filled(step.run)];
      code ||= await execute(program, args, Object.fromEntries(variables));
    }
  }
  return { container: job.container === undefined ? "" : filled(job.container), code, log };
}

/** The value of a path into the contexts, a text, a comparison with a number, or a negation. */
function evaluate(expression: string, contexts: unknown): string {
  const word = expression.trim();
  const [, text] = /^'(.*)'$/.exec(word) ?? [];
  if (text !== undefined) return text;
  if (word === "cancelled()") return "false";
  if (word.startsWith("!")) return String(["", "false"].includes(evaluate(word.slice(1), contexts)));
  const [, left, right] = /^(.*) > (\d+)$/.exec(word) ?? [];
  if (left !== undefined) return String(Number(evaluate(left, contexts)) > Number(right));
  if (!/^[\w.-]+$/.test(word)) throw new Error(`Unknown expression: ${word}`);
  const found = word.split(".").reduce<unknown>(
    (object, name) => Object.entries(object ?? {}).find(([key]) => key === name)?.[1],
    contexts,
  );
  return found === undefined || found === null ? "" : String(found);
}
