import type { ChangedFile } from "../../../src/git/mod.ts";
import {
  ANSWER_SCHEMA,
  checkFinding,
  type Finding,
  lineOfQuote,
  mergeFindings,
  readReport,
  reviewFinding,
  type ReviewReport,
} from "../../../src/review/findings.ts";
import { AnswerSchema } from "../../../src/agent/answer_schema.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";

const TEXT = [
  "import { open } from './db.ts';", // 1
  "", // 2
  "export function total(items) {", // 3
  "  let sum = 0;", // 4
  "  for (let i = 0; i <= items.length; i++) {", // 5
  "    sum += items[i].price;", // 6
  "  }", // 7
  "  return sum;", // 8
  "}", // 9
  "", // 10
  "export const LIMIT = 10;", // 11
  "  return sum;", // 12
];
const LONG = `const table = "${"0123456789".repeat(80)}";`;

const FILES: Readonly<Record<string, string>> = {
  "src/total.ts": `${TEXT.join("\n")}\n`,
  "src/crlf.ts": "first();\r\nsecond();\r\nthird();",
  "src/new.ts": "moved();\n",
  "src/long.ts": `${LONG}\nnext();\n`,
  "src/hidden.ts": "\ufeffstart();\nif (admin\u202e) allow();\n",
  "odd\nname.ts": "odd();\n",
  "src/gap.ts": "one();\ntwo();\nfive();\nsix();\n",
  "docs/a.md": "# Title\n```sh\nrm -rf build\n```\n",
  "other.ts": "untouched();\n",
};

function changed(path: string, from: number, lines: number, more: Partial<ChangedFile> = {}): ChangedFile {
  const hunk = { oldStart: from, oldLines: lines, newStart: from, newLines: lines, lines: [] };
  return { path, status: "modified", kind: "text", hunks: [hunk], added: 1, removed: 1, ...more };
}

const reads: string[] = [];
const CHANGE = {
  files: [
    changed("src/total.ts", 2, 7),
    changed("src/crlf.ts", 1, 3),
    changed("src/new.ts", 1, 1, { status: "renamed", oldPath: "src/old.ts" }),
    changed("src/gone.ts", 0, 0, { status: "deleted" }),
    changed("image.png", 0, 0, { kind: "binary", hunks: [] }),
    changed("src/long.ts", 1, 2),
    changed("src/hidden.ts", 1, 2),
    changed("odd\nname.ts", 1, 1),
    changed("src/gap.ts", 2, 0),
    changed("docs/a.md", 1, 4),
  ],
  head: {
    id: undefined,
    read: (path: string) => {
      reads.push(path);
      const text = FILES[path];
      return Promise.resolve(text === undefined ? undefined : new TextEncoder().encode(text));
    },
  },
};

const GOOD: Finding = {
  path: "src/total.ts",
  line: 5,
  end_line: 5,
  priority: "P1",
  confidence: 0.9,
  title: "The loop reads one item too many",
  body: "With any list the last round reads `items[items.length]`, which is undefined.",
  quote: "for (let i = 0; i <= items.length; i++) {",
};

const check = (more: Record<string, unknown>, whole = false) =>
  checkFinding({ ...GOOD, ...more }, CHANGE, { whole });

