import fc from "fast-check";
import { assert, assertEquals } from "../../support/assert.ts";
import { ANY, matchPattern, ONE, SEP, STAR, toPattern } from "../../../src/rule/pattern.ts";
import { countWork } from "../../support/counted_work.ts";
import { Random, SEED, soakSize } from "../../support/seed.ts";

Deno.test("matchPattern distinguishes certain from possible matches", () => {
  const cases: [string, string, string][] = [
    ["rm*", "rm -rf", "yes"],
    ["rm", "rmdir", "no"],
    ["r?", "rm", "yes"],
    ["r?", `r${ONE}`, "yes"],
    ["rm", `r${ONE}`, "maybe"],
    ["rm", `r${STAR}`, "maybe"],
    ["rm/x", `r${STAR}`, "no"],
    ["rm/x", `r${ANY}`, "maybe"],
    ["git*", `git${SEP}${ANY}`, "yes"],
    [`git${SEP}push`, `git${SEP}${ANY}`, "maybe"],
    [`git${SEP}push`, `svn${SEP}${ANY}`, "no"],
    ["a*c", "abc", "yes"],
    ["a*c", "abd", "no"],
    ["a*b*c", "a1b2b3c", "yes"],
    ["*", "", "yes"],
    ["?", SEP, "no"],
  ];
  for (const [rule, text, expected] of cases) {
    assertEquals(matchPattern(toPattern(rule), text), expected, `${rule} on ${JSON.stringify(text)}`);
  }
});

const letters = fc.constantFrom("a", "b", "/", "*", "?");

Deno.test("matchPattern agrees with a regular expression on known text", () => {
  fc.assert(
    fc.property(
      fc.array(letters, { maxLength: 7 }),
      fc.array(fc.constantFrom("a", "b", "/"), { maxLength: 7 }),
      (rule, text) => {
        const source = rule.map((char) => char === "*" ? ".*" : char === "?" ? "." : char).join("");
        const expected = new RegExp(`^${source}$`, "s").test(text.join(""));
        assertEquals(matchPattern(toPattern(rule.join("")), text.join("")), expected ? "yes" : "no");
      },
    ),
    { seed: SEED, numRuns: 2000 },
  );
});

Deno.test("matchPattern never misses a possible value of unknown text", () => {
  const unknown = fc.array(
    fc.tuple(fc.constantFrom("a", "b", "/", ANY, ONE, STAR), fc.constantFrom("a", "b", "ab", "")),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 6 }), unknown, (rule, parts) => {
      const text = parts.map(([mark]) => mark).join("");
      const value = parts.map(([mark, fill]) =>
        mark === ONE ? fill[0] ?? "a" : mark === ANY || mark === STAR ? fill : mark
      ).join("");
      const pattern = toPattern(rule.join(""));
      const open = matchPattern(pattern, text);
      const closed = matchPattern(pattern, value);
      if (closed === "yes") assert(open !== "no", `${JSON.stringify(text)} can be ${value}`);
      if (open === "yes") assertEquals(closed, "yes");
    }),
    { seed: SEED, numRuns: 3000 },
  );
});

/** Compares position by position. `intersects`: marks of the text are wildcards, too. */
function slowly(pattern: string, text: string, intersects: boolean): boolean {
  const open = (char: string | undefined) => char === ANY || (intersects && char === STAR);
  const fits = (char: string, other: string) => char === ANY || (other !== "/" && other !== SEP);
  const meets = (a: string, b: string) =>
    a === b
      ? intersects || (a !== ANY && a !== STAR)
      : (a === ONE && b !== SEP && (intersects || (b !== ANY && b !== STAR))) ||
        (intersects && b === ONE && a !== SEP);
  const rows: boolean[][] = [];
  for (let i = 0; i <= pattern.length; i++) {
    const a = pattern.charAt(i - 1);
    const row: boolean[] = rows[i] = [];
    for (let j = 0; j <= text.length; j++) {
      const b = text.charAt(j - 1);
      const [up, left, both] = [
        rows[i - 1]?.[j] === true,
        row[j - 1] === true,
        rows[i - 1]?.[j - 1] === true,
      ];
      row[j] = (i === 0 && j === 0) ||
        (i > 0 && open(a) && (up || (j > 0 && left && fits(a, b)))) ||
        (intersects && j > 0 && open(b) && (left || (i > 0 && up && fits(b, a)))) ||
        (i > 0 && j > 0 && both && meets(a, b));
    }
  }
  return rows[pattern.length]?.[text.length] === true;
}

const PAIRS = soakSize(60_000, 5000);

Deno.test("matchPattern agrees with a position-by-position comparison for any length", () => {
  const random = new Random(SEED);
  const made = (parts: readonly string[], most: number) =>
    Array.from({ length: random.below(most) }, () => random.pick(parts)).join("");
  for (let i = 0; i < PAIRS; i++) {
    const most = i % 20 === 0 ? 100 : 9;
    const pattern = made(["a", "b", "/", ANY, ONE, SEP, "a", "b"], most);
    const text = made(["a", "b", "/", SEP, "a", "\u6587", ...i % 3 === 0 ? [] : [ANY, ONE, STAR]], most);
    const expected = slowly(pattern, text, false) ? "yes" : slowly(pattern, text, true) ? "maybe" : "no";
    assertEquals([pattern, text, matchPattern(pattern, text)], [pattern, text, expected]);
  }
});

Deno.test("pathological patterns and texts are compared with bounded work", () => {
  const long = "a".repeat(64 * 1024);
  const cases: readonly (readonly [pattern: string, text: string, expected: string])[] = [
    [`${`${ANY}a`.repeat(2000)}b`, long, "no"],
    [`${ANY}${`a${ONE}`.repeat(2000)}b`, long, "no"],
    [`${ANY}${`a${ONE}`.repeat(2000)}b`, `${long}${STAR}`, "maybe"],
    [`${ANY}${`a${ONE}`.repeat(2000)}/`, `a${STAR}`.repeat(32 * 1024), "no"],
    [`${long}b`, `${long}${ANY}`, "maybe"],
    [long, long, "yes"],
  ];
  for (const [pattern, text, expected] of cases) {
    using counted = countWork();
    const result = matchPattern(pattern, text);
    const { steps } = counted;
    assertEquals(result, expected);
    // Each character is read a few times: once for all positions in the other.
    assert(steps <= 8 * (pattern.length + text.length), `${steps} steps`);
  }
});
