import { readTasks } from "../../../cli/commands/run/batch/task_file.ts";
import { assertEquals, assertThrows } from "../../support/assert.ts";

const read = (...lines: readonly string[]) =>
  readTasks(lines.join("\n"), { file: "tasks.jsonl", cwd: "/" }).map(({ id, prompt }) => [id, prompt]);

Deno.test("a batch line has prompt or task, and its number as the default id", () => {
  const tasks = read(
    '{"task": "one"}',
    "",
    '{"prompt": "two"}',
    '{"id": 7, "task": "three"}',
    '{"id": "x", "prompt": "4"}',
  );
  assertEquals(tasks, [["1", "one"], ["3", "two"], ["7", "three"], ["x", "4"]]);
});

Deno.test("a batch line with both names, an invalid id or a duplicate id is an error", () => {
  const faults: readonly (readonly [lines: readonly string[], problem: string])[] = [
    [
      ['{"task": "a", "prompt": "b"}'],
      "tasks.jsonl:1:2: it has both a prompt and a task, which are the same",
    ],
    [['{"id": null, "task": "a"}'], "tasks.jsonl:1:2: the id is no text of at most 200 characters"],
    [['{"id": "", "task": "a"}'], "tasks.jsonl:1:2: the id is no text of at most 200 characters"],
    [['{"task": 7}'], "tasks.jsonl:1:2: the task is no text"],
    [['{"id": "a"}'], "tasks.jsonl:1:1: the prompt is missing"],
    [
      ['{"id": 2, "task": "a"}', '{"task": "b"}'],
      'tasks.jsonl:2:1: the id "2" is that of line 1 already, and a line without an id has its number',
    ],
  ];
  for (const [lines, problem] of faults) assertThrows(() => read(...lines), Error, problem);
});