Deno.test("a finding whose quote is at its line of the change holds", async () => {
  const cases: readonly [more: Record<string, unknown>, expected: Partial<Finding>][] = [
    [{}, { quote: `  ${GOOD.quote}` }],
    [{ path: "./src/total.ts" }, { path: "src/total.ts" }],
    [{ path: "odd name.ts", line: 1, end_line: 1, quote: "odd();" }, { path: "odd\nname.ts" }],
    [{ quote: `\n${GOOD.quote}\r\n      sum += items[i].price;\n` }, {
      quote: `${TEXT[4]}\n${TEXT[5]}`,
    }],
    [{ path: "src/crlf.ts", line: 2, end_line: 3, quote: "second();␍" }, { quote: "second();" }],
    [{ quote: "for (let i = 0; i <= [redacted].length; [redacted] {" }, { quote: `  ${GOOD.quote}` }],
    [{ path: "src/hidden.ts", line: 1, end_line: 1, quote: "start();" }, {}],
    [{ path: "src/hidden.ts", line: 2, end_line: 2, quote: "if (admin) allow();" }, {}],
    [{ path: "src/long.ts", line: 1, end_line: 1, quote: LONG.slice(0, 250) }, {}],
    [{ path: "src/gap.ts", line: 3, end_line: 3, quote: "five();" }, {}],
    [{ suggestion: null }, {}],
    [{ severity: "high", agent: "x" }, {}],
    [{ title: `${"t".repeat(110)} \ud800 \x1b[31mred\nline ${"x".repeat(9000)}` }, {}],
    [{ body: `a\0b\x1b]0;title\x07\r\nc${"d".repeat(1_000_000)}` }, {}],
  ];
  for (const [more, expected] of cases) {
    const checked = await check(more);
    assert("finding" in checked, JSON.stringify([more, checked]).slice(0, 500));
    const { finding } = checked;
    for (const [name, value] of Object.entries(expected)) {
      assertEquals<unknown>(finding[name as keyof Finding], value);
    }
    assert(finding.title.length <= 120 && finding.body.length <= 4000 && finding.quote.length <= 500);
    // deno-lint-ignore no-control-regex
    assertEquals(/[\x00-\x09\x0b-\x1f]/.exec(finding.title + finding.body)?.[0], undefined);
    assert(finding.title.isWellFormed() && !finding.title.includes("\n"));
    assert(!("severity" in finding) && !("agent" in finding) && !("suggestion" in finding));
    // A second check, as that of a publishing job, decides the same.
    assertEquals(await checkFinding(finding, CHANGE, { whole: false }), { finding });
  }
});

Deno.test("a finding that does not hold names its fault and the line where the quote is", async () => {
  const cases: readonly [more: Record<string, unknown>, fault: string, part: string][] = [
    [
      { line: 6, end_line: 6 },
      "misplaced",
      "src/total.ts:6 is `sum += items[i].price;`; the quote is on line 5",
    ],
    [{ line: 3, end_line: 9, quote: "return sum;" }, "misplaced", "the quote is on line 8"],
    [{ line: 11, end_line: 11, quote: "return sum;" }, "misplaced", "the quote is on line 12"],
    [{ quote: "never();" }, "misplaced", "the quote is on no line of src/total.ts"],
    [{ quote: "[redacted]" }, "misplaced", "no line"],
    [{ quote: "for (let j = 0; [redacted] {" }, "misplaced", "no line"],
    [{ quote: `${GOOD.quote}\nnever();` }, "misplaced", "no line"],
    [{ line: 40, end_line: 41 }, "misplaced", "src/total.ts has only 12 lines; the quote is on line 5"],
    [{ end_line: 13 }, "misplaced", "only 12 lines, so none is 13"],
    [{ path: "src/gone.ts" }, "misplaced", "is deleted in the new version"],
    [{ path: "image.png" }, "misplaced", "is no text file (binary)"],
    [{ path: "src/long.ts", line: 1, end_line: 1, quote: LONG.slice(0, 100) }, "misplaced", "no line"],
    [{ line: 11, end_line: 11, quote: "export const LIMIT = 10;" }, "outside", "its lines are 2–8"],
    [{ path: "other.ts", line: 1, end_line: 1, quote: "untouched();" }, "outside", "no file of the change"],
    [{ path: "src/old.ts" }, "outside", "src/old.ts is renamed: its lines are in src/new.ts"],
    [{ path: "a\x1b[2J\nb" }, "outside", "a b is no file of the change"],
    [{ path: "" }, "malformed", "path has to name a file"],
    [{ path: 5 }, "malformed", "path"],
    [{ path: "x".repeat(5000) }, "malformed", "path"],
    [{ line: "5" }, "malformed", "whole numbers from 1"],
    [{ line: 5.5 }, "malformed", "whole numbers from 1"],
    [{ line: 0 }, "malformed", "whole numbers from 1"],
    [{ line: 1e300, end_line: 1e300 }, "malformed", "whole numbers"],
    [{ end_line: undefined }, "malformed", "whole numbers from 1"],
    [{ end_line: 4 }, "malformed", "line 5 is after end_line 4"],
    [{ end_line: 205 }, "malformed", "more than 200 lines"],
    [{ priority: "high" }, "malformed", "priority has to be one of P0, P1, P2, P3"],
    [{ confidence: 95 }, "malformed", "confidence has to be a number from 0 to 1"],
    [{ confidence: NaN }, "malformed", "confidence"],
    [{ title: " \n\x1b[0m" }, "malformed", "title has to be a line of text"],
    [{ body: ["text"] }, "malformed", "body has to be a text"],
    [{ quote: " \n " }, "malformed", "quote has to be the text of the line"],
    [{ suggestion: 5 }, "malformed", "suggestion has to be a text"],
  ];
  for (const [more, fault, part] of cases) {
    const checked = await check(more);
    assert("fault" in checked, JSON.stringify(more).slice(0, 200));
    assertEquals(checked.fault, fault, JSON.stringify([more, checked]).slice(0, 500));
    assertStringIncludes(checked.message, part);
    assert(!checked.message.includes("\n") && !checked.message.includes("\x1b"));
  }
  for (const value of [undefined, null, "text", 5, [], [GOOD]]) {
    assert("fault" in await checkFinding(value, CHANGE, { whole: false }));
  }
});

