import schema from "@microsoft/jest-sarif/schema" with { type: "json" };
import fc from "fast-check";
import { sarifToMarkdown } from "@security-alert/sarif-to-markdown";
import { type Schema, Validator } from "@cfworker/json-schema";
import { textOf } from "../../../src/core/mod.ts";
import {
  checkFinding,
  type Finding,
  readReport,
  reviewFinding,
  type ReviewReport,
} from "../../../src/review/findings.ts";
import { type Format, formatReview, FORMATS } from "../../../src/review/formats.ts";
import { loadTranslator } from "../../../src/i18n/mod.ts";
import { palette } from "../../../src/view/mod.ts";
import { SEED } from "../../support/seed.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";

const GOOD: Finding = {
  path: "src/total.ts",
  line: 5,
  end_line: 5,
  priority: "P1",
  confidence: 0.9,
  title: "The loop reads one item too many",
  body: "With any list the last round reads `items[items.length]`, which is undefined.\n\nUse `<`.",
  suggestion: "  for (let i = 0; i < items.length; i++) {",
  quote: "  for (let i = 0; i <= items.length; i++) {",
};

/** Texts that try to leave their place in each of the formats. */
const HOSTILE = [
  "a\n::error file=x,line=1::injected\n##[group]injected\r::set-output name=x::y\n",
  "%0A::warning::injected%3A%2C",
  "::stop-commands::x\n  ::add-mask::y\nz ##[error]x ##vso[task.setvariable variable=a]b\n##[group]",
  "\x1b[2J\x1b]0;owned\x07\x1b]8;;https://evil.example\x07click\x1b]8;;\x07\u202e\u2066gnitteseb\u2028\x9b31m\x7f",
  "lone \ud800 and \udc00 \0 nul",
  `</pre><script>alert(1)</script><img src=x onerror=alert(1)><!-- hidden --> &amp;`,
  "![image](https://evil.example/x.png) [link](https://evil.example) [1](1) {0} {{1}} @everyone",
  '"}],"results":[{"x":"',
  "``` \n````diff\n- x\n```\n# heading\n* list",
  "-- \\ $(id) `id` ${x} 'q' \"q\"",
];

function reportOf(findings: ReviewReport["findings"], more: Partial<ReviewReport> = {}): ReviewReport {
  return {
    version: 1,
    target: "main...topic, 3 commits",
    key: "base main",
    base: "a".repeat(40),
    head: "b".repeat(40),
    findings,
    dropped: { malformed: 0, misplaced: 2, outside: 0, refuted: 1, duplicate: 0 },
    reviewed: 12,
    skipped: [{ path: "deno.lock", reason: "a lock file" }],
    hunks: ["0123456789abcdef"],
    model: "model-1",
    usage: { inputTokens: 1200, cachedTokens: 900, outputTokens: 80, reasoningTokens: 0 },
    cost: { amount: 0.0123, currency: "USD" },
    duration_ms: 12_345,
    ...more,
  };
}

const of = (more: Partial<Finding> = {}, state: "new" | "standing" | "fixed" = "new", agent = "review") => ({
  ...reviewFinding({ ...GOOD, ...more }, agent),
  state,
});

const { suggestion: _suggestion, ...NO_SUGGESTION } = GOOD;

const REPORT = reportOf([
  of(),
  {
    ...reviewFinding(
      { ...NO_SUGGESTION, path: "src/ä b#?%41.ts", line: 3, end_line: 9, priority: "P2" },
      "security_review",
    ),
    state: "standing",
  },
  of({ path: "z.ts", line: 7, end_line: 8, priority: "P3", suggestion: "", title: "Dead code" }),
  of({ path: "old.ts", priority: "P0", title: "The lock was never released" }, "fixed"),
]);

/** A report in which every text and name is hostile, as one that another job made is read. */
function hostileReport(): ReviewReport {
  const findings = HOSTILE.map((text, at) => ({
    ...of({
      path: `dir/${text}`,
      line: at + 1,
      end_line: at + 2,
      priority: (["P0", "P1", "P2", "P3"] as const)[at % 4] ?? "P3",
      title: text,
      body: text,
      suggestion: text,
      quote: text,
    }, at === 2 ? "standing" : at === 3 ? "fixed" : "new"),
    agent: text,
  }));
  const [all] = [HOSTILE.join("\n")];
  return reportOf(findings, {
    target: all,
    key: all,
    model: all,
    incomplete: all,
    skipped: HOSTILE.map((text) => ({ path: text, reason: text })),
    cost: { amount: 1, currency: "\x1b[31m\n::error::x" },
  });
}

