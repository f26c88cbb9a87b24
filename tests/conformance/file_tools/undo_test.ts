import fc from "fast-check";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";
import { APPLY_PATCH } from "../../../src/tool/builtin/apply_patch/tool.ts";
import { EDIT_FILE } from "../../../src/tool/builtin/edit_file/tool.ts";
import { READ_FILE } from "../../../src/tool/builtin/read_file/tool.ts";
import { encodeText, type Encoding } from "../../../src/tool/text/encoding.ts";
import { reversePatch } from "./reverse_patch.ts";
import { SEED } from "../../support/seed.ts";

interface Example {
  readonly lines: readonly string[];
  readonly eols: readonly string[];
  readonly open: boolean;
  readonly format: readonly [Encoding, boolean];
  readonly from: number;
  readonly length: number;
  readonly put: string;
}

const WORD = fc.constantFrom(
  "a",
  "b",
  "x y",
  "\tt",
  "  ",
  "",
  "中文",
  "é",
  "-- x",
  "++ y",
  "@@ -1 +1 @@",
  "\u200b",
  "\\ No",
);
const LINE = fc.array(WORD, { maxLength: 4 }).map((words) => words.join(""));

const EXAMPLE: fc.Arbitrary<Example> = fc.record({
  lines: fc.array(LINE, { minLength: 1, maxLength: 30 }),
  eols: fc.array(fc.constantFrom("\n", "\n", "\r\n"), { minLength: 1, maxLength: 3 }),
  open: fc.boolean(),
  format: fc.constantFrom<readonly [Encoding, boolean]>(
    ["utf-8", false],
    ["utf-8", true],
    ["utf-16le", true],
    ["utf-16be", true],
    ["gb18030", false],
  ),
  from: fc.nat(200),
  length: fc.integer({ min: 1, max: 60 }),
  put: fc.oneof(LINE, fc.array(LINE, { maxLength: 5 }).map((lines) => lines.join("\n"))),
});

function textOf(scene: Example): string {
  const count = scene.lines.length;
  return scene.lines.map((line, index) => {
    const eol = scene.eols[index % scene.eols.length] ?? "\n";
    return scene.open && index === count - 1 ? line : line + eol;
  }).join("");
}

Deno.test("apply_patch reverts any edit with the reversed diff of its result, byte for byte", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/f.txt`;
  let edits = 0;
  await fc.assert(
    fc.asyncProperty(EXAMPLE, async (scene) => {
      const text = textOf(scene);
      const bytes = encodeText(text, scene.format[0], scene.format[1]);
      if (typeof bytes === "string") return;
      await Deno.writeFile(path, bytes);
      const context = makeToolContext(dir.path);
      await READ_FILE.execute({ path }, context);
      const start = scene.from % Math.max(1, text.length);
      const old_string = text.slice(start, start + scene.length);
      const args = { path, old_string, new_string: scene.put, replace_all: true };
      const edited = await EDIT_FILE.execute(args, context);
      const diff = edited.changes?.[0]?.diff;
      if (!diff) return;
      edits++;
      const undone = await APPLY_PATCH.execute({ patch: reversePatch(diff) }, context);
      assertEquals(undone.isError, undefined, undone.content);
      assertEquals([...await Deno.readFile(path)], [...bytes]);
    }),
    { numRuns: 1200, seed: SEED },
  );
  assertEquals(edits >= 1000, true, `only ${edits} of the runs changed the file`);
});
