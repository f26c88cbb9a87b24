/**
 * A runner without a model, as a process that a test can kill: it puts a result of each task that has none
 * in place. Arguments: the directory, the number of tasks, its name, a file to store with each.
 */
import { manifestOf, ResultsDir } from "../../src/batch/mod.ts";
import type { BatchTask, TaskResult } from "../../src/batch/mod.ts";

export function someManifest(count: number) {
  const tasks: BatchTask[] = Array.from(
    { length: count },
    (_, at) => ({ id: `t${at}`, prompt: `task ${at}`, dir: "", checks: [] }),
  );
  return manifestOf({ tasks, text: `${count} tasks`, file: "/x/tasks.jsonl" });
}

export function someResult(id: string, more: Partial<TaskResult> = {}): TaskResult {
  const usage = { inputTokens: 100, cachedTokens: 60, outputTokens: 10, reasoningTokens: 0 };
  return {
    id,
    ok: true,
    reason: "done",
    answer: `did ${id}`,
    session: "s",
    model: "m",
    usage,
    cost: { amount: 0.25, currency: "USD" },
    duration_ms: 2000,
    checks: [],
    ...more,
  };
}

export const STARTED = "2026-11-27T10:00:00.000Z";

if (import.meta.main) {
  const [path = "", count = "0", name = "", given] = Deno.args;
  const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  const dir = ResultsDir.open(path, someManifest(Number(count)));
  const source = given ?? `${path}/../${name}`;
  print("ready");
  for (const { index, id, isFinal } of dir.entries()) {
    if (isFinal) continue;
    // A patch that is larger than a block, whose content belongs to the result.
    if (given === undefined) Deno.writeTextFileSync(source, `${name}-${id}\n`.repeat(3000));
    const first = dir.put(index, { started: STARTED }, someResult(id, { answer: name, patch: source }), {
      patch: source,
      session: source,
    });
    print(`${id} ${first}`);
  }
}
