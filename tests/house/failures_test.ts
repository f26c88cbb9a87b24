import { secondRun, withoutChance } from "../../scripts/test.ts";
import {
  type Failure,
  filesOf,
  listFailures,
  readFailures,
  stageFailure,
} from "../../scripts/test_failures.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { removeTree } from "../support/remove_tree.ts";

const RUN = [
  "\x1b[0mrunning 2 tests from ./unit/a_test.ts",
  "one fails ... \x1b[31mFAILED\x1b[0m (1ms)",
  "steps ...",
  "  inner ... FAILED (0ms)",
  "steps ... FAILED (due to 1 failed step) (1ms)",
  "running 1 test from ./unit/b_test.ts",
  "of a helper ...",
  "------- output -------",
  " FAILURES ",
  "----- output end -----",
  "of a helper ... FAILED (2ms)",
  "Uncaught error from ./unit/c_test.ts FAILED",
  "",
  " ERRORS ",
  "",
  "one fails => ./unit/a_test.ts:2:6",
  "error: Error: boom",
  "",
  "second line",
  "",
  "steps ... inner => ./unit/a_test.ts:3:79",
  "error: TypeError: in",
  "",
  "of a helper => ./support/helper.ts:1:9",
  "error: Error: 中文 👍",
  "",
  "./unit/c_test.ts (uncaught error)",
  "error: Error: top level",
  "",
  " \x1b[1mFAILURES\x1b[0m ",
  "",
  "one fails => ./unit/a_test.ts:2:6",
  "steps ... inner => ./unit/a_test.ts:3:79",
  "of a helper => ./support/helper.ts:1:9",
  "./unit/c_test.ts (uncaught error)",
  "",
  "FAILED | 1 passed | 4 failed (1 step) (3ms)",
  "",
].join("\n");

const FAILURES: readonly Failure[] = [
  { test: "one fails", file: "./unit/a_test.ts", error: "error: Error: boom\n\nsecond line" },
  { test: "steps ... inner", file: "./unit/a_test.ts", error: "error: TypeError: in" },
  { test: "of a helper", file: "./unit/b_test.ts", error: "error: Error: 中文 👍" },
  { test: "./unit/c_test.ts (uncaught error)", file: "./unit/c_test.ts", error: "error: Error: top level" },
];

Deno.test("readFailures returns test, file and error, also of steps and errors outside of tests", () => {
  assertEquals(readFailures(RUN), [...FAILURES]);
  assertEquals(readFailures("ok | 3 passed | 0 failed (1ms)\n"), []);
});

Deno.test("readFailures finds the file of a helper's test when files run side by side", () => {
  const output = RUN.replace("\nof a helper ... FAILED", "\n./unit/z_test.ts => of a helper ... FAILED");
  assertEquals(readFailures(output)[2]?.file, "./unit/z_test.ts");
});

Deno.test("filesOf lists each file once and returns nothing when a failure has no file", () => {
  assertEquals(filesOf(FAILURES), ["./unit/a_test.ts", "./unit/b_test.ts", "./unit/c_test.ts"]);
  assertEquals(filesOf([...FAILURES, stageFailure("unit", "Ended with exit code 1", "")]), undefined);
});

Deno.test("listFailures ends with a line for each test and cuts long errors and lists", () => {
  const long = Array.from({ length: 60 }, (_, at) => `line ${at} ${"x".repeat(2000)}`).join("\n");
  const many = Array.from({ length: 70 }, (_, at) => ({ test: `t${at}`, file: "./a_test.ts", error: long }));
  const printed = listFailures("Failed", many);
  assert(printed.length < 300_000, `${printed.length} characters`);
  assertStringIncludes(printed, "… and 20 more lines");
  assertStringIncludes(printed, "\nFailed:\n  t0, ./a_test.ts: line 0 x");
  assertEquals(printed.split("\n").at(-1), "  … and 20 more");
  assertEquals(listFailures("Failed", FAILURES).split("\n").slice(-4), [
    "  one fails, ./unit/a_test.ts: Error: boom",
    "  steps ... inner, ./unit/a_test.ts: TypeError: in",
    "  of a helper, ./unit/b_test.ts: Error: 中文 👍",
    "  ./unit/c_test.ts (uncaught error): Error: top level",
  ]);
  assertEquals(listFailures("Failed", []), "");
});

