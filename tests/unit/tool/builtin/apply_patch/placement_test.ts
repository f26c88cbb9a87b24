import { assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../../support/tool_context.ts";
import { APPLY_PATCH } from "../../../../../src/tool/builtin/apply_patch/tool.ts";

/** The file after a patch in the Begin Patch form, or the refusal. */
async function patched(before: string, body: string): Promise<string> {
  return await applied(before, `*** Begin Patch\n*** Update File: a.txt\n${body}*** End Patch\n`);
}

async function applied(before: string, patch: string): Promise<string> {
  await using dir = await makeTempDir();
  const path = `${dir.path}/a.txt`;
  await Deno.writeTextFile(path, before);
  const result = await APPLY_PATCH.execute({ patch }, makeToolContext(dir.path));
  const after = await Deno.readTextFile(path).catch(() => "(deleted)");
  if (!result.isError) return after;
  assertEquals(after, before);
  return `! ${result.content}`;
}

const EQUAL = "one()\n  x = 1\n  end\ntwo()\n  x = 1\n  end\nthree()\n  x = 1\n  end\n";

Deno.test("apply_patch treats an anchor as a line above the hunk, not as a choice between matches", async () => {
  assertStringIncludes(await patched(EQUAL, "@@ one()\n-  x = 1\n+  x = 2\n   end\n"), "fits in 3 places");
  assertEquals(
    await patched(EQUAL, "@@ three()\n-  x = 1\n+  x = 2\n   end\n"),
    `${EQUAL.slice(0, EQUAL.lastIndexOf("x = 1"))}x = 2\n  end\n`,
  );
  assertStringIncludes(await patched(EQUAL, "@@ four()\n-  x = 1\n+  x = 2\n"), "which is not in the file");
  assertStringIncludes(await patched("a\nb\n", "@@ b\n-a\n+c\n"), 'above its anchor "@@ b", at line 1');
});

Deno.test("apply_patch finds an anchor above the previous hunk", async () => {
  const text = "class A:\n  a\n  b\n  c\n";
  assertEquals(
    await patched(text, "@@ class A:\n-  a\n+  x\n@@ class A:\n-  c\n+  z\n"),
    "class A:\n  x\n  b\n  z\n",
  );
});

Deno.test("apply_patch applies equal hunks in order when there are as many matches", async () => {
  const change = "@@\n-  x = 1\n+  x = 2\n   end\n";
  assertEquals(await patched(EQUAL, change.repeat(3)), EQUAL.replaceAll("x = 1", "x = 2"));
  assertStringIncludes(await patched(EQUAL, change.repeat(2)), "hunk 1 of 2 fits in 2 places, at lines 2, 5");
});

Deno.test("apply_patch reports a hunk above the previous one", async () => {
  const problem = await patched("a\nb\nc\n", "@@\n-c\n+z\n@@\n-a\n+x\n");
  assertStringIncludes(problem, "hunk 2 of 2 is at line 1, above the hunk before it (line 3)");
});

Deno.test("apply_patch accepts hunks that share a line of context", async () => {
  assertEquals(await patched("a\nb\nc\nd\n", "@@\n-a\n+A\n b\n@@\n b\n-c\n+C\n d\n"), "A\nb\nC\nd\n");
});

Deno.test("apply_patch appends an insertion without context, also before other hunks", async () => {
  assertEquals(await patched("a\nb\n", "@@\n+end\n@@\n-a\n+A\n"), "A\nb\nend\n");
});

Deno.test("apply_patch ignores blank context lines that the file does not have", async () => {
  assertEquals(await patched("a\nb\n", "@@\n \n-a\n+A\n b\n \n"), "A\nb\n");
});

Deno.test("apply_patch reads a byte order mark as git writes it", async () => {
  const text = "\ufeffusing A;\nusing B;\n";
  assertEquals(
    await applied(text, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n \ufeffusing A;\n-using B;\n+using C;\n"),
    "\ufeffusing A;\nusing C;\n",
  );
  assertEquals(
    await applied(text, "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-\ufeffusing A;\n+using A;\n"),
    "using A;\nusing B;\n",
    "the commit takes the mark away",
  );
  assertEquals(
    await applied(text, "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-\ufeffusing A;\n-using B;\n"),
    "(deleted)",
  );
  assertEquals(await patched(text, "@@\n-using A;\n+using Z;\n"), "\ufeffusing Z;\nusing B;\n");
  assertEquals(
    await applied("a\nb\n", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-\ufeffa\n+\ufeffc\n"),
    "c\nb\n",
    "the file has none",
  );
});

Deno.test("apply_patch refuses lines below a Delete File directive", async () => {
  const problem = await applied("a\nb\n", "*** Begin Patch\n*** Delete File: a.txt\n-a\n*** End Patch\n");
  assertStringIncludes(problem, "deletes the whole file and takes no lines");
  assertEquals(
    await applied("a\n", "*** Begin Patch\n*** Delete File: a.txt\n\n*** End Patch\n"),
    "(deleted)",
  );
});

Deno.test("apply_patch reads directives with spaces around them", async () => {
  const patch = "\n  *** Begin Patch  \n  *** Update File: a.txt \t\n  @@\n  -a\n  +A\n  *** End Patch\n";
  assertEquals(await applied("a\nb\n", patch), "A\nb\n");
  assertEquals(
    await applied("a\nb\n", "*** Begin Patch \n\n *** Update File: a.txt\n@@\n-a\n+A\n *** End Patch\n"),
    "A\nb\n",
  );
});

Deno.test("apply_patch refuses a placeholder for removed lines", async () => {
  const problem = await patched("a\nb\nc\n", "@@\n-a\n-b\n+// ... rest of the code\n c\n");
  assertStringIncludes(problem, 'the hunk has the placeholder "// ... rest of the code"');
});

Deno.test("apply_patch shifts new lines with their hunk unless they have the file's indentation", async () => {
  assertEquals(await patched("  f:\n    a\n", "@@\n f:\n-  a\n+  b\n"), "  f:\n    b\n");
  assertEquals(await patched("  f:\n    a\n", "@@\n f:\n-  a\n+    b\n"), "  f:\n    b\n");
});

Deno.test("apply_patch accepts typographic variants if they match in one place only", async () => {
  assertEquals(await patched("say “a” – 1\nb\n", '@@\n-say "a" - 1\n+say "a" - 2\n b\n'), "say “a” – 2\nb\n");
  assertStringIncludes(await patched("a–b\nx\na—b\n", "@@\n-a-b\n+c\n"), "fits in 2 places, at lines 1, 3");
});
