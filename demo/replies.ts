/**
 * The replies of the model in `deno task demo`, written by hand with invented token counts.
 */

/** Runs the tests of the demo's project: no pipe, so that its exit code is theirs. */
export const TEST_COMMAND = "deno test --quiet --hide-stacktraces";

const TESTS = { name: "bash", args: { command: TEST_COMMAND } };

/** The replies of the model, turn by turn, with invented figures. */
export const DEMO_REPLIES = [
  {
    text: "I'll run the tests first to see what is broken.",
    calls: [TESTS],
    usage: { input: 2900, cached: 0, output: 42 },
  },
  {
    text: "Five tests fail, in both functions. Reading the code and what the tests expect.",
    calls: [
      { name: "read_file", args: { path: "src/wrap.ts" } },
      { name: "read_file", args: { path: "src/duration.ts" } },
      { name: "grep", args: { pattern: "same\\(", path: "tests" } },
    ],
    usage: { input: 3100, cached: 2900, output: 96 },
  },
  {
    text:
      "Two causes: `wrap` forgets the space between two words when it measures a line, and `duration` subtracts the count " +
      "instead of the seconds it stands for.",
    calls: [
      {
        name: "edit_file",
        args: {
          path: "src/wrap.ts",
          old_string: "line.length + word.length <= width",
          new_string: "line.length + 1 + word.length <= width",
        },
      },
      {
        name: "edit_file",
        args: { path: "src/duration.ts", old_string: "rest -= count;", new_string: "rest -= count * size;" },
      },
    ],
    usage: { input: 4000, cached: 3100, output: 187 },
  },
  { text: "Now the tests again.", calls: [TESTS], usage: { input: 4300, cached: 4000, output: 31 } },
  {
    text:
      "All tests pass.\n\n- `src/wrap.ts:9`: the length of a line now counts the space before the next word.\n" +
      "- `src/duration.ts:14`: the rest shrinks by `count * size` seconds, not by `count`.\n\nThe tests are unchanged.",
    usage: { input: 4500, cached: 4300, output: 88 },
  },
];