Deno.test("stageFailure keeps the end of the output of a stage", () => {
  const output = Array.from({ length: 100 }, (_, at) => `line ${at}`).join("\n");
  const { test, error } = stageFailure("check", "Ended with exit code 1", output);
  assertEquals(test, "stage check");
  assertEquals(error.split("\n").length, 41);
  assertStringIncludes(error, "Ended with exit code 1\nline 60\n");
});

Deno.test("secondRun counts tests that pass alone as passed and tests that fail again as failed", () => {
  const first = { passed: 7, failed: 4, skipped: ["s"], failures: FAILURES, flaky: [] };
  const again = { passed: 3, failed: 1, skipped: [], failures: FAILURES.slice(1, 2), flaky: [] };
  const outcome = secondRun(first, again);
  // Three tests and one error outside of every test failed; one of the tests failed again.
  assertEquals([outcome.passed, outcome.failed, outcome.skipped], [9, 1, ["s"]]);
  assertEquals(outcome.failures, FAILURES.slice(1, 2));
  assertEquals(outcome.flaky.map(({ test }) => test), [
    "one fails",
    "of a helper",
    "./unit/c_test.ts (uncaught error)",
  ]);
  const broken = { passed: 0, failed: 1, skipped: [], failures: [stageFailure("a", "", "")], flaky: [] };
  assertEquals(secondRun(first, broken).flaky, []);
});

Deno.test("two tests may pass only in their second run, more fail the command", () => {
  const [first, second] = FAILURES as readonly [Failure, Failure];
  const outcome = { passed: 7, failed: 0, skipped: [], failures: [], flaky: [first] };
  assertEquals(withoutChance([outcome, outcome]), [outcome, outcome]);
  const judged = withoutChance([outcome, { ...outcome, flaky: [first, second] }]);
  assertEquals(judged.map(({ passed, failed, flaky }) => [passed, failed, flaky]), [[6, 1, []], [5, 2, []]]);
  assertEquals(judged[1]?.failures.map(({ test }) => test), [first.test, second.test]);
  assertStringIncludes(judged[1]?.failures[1]?.error ?? "", second.error);
});

Deno.test("the test command runs failures again alone and lists the tests that pass then", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(
      `${directory}/sample_test.ts`,
      `Deno.test("always", () => { throw new Error("twice"); });
Deno.test("the first time", () => {
  const mark = ${JSON.stringify(`${directory}/mark`)};
  try {
    Deno.statSync(mark);
  } catch {
    Deno.writeTextFileSync(mark, "");
    throw new Error("once");
  }
});
`,
    );
    const script = new URL("../../scripts/test.ts", import.meta.url).pathname;
    const done = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", script, `${directory}/sample_test.ts`],
      cwd: directory,
    }).output();
    const lines = new TextDecoder().decode(done.stdout).trimEnd().split("\n");
    assertEquals(lines.at(-1), "1 passed, 1 failed, 0 skipped");
    assertEquals(lines.at(-2), "");
    const printed = lines.join("\n");
    assertStringIncludes(printed, "\n  always, ./sample_test.ts: Error: twice\n");
    assertStringIncludes(
      printed,
      "── Flaky (failed once, passed when run again alone)\nthe first time, ./sample_test.ts",
    );
    assertStringIncludes(printed, "── Failed\nalways, ./sample_test.ts\n  error: Error: twice\n");
    assertEquals(done.code, 1);
  } finally {
    await removeTree(directory);
  }
});
