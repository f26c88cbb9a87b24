import fc from "fast-check";
import { type ChangedFile, Git, hunkDigest, numberedDiff, readChange } from "../../../src/git/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED, soakSize } from "../../support/seed.ts";
import { git, makeRepository } from "../worktree/support.ts";

const FILES = soakSize(1000, 60);

/** Lines that repeat, and that look like the syntax of a difference. */
const LINE = fc.constantFrom(
  ...[
    "a",
    "b",
    "c",
    "",
    "r\r",
    "é 项目",
    "+x",
    "-y",
    "\\ No newline at end of file",
    "@@ -1 +1 @@",
    "diff --git a/x b/x",
  ],
  ...[
    "--- a/x",
    "+++ b/x",
    "Binary files a/x and b/x differ",
    ":100644 100644 0 0 M\tx",
    "\t",
    "\u2028",
    "\ufeff",
  ],
);
const TEXT = fc.tuple(fc.array(LINE, { maxLength: 40 }), fc.boolean())
  .map(([lines, ends]) => lines.join("\n") + (ends && lines.length > 0 ? "\n" : ""));
/** A text, and the same with some spans replaced, or another one. */
const EDIT = fc.oneof(
  fc.tuple(TEXT, TEXT),
  fc.tuple(
    TEXT,
    fc.array(fc.tuple(fc.nat(40), fc.nat(5), fc.array(LINE, { maxLength: 4 })), { maxLength: 4 }),
  ).map(
    ([text, edits]): [string, string] => {
      const lines = text.split("\n");
      for (const [at, count, added] of edits) lines.splice(at, count, ...added);
      return [text, lines.join("\n")];
    },
  ),
);

function linesOf(text: string): string[] {
  return text === "" ? [] : text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The text that the hunks of a file make of another text. Throws when they do not fit. */
function applied(text: string, { hunks }: ChangedFile): string {
  const old = linesOf(text);
  const out: string[] = [];
  let at = 0;
  for (const { oldStart, oldLines, newStart, newLines, lines } of hunks) {
    const start = oldLines === 0 ? oldStart : oldStart - 1;
    out.push(...old.slice(at, start));
    assertEquals(out.length, newLines === 0 ? newStart : newStart - 1);
    at = start;
    lines.forEach((line, index) => {
      if (line.startsWith("\\")) return;
      const whole = line.slice(1) + (lines[index + 1]?.startsWith("\\") ? "" : "\n");
      if (!line.startsWith("+")) assertEquals(old[at++], whole);
      if (!line.startsWith("-")) out.push(whole);
    });
    assertEquals(at, start + oldLines);
  }
  return [...out, ...old.slice(at)].join("");
}

Deno.test("hunks of random edits make the new text of the old one, and their numbers are those of its lines", async () => {
  const edits = fc.sample(EDIT, { numRuns: FILES, seed: SEED });
  const named = new Map(edits.map((edit, at) => [`${at}.txt`, edit] as const));
  const side = (index: 0 | 1) => Object.fromEntries([...named].map(([name, edit]) => [name, edit[index]]));
  await using repo = await makeRepository(side(0));
  await Promise.all(Object.entries(side(1)).map(([name, text]) => repo.write(name, text)));
  const finder = Git.find(repo.dir);
  const change = await readChange(finder, repo.dir, { kind: "uncommitted" });
  const changed = new Map(change.files.map((file) => [file.path, file]));
  for (const [name, [old, now]] of named) {
    const file = changed.get(name);
    assertEquals(file !== undefined, old !== now, name);
    if (!file) continue;
    assertEquals([file.status, file.kind, file.omitted], ["modified", "text", undefined]);
    assertEquals(applied(old, file), now);
    const texts = file.hunks.flatMap(({ lines }) => lines);
    assertEquals(file.added, texts.filter((line) => line.startsWith("+")).length);
    assertEquals(file.removed, texts.filter((line) => line.startsWith("-")).length);
    const lines = linesOf(now);
    for (const row of numberedDiff(file).split("\n")) {
      const [, number, text = ""] = /^ *(\d+) [ +](.*)$/s.exec(row) ?? [];
      if (number === undefined) continue;
      assertEquals(text.replace(/␍$/, ""), lines[Number(number) - 1]?.replace(/\r?\n?$/, ""), name);
    }
    for (const hunk of file.hunks) {
      const numbered = numberedDiff(file, [hunk]).split("\n").slice(1);
      const numbers = numbered.flatMap((line) => /^ *(\d+) /.exec(line)?.[1] ?? []).map(Number);
      assertEquals(numbers, Array.from({ length: hunk.newLines }, (_, at) => hunk.newStart + at));
      assert(/^[0-9a-f]{16}$/.test(hunkDigest(name, hunk)));
    }
  }
  // A commit of the same files has the same hunks.
  await git(repo.dir, "commit", "-qam", "second");
  assertEquals((await readChange(finder, repo.dir, { kind: "commit", commit: "HEAD" })).files, change.files);
});
