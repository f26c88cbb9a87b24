import fc from "fast-check";
import { assert, assertEquals } from "../../support/assert.ts";
import { ANY, matchPattern, ONE, SEP, STAR, toPattern } from "../../../src/rule/pattern.ts";
import { SEED } from "../../support/seed.ts";

Deno.test("matchPattern tells certain from possible matches", () => {
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

Deno.test("matchPattern never misses a value that unknown text can take", () => {
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
