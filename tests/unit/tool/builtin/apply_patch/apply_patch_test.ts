import { textOf } from "../../../../../src/core/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../../support/tool_context.ts";
import { APPLY_PATCH } from "../../../../../src/tool/builtin/apply_patch/tool.ts";
import { READ_FILE } from "../../../../../src/tool/builtin/read_file/tool.ts";

const TEN = Array.from({ length: 10 }, (_, index) => `line ${index + 1}\n`).join("");

Deno.test("apply_patch applies a unified diff and reports each file", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, TEN);
  const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -4,3 +4,4 @@\n line 4\n-line 5\n+LINE 5\n+more\n line 6\n" +
    "--- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1 @@\n+hello\n";
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(result.content, "updated a.txt (+2 −1)\ncreated new/b.txt (+1 −0)");
  assertEquals(textOf(result.summary), "2 files +3 −1");
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), TEN.replace("line 5\n", "LINE 5\nmore\n"));
  assertEquals(await Deno.readTextFile(`${dir.path}/new/b.txt`), "hello\n");
});

Deno.test("apply_patch applies the Begin Patch form with add, update, move and delete", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(
    `${dir.path}/a.py`,
    "class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        pass\n",
  );
  await Deno.writeTextFile(`${dir.path}/old.txt`, "x\n");
  await Deno.writeTextFile(`${dir.path}/gone.txt`, "bye\n");
  const patch = [
    "*** Begin Patch",
    "*** Update File: a.py",
    "@@ class B:",
    "     def f(self):",
    "-        pass",
    "+        return 1",
    "*** Update File: old.txt",
    "*** Move to: sub/new.txt",
    "@@",
    "-x",
    "+y",
    "*** Add File: add.txt",
    "+one",
    "+",
    "+two",
    "*** Delete File: gone.txt",
    "*** End Patch",
  ].join("\n");
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(
    result.content,
    "updated a.py (+1 −1)\nmoved old.txt → sub/new.txt (+1 −1)\ncreated add.txt (+3 −0)\ndeleted gone.txt (+0 −1)",
  );
  assertEquals(
    await Deno.readTextFile(`${dir.path}/a.py`),
    "class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        return 1\n",
  );
  assertEquals(await Deno.readTextFile(`${dir.path}/sub/new.txt`), "y\n");
  assertEquals(await Deno.readTextFile(`${dir.path}/add.txt`), "one\n\ntwo\n");
  assertEquals([...Deno.readDirSync(dir.path)].map((entry) => entry.name).sort(), ["a.py", "add.txt", "sub"]);
});

Deno.test("apply_patch finds a hunk elsewhere when its line number is wrong", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, TEN);
  const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n line 7\n-line 8\n+LINE 8\n";
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(result.content, "updated a.txt (+1 −1)\na.txt: the hunk was found at line 7 instead of 1");
});

Deno.test("apply_patch refuses a hunk that fits in several places", async () => {
  await using dir = await makeTempDir();
  const text = "start\n" + "a\nb\n".repeat(3);
  await Deno.writeTextFile(`${dir.path}/a.txt`, text);
  const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(result.isError, true);
  assertStringIncludes(result.content, "fits in 3 places, at lines 2, 4, 6");
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), text);
});

Deno.test("apply_patch changes nothing when one of several files does not fit", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, TEN);
  await Deno.writeTextFile(`${dir.path}/b.txt`, TEN);
  const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-line 1\n+LINE 1\n" +
    "--- a/b.txt\n+++ b/b.txt\n@@ -2,2 +2,2 @@\n line 2\n-line three\n+LINE 3\n" +
    "--- a/missing.txt\n+++ b/missing.txt\n@@ -1 +1 @@\n-x\n+y\n";
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(result.isError, true);
  assertStringIncludes(result.content, "b.txt: the hunk does not fit: its old text was not found");
  assertStringIncludes(result.content, "missing.txt does not exist");
  assertStringIncludes(result.content, "Nothing was changed");
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), TEN);
});

