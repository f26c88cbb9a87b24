/** Starts the programs under test next to the model server and takes their times. */
import type { Sample } from "./figures.ts";
import { watchTree } from "./memory.ts";
import { type Manner, mannerPath } from "./model/manner.ts";
import { SCRIPTS } from "./model/scripts.ts";
import type { RunReport } from "./model/server.ts";
import { onRuntime, type Program } from "./programs.ts";
import type { Stage } from "./stage.ts";
import { removeTree } from "../support/remove_tree.ts";

export type { Program } from "./programs.ts";

/** Dependencies of every part of the benchmark. */
export interface Bench {
  readonly runner: Runner;
  /** Reasonix in its default configuration. */
  readonly program: Program;
  /** A third of the runs. */
  readonly quick: boolean;
  /** Rows of other agents are wanted. */
  readonly peers: boolean;
  /** Hears of what is left out, and why. */
  readonly log: (line: string) => void;
}

/** One run: what the model does, where, and what is looked at. */
export interface RunPlan {
  readonly model: Manner;
  /** Arguments instead of a task: the program answers these without a model. */
  readonly plain?: readonly string[];
  readonly directory?: "workspace" | "tree";
  /** It may make more requests than the script knows of. */
  readonly moreRequests?: true;
  /** It changes the workspace, which is set back after each run. */
  readonly changes?: true;
  /** Memory is looked at instead of times. */
  readonly memory?: true;
}

export interface Server extends AsyncDisposable {
  readonly url: string;
  report(path: string): Promise<RunReport>;
  /** Requests that a run has made so far. */
  count(path: string): Promise<number>;
  /** The server's clock, in milliseconds. */
  clock(): number;
}

export async function startServer(): Promise<Server> {
  const script = new URL("./model/server.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script],
    stdin: "null",
    stdout: "piped",
  })
    .spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const port = Number((await reader.read()).value);
  const url = `http://127.0.0.1:${port}`;
  const ahead = await clockDifference(url);
  return {
    url,
    report: async (path) => await (await fetch(`${url}/${path}/report`)).json() as RunReport,
    count: async (path) =>
      (await (await fetch(`${url}/${path}/count`)).json() as { requests: number }).requests,
    clock: () => now() + ahead,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await reader.cancel();
      await child.status;
    },
  };
}

/** Milliseconds that the server's clock is ahead, by the question that was answered fastest. */
async function clockDifference(url: string): Promise<number> {
  let found = { took: Infinity, ahead: 0 };
  for (let question = 0; question < 20; question++) {
    const before = now();
    const { now: theirs } = await (await fetch(`${url}/clock`)).json() as { now: number };
    const took = now() - before;
    if (took < found.took) found = { took, ahead: theirs - before - took / 2 };
  }
  return found.ahead;
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

/** No run takes this long; one that does has lost its way. */
const RUN_LIMIT_MS = 60_000;

let runNumber = 0;

/** A program that was started, its home and the path below which the server keeps what it asked. */
export interface Started extends AsyncDisposable {
  readonly child: Deno.ChildProcess;
  readonly path: string;
  /** When it was started, on the server's clock. */
  readonly started: number;
  /** Its end, with the last that it wrote. */
  readonly ended: Promise<{ readonly status: Deno.CommandStatus; readonly output: string }>;
}

export class Runner {
  constructor(readonly server: Server, readonly stage: Stage) {}

  /** Starts a program in a fresh home; disposal ends it and takes away what it left. */
  async start(program: Program, plan: RunPlan): Promise<Started> {
    const path = `${mannerPath(plan.model)}/${++runNumber}`;
    const url = `${this.server.url}/${path}/v1`;
    const home = `${this.stage.root}/home_${runNumber}`;
    await Deno.mkdir(home);
    const { command, task, plain, prepare } = plan.memory
      ? onRuntime(program, await this.stage.runtime())
      : program;
    await prepare(home, url);
    const { args, env } = task(url);
    const cwd = plan.directory === "tree" ? await this.stage.tree() : this.stage.workspace;
    const started = this.server.clock();
    const child = new Deno.Command(command, {
      args: [...plan.plain === undefined ? args : plain?.(plan.plain) ?? []],
      cwd,
      env: { ...this.environment(home), ...env },
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const limit = setTimeout(() => child.kill("SIGKILL"), RUN_LIMIT_MS);
    const ended = Promise.all([child.status, drain(child.stdout), drain(child.stderr)])
      .then(([status, output, errors]) => ({ status, output: `${output}\n${errors}` }));
    return {
      child,
      path,
      started,
      ended,
      [Symbol.asyncDispose]: async () => {
        await ended;
        clearTimeout(limit);
        await removeTree(home);
        if (plan.changes) await this.stage.reset();
      },
    };
  }

  /** Runs a program once; throws when it failed or did not do what the script asks for. */
  async run(program: Program, plan: RunPlan): Promise<Sample> {
    await using run = await this.start(program, plan);
    const memory = plan.memory && watchTree(run.child.pid);
    const { status, output } = await run.ended;
    const wall = this.server.clock() - run.started;
    const found = memory?.stop();
    const { lastBody, exchanges } = await this.server.report(run.path);
    const problem = status.success ? shortfall(exchanges.length, lastBody, plan) : `exit code ${status.code}`;
    if (problem !== undefined) {
      throw new Error(`${program.name}, ${run.path}: ${problem}\n${output}`);
    }
    return { started: run.started, wall, exchanges, ...(found ? { memory: found } : {}) };
  }

  /** The environment that every program gets. */
  environment(home: string): Record<string, string> {
    return {
      PATH: Deno.env.get("PATH") ?? "",
      HOME: home,
      LANG: "C.UTF-8",
      TERM: "dumb",
      NO_COLOR: "1",
      DENO_DIR: `${this.stage.root}/deno`,
      DENO_NO_UPDATE_CHECK: "1",
    };
  }
}

/** The missing parts of a run: requests, or results of its tools. */
function shortfall(
  requests: number,
  lastBody: string,
  { plain, model, moreRequests }: RunPlan,
): string | undefined {
  if (plain !== undefined) return undefined;
  if (moreRequests) return requests === 0 ? "not one request was made" : undefined;
  if (requests !== SCRIPTS[model.script]?.requests) return `${requests} requests were made`;
  if (model.kind !== undefined) return undefined;
  const { messages } = JSON.parse(lastBody) as { messages: { role: string; content: unknown }[] };
  const results = messages.filter((message) => message.role === "tool").map((message) =>
    String(message.content)
  );
  const failed = results.find((text) => /^(error|unknown tool|\[?exit code [^0])/.test(text));
  return failed === undefined ? undefined : `a tool failed: ${failed.slice(0, 300)}`;
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<string> {
  let tail = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) tail = (tail + text).slice(-2000);
  return tail;
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
