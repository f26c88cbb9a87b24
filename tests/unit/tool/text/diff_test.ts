import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { unifiedDiff } from "../../../../src/tool/text/diff.ts";

function diff(before: string, after: string, maxBytes?: number): string {
  return unifiedDiff(before, after, { from: "a", to: "a", ...(maxBytes ? { maxBytes } : {}) }).diff;
}

const LINES = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`);

Deno.test("unifiedDiff is empty for equal texts and counts lines otherwise", () => {
  assertEquals(unifiedDiff("a\n", "a\n", { from: "a", to: "a" }), { diff: "", added: 0, removed: 0 });
  const result = unifiedDiff("a\nb\n", "a\nc\nd\n", { from: "a", to: "a" });
  assertEquals([result.added, result.removed], [2, 1]);
});

Deno.test("unifiedDiff shows the removal of the only line end", () => {
  assertEquals(diff("\n", ""), "--- a/a\n+++ b/a\n@@ -1 +0,0 @@\n-\n");
  assertEquals(diff("a\n\n", "a\n"), "--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n a\n-\n");
});

Deno.test("unifiedDiff separates distant changes and merges near ones", () => {
  const far = LINES.map((line) => line === "3\n" || line === "20\n" ? `x${line}` : line).join("");
  assertEquals(diff(LINES.join(""), far).match(/^@@.*@@$/gm), ["@@ -1,6 +1,6 @@", "@@ -17,7 +17,7 @@"]);
  const near = LINES.map((line) => line === "3\n" || line === "9\n" ? `x${line}` : line).join("");
  assertEquals(diff(LINES.join(""), near).match(/^@@.*@@$/gm), ["@@ -1,12 +1,12 @@"]);
});

Deno.test("unifiedDiff marks a missing final newline on either side", () => {
  assertEquals(diff("a", "a\n"), "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
  assertEquals(diff("", "a"), "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n");
});

Deno.test("unifiedDiff uses /dev/null for a new file and quotes names with blanks", () => {
  const result = unifiedDiff("", "x\n", { from: undefined, to: "my file" });
  assertStringIncludes(result.diff, "--- /dev/null\n+++ b/my file\t\n");
});

Deno.test("unifiedDiff is truncated at a line with a marker above its limit", () => {
  const text = diff("", "some line\n".repeat(1000), 300);
  assert(text.length < 400);
  assertStringIncludes(text, "+some line\n[diff cut: ");
});

Deno.test("unifiedDiff shows a region as replaced when it has too many differences", () => {
  const before = Array.from({ length: 20_000 }, (_, index) => `a${index}\n`).join("");
  const after = Array.from({ length: 20_000 }, (_, index) => `b${index}\n`).join("");
  const result = unifiedDiff(before, after, { from: "a", to: "a", maxBytes: 1000 });
  assertEquals([result.added, result.removed], [20_000, 20_000]);
});
