import { readSweBench } from "../../../src/batch/swe_bench.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const INSTANCE = {
  instance_id: "astropy__astropy-12907",
  repo: "astropy/astropy",
  base_commit: "d16bfe05a744909de4b27f5875fe0d4ed41ce607",
  problem_statement: "The `separability_matrix` is $& wrong [for], {nested} models.",
  hints_text: "look there",
  version: "4.3",
  environment_setup_commit: "298ccb478e6bf092953bca67a3d29dc6c35f6752",
  FAIL_TO_PASS: '["a"]',
};

function problemsOf(text: string): string {
  try {
    readSweBench(text, { file: "s.json" });
  } catch (error) {
    return String(error);
  }
  return "";
}

Deno.test("readSweBench reads an array and one instance a line as the same tasks", () => {
  const second = { ...INSTANCE, instance_id: "Psf__requests-1", hints_text: null, image_name: "a/b:1" };
  const tasks = readSweBench(JSON.stringify([INSTANCE, second], null, 2), { file: "s.json" });
  const lines = `${JSON.stringify(INSTANCE)}\n\n${JSON.stringify(second)}\n`;
  assertEquals(readSweBench(lines, { file: "s.jsonl" }), tasks);
  const [{ prompt, ...task } = { prompt: "" }, other] = tasks;
  assertEquals(task, {
    id: "astropy__astropy-12907",
    dir: "",
    checks: [],
    repo: "https://github.com/astropy/astropy",
    ref: "d16bfe05a744909de4b27f5875fe0d4ed41ce607",
    image: "swebench/sweb.eval.x86_64.astropy_1776_astropy-12907:latest",
  });
  assert(prompt.includes(`<issue>\n${INSTANCE.problem_statement}\n</issue>`), prompt);
  assert(!prompt.includes("look there"), "hints are not shown");
  assertEquals([other?.id, other?.image], ["Psf__requests-1", "a/b:1"]);
});

Deno.test("readSweBench names each wrong field with line and column", () => {
  const text = JSON.stringify(
    [INSTANCE, { ...INSTANCE, repo: "astropy", base_commit: "main", version: 4 }],
    null,
    1,
  );
  const problems = problemsOf(text);
  for (
    const line of [
      "s.json:14:3: the repo is not OWNER/NAME",
      "s.json:15:3: the base_commit is no whole commit",
      "s.json:18:3: the version is no text",
    ]
  ) assert(problems.includes(line), problems);
  const rows: readonly [string, string][] = [
    ["[", "it begins as a JSON array and is not one"],
    ["[]", "there are none in it"],
    ["[3]", "s.json:1:2: it is not a JSON object"],
    ['{"instance_id": "a"', "s.json:1:20: it is not JSON"],
    ['{"prompt": "x"}', "s.json:1:1: the instance_id is missing"],
    [JSON.stringify({ ...INSTANCE, instance_id: "a b" }), "the instance_id is not made of"],
    [JSON.stringify([INSTANCE, INSTANCE]), 'the id "astropy__astropy-12907" is that of line 1 already'],
  ];
  for (const [wrong, expected] of rows) {
    const found = problemsOf(wrong);
    assert(found.includes(expected), `${wrong}\n${found}`);
  }
});
