import { assertEquals } from "../../support/assert.ts";
import { bash, scene } from "./scene.ts";
import { ROWS } from "./program_rows.ts";

const PROGRAMS = new URL("../../../src/permission/command/programs/", import.meta.url);

/** What `permissions check --explain` says the last pass understood, one text for a line. */
async function understood(line: string): Promise<string> {
  const { gate } = scene("/w");
  const { passes } = await gate.explain(bash(line));
  return (passes?.effects ?? []).join(" | ");
}

Deno.test("each program's row says what its words read, write, run and destroy", async () => {
  const wrong: string[] = [];
  for (const [line, expected] of ROWS) {
    const found = await understood(line);
    if (found !== expected) wrong.push(`${line}: expected ${expected}, got ${found}`);
  }
  assertEquals(wrong, []);
});

Deno.test("each row of the tables of programs has a line that names it", async () => {
  const lines = ROWS.map(([line]) => ` ${line} `);
  const missing: string[] = [];
  for await (const { name } of Deno.readDir(PROGRAMS)) {
    const source = await Deno.readTextFile(new URL(name, PROGRAMS));
    for (
      const [, text = ""] of source.matchAll(
        /(?:names: |(?:wrapper|service)\(\s*)((?:"[^"]*"(?:\s*\+\s*)?)+)/g,
      )
    ) {
      const names = text.replace(/"\s*\+\s*"|"/g, "").split(" ").map((each) => each.replace("#", ""));
      if (
        !names.some((each) => lines.some((line) => line.includes(` ${each} `) || line.includes(` ${each}3 `)))
      ) {
        missing.push(`${name}: ${names.slice(0, 5).join(" ")}`);
      }
    }
  }
  assertEquals(missing, []);
});