const format = (report: ReviewReport, as: Format | "markdown") => formatReview(report, as);
const EMPTY = reportOf([], {
  skipped: [],
  dropped: { malformed: 0, misplaced: 0, outside: 0, refuted: 0, duplicate: 0 },
});

interface SarifLog {
  readonly $schema: string;
  readonly version: string;
  readonly runs: readonly {
    readonly tool: { driver: { rules: readonly { id: string; name: string }[] } };
    readonly invocations: readonly {
      executionSuccessful: boolean;
      toolExecutionNotifications: readonly { message: { text: string } }[];
    }[];
    readonly results: readonly {
      readonly ruleId: string;
      readonly ruleIndex: number;
      readonly level: string;
      readonly rank: number;
      readonly message: { text: string };
      readonly baselineState?: string;
      readonly suppressions?: readonly unknown[];
      readonly partialFingerprints: Record<string, string>;
      readonly locations: readonly {
        physicalLocation: {
          artifactLocation: { uri: string; uriBaseId: string };
          region: { startLine: number; endLine: number };
        };
      }[];
      readonly fixes?: readonly {
        artifactChanges: readonly {
          replacements: readonly {
            deletedRegion: Record<string, number>;
            insertedContent?: { text: string };
          }[];
        }[];
      }[];
    }[];
  }[];
}

const sarif = (report: ReviewReport): SarifLog => JSON.parse(format(report, "sarif"));

