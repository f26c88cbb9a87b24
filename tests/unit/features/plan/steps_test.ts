import { planSteps } from "../../../../src/features/plan/session_plans.ts";
import { assertEquals } from "../../../support/assert.ts";

const CASES: readonly [name: string, plan: string, steps: readonly string[]][] = [
  ["prose", "First this, then that.", []],
  ["numbers", "# Plan\n1. One\n2) Two\n\n10. Ten", ["One", "Two", "Ten"]],
  ["numbers before bullets", "- context\n\n1. One\n   - detail\n   1. inner\n2. Two\n\n- note", [
    "One",
    "Two",
  ]],
  ["checkboxes before bullets", "- note\n- [ ] One\n- [x] Two", ["One", "Two"]],
  ["bullets", "* One\n+ Two\n- Three\n• Four", ["One", "Two", "Three", "Four"]],
  ["marks of Markdown", "1. **Write** `a.ts`, see [this](x.md)", ["Write `a.ts`, see this"]],
  ["Chinese numbers", "一、写测试\n二、改代码\n十一、提交", ["写测试", "改代码", "提交"]],
  ["full-width marks", "1、写测试\n（2）改代码\n3．提交", ["写测试", "改代码", "提交"]],
  ["code", "```\n1. not this\n```\n1. One\n~~~~\n2. nor this\n~~~\n~~~~\n2. Two", ["One", "Two"]],
  ["an open fence", "1. One\n```\n2. not this", ["One"]],
  ["two of the same words", "1. Test\n2. Test", ["Test"]],
  ["line ends of Windows", "1. One\r\n2. Two\r\n", ["One", "Two"]],
  ["emoji", "1. 😀 greet", ["😀 greet"]],
];

for (const [name, plan, steps] of CASES) {
  Deno.test(`planSteps reads ${name}`, () => assertEquals(planSteps(plan), steps));
}

Deno.test("planSteps keeps 50 steps of 300 characters and splits none", () => {
  const steps = planSteps(
    Array.from({ length: 60 }, (_, at) => `${at + 1}. ${at} ${"😀".repeat(400)}`).join("\n"),
  );
  assertEquals([steps.length, new Set(steps.map((step) => [...step].length)).size], [50, 1]);
  assertEquals(steps.every((step) => step.isWellFormed() && step.endsWith("…")), true);
});