Deno.test("with whole a finding may be anywhere in the new version, and nowhere else", async () => {
  assert("finding" in await check({ line: 11, end_line: 11, quote: "export const LIMIT = 10;" }, true));
  assert("finding" in await check({ path: "other.ts", line: 1, end_line: 1, quote: "untouched();" }, true));
  reads.length = 0;
  for (const path of ["../x", "/etc/passwd", "src/../../x", ".git/config", "a/.GIT/config", "src//x", "."]) {
    const checked = await check({ path }, true);
    assert("fault" in checked && checked.fault === "outside", path);
  }
  await check({ path: "other.ts" });
  assertEquals(reads, []);
});

Deno.test("a suggestion that does not apply is left out alone", async () => {
  const fixed = "  for (let i = 0; i < items.length; i++) {";
  const kept: readonly [more: Record<string, unknown>, suggestion: string][] = [
    [{ suggestion: fixed }, fixed],
    [{ suggestion: `${fixed}\n` }, fixed],
    [{ suggestion: `${fixed}\r\n\r\n` }, fixed],
    [{ line: 8, end_line: 10, quote: "return sum;", suggestion: "}}\n\n" }, "}}\n"],
    [{ suggestion: `\`\`\`ts\n${fixed}\n\`\`\`\n` }, fixed],
    [{ suggestion: "" }, ""],
    [{ suggestion: `    ${GOOD.quote}` }, `    ${GOOD.quote}`],
    [{ line: 7, end_line: 7, quote: "}", suggestion: "  }\n  }" }, "  }\n  }"],
    [
      { path: "docs/a.md", line: 2, end_line: 4, quote: "```sh", suggestion: "```sh\nmake clean\n```" },
      "```sh\nmake clean\n```",
    ],
  ];
  for (const [more, suggestion] of kept) {
    const checked = await check(more);
    assert("finding" in checked && !("note" in checked), JSON.stringify([more, checked]));
    assertEquals(checked.finding.suggestion, suggestion);
    assertEquals(await checkFinding(checked.finding, CHANGE, { whole: false }), checked);
  }
  const left: readonly [suggestion: string, why: string][] = [
    [`  ${GOOD.quote}`, "it is the text of line 5 to 5"],
    ["x\n".repeat(201), "more than 200 lines"],
    ["x".repeat(30_000), "20000 characters"],
    [`${fixed}\u202e`, "control characters"],
    [`${fixed}\x1b[2J`, "control characters"],
    [`${fixed} // caf\ufffd`, "not UTF-8"],
    [`@@ -5 +5 @@\n-x\n+y`, "it is a diff"],
    [`-  ${GOOD.quote}\n+${fixed}`, "it is a diff"],
    [`  let sum = 0;\n${fixed}`, "it repeats line 4, which stays"],
    [`${fixed}\n    sum += items[i].price;`, "it repeats line 6, which stays"],
  ];
  for (const [suggestion, why] of left) {
    const checked = await check({ suggestion });
    assert("finding" in checked && !("suggestion" in checked.finding), suggestion.slice(0, 100));
    assertStringIncludes(checked.note ?? "", why);
  }
});

