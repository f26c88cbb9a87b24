import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";
import { EDIT_FILE } from "../../../src/tool/builtin/edit_file/tool.ts";
import { READ_FILE } from "../../../src/tool/builtin/read_file/tool.ts";
import { type EditCase, editCases, largeCases } from "./edit_cases.ts";

/** The problem of a case, or undefined. */
async function problemOf(dir: string, one: EditCase): Promise<string | undefined> {
  const path = `${dir}/file.txt`;
  await Deno.writeFile(path, one.bytes);
  const context = makeToolContext(dir);
  await READ_FILE.execute({ path }, context);
  const result = await EDIT_FILE.execute({ path, ...one.args }, context);
  const after = await Deno.readFile(path);
  if (!one.expected) {
    if (!result.isError) return `${one.name}: was not refused: ${result.content}`;
    return same(after, one.bytes) ? undefined : `${one.name}: was refused but changed the file`;
  }
  if (result.isError) return `${one.name}: ${result.content}`;
  return same(after, one.expected) ? undefined : `${one.name}: ${difference(after, one.expected)}`;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function difference(actual: Uint8Array, expected: Uint8Array): string {
  const at = expected.findIndex((byte, index) => byte !== actual[index]);
  const show = (bytes: Uint8Array) =>
    JSON.stringify(new TextDecoder().decode(bytes.slice(Math.max(0, at - 20), at + 40)));
  return `differs at byte ${at}: ${show(actual)} instead of ${show(expected)}`;
}

Deno.test("edit_file changes no byte outside the edit for any encoding, line end and file shape", async () => {
  await using dir = await makeTempDir();
  const cases = editCases();
  assert(cases.length >= 300);
  const problems: string[] = [];
  for (const one of cases) {
    const problem = await problemOf(dir.path, one);
    if (problem) problems.push(problem);
  }
  assertEquals(problems, []);
});

Deno.test("edit_file changes no byte outside the edit in files of 5 MB", async () => {
  await using dir = await makeTempDir();
  const problems: string[] = [];
  for (const one of largeCases()) {
    assert(one.bytes.length > 5_000_000);
    const problem = await problemOf(dir.path, one);
    if (problem) problems.push(problem);
  }
  assertEquals(problems, []);
});
