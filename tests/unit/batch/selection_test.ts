import { selectTasks } from "../../../src/batch/mod.ts";
import type { BatchTask } from "../../../src/batch/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertThrows } from "../../support/assert.ts";

const TASKS: BatchTask[] = ["a", "b", "a", "a", "b", "a", "a"].map((image, at) => ({
  id: `t${at}`,
  prompt: "p",
  dir: "",
  checks: [],
  image,
}));

function chosen(more: Partial<Parameters<typeof selectTasks>[1]>) {
  return selectTasks(TASKS, { file: "f.jsonl", ...more });
}

Deno.test("shards have each task once, and more shards than tasks leave some without any", () => {
  for (const  of of[1, 2, 3, 7, 9]) {
    const parts = Array.from({ length: of }, (_, at) => chosen({ shard: { part: at + 1, of } }).indexes);
    assertEquals(parts.flat().sort(), [0, 1, 2, 3, 4, 5, 6]);
    assert(Math.max(...parts.map(({ length }) => length)) === Math.ceil(7 / of));
  }
  assertEquals(chosen({ shard: { part: 2, of: 3 } }), { indexes: [1, 4], shard: "2/3" });
});

Deno.test("with an image, shards and indexes count among its tasks, and positions stay those of the file", () => {
  assertEquals(chosen({ image: "b" }).indexes, [1, 4]);
  assertEquals(chosen({ image: "a", taskIndex: 3 }).indexes, [5]);
  assertEquals(chosen({ image: "a", shard: { part: 2, of: 2 } }).indexes, [2, 5]);
});

Deno.test("the index of an engine counts only where a runner asks for it and no flag says otherwise", () => {
  const env = (name: string) => ({ SLURM_ARRAY_TASK_ID: "5", JOB_COMPLETION_INDEX: "" })[name];
  assertEquals(chosen({ env }), { indexes: [5], shard: "5", variable: "SLURM_ARRAY_TASK_ID" });
  assertEquals(chosen({ env, taskIndex: 2 }), { indexes: [2], shard: "2" });
  assertEquals(chosen({ env, shard: { part: 1, of: 7 } }).indexes, [0]);
  assertEquals(chosen({}).indexes.length, 7);
  for (const value of ["7", "-1", "1.5", "x", "1e0"]) {
    const error = assertThrows(() =>
      chosen({ env: (name) => name === "PBS_ARRAY_INDEX" ? value : undefined })
    );
    assert(error instanceof ReasonixError && error.message.includes(`task ${value} (PBS_ARRAY_INDEX)`));
  }
});