Deno.test("the id of a finding survives moved lines and another order of words, and nothing else", () => {
  const id = (more: Partial<Finding> = {}) => reviewFinding({ ...GOOD, ...more }, "review").id;
  assertMatch(id(), /^[0-9a-f]{16}$/);
  const same: Partial<Finding>[] = [
    { line: 50, end_line: 52 },
    { quote: `\t${GOOD.quote}  ` },
    { priority: "P0", confidence: 0.1, body: "Other words", suggestion: "x" },
    { title: "one item too many: the loop reads" },
  ];
  for (const more of same) assertEquals(id(more), id(), JSON.stringify(more));
  const others: Partial<Finding>[] = [{ path: "src/b.ts" }, { quote: "x" }, {
    title: "Sum starts at the wrong value",
  }];
  assertEquals(new Set([id(), ...others.map(id)]).size, 4);
});

Deno.test("merging keeps the highest priority of duplicates and sorts what is left", () => {
  const of = (more: Partial<Finding>, state: "new" | "standing" | "fixed" = "new", agent = "review") => ({
    ...reviewFinding({ ...GOOD, ...more }, agent),
    state,
  });
  const earlier = of(
    { title: "Loop reads one item too many items", priority: "P2", line: 4, end_line: 6 },
    "standing",
  );
  const { findings, duplicates } = mergeFindings([
    of({ path: "z.ts", priority: "P3" }),
    of({ title: "Fixed one", priority: "P0" }, "fixed"),
    earlier,
    of({ confidence: 0.5 }),
    of({ priority: "P0", title: "The loop reads an item too many" }, "new", "security_review"),
    of({ title: "The price may be missing", line: 6, end_line: 6 }),
    of({ title: "Sum is a string when prices are texts" }),
    of({ line: 30, end_line: 30 }),
    of({ path: "a.ts" }),
  ]);
  assertEquals(duplicates, 2);
  assertEquals(findings.map(({ path, line, priority, state }) => [path, line, priority, state]), [
    ["src/total.ts", 5, "P0", "standing"],
    ["a.ts", 5, "P1", "new"],
    ["src/total.ts", 5, "P1", "new"],
    ["src/total.ts", 6, "P1", "new"],
    ["src/total.ts", 30, "P1", "new"],
    ["z.ts", 5, "P3", "new"],
    ["src/total.ts", 5, "P0", "fixed"],
  ]);
  assertEquals(findings[0]?.id, earlier.id);
  assertEquals(new Set(findings.map(({ id }) => id)).size, findings.length);
  // The same text in two locations: the earlier finding keeps its id.
  const [first, second] = mergeFindings([of({}), of({ line: 9, end_line: 9 }, "standing")]).findings;
  assertEquals([first?.id, second?.id], [`${second?.id}-2`, of({}).id]);
  assertEquals(mergeFindings([]), { findings: [], duplicates: 0 });
});

Deno.test("the quote of an earlier finding gives its new line, the nearest one", () => {
  const bytes = new TextEncoder().encode(TEXT.join("\r\n"));
  assertEquals(lineOfQuote(bytes, { quote: "return sum;", line: 9 }), 8);
  assertEquals(lineOfQuote(bytes, { quote: "return sum;", line: 11 }), 12);
  assertEquals(lineOfQuote(bytes, { quote: "return product;", line: 8 }), undefined);
  assertEquals(lineOfQuote(new Uint8Array(), { quote: "x", line: 1 }), undefined);
});

