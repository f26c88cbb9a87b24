import { readFilter } from "../../../../src/tool/search/path_filter.ts";
import { findRipgrep } from "../../../../src/tool/search/ripgrep.ts";
import { type ContentSearch, searchContent } from "../../../../src/tool/search/search_content.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";
import { needs } from "../../../support/tools.ts";

/** Directories whose programs are ignored: with all of PATH the fallback search is used. */
const NO_PROGRAMS = (Deno.env.get("PATH") ?? "").split(":");

const installed = findRipgrep("/nowhere");
const withRipgrep = (name: string) => needs("rg", installed !== undefined, name);

function search(dir: string, options: Partial<ContentSearch> & { pattern: string }) {
  return searchContent({
    literal: false,
    ignoreCase: false,
    multiline: false,
    before: 0,
    after: 0,
    mode: "content",
    filter: readFilter([], []),
    root: dir,
    cwd: dir,
    hidden: () => false,
    shownLines: 100,
    signal: new AbortController().signal,
    deadlineMs: 30_000,
    writable: NO_PROGRAMS,
    ...options,
  });
}

Deno.test("searchContent stops a catastrophic pattern at its deadline and names the file", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/bad.txt`, `${"a".repeat(60)}b\n`);
  const started = performance.now();
  const report = await search(dir.path, { pattern: "^(a+)+(?!x)$", deadlineMs: 1500 });
  assertEquals(report.stopped, "deadline");
  assertEquals(report.stuckAt, `${dir.path}/bad.txt`);
  assert(performance.now() - started < 10_000);
});

Deno.test("searchContent stops immediately when it is aborted inside a catastrophic pattern", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/bad.txt`, `${"a".repeat(60)}b\n`);
  const controller = new AbortController();
  const run = search(dir.path, { pattern: "^(a+)+$", signal: controller.signal });
  const timer = setTimeout(() => controller.abort(), 300);
  await assertRejects(() => run, DOMException);
  clearTimeout(timer);
});

