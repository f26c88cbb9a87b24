import fc from "fast-check";
import { parse } from "smol-toml";
import { Positions } from "../../../src/config/load/layer.ts";
import type { KeyPath } from "../../../src/config/problem.ts";
import { assertEquals } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";

const TEXT = `# comment with [brackets] = and "quotes"
top = 1
"quoted key" = 'literal \\' # no escape
dotted.inner."last one" = true

[table] # header
first = """
fake = 1
[fake]
""" # after
  second = [ # list
    "a]", 'b,',
    [ 1, 2 ],
  ]
inline = { x = 1, y = { z = [3] }, "k" = 2 }
multi = {
  one = 1, # TOML 1.1
  two = 2,
}

[[list]]
name = "one"
[list.sub]
deep = 1
[[list.nested]]
n = 0
[[list.nested]]
n = 1

[[list]]
name = "two"
sub.deep = 2
when = 1979-05-27 07:32:00
quotes = """a\\"""b""""
after = "x"
`;

const TABLE: [KeyPath, "key" | "value", number, number][] = [
  [["top"], "key", 2, 1],
  [["top"], "value", 2, 7],
  [["quoted key"], "value", 3, 16],
  [["dotted", "inner", "last one"], "value", 4, 27],
  [["table"], "key", 6, 1],
  [["table", "first"], "value", 7, 9],
  [["table", "second"], "key", 11, 3],
  [["table", "second", 1], "value", 12, 11],
  [["table", "second", 2, 1], "value", 13, 10],
  [["table", "inline", "y", "z", 0], "value", 15, 30],
  [["table", "inline", "k"], "key", 15, 36],
  [["table", "multi", "two"], "value", 18, 9],
  [["list", 0, "name"], "value", 22, 8],
  [["list", 0, "sub", "deep"], "key", 24, 1],
  [["list", 0, "nested", 1, "n"], "value", 28, 5],
  [["list", 1], "key", 30, 1],
  [["list", 1, "sub", "deep"], "value", 32, 12],
  [["list", 1, "when"], "key", 33, 1],
  [["list", 1, "after"], "value", 35, 9],
];

for (const [path, at, line, column] of TABLE) {
  Deno.test(`Positions finds the ${at} of ${path.join(".")}`, () => {
    parse(TEXT);
    assertEquals(new Positions(TEXT).find(path, at), { line, column });
    const windows = new Positions(TEXT.replaceAll("\n", "\r\n"));
    assertEquals(windows.find(path, at), { line, column });
  });
}

Deno.test("Positions finds the nearest enclosing key of a missing path", () => {
  assertEquals(new Positions(TEXT).find(["list", 1, "missing"], "value"), { line: 30, column: 1 });
  assertEquals(new Positions(TEXT).find(["nowhere"], "key"), undefined);
});

/**
 * TOML texts made of random keys and values, each value a separate number so that it can be found again.
 */
const document = fc.array(
  fc.record({
    header: fc.constantFrom("", "[t]", "[[a]]", "[t.u]", "[[a.b]]"),
    style: fc.constantFrom("plain", "list", "inline", "quoted"),
    space: fc.constantFrom("", " ", "\t", "  "),
    comment: fc.constantFrom("", " # = [x]", " # '''"),
    newline: fc.constantFrom("\n", "\r\n", "\n\n"),
  }),
  { maxLength: 12 },
).map((parts) =>
  parts.map(({ header, style, space, comment, newline }, index) => {
    const key = `k${index}`;
    const value = {
      plain: `${index}`,
      list: `[${space}'x', ${index}]`,
      inline: `{ y =${space}${index} }`,
      quoted: `${index}`,
    };
    const name = style === "quoted" ? `"${key}"` : key;
    return `${header === "" ? "" : header + comment + newline}${space}${name}${space}=${space}${
      value[style]
    }${comment}`;
  }).join("\n")
);

function numbersIn(value: unknown, path: KeyPath): [KeyPath, number][] {
  if (typeof value === "number") return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((item, index) => numbersIn(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => numbersIn(item, [...path, key]));
}

Deno.test("Positions locates the value of every number in any document", () => {
  fc.assert(
    fc.property(document, (text) => {
      let tree: unknown;
      try {
        tree = parse(text);
      } catch {
        return;
      }
      const positions = new Positions(text);
      for (const [path, number] of numbersIn(tree, [])) {
        const place = positions.find(path, "value") ?? { line: 0, column: 0 };
        const rest = (text.split("\n")[place.line - 1] ?? "").slice(place.column - 1);
        assertEquals(Number.parseInt(rest), number, `${path.join(".")} in\n${text}`);
      }
    }),
    { numRuns: 300, seed: SEED },
  );
});

Deno.test("Positions terminates for any text, valid or not", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("[", "]", "{", "}", '"', "'", "=", ".", ",", "a", " ", "\n", "\\", "#", "é"), {
        maxLength: 40,
      }),
      (parts) => void new Positions(parts.join("")),
    ),
    { numRuns: 2000, seed: SEED },
  );
});