Deno.test("a file of equal lines costs a quote of as many lines no more than a moment", async () => {
  const text = "same();\n".repeat(100_000);
  const files = [changed("src/total.ts", 1, 100_000)];
  const head = { id: undefined, read: () => Promise.resolve(new TextEncoder().encode(text)) };
  const finding = {
    ...GOOD,
    line: 99_990,
    end_line: 99_990,
    quote: `${"same();\n".repeat(100_000)}other();`,
  };
  const checked = await checkFinding(finding, { files, head }, { whole: false });
  assert("fault" in checked && checked.fault === "misplaced", JSON.stringify(checked).slice(0, 200));
});

Deno.test("the schema of the answer takes findings as they are described", async () => {
  const schema = new AnswerSchema(ANSWER_SCHEMA);
  const problem = (value: unknown) => schema.problem(JSON.stringify(value));
  assertEquals(await problem({ findings: [] }), undefined);
  assertEquals(await problem({ findings: [GOOD, { ...GOOD, suggestion: "x", extra: 1 }] }), undefined);
  const { quote: _quote, ...rest } = GOOD;
  for (const bad of [{ ...GOOD, line: "5" }, { ...GOOD, priority: "P9" }, { ...GOOD, confidence: 5 }, rest]) {
    assert(await problem({ findings: [bad] }) !== undefined, JSON.stringify(bad));
  }
  assert(await problem([GOOD]) !== undefined);
});

Deno.test("a saved report is read again, and nothing in it is trusted", () => {
  const report: ReviewReport = {
    version: 1,
    target: "main...topic",
    key: "base main",
    base: "a".repeat(40),
    head: "b".repeat(64),
    findings: [{ ...reviewFinding({ ...GOOD, suggestion: "x" }, "review"), state: "standing" }],
    dropped: { malformed: 1, misplaced: 2, outside: 3, refuted: 4, duplicate: 5 },
    reviewed: 3,
    skipped: [{ path: "a\nb", reason: "a lock file" }],
    incomplete: "The cost limit was reached",
    hunks: ["0123456789abcdef"],
    model: "m1",
    usage: { inputTokens: 10, cachedTokens: 5, outputTokens: 3, reasoningTokens: 1, cacheWriteTokens: 2 },
    cost: { amount: 0.5, currency: "USD" },
    duration_ms: 1000,
  };
  assertEquals<unknown>(readReport(JSON.parse(JSON.stringify(report))), report);
  const [finding] = report.findings;
  const broken: readonly [more: Record<string, unknown>, part: string][] = [
    [{ version: 2 }, "no report of `reasonix review --format json`"],
    [{ findings: {} }, "findings has to be a list"],
    [{ findings: Array(1001).fill(finding) }, "at most 1000"],
    [{ findings: [finding, { ...finding, id: "<!-- x -->" }] }, "finding 2: id"],
    [{ findings: [{ ...finding, state: "open" }] }, "finding 1: state has to be one of new, standing, fixed"],
    [{ findings: [{ ...finding, line: -1 }] }, "finding 1: line"],
    [{ hunks: "x" }, "hunks has to be a list"],
    [{ skipped: null }, "skipped has to be a list"],
  ];
  for (const [more, part] of broken) {
    const read = readReport({ ...report, ...more });
    assert(typeof read === "string", JSON.stringify(more).slice(0, 100));
    assertStringIncludes(read, part);
  }
  assert(typeof readReport([]) === "string" && typeof readReport(null) === "string");
  const cleaned = readReport({
    ...report,
    target: "x\x1b[2J\ny",
    base: "$(id)",
    dropped: { malformed: -1, misplaced: "1" },
    hunks: ["../x", 5, "0123456789abcdef"],
    usage: { inputTokens: Infinity },
    cost: { amount: NaN, currency: 5 },
    reviewed: "many",
    incomplete: 5,
    extra: "x",
  });
  assert(typeof cleaned !== "string");
  assertEquals([cleaned.target, cleaned.base, cleaned.hunks], ["x y", undefined, ["0123456789abcdef"]]);
  assertEquals([cleaned.dropped.malformed, cleaned.dropped.misplaced, cleaned.reviewed], [0, 0, 0]);
  assertEquals([cleaned.usage.inputTokens, cleaned.cost], [0, { amount: 0, currency: "" }]);
  assert(!("incomplete" in cleaned) && !("extra" in cleaned));
});
