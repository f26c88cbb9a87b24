import fc from "fast-check";
import { applyEdit } from "../../../src/tool/edit/match_strategies.ts";
import { applyHunks } from "../../../src/tool/builtin/apply_patch/apply_hunks.ts";
import type { Hunk } from "../../../src/tool/builtin/apply_patch/parse.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { type Mistake, MISTAKES, type Pair } from "./mistakes.ts";
import { SEED } from "../../support/seed.ts";

/** A file of unique lines, and a change of some of them that a model could request. */
interface Example {
  readonly lines: readonly string[];
  readonly from: number;
  readonly count: number;
  readonly change: "word" | "insert" | "delete";
  readonly crlf: boolean;
}

const LINE = fc.record({
  indent: fc.constantFrom(2, 2, 4, 4, 6),
  text: fc.constantFrom(
    "const value = call(NUMBER);",
    "if (a  ===  b) { // it’s “so” – NUMBER",
    'print("a \\\\n b", NUMBER)',
    "cafe\u0301\u00a0= NUMBER;  ",
    "}, NUMBER",
    "注释：NUMBER，第一行",
  ),
});

const EXAMPLES: fc.Arbitrary<Example> = fc.record({
  lines: fc.array(LINE, { minLength: 6, maxLength: 20 }).map((lines) =>
    lines.map(({ indent, text }, index) => " ".repeat(indent) + text.replace("NUMBER", String(1000 + index)))
  ),
  from: fc.nat(4),
  count: fc.integer({ min: 1, max: 4 }),
  change: fc.constantFrom("word", "insert", "delete"),
  crlf: fc.boolean(),
});

/** The lines that the model replaces, and the new ones. */
function intended({ lines, from, count, change }: Example): { old: string[]; fresh: string[] } {
  const old = lines.slice(from, from + count);
  const last = old.at(-1) ?? "";
  const indent = /^ */.exec(last)?.[0] ?? "";
  if (change === "word") return { old, fresh: [...old.slice(0, -1), last.replace(/\d+(?=\D*$)/, "77")] };
  if (change === "insert") return { old, fresh: [...old, `${indent}added = 1;`] };
  return { old, fresh: old.slice(0, -1) };
}

function joined(lines: readonly string[], eol = "\n"): string {
  return lines.map((line) => line + eol).join("");
}

/** The file before and after the intended change. */
function files(scene: Example): { before: string; after: string } {
  const { lines, from, count, crlf } = scene;
  const eol = crlf ? "\r\n" : "\n";
  const { fresh } = intended(scene);
  return {
    before: joined(lines, eol),
    after: joined([...lines.slice(0, from), ...fresh, ...lines.slice(from + count)], eol),
  };
}

function spoiled(scene: Example, mistakes: readonly Mistake[]): Pair | undefined {
  const { old, fresh } = intended(scene);
  let pair: Pair | undefined = { old: joined(old), fresh: joined(fresh) };
  for (const mistake of mistakes) pair = pair && mistake.apply(pair);
  return pair;
}

for (const mistake of MISTAKES) {
  Deno.test(`an edit with ${mistake.name} is ${mistake.outcome}, since ${mistake.reason}`, () => {
    let tried = 0;
    let refused = 0;
    fc.assert(
      fc.property(EXAMPLES, (scene) => {
        const pair = spoiled(scene, [mistake]);
        if (!pair || pair.old.trim() === "") return;
        const { before, after } = files(scene);
        const outcome = applyEdit(before, { oldString: pair.old, newString: pair.fresh, replaceAll: false });
        tried++;
        if (mistake.outcome === "refused") {
          assert("problem" in outcome, "text" in outcome ? outcome.text : "");
        } else if ("text" in outcome) assertEquals(trimmed(outcome.text), trimmed(after));
        else if (mistake.outcome === "accepted") assertEquals(outcome.problem, after);
        else refused++;
      }),
      { seed: SEED, numRuns: 200 },
    );
    assert(refused < tried / 2, `${refused} of ${tried} were refused`);
    assert(tried > 50, `only ${tried} scenes allow this mistake`);
  });
}