Deno.test("the text names each finding by number, place, title and change, and then the counts", () => {
  assertEquals(
    format(REPORT, "text"),
    `Review of main...topic, 3 commits

1. P1 src/total.ts:5
   The loop reads one item too many
   With any list the last round reads \`items[items.length]\`, which is undefined.

   Use \`<\`.
   -   for (let i = 0; i <= items.length; i++) {
   +   for (let i = 0; i < items.length; i++) {

2. P2 src/ä b#?%41.ts:3-9 (known)
   The loop reads one item too many
   With any list the last round reads \`items[items.length]\`, which is undefined.

   Use \`<\`.

3. P3 z.ts:7-8
   Dead code
   With any list the last round reads \`items[items.length]\`, which is undefined.

   Use \`<\`.
   -   for (let i = 0; i <= items.length; i++) {
   - … (+1)

fixed P0 old.ts:5 The lock was never released

Findings: 3 (1 P1, 1 P2, 1 P3)
Known from the last review: 1
Fixed since the last review: 1
Files reviewed: 12
Not reviewed (a lock file): deno.lock
Dropped findings: quote not at its line: 2, refuted: 1
model-1 · in 1,200 (900 cached, 75 %) · out 80 · 0.0123 USD · 12 s
`,
  );
  const narrow = formatReview(REPORT, "text", { palette: palette(false), columns: 40, text: textOf });
  assert(narrow.split("\n").every((line) => line.length <= 50), narrow);
  assertStringIncludes(
    narrow,
    "\n   With any list the last round reads\n   `items[items.length]`, which is\n   undefined.\n",
  );
  const colored = formatReview(REPORT, "text", { palette: palette(true), columns: 80, text: textOf });
  assertStringIncludes(colored, "\x1b[31mP1\x1b[39m \x1b[36msrc/total.ts:5\x1b[39m");
  assertEquals(
    // deno-lint-ignore no-control-regex
    colored.replace(/\x1b\[[\d;]*m/g, ""),
    formatReview(REPORT, "text", { palette: palette(false), columns: 80, text: textOf }),
  );
});

Deno.test("a review without findings says so in each format", async () => {
  const none = { ...EMPTY, incomplete: "The cost limit of 1 USD was reached" };
  assertEquals(format(EMPTY, "text").split("\n").slice(2, 4), ["No findings", "Files reviewed: 12"]);
  assertStringIncludes(
    format(none, "text"),
    "\nThe review is incomplete: The cost limit of 1 USD was reached\n",
  );
  assertEquals(format(EMPTY, "github"), "");
  assertEquals(
    format(none, "github"),
    "::warning title=The review is incomplete::The cost limit of 1 USD was reached\n",
  );
  assertEquals(format(EMPTY, "gitlab"), "[]\n");
  assertEquals(sarif(EMPTY).runs[0]?.results, []);
  assertEquals(sarif(EMPTY).runs[0]?.invocations[0]?.executionSuccessful, true);
  assertEquals(sarif(none).runs[0]?.invocations[0]?.executionSuccessful, false);
  assertEquals<unknown>(JSON.parse(format(none, "json")), none);
  const translator = await loadTranslator("zh-CN");
  const skipped = [{ path: "a.png", reason: "binary" }];
  const incomplete = "it was interrupted; the second pass did not judge 1 of 2 findings";
  const chinese = formatReview({ ...none, skipped, incomplete }, "text", {
    palette: palette(false),
    columns: Infinity,
    text: (text) => translator.text(text),
  });
  assertMatch(chinese, /^审查 main\.\.\.topic，3 个提交\n\n没有发现问题\n/);
  assertStringIncludes(chinese, "\n未审查（二进制）：a.png\n");
  assertStringIncludes(chinese, "：已被中断；第二轮未能判断 2 个问题中的 1 个\n");
});

Deno.test("the text has at most ten names of files that were left out, and says when the cost is not known", () => {
  const skipped = Array.from({ length: 25 }, (_, at) => ({ path: `f${at}.lock`, reason: "a lock file" }));
  const { cost: _cost, ...report } = reportOf([], { skipped });
  const text = format(report, "text");
  assertStringIncludes(text, "f9.lock, 15 more\n");
  assertStringIncludes(text, "· cost unknown · 12 s\n");
  assertStringIncludes(
    format({ ...report, cost: { amount: 0.00003, currency: "USD" } }, "text"),
    "· <0.0001 USD ·",
  );
});

Deno.test("the Markdown of the chat shows names, titles and code as they are", () => {
  assertEquals(
    format(
      reportOf([of({ title: "A *bold* [title](x) <b>", body: "Text with <img> and\n\n```ts\na < b\n```" })], {
        skipped: [],
      }),
      "markdown",
    ),
    `**Review of main...topic, 3 commits**

1. **P1** \`src/total.ts:5\` A \\*bold\\* \\[title\\](x) \\<b\\>

   Text with &lt;img> and

   \`\`\`ts
   a < b
   \`\`\`

   \`\`\`diff
   -   for (let i = 0; i <= items.length; i++) {
   +   for (let i = 0; i < items.length; i++) {
   \`\`\`

- Findings: 1 (1 P1)
- Files reviewed: 12
- Dropped findings: quote not at its line: 2, refuted: 1
- model-1 · in 1,200 (900 cached, 75 %) · out 80 · 0.0123 USD · 12 s
`,
  );
});

Deno.test("the JSON is the report, and is read again as the same", () => {
  assertEquals<unknown>(readReport(JSON.parse(format(REPORT, "json"))), REPORT);
});

Deno.test("the commands of GitHub name file, lines and title", () => {
  assertEquals(format(REPORT, "github").split("\n"), [
    "::error file=src/total.ts,line=5,endLine=5,title=P1%3A The loop reads one item too many::With any list the " +
    "last round reads `items[items.length]`, which is undefined.%0A%0AUse `<`.%0A%0A-   for (let i = 0; i <= " +
    "items.length; i++) {%0A+   for (let i = 0; i < items.length; i++) {",
    "::warning file=src/ä b#?%2541.ts,line=3,endLine=9,title=P2%3A The loop reads one item too many::With any list " +
    "the last round reads `items[items.length]`, which is undefined.%0A%0AUse `<`.",
    "::notice file=z.ts,line=7,endLine=8,title=P3%3A Dead code::With any list the last round reads " +
    "`items[items.length]`, which is undefined.%0A%0AUse `<`.%0A%0A-   for (let i = 0; i <= items.length; i++) {" +
    "%0A- … (+1)",
    "",
  ]);
});

Deno.test("the Code Quality report of GitLab has unique fingerprints and its severities", () => {
  const issues: Record<string, unknown>[] = JSON.parse(format(REPORT, "gitlab"));
  assertEquals(issues.map(({ severity, check_name, location }) => [severity, check_name, location]), [
    ["critical", "review-P1", { path: "src/total.ts", lines: { begin: 5, end: 5 } }],
    ["major", "security_review-P2", { path: "src/ä b#?%41.ts", lines: { begin: 3, end: 9 } }],
    ["minor", "review-P3", { path: "z.ts", lines: { begin: 7, end: 8 } }],
  ]);
  assertEquals(issues.map(({ fingerprint }) => fingerprint), REPORT.findings.slice(0, 3).map(({ id }) => id));
  assertEquals(
    issues[0]?.description,
    "P1: The loop reads one item too many — With any list the last round reads `items[items.length]`, which is " +
      "undefined. Use `<`.",
  );
});

Deno.test("the SARIF log has rules, levels, regions, fixes and the state of each finding", () => {
  const [run] = sarif(REPORT).runs;
  const results = run?.results ?? [];
  assertEquals(run?.tool.driver.rules.map(({ id, name }) => [id, name]), [
    ["review-P0", "ReviewP0"],
    ["review-P1", "ReviewP1"],
    ["review-P3", "ReviewP3"],
    ["security_review-P2", "SecurityReviewP2"],
  ]);
  for (const { ruleId, ruleIndex } of results) assertEquals(run?.tool.driver.rules[ruleIndex]?.id, ruleId);
  assertEquals(
    results.map((
      { level, baselineState, rank, suppressions },
    ) => [level, baselineState, rank, suppressions?.length ?? 0]),
    [["error", "new", 90, 0], ["warning", "unchanged", 90, 0], ["note", "new", 90, 0], [
      "error",
      "absent",
      90,
      1,
    ]],
  );
  const places = results.map(({ locations: [location] }) => location?.physicalLocation);
  assertEquals(
    places.map((place) => [place?.artifactLocation.uri, place?.region.startLine, place?.region.endLine]),
    [
      ["src/total.ts", 5, 5],
      ["src/%C3%A4%20b%23%3F%2541.ts", 3, 9],
      ["z.ts", 7, 8],
      ["old.ts", 5, 5],
    ],
  );
  assert(places.every((place) => place?.artifactLocation.uriBaseId === "SRCROOT"));
  assertEquals(
    results.map(({ partialFingerprints }) => Object.values(partialFingerprints)),
    REPORT.findings.map(({ id }) => [id]),
  );
  const [first, second, third] = results.map(({ fixes }) => fixes?.[0]?.artifactChanges[0]?.replacements[0]);
  assertEquals(first, {
    deletedRegion: { startLine: 5, endLine: 5 },
    insertedContent: { text: GOOD.suggestion ?? "" },
  });
  assertEquals(second, undefined);
  assertEquals(third, { deletedRegion: { startLine: 7, startColumn: 1, endLine: 9, endColumn: 1 } });
  assert(sarif(reportOf([of()])).runs[0]?.results.every(({ baselineState }) => baselineState === undefined));
});

/** A line of a file as the second reader names it. */
const ADDRESS = /https:\/\/github\.com\/owner\/repo\/blob\/main\/(\S+)#L(\d+)-L(\d+)/g;

Deno.test("SARIF is valid against the schema of 2.1.0, and a second reader finds each result", () => {
  const validator = new Validator(schema as unknown as Schema, "4", false);
  const broken = structuredClone(sarif(REPORT)) as unknown as { runs: { results: { level: string }[] }[] };
  for (const result of broken.runs[0]?.results ?? []) result.level = "fatal";
  assert(!validator.validate(broken).valid);
  for (const report of [REPORT, EMPTY, hostileReport()]) {
    const log = sarif(report);
    const { valid, errors } = validator.validate(log);
    assert(valid, JSON.stringify(errors.slice(-3), null, 2));
    const read = sarifToMarkdown({
      title: "Report",
      owner: "owner",
      repo: "repo",
      branch: "main",
      sourceRoot: "",
    })(log as unknown as Parameters<ReturnType<typeof sarifToMarkdown>>[0]);
    assertEquals(read.length, 1);
    const [{ body = "", hasMessages = false } = {}] = read;
    assertEquals(hasMessages, report.findings.length > 0);
    const parts = body.split(/^## Suppressed results$/mi);
    const expected = (isFixed: boolean) =>
      report.findings.filter(({ state }) => (state === "fixed") === isFixed).map(({ path, line, end_line }) =>
        `${path.toWellFormed().replaceAll("\0", "\ufffd")}:${line}-${end_line}`
      );
    for (const [at, isFixed] of [false, true].entries()) {
      const found = [...(parts[at] ?? "").matchAll(ADDRESS)].map(([, path = "", from, to]) =>
        `${decodeURIComponent(path)}:${from}-${to}`
      );
      assertEquals(found.sort(), expected(isFixed).sort());
    }
  }
});

Deno.test("a SARIF log keeps the limits of GitHub and says what it leaves out", () => {
  const one = of({ body: "" });
  const findings = Array.from({ length: 25_003 }, (_, at) => ({ ...one, line: at + 1, end_line: at + 1 }));
  const skipped = Array.from({ length: 2000 }, (_, at) => ({ path: `f${at}`, reason: "a lock file" }));
  const [run] = sarif(reportOf(findings, { skipped })).runs;
  assertEquals(run?.results.length, 25_000);
  const notes = run?.invocations[0]?.toolExecutionNotifications ?? [];
  assertEquals(notes.length, 1001);
  assertEquals(notes[0]?.message.text, "3 more findings are left out");
});

Deno.test("no name and no text of a report leaves its place in any format", () => {
  const report = hostileReport();
  const open = report.findings.filter(({ state }) => state !== "fixed").length;
  for (const as of [...FORMATS, "markdown"] as const) {
    const text = format(report, as);
    assert(text.isWellFormed(), as);
    // deno-lint-ignore no-control-regex
    assertEquals(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/.exec(text)?.[0], undefined, as);
  }
  // A runner takes a line for a command that begins with "::" after blanks, or has "##[" anywhere.
  for (const as of ["text", "markdown", "json", "sarif", "gitlab"] as const) {
    assertEquals(/^\s*::|##\w*\[/m.exec(format(report, as))?.[0], undefined, as);
  }
  const commands = format(report, "github").trimEnd().split("\n");
  assertEquals(commands.length, open + 1);
  for (const line of commands) {
    assertMatch(line, /^::(?:error|warning|notice) (?:[a-zA-Z]+=[^:,]*,)*[a-zA-Z]+=[^:,]*::/);
    // As the runner reads it: name and properties end at the first "::".
    assertMatch(
      line.slice(2, line.indexOf("::", 2)),
      /^\w+ (?:file=[^,]*,line=\d+,endLine=\d+,)?title=[^,]*$/,
    );
  }
  const second = commands[1]?.split("::")[1]?.split(",")[0];
  assertEquals(
    second,
    "warning file=dir/%250A%3A%3Awarning%3A%3Ainjected%253A%252C".replace("warning ", "error "),
  );
  assertEquals(JSON.parse(format(report, "gitlab")).length, open);
  const log = sarif(report);
  assertEquals(log.runs[0]?.results.length, report.findings.length);
  for (const { locations: [location], message } of log.runs[0]?.results ?? []) {
    const uri = location?.physicalLocation.artifactLocation.uri ?? "";
    assertMatch(uri, /^dir\/(?:[\w.!~*'()/-]|%[0-9A-F]{2})*$/);
    assert(
      !/(?<!\\)\[[^\]]*\]\(/.test(message.text) && !/(?<!\{)\{\d+\}(?!\})/.test(message.text),
      message.text,
    );
  }
  const read = readReport(JSON.parse(format(report, "json")));
  assert(typeof read !== "string" && read.findings.length === report.findings.length);
  // Each finding of the text begins with its number: nothing else does.
  const numbers = format(report, "text").split("\n").flatMap((line) => /^(\d+)\. /.exec(line)?.[1] ?? []);
  assertEquals(numbers, Array.from({ length: open }, (_, at) => String(at + 1)));
  const markdown = format(report, "markdown");
  const outside = markdown.split("\n").filter((line) =>
    line !== "" && !/^(?: {3}| *\d+\. \*\*P\d\*\*|- |\*\*Review of )/.test(line)
  );
  assertEquals(outside, []);
  assert(
    !/(?<!\\)<(?:script|img|!--)|(?<!\\)!\[/.test(
      markdown.replace(/^ *(`{3,})diff\n[^]*?^ *\1$/gm, "").replace(/`[^`\n]*`/g, ""),
    ),
    markdown,
  );
});

Deno.test("the examples of the documentation are reports in these formats", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/review.md", import.meta.url));
  const [section = ""] = /^## Formats$[^]*?(?=^## (?!#))/m.exec(page) ?? [];
  const blocks = [...section.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, kind, text = ""]) => ({
    kind,
    text,
  }));
  const [json = "", gitlab = ""] = blocks.flatMap(({ kind, text }) => kind === "json" ? [text] : []);
  const [text, github] = blocks.flatMap(({ kind, text }) => kind === "text" ? [text] : []);
  const report = readReport(JSON.parse(json));
  assert(typeof report !== "string", String(report));
  assertEquals<unknown>(report, JSON.parse(json));
  for (const finding of report.findings) assertEquals(reviewFinding(finding, finding.agent).id, finding.id);
  assertEquals(format(report, "text"), text);
  assertEquals(format(report, "github"), github);
  assertEquals(JSON.parse(format(report, "gitlab")), JSON.parse(gitlab));
  // The tables name each field.
  const example = { ...report, incomplete: "x" };
  const [result = {}] = sarif(reportOf([...REPORT.findings])).runs[0]?.results.slice(3) ?? [];
  const written = new Set(["artifactLocation", "message", "properties", "ruleIndex"]);
  const fields = [example, example.findings[0] ?? {}, { ...result, invocations: 1 }].flatMap(Object.keys);
  const named = new Set([...section.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  assertEquals(fields.filter((name) => !named.has(name) && !written.has(name)), []);
});

Deno.test("no value makes the check of a finding or of a report fail otherwise than with a sentence", async () => {
  const unit = fc.constantFrom(
    ..."aé漢 \n\r\t\0\x1b\u202e\u2028:%`<[](){}0#…␍-+",
    "\ud800",
    "\udc00",
    "##[",
    "::x::",
  );
  const text = fc.array(unit, { maxLength: 40 }).map((units) => units.join(""));
  const field = fc.oneof(
    text,
    fc.integer({ min: -2, max: 500 }),
    fc.double(),
    fc.constantFrom(null, undefined, [], {}),
  );
  const finding = fc.record({
    path: fc.oneof(fc.constant("a.ts"), field),
    line: fc.oneof(fc.integer({ min: 1, max: 4 }), field),
    end_line: fc.oneof(fc.integer({ min: 1, max: 4 }), field),
    priority: fc.oneof(fc.constantFrom("P0", "P3"), field),
    confidence: fc.oneof(fc.constant(1), field),
    title: field,
    body: field,
    quote: fc.oneof(fc.constantFrom("one", "two"), field),
    suggestion: field,
    id: fc.constant("0123456789abcdef"),
    state: fc.constantFrom("new", "fixed"),
    agent: field,
  });
  const hunk = { oldStart: 1, oldLines: 3, newStart: 1, newLines: 3, lines: [] };
  const change = {
    files: [{ path: "a.ts", status: "modified", kind: "text", hunks: [hunk], added: 1, removed: 1 } as const],
    head: { id: undefined, read: () => Promise.resolve(new TextEncoder().encode("one\ntwo\n\x1bthree")) },
  };
  const report = fc.record({
    version: fc.constant(1),
    findings: fc.array(finding, { maxLength: 4 }),
    hunks: fc.array(field),
    skipped: fc.array(field),
    target: field,
    usage: field,
    cost: field,
  });
  await fc.assert(
    fc.asyncProperty(report, fc.boolean(), async (value, whole) => {
      for (const each of value.findings) {
        const checked = await checkFinding(each, change, { whole });
        assert("fault" in checked ? checked.message !== "" : checked.finding.path === "a.ts" || whole);
      }
      const read = readReport(value);
      if (typeof read === "string") assert(read !== "");
      else for (const as of [...FORMATS, "markdown"] as const) assert(format(read, as).isWellFormed());
    }),
    { numRuns: 200, seed: SEED },
  );
});
