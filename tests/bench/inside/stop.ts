/** Times until a stopped process has ended: the program at Ctrl-C, and a busy worker. */
import { loadProcessHost } from "../../../src/tool/mod.ts";
import { makeToolContext } from "../../support/tool_context.ts";
import { badTools } from "../../unit/tool/host/bad_tools.ts";
import { descendants } from "../memory.ts";
import { HANGING } from "../model/scripts.ts";
import { type Row, row } from "../report.ts";
import { type Bench, type Started, wait } from "../runner.ts";

const RUNS = 9;
const LOOK_MS = 1;
/** By then the program has finished its warm-up work, which it does while the model is silent. */
const SETTLE_MS = 300;
const LIMIT_MS = 20_000;

/** Linux only, where it can be seen what is left: elsewhere there are no rows. */
export async function stopRows(bench: Bench): Promise<Row[]> {
  if (Deno.build.os !== "linux") return [];
  const silent = await interruptTimes(bench, "silent", async ({ path }) => {
    await until("the first request", async () => await bench.runner.server.count(path) > 0);
  });
  const command = await interruptTimes(bench, "hanging_command", async ({ child }) => {
    await until("the command", () => descendants(child.pid).some(hangs));
  });
  return [
    row({ figure: "Ctrl-C while the model is silent → end", unit: "ms", target: 200, reasonix: silent }),
    row({ figure: "Ctrl-C while a command runs → end", unit: "ms", target: 200, reasonix: command }),
    row({
      figure: "abort of a busy worker → end",
      unit: "ms",
      target: 200,
      reasonix: await abortTimes(bench),
    }),
  ];
}

/** From SIGINT until neither the program nor anything that it started is left. */
async function interruptTimes(
  { runner, program, quick }: Bench,
  script: string,
  ready: (run: Started) => Promise<void>,
): Promise<number[]> {
  const times: number[] = [];
  for (let round = -1; round < (quick ? 3 : RUNS); round++) {
    await using run = await runner.start(program, { model: { script }, changes: true });
    await ready(run);
    await wait(SETTLE_MS);
    const all = [run.child.pid, ...descendants(run.child.pid)];
    const started = performance.now();
    run.child.kill("SIGINT");
    const { code } = await run.child.status;
    await until("the end of all processes", () => !all.some(lives));
    const took = performance.now() - started;
    await runner.server.report(run.path);
    if (code !== 130) throw new Error(`Ctrl-C ended in exit code ${code}:\n${(await run.ended).output}`);
    if (round >= 0) times.push(took);
  }
  return times;
}

/** From the abort of a call that is in a loop without end until its process is gone. */
async function abortTimes({ runner, quick }: Bench): Promise<number[]> {
  const { ProcessToolHost, selfCommand } = await loadProcessHost();
  const { workspace } = runner.stage;
  const entry = new URL("../../unit/tool/host/entry.ts", import.meta.url);
  const [ls, spin] = ["ls", "spin"].map((name) => badTools().find((tool) => tool.name === name));
  if (!ls || !spin) throw new Error("Cannot find the tools that the worker is to run");
  const flags = ["--no-check", "-A"];
  const command = selfCommand({ role: "tools", module: entry.href, sourceEntry: entry, flags });
  await using host = new ProcessToolHost({ command, data: workspace });
  const times: number[] = [];
  for (let round = 0; round < (quick ? 3 : RUNS); round++) {
    await host.execute(ls, {}, makeToolContext(workspace));
    const pid = host.pid ?? NaN;
    const before = processorTicks(pid);
    const controller = new AbortController();
    const call = host.execute(spin, {}, makeToolContext(workspace, { signal: controller.signal }));
    const refused = call.then(() => false, () => true);
    await until("a busy worker", () => processorTicks(pid) > before + BUSY_TICKS);
    const started = performance.now();
    controller.abort();
    if (!await refused) throw new Error("An endless loop has ended");
    await until("the end of the worker", () => !lives(pid));
    times.push(performance.now() - started);
  }
  return times;
}

/** Hundredths of a second. */
const BUSY_TICKS = 5;

function processorTicks(pid: number): number {
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]);
}

/** Reports whether a process is alive and not a zombie. */
function lives(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

function hangs(pid: number): boolean {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`) === `${HANGING.replace(" ", "\0")}\0`;
  } catch {
    return false;
  }
}

async function until(what: string, fulfilled: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!await fulfilled()) {
    if (performance.now() > end) throw new Error(`Waited in vain for ${what}`);
    await wait(LOOK_MS);
  }
}
