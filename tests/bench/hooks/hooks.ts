/** The row of hooks: many hooks of one event take hardly longer than the slowest. */
import { readHooks } from "../../../src/features/hooks/hook.ts";
import { Hooks, runHook } from "../../../src/features/hooks/hook_runs.ts";
import { type Row, row } from "../report.ts";
import type { Bench } from "../runner.ts";

const HOOKS = 20;
const RUNS = 9;
/** Seconds of the slowest, and of the others. */
const SLOWEST = 0.3;
const OTHERS = 0.05;

export async function hookRows({ quick }: Bench): Promise<Row[]> {
  const times = { all: [] as number[], slowest: [] as number[] };
  for (let run = 0; run < (quick ? 3 : RUNS); run++) {
    times.slowest.push(await fireTime(1));
    times.all.push(await fireTime(HOOKS));
  }
  return [row({
    figure: `${HOOKS} hooks at one event (floor: the slowest alone)`,
    unit: "ms",
    target: (floor) => 1.3 * floor,
    reasonix: times.all,
    floor: times.slowest,
  })];
}

/** Milliseconds until all hooks of an event have answered. */
async function fireTime(count: number): Promise<number> {
  const source = {
    event: "PreToolUse",
    matcher: "",
    timeout_seconds: 60,
    failure: "open",
    source: "user",
    paths: [],
  } as const;
  const sources = Array.from({ length: count }, (_, n) => {
    const seconds = n === count - 1 ? SLOWEST : OTHERS;
    return { ...source, command: `cat > /dev/null; sleep ${seconds}; echo '{"systemMessage":"${n}"}'` };
  });
  const answered: string[] = [];
  const hooks = new Hooks({
    hooks: readHooks(sources).hooks,
    record: (event) => void (event.type === "hook" && answered.push(event.text ?? "")),
    launch: ({ command, timeout_seconds: seconds }, input, signal) => {
      const plan = { command: "/bin/sh", args: ["-c", command], env: { PATH: "/usr/bin:/bin" } };
      return runHook(plan, { cwd: "/", guard: undefined, input, seconds, signal });
    },
  });
  const begun = performance.now();
  await hooks.fire("PreToolUse", { input: {}, signal: new AbortController().signal });
  const took = performance.now() - begun;
  if (answered.join() !== sources.map((_, n) => n).join()) {
    throw new Error(`Hooks answered ${answered.join()}`);
  }
  return took;
}
