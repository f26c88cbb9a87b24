import { APPLY_PATCH } from "../../../src/tool/builtin/apply_patch/tool.ts";
import { GREP } from "../../../src/tool/builtin/grep/tool.ts";
import { MOVE_FILE } from "../../../src/tool/builtin/move_file/tool.ts";
import { READ_FILE } from "../../../src/tool/builtin/read_file/tool.ts";
import { byteLength } from "../../../src/util/bytes.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";

Deno.test("a dry run over many files stays within the size limit of a result", async () => {
  await using dir = await makeTempDir();
  const files = Array.from(
    { length: 200 },
    (_, index) => `*** Add File: ${index}.txt\n${"+line\n".repeat(2000)}`,
  );
  const patch = `*** Begin Patch\n${files.join("")}*** End Patch`;
  const context = makeToolContext(dir.path, { settings: { writes: "dry-run" } });
  const result = await APPLY_PATCH.execute({ patch }, context);
  assert(byteLength(result.content) < 41_000);
  assertMatch(result.content, /\[middle cut: \d+ of \d+ bytes/);
  assertEquals([result.truncated?.cut, result.changes?.length], ["middle", 200]);
});

Deno.test("a very long path is refused with a short line", async () => {
  await using dir = await makeTempDir();
  for (const [tool, key] of [[READ_FILE, "path"], [GREP, "path"], [MOVE_FILE, "source_path"]] as const) {
    const args = { path: "a", pattern: "x", destination_path: "b", [key]: "长/".repeat(100_000) };
    const result = await tool.execute(args, makeToolContext(dir.path));
    assertStringIncludes(result.content, "error: The path is too long (200000 characters): 长/长/");
    assert(result.content.length < 200);
  }
});
