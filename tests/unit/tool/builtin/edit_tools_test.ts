import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";
import { EDIT_FILE, MULTI_EDIT } from "../../../../src/tool/builtin/edit_file/tool.ts";
import { MOVE_FILE } from "../../../../src/tool/builtin/move_file/tool.ts";
import { READ_FILE } from "../../../../src/tool/builtin/read_file/tool.ts";
import type { ToolContext } from "../../../../src/tool/mod.ts";

async function seen(dir: string, name: string, text: string, overrides = {}): Promise<ToolContext> {
  await Deno.writeTextFile(`${dir}/${name}`, text);
  const context = makeToolContext(dir, overrides);
  await READ_FILE.execute({ path: name }, context);
  return context;
}

Deno.test("edit_file replaces text and returns the diff for front ends", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "one\ntwo\nthree");
  const result = await EDIT_FILE.execute({ path: "a.txt", old_string: "two", new_string: "2" }, context);
  assertEquals(result.content, "updated a.txt (+1 −1)");
  assertEquals(
    result.changes?.[0]?.diff,
    "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n",
  );
});

Deno.test("edit_file reports the match strategy and the number of replacements", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "  a\n  b \nx x\n");
  const first = await EDIT_FILE.execute(
    { path: "a.txt", old_string: "a\nb\n", new_string: "a\nc\n" },
    context,
  );
  assertEquals(
    first.content,
    "updated a.txt (+1 −1); matched after indenting by 2 spaces; written as:\n     1→  a\n     2→  c",
  );
  const all = await EDIT_FILE.execute(
    { path: "a.txt", old_string: "x", new_string: "y", replace_all: true },
    context,
  );
  assertEquals(all.content, "updated a.txt (+1 −1); 2 replacements");
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), "  a\n  c\ny y\n");
});

Deno.test("edit_file reports unchanged when old and new text are the same", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "one\n");
  const result = await EDIT_FILE.execute({ path: "a.txt", old_string: "one", new_string: "one" }, context);
  assertEquals(result.content, "unchanged a.txt: the file already has this content");
});

Deno.test("edit_file creates a missing file when old_string is empty", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path);
  const result = await EDIT_FILE.execute({ path: "n.txt", old_string: "", new_string: "x\n" }, context);
  assertEquals(result.content, "created n.txt (+1 −0)");
  const again = await EDIT_FILE.execute({ path: "n.txt", old_string: "", new_string: "y\n" }, context);
  assertStringIncludes(again.content, "old_string is empty");
});

Deno.test("edit_file refuses a character that the encoding of the file lacks", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path);
  await Deno.writeFile(`${dir.path}/l.txt`, new Uint8Array([0x63, 0xe9, 0x0a]));
  await READ_FILE.execute({ path: "l.txt" }, context);
  const result = await EDIT_FILE.execute({ path: "l.txt", old_string: "c", new_string: "中" }, context);
  assertStringIncludes(result.content, 'encoded as Latin-1 (windows-1252), which has no character "中"');
  assertEquals([...await Deno.readFile(`${dir.path}/l.txt`)], [0x63, 0xe9, 0x0a]);
});

Deno.test("edit_file refuses binary and oversized files", async () => {
  await using dir = await makeTempDir();
  const context = makeToolContext(dir.path);
  await Deno.writeFile(`${dir.path}/b.bin`, new Uint8Array([1, 0, 2, 0, 0, 0]));
  const binary = await EDIT_FILE.execute({ path: "b.bin", old_string: "a", new_string: "b" }, context);
  assertStringIncludes(binary.content, "b.bin is a binary file");
  await Deno.truncate(await touch(`${dir.path}/huge.txt`), 51 * 1024 * 1024);
  const huge = await EDIT_FILE.execute({ path: "huge.txt", old_string: "a", new_string: "b" }, context);
  assertStringIncludes(huge.content, "too large to edit");
});

Deno.test("multi_edit applies edits in order, or none of them", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "a\nb\n");
  const edits = [{ old_string: "a", new_string: "x" }, { old_string: "x\nb", new_string: "y\nz" }];
  const result = await MULTI_EDIT.execute({ path: "a.txt", edits }, context);
  assertEquals(result.content, "updated a.txt (+2 −2); 2 replacements");
  const broken = [{ old_string: "y", new_string: "w" }, { old_string: "nothing like it", new_string: "" }];
  const failed = await MULTI_EDIT.execute({ path: "a.txt", edits: broken }, context);
  assertStringIncludes(failed.content, "error: a.txt: edit 2 of 2: old_string was not found");
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), "y\nz\n");
});

Deno.test("move_file moves files and directories and never overwrites", async () => {
  await using dir = await makeTempDir();
  const context = await seen(dir.path, "a.txt", "a\n");
  const move = async (source_path: string, destination_path: string) =>
    (await MOVE_FILE.execute({ source_path, destination_path }, context)).content;
  assertEquals(await move("a.txt", "sub/b.txt"), "moved a.txt → sub/b.txt");
  const edit = await EDIT_FILE.execute({ path: "sub/b.txt", old_string: "a", new_string: "b" }, context);
  assertEquals(edit.content, "updated sub/b.txt (+1 −1)");
  assertEquals(await move("sub", "dir"), "moved sub → dir");
  const again = await EDIT_FILE.execute({ path: "dir/b.txt", old_string: "b", new_string: "c" }, context);
  assertEquals(again.content, "updated dir/b.txt (+1 −1)");
  await Deno.writeTextFile(`${dir.path}/c.txt`, "c\n");
  assertStringIncludes(await move("c.txt", "dir/b.txt"), "dir/b.txt already exists");
  assertStringIncludes(await move("dir", "dir/inner"), "into itself");
  assertStringIncludes(await move("nope.txt", "x.txt"), "nope.txt does not exist");
  assertStringIncludes(await move("c.txt", "dir"), "dir already exists; name the place in it: dir/c.txt");
  assertEquals(await Deno.readTextFile(`${dir.path}/dir/b.txt`), "c\n");
});

Deno.test("move_file moves a symlink itself", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/target.txt`, "t\n");
  await Deno.symlink("target.txt", `${dir.path}/link`);
  const context = makeToolContext(dir.path);
  await MOVE_FILE.execute({ source_path: "link", destination_path: "moved" }, context);
  assertEquals(await Deno.readLink(`${dir.path}/moved`), "target.txt");
  assertEquals(await Deno.readTextFile(`${dir.path}/target.txt`), "t\n");
});

async function touch(path: string): Promise<string> {
  await Deno.writeTextFile(path, "");
  return path;
}
