import { saysDone, withoutMarks } from "../../../../src/features/steps/steps.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

const CASES: readonly (readonly [answer: string, isDone: boolean, shown: string])[] = [
  ["%%DONE%%", true, ""],
  ["Ready.\n%%DONE%%", true, "Ready."],
  ["Ready.\r\n\r\n%%COMPLETE%%\r\n", true, "Ready."],
  ["好了。%%COMPLETED%%", true, "好了。"],
  ["👩‍👩‍👧 **%%DONE%%**", true, "👩‍👩‍👧"],
  ["Ready `%%DONE%%`.", true, "Ready."],
  ["%%DONE%%\n\nAll is well.", true, "All is well."],
  ["a\n\n%%DONE%%\n\nb", true, "a\n\nb"],
  ["I write %%DONE%% when it is over.", false, "I write when it is over."],
  ["`%%DONE%%` is a mark.\nGo on.", false, " is a mark.\nGo on."],
  ["%%done%%", false, "%%done%%"],
  ["%DONE%", false, "%DONE%"],
  ["", false, ""],
];

Deno.test("saysDone finds the mark on a separate line or at the end, and withoutMarks removes all", () => {
  for (const [answer, isDone, shown] of CASES) {
    assertEquals([saysDone(answer), withoutMarks(answer)], [isDone, shown], JSON.stringify(answer));
  }
});

Deno.test("marks are found in linear time for any answer", () => {
  for (const piece of [" ", "\n", "*", "%%", "%%DONE", " %%DONE%% x", "_ ", "`"]) {
    const long = piece.repeat(400_000);
    const started = performance.now();
    saysDone(long);
    withoutMarks(long);
    // A search that begins again at every character would take minutes.
    assert(performance.now() - started < 20_000, JSON.stringify(piece));
  }
});
