import { assert, assertEquals, assertMatch } from "../../support/assert.ts";
import { makeToolContext } from "../../support/tool_context.ts";
import { cutLine, keepEnds, keepHead, keepTail, spillPath } from "../../../src/tool/truncation.ts";

const LINES = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join("\n");

Deno.test("keepHead, keepTail and keepEnds return a text within the limits unchanged", () => {
  for (const keep of [keepHead, keepTail, keepEnds]) {
    assertEquals(keep("short\n", { maxBytes: 100, maxLines: 10 }), { text: "short\n" });
  }
});

Deno.test("keepHead keeps whole lines and reports what is missing and how to continue", () => {
  const cut = keepHead(LINES, { maxBytes: 10_000, maxLines: 3 }, { next: "use offset" });
  assertEquals(
    cut.text,
    "line 1\nline 2\nline 3\n[tail cut: 770 of 791 bytes, about 96 of 100 lines left out; use offset]",
  );
  assertEquals(cut.truncated, {
    cut: "tail",
    reason: "lines",
    totalBytes: 791,
    totalLines: 100,
    keptBytes: 21,
  });
});

Deno.test("keepTail keeps the last lines", () => {
  const cut = keepTail(LINES, { maxBytes: 30 });
  assertMatch(cut.text, /^\[head cut: .*; narrow the request to see more\]\nline 98\nline 99\nline 100$/);
  assertEquals(cut.truncated?.reason, "bytes");
});

Deno.test("keepEnds keeps both ends around one marker", () => {
  const cut = keepEnds(LINES, { maxBytes: 10_000, maxLines: 4 }, { fullText: "/tmp/full.txt" });
  assertMatch(
    cut.text,
    /^line 1\nline 2\n\[middle cut: .* left out; full text: \/tmp\/full.txt\]\nline 99\nline 100$/,
  );
  assertEquals(cut.truncated?.fullText, "/tmp/full.txt");
});

Deno.test("keepHead never splits a character", () => {
  for (let maxBytes = 1; maxBytes < 20; maxBytes++) {
    for (const keep of [keepHead, keepTail]) {
      const cut = keep("é好😀".repeat(9), { maxBytes });
      assert(cut.text.isWellFormed() && (cut.truncated?.keptBytes ?? 99) <= maxBytes);
    }
  }
});

Deno.test("cutLine reports the length of the line", () => {
  assertEquals(cutLine("abcdef", 3), "abc… [line cut: 6 bytes in all]");
  assertEquals(cutLine("好好", 6), "好好");
});

Deno.test("spillPath stays in the output directory for any call id", () => {
  const context = makeToolContext("/tmp/x", { callId: "call/../1" });
  assertEquals(spillPath(context), "/tmp/x-output/call____1.txt");
});