Deno.test("apply_patch reverts all files when a write fails", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, TEN);
  await Deno.writeTextFile(`${dir.path}/z.txt`, TEN);
  await Deno.writeTextFile(`${dir.path}/del.txt`, "bye\n");
  const patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-line 1\n+LINE 1\n*** Delete File: del.txt\n" +
    "*** Add File: new/x/n.txt\n+n\n*** Add File: taken/inner.txt\n+n\n*** End Patch\n";
  // A dangling name with a file for a directory makes the last creation fail at staging time.
  const context = makeToolContext(dir.path);
  const write = context.paths.write;
  const paths = {
    ...context.paths,
    write: async (path: string) => {
      const real = await write(path);
      return path === "taken/inner.txt" ? `${dir.path}/z.txt-x/${"n".repeat(300)}` : real;
    },
  };
  const result = await APPLY_PATCH.execute({ patch }, { ...context, paths });
  assertEquals(result.isError, true);
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), TEN);
  assertEquals([...Deno.readDirSync(dir.path)].map((entry) => entry.name).sort(), [
    "a.txt",
    "del.txt",
    "z.txt",
  ]);
});

Deno.test("apply_patch keeps CRLF when the patch was written with LF", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, "a\r\nb\r\nc");
  const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n";
  await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), "a\r\nB\r\nc\r\nd");
});

Deno.test("apply_patch tolerates wrong counts, code fences and CRLF in the patch", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, TEN);
  const counts =
    "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,9 +1,2 @@\n line 1\n-line 2\n+two\n line 3\n\n```\n";
  const first = await APPLY_PATCH.execute({ patch: counts }, makeToolContext(dir.path));
  assertEquals(first.content, "updated a.txt (+1 −1)");
  const crlf = "--- a/a.txt\r\n+++ b/a.txt\r\n@@ -3,2 +3,2 @@\r\n line 3\r\n-line 4\r\n+four\r\n";
  const second = await APPLY_PATCH.execute({ patch: crlf }, makeToolContext(dir.path));
  assertEquals(second.content, "updated a.txt (+1 −1)");
  assertEquals(
    await Deno.readTextFile(`${dir.path}/a.txt`),
    TEN.replace("line 2", "two").replace("line 4", "four"),
  );
});