/** A changed line equals the text of the model, with or without trailing blanks. */
function trimmed(text: string): string {
  return text.replace(/[ \t]+(?=\r?\n)/g, "");
}

const accepted = MISTAKES.filter((mistake) => mistake.outcome !== "refused");

function someOf(mistakes: readonly Mistake[], least: number, most: number): fc.Arbitrary<Mistake[]> {
  return fc.subarray([...mistakes], { minLength: least, maxLength: most }).filter((chosen) =>
    chosen.filter((mistake) => mistake.indents).length < 2
  );
}

Deno.test("an edit with any three mistakes applies as intended or leaves the file unchanged", () => {
  const outcomes = { exact: 0, refused: 0 };
  fc.assert(
    fc.property(EXAMPLES, someOf(accepted, 2, 3), (scene, mistakes) => {
      const pair = spoiled(scene, mistakes);
      if (!pair || pair.old.trim() === "") return;
      const { before, after } = files(scene);
      const outcome = applyEdit(before, { oldString: pair.old, newString: pair.fresh, replaceAll: false });
      if ("problem" in outcome) outcomes.refused++;
      else {
        assertEquals(
          trimmed(outcome.text),
          trimmed(after),
          `${mistakes.map((one) => one.name).join(" + ")}\n${JSON.stringify(pair)}`,
        );
        outcomes.exact++;
      }
    }),
    { seed: SEED, numRuns: 2000 },
  );
  assert(outcomes.exact > outcomes.refused, JSON.stringify(outcomes));
});

Deno.test("a patch with any mistake in its context applies as intended or leaves the file unchanged", () => {
  const outcomes = { exact: 0, refused: 0 };
  fc.assert(
    fc.property(EXAMPLES, someOf(accepted.filter((one) => !one.oneSide), 1, 2), (scene, mistakes) => {
      const { lines, from, count } = scene;
      const { old, fresh } = intended(scene);
      const kept = old.slice(0, -1);
      const around = [lines.slice(Math.max(0, from - 2), from), lines.slice(from + count, from + count + 2)];
      const whole = (middle: readonly string[]) =>
        joined([...around[0] ?? [], ...middle, ...around[1] ?? []]);
      let pair: Pair | undefined = { old: whole(old), fresh: whole(fresh) };
      for (const mistake of mistakes) pair = pair && mistake.apply(pair);
      if (!pair) return;
      const hunk = hunkOf(pair, (around[0]?.length ?? 0) + kept.length, around[1]?.length ?? 0);
      const { before, after } = files(scene);
      const outcome = applyHunks(before, [hunk]);
      if ("problem" in outcome) outcomes.refused++;
      else {
        assertEquals(
          trimmed(outcome.text),
          trimmed(after),
          `${mistakes.map((one) => one.name).join(" + ")}\n${JSON.stringify(hunk)}`,
        );
        outcomes.exact++;
      }
    }),
    { seed: SEED, numRuns: 2000 },
  );
  assert(outcomes.exact > 500, JSON.stringify(outcomes));
});

/** The pair as a hunk: the first `head` and last `tail` lines are context. */
function hunkOf({ old, fresh }: Pair, head: number, tail: number): Hunk {
  const split = (text: string) => text.replace(/\n$/, "").split("\n");
  const [a, b] = [split(old), split(fresh)];
  const line = (kind: " " | "-" | "+") => (text: string) => ({ kind, text, newline: true });
  return {
    lines: [
      ...a.slice(0, head).map(line(" ")),
      ...a.slice(head, a.length - tail).map(line("-")),
      ...b.slice(head, b.length - tail).map(line("+")),
      ...a.slice(a.length - tail).map(line(" ")),
    ],
    line: undefined,
    anchors: [],
    atEnd: false,
  };
}
