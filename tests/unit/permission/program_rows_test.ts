import { PROGRAMS } from "../../../src/permission/command/programs.ts";
import { assertEquals } from "../../support/assert.ts";
import { bash, scene } from "./scene.ts";
import { readCorpus } from "../../support/corpus.ts";
import text from "./program_rows.txt" with { type: "text" };

/** Each line, and below it the result of the third pass. */
const { rows = [] } = readCorpus(text);
const ROWS = rows.flatMap((line, i) => i % 2 === 0 ? [[line, rows[i + 1]?.slice(2) ?? ""] as const] : []);

/** The result of the last pass as `permissions check --explain` prints it. */
async function understood(line: string): Promise<string> {
  const { gate } = scene("/w");
  const { passes } = await gate.explain(bash(line));
  return (passes?.effects ?? []).join(" | ");
}

Deno.test("each program's row lists what its arguments read, write, run and destroy", async () => {
  const wrong: string[] = [];
  for (const [line, expected] of ROWS) {
    const found = await understood(line);
    if (found !== expected) wrong.push(`${line}: expected ${expected}, got ${found}`);
  }
  assertEquals(wrong, []);
});

Deno.test("each row of the table of programs has a test line", () => {
  const lines = ROWS.map(([line]) => ` ${line} `);
  const isNamed = (name: string) =>
    lines.some((line) => line.includes(` ${name} `) || line.includes(` ${name}3 `));
  const missing = PROGRAMS.map(({ names }) => names.replaceAll("#", "").split(" "))
    .filter((names) => !names.some(isNamed));
  assertEquals(missing, []);
});