Deno.test("apply_patch sets and keeps file modes", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.sh`, "x\n", { mode: 0o640 });
  const patch = "diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n" +
    "diff --git a/b.sh b/b.sh\nnew file mode 100755\n--- /dev/null\n+++ b/b.sh\n@@ -0,0 +1 @@\n+y\n" +
    "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n";
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(result.content, "updated a.sh (+0 −0)\ncreated b.sh (+1 −0)\ncreated empty (+0 −0)");
  const mode = async (name: string) => ((await Deno.stat(`${dir.path}/${name}`)).mode ?? 0) & 0o777;
  assertEquals(await mode("a.sh"), 0o750);
  assert((await mode("b.sh")) & 0o100);
  assertEquals((await Deno.stat(`${dir.path}/empty`)).size, 0);
});

Deno.test("apply_patch refuses unsafe changes with a clear reason", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, TEN);
  const refuse = async (patch: string) =>
    (await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path))).content;
  assertStringIncludes(await refuse("hello"), "No file header was found");
  assertStringIncludes(await refuse("@@ -1 +1 @@\n-a\n+b\n"), "without ---/+++ lines");
  assertStringIncludes(await refuse("diff --git a/l b/l\nnew file mode 120000\n"), "Symbolic links");
  assertStringIncludes(
    await refuse("diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n"),
    "binary",
  );
  assertStringIncludes(
    await refuse("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n"),
    "a.txt already exists",
  );
  assertStringIncludes(await refuse("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 1\n"), "does not list");
  assertStringIncludes(
    await refuse("*** Begin Patch\n*** Add File: /etc/x\n+a\n*** End Patch"),
    "outside the workspace",
  );
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), TEN);
});

Deno.test("apply_patch refuses a file that has changed since it was read", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, TEN);
  const context = makeToolContext(dir.path);
  await READ_FILE.execute({ path: "a.txt" }, context);
  await Deno.writeTextFile(`${dir.path}/a.txt`, `${TEN}more\n`);
  const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-line 1\n+x\n";
  const result = await APPLY_PATCH.execute({ patch }, context);
  assertStringIncludes(result.content, "has changed on disk since it was read");
});

Deno.test("apply_patch clears the read state of a deleted file, so that a new one must be read", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, TEN);
  const context = makeToolContext(dir.path);
  await READ_FILE.execute({ path: "a.txt" }, context);
  await APPLY_PATCH.execute({ patch: "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n" }, context);
  assertEquals(context.seen.get(`${dir.path}/a.txt`), undefined);
});

Deno.test("apply_patch declares the paths it writes before it runs", () => {
  const patch =
    "diff --git a/x y.txt b/x y.txt\nsimilarity index 100%\nrename from x y.txt\nrename to z.txt\n" +
    'diff --git "a/\\303\\244.txt" "b/\\303\\244.txt"\n--- "a/\\303\\244.txt"\n+++ "b/\\303\\244.txt"\n@@ -1 +1 @@\n--- a/no\n+++ b/no\n';
  assertEquals(APPLY_PATCH.writes?.({ patch }), ["x y.txt", "z.txt", "ä.txt"]);
  assertEquals(APPLY_PATCH.writes?.({ patch: "*** Begin Patch\n*** Delete File: d\n*** End Patch" }), ["d"]);
  assertEquals(APPLY_PATCH.writes?.({ patch: "nonsense" }), []);
  // A line of a patch ends at the line feed alone.
  const [old, renamed] = ["x\u2028y.txt", "z\u2029.txt"];
  const git =
    `diff --git a/${old} b/${renamed}\nsimilarity index 100%\nrename from ${old}\nrename to ${renamed}\n`;
  for (const text of [git, git.replaceAll("\n", "\r\n")]) {
    assertEquals(APPLY_PATCH.writes?.({ patch: text }), [old, renamed]);
  }
  const begin = `*** Begin Patch\n*** Update File: ${old}\n*** Move to: ${renamed}\n*** End Patch`;
  assertEquals(APPLY_PATCH.writes?.({ patch: begin }), [old, renamed]);
});

Deno.test("apply_patch suggests similar files when the target does not exist", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/parser.ts`, "a\n");
  const patch = "*** Begin Patch\n*** Update File: praser.ts\n@@\n-a\n+b\n*** End Patch";
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(
    result.content,
    "error: praser.ts does not exist; near names: parser.ts\nNothing was changed",
  );
});

Deno.test("apply_patch accepts the example in its description", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/src`);
  await Deno.writeTextFile(`${dir.path}/src/a.ts`, "function name() {\ncontext\nold\n}\n");
  await Deno.writeTextFile(`${dir.path}/c.txt`, "c\n");
  const patch = /\n(\*\*\* Begin Patch\n[^]*?\n\*\*\* End Patch)\n/.exec(APPLY_PATCH.description)?.[1];
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(
    result.content,
    "updated src/a.ts (+1 −1)\ncreated b.txt (+1 −0)\ndeleted c.txt (+0 −1)",
  );
});

Deno.test("apply_patch keeps a blank line of a new file without its plus sign", async () => {
  await using dir = await makeTempDir();
  const patch =
    "*** Begin Patch\n*** Add File: a.txt\n+one\n\n+two\n\n*** Add File: b.txt\n+b\n*** End Patch";
  await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertEquals(await Deno.readTextFile(`${dir.path}/a.txt`), "one\n\ntwo\n");
  assertEquals(await Deno.readTextFile(`${dir.path}/b.txt`), "b\n");
});

Deno.test("apply_patch explains the Begin Patch layout when it is on one line", async () => {
  await using dir = await makeTempDir();
  const patch = "*** Begin Patch *** Update File: a.txt @@ -old +new *** End Patch";
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  assertStringIncludes(result.content, "put each directive (*** Update File: path)");
});
