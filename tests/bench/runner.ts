/** Starts the programs under test beside the model server and takes their times. */
import type { Sample, Scenario } from "./figures.ts";
import type { RunReport } from "./server.ts";
import type { Stage } from "./stage.ts";

/** A program under test: how to start it on a task, or plainly with arguments. */
export interface Program {
  readonly name: string;
  readonly command: string;
  task(url: string): { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };
  /** Absent when the program has no command line of its own. */
  plain?(args: readonly string[]): readonly string[];
  /** Prepares a fresh home before each run. */
  prepare(home: string, url: string): Promise<void>;
}

export interface Server extends AsyncDisposable {
  readonly url: string;
  report(path: string): Promise<RunReport>;
  /** The server's clock, in milliseconds. */
  clock(): number;
}

export async function startServer(): Promise<Server> {
  const script = new URL("./server.ts", import.meta.url).pathname;
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

export class Runner {
  constructor(readonly server: Server, readonly stage: Stage) {}

  /** Runs a program once; throws when it failed or did not do what the scenario asks for. */
  async run(program: Program, scenario: Scenario): Promise<Sample> {
    const path = `${scenario.name}/${++runNumber}`;
    const url = `${this.server.url}/${path}/v1`;
    const home = `${this.stage.root}/home_${runNumber}`;
    await Deno.mkdir(home);
    await program.prepare(home, url);
    const task = program.task(url);
    const args = scenario.plain === undefined ? task.args : program.plain?.(scenario.plain) ?? [];
    const started = this.server.clock();
    const child = new Deno.Command(program.command, {
      args: [...args],
      cwd: this.stage[scenario.folder],
      env: { ...this.environment(home), ...task.env },
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const memory = watchMemory(child.pid);
    const limit = setTimeout(() => child.kill("SIGKILL"), RUN_LIMIT_MS);
    const [status, , errors] = await Promise.all([child.status, drain(child.stdout), drain(child.stderr)]);
    const wall = this.server.clock() - started;
    clearTimeout(limit);
    const sample = { started, wall, memory: memory.stop(), ...await this.server.report(path) };
    await Deno.remove(home, { recursive: true });
    const problem = status.success ? shortfall(sample, scenario) : `exit code ${status.code}`;
    if (problem !== undefined) {
      throw new Error(`${program.name}, scenario ${scenario.name}: ${problem}\n${errors}`);
    }
    return sample;
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

/** What a run lacks: requests, or results of its tools. */
function shortfall(sample: Sample & RunReport, scenario: Scenario): string | undefined {
  if (scenario.plain !== undefined) return undefined;
  if (scenario.kind !== undefined) {
    return sample.exchanges.length === 1 ? undefined : "not one request was made";
  }
  if (sample.exchanges.length !== (scenario.results ?? 0) + 1 + (scenario.moreRequests ?? 0)) {
    return `${sample.exchanges.length} requests were made`;
  }
  const { messages } = JSON.parse(sample.lastBody) as { messages: { role: string; content: unknown }[] };
  const results = messages.filter((message) => message.role === "tool").map((message) =>
    String(message.content)
  );
  const failed = results.find((text) => text.startsWith("error") || text.startsWith("unknown tool"));
  return failed === undefined ? undefined : `a tool failed: ${failed.slice(0, 300)}`;
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<string> {
  let tail = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) tail = (tail + text).slice(-2000);
  return tail;
}

/**
 * Follows the high-water mark of a process until it ends. The mark only grows, so that a look every few
 * milliseconds misses no more than the last of them; a measure by wait4 would count the memory of the process
 * that started it.
 */
function watchMemory(pid: number): { stop(): number | undefined } {
  let kilobytes: number | undefined;
  const look = () => {
    try {
      const found = /VmHWM:\s+(\d+) kB/.exec(Deno.readTextFileSync(`/proc/${pid}/status`));
      if (found !== null) kilobytes = Number(found[1]);
    } catch { /* the process is gone, or the system has no /proc */ }
  };
  const timer = setInterval(look, 4);
  return {
    stop() {
      clearInterval(timer);
      return kilobytes === undefined ? undefined : kilobytes / 1024;
    },
  };
}