Deno.test("searchContent stops at its deadline within a line that is too long for a simple pattern", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/bad.txt`, `${"a".repeat(2_000_000)} Error\n`);
  await Deno.writeTextFile(`${dir.path}/good.txt`, "typeError\n");
  const started = performance.now();
  const report = await search(dir.path, { pattern: "[a-z]+Error", deadlineMs: 1500 });
  assertEquals([report.stopped, report.stuckAt], ["deadline", `${dir.path}/bad.txt`]);
  assertEquals(report.files.map((file) => file.path), [`${dir.path}/good.txt`]);
  assert(performance.now() - started < 10_000);
});

Deno.test({
  ...withRipgrep("searchContent gives the same with both engines when some files may take long"),
  fn: async () => {
    await using dir = await makeTempDir();
    // Long enough to be left to the other process, and still searched in no time.
    const long = `${"a ".repeat(60_000)}17Error\n`;
    await Deno.writeTextFile(`${dir.path}/b_long.txt`, `1Error\n${long}no\n23Error`);
    await Deno.writeTextFile(`${dir.path}/a.txt`, "12Error\nError\n");
    await Deno.writeTextFile(`${dir.path}/c.txt`, "x\r\n34Error\r\n");
    const PATTERNS = ["[0-9]+Error", "\\d+Er+or$", "^\\d{1,3}Error", "(?i)[0-9]+ERROR", "(1|2)+7?Error|no"];
    const views = async (pattern: string, options: Partial<ContentSearch> = {}) => {
      const engines = [NO_PROGRAMS, []];
      return await Promise.all(
        engines.map((writable) => search(dir.path, { pattern, writable, ...options })),
      );
    };
    for (const pattern of PATTERNS) {
      const [own, ripgrep] = await views(pattern);
      assertEquals(own, ripgrep, pattern);
      assert((own?.total ?? 0) > 1, pattern);
    }
    // More than can be counted: the first ones by path, the one that searched them.
    await Deno.writeTextFile(`${dir.path}/d.txt`, "5Error\n".repeat(60_000));
    const [own, ripgrep] = await views("[0-9]+Error", { shownLines: 3 });
    assertEquals(own?.stopped, "limit");
    const [first, same] = [own, ripgrep].map((report) =>
      report?.files.flatMap(({ path, lines }) => lines.map(({ number }) => `${path}:${number}`)).slice(0, 3)
    );
    assertEquals(first, same);
  },
});

Deno.test({
  ...withRipgrep("searchContent gives the same lines with both engines for patterns of every kind"),
  fn: async () => {
    await using dir = await makeTempDir();
    const lines = [
      "plain text",
      "tab\there",
      "naïve café Ünï",
      "x1 y22 z333",
      "a.b.c",
      "[list]",
      "İstanbul ſharp Kelvin K",
      "word_with_under",
      "",
      "   ",
      "end;",
      "emoji 👍 ok",
      "日本語 テキスト",
      "aaa",
      "foo123bar",
    ];
    await Deno.writeTextFile(`${dir.path}/u.txt`, lines.join("\n"));
    await Deno.writeTextFile(`${dir.path}/crlf.txt`, lines.join("\r\n"));
    await Deno.writeTextFile(`${dir.path}/a.txt`, lines.filter((line) => /^[ -~\t]*$/.test(line)).join("\n"));
    const patterns = [
      ..."\\d+;\\w+;\\s;\\S+$;^\\W+$;\\D{3};\\bcaf\\w\\b;\\Bn\\B;^.$;.{5,};^\\s*$;a.c;[^a-z]+;[[:digit:]]{3};[\\w&&[^\\d]]+"
        .split(";"),
      ..."[a-z--[aeiou]]{3};[^\\n]x;(?i)KELVIN;(?i:k)$;k|ſ;x{2}?;(?P<n>o)+;\\x61b?;\\u{1F44D};\\p{L}\\d;\\pN;\\P{Latin}{4}"
        .split(";"),
      ..."\\p{Script=Han};[]a];[a\\]];[x-];\\.b\\.;end;\\t;(a|b|);e$;(?s)d.;[\\s\\S]+x"
        .split(";"),
    ];
    for (const [index, pattern] of patterns.entries()) {
      for (const ignoreCase of index % 4 === 0 ? [false, true] : [false]) {
        const shown = async (writable: readonly string[]) =>
          (await search(dir.path, { pattern, ignoreCase, writable })).files
            .flatMap((file) =>
              file.lines.map((line) =>
                `${file.path.slice(dir.path.length)}:${line.number}:${line.column}:${line.text}`
              )
            );
        assertEquals(await shown(NO_PROGRAMS), await shown([]), `${pattern} ${ignoreCase}`);
      }
    }
  },
});

Deno.test("searchContent reports patterns that need ripgrep when it is missing", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.txt`, "foo 12\n");
  for (
    const pattern of ["(?x)foo", "a(?i)b", "a**", "[[:nope:]]", "[a~~b]", "\\p{Nope}", "(open"]
  ) {
    const error = await assertRejects(() => search(dir.path, { pattern }), ReasonixError);
    assertStringIncludes(error.message, "Cannot use the pattern without ripgrep: ");
    assertStringIncludes(error.remedy ?? "", "install ripgrep (rg)");
  }
});

Deno.test("searchContent finds lines and their numbers in a file of many chunks", async () => {
  await using dir = await makeTempDir();
  const block = new TextEncoder().encode(`${"filler ".repeat(20)}\n`.repeat(7000));
  using file = await Deno.open(`${dir.path}/big.txt`, { write: true, create: true });
  for (let part = 0; part < 40; part++) {
    await file.write(block);
    await file.write(new TextEncoder().encode(`needle ${part}\n`));
  }
  const report = await search(dir.path, { pattern: "needle \\d$" });
  assertEquals(
    report.files.flatMap((one) => one.lines.map((line) => line.number)),
    Array.from({ length: 10 }, (_, part) => (part + 1) * 7001),
  );
});

Deno.test({
  ...withRipgrep(
    "findRipgrep takes no program from writable directories, and the installed one with full access",
  ),
  fn: () => {
    assert(installed !== undefined);
    assertEquals(findRipgrep("/nowhere", ["/"]), installed);
    assert(findRipgrep("/nowhere", [installed.replace(/\/[^/]*$/, "")]) !== installed);
  },
});
