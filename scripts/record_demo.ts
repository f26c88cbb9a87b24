/**
 * Records demo/cassette.jsonl: the real agent works on the real project while a scripted model server speaks.
 * Run it when a tool's output changed so that `deno task demo` reports a divergence.
 */
import { startModelServer } from "../tests/support/model_server.ts";
import { CASSETTE, DEMO_TASK, makeDemoProject, PROGRAM } from "./demo_project.ts";
import { run, say } from "./process.ts";

const TESTS = {
  name: "bash",
  args: { command: "deno test --quiet 2>&1 | grep -E '^(duration|wrap) .*\\.\\.\\.'" },
};

const SCRIPT = [
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

/** The same text in pieces, as a model streams it. */
function pieces(text: string): string[] {
  return text.match(/\S+\s*/g) ?? [];
}

await using server = startModelServer(SCRIPT.map((turn) => ({ ...turn, text: pieces(turn.text) })));
await using demo = await makeDemoProject(`kind = "openai"\nbase_url = "${server.url}"\nmodel = "recorded"`);
const done = await run(Deno.execPath(), {
  args: [...PROGRAM, "run", "--record", CASSETTE, DEMO_TASK],
  cwd: demo.project,
  env: { REASONIX_HOME: demo.home },
  echo: true,
});
if (done.code !== 0) throw new Error(`The recording run ended with exit code ${done.code}`);
const [head = "", ...exchanges] = (await Deno.readTextFile(CASSETTE)).trimEnd().split("\n");
const header = { ...JSON.parse(head), loose: ["system", "tools"] };
await Deno.writeTextFile(CASSETTE, [JSON.stringify(header), ...exchanges, ""].join("\n"));
say(`Wrote ${CASSETTE}`);
