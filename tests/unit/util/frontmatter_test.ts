import { listField, parseFrontmatter, scalarText, textField } from "../../../src/util/frontmatter.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";

function fields(block: string) {
  return parseFrontmatter(`---\n${block}\n---\nbody`).fields;
}

Deno.test("parseFrontmatter splits the block from the body, with BOM and CRLF", () => {
  const read = parseFrontmatter("\uFEFF---\r\nname: a\r\n---\r\n\r\nText\r\n");
  assertEquals([read.fields, read.body, read.problems], [{ name: "a" }, "\nText\n", []]);
  assertEquals(parseFrontmatter("# Just text").body, "# Just text");
});

Deno.test("parseFrontmatter reads block scalars in both styles", () => {
  assertEquals(fields("a: >-\n  one\n  two\n\n  three\nb: |\n  x\n    y\nc: z"), {
    a: "one two\nthree",
    b: "x\n  y",
    c: "z",
  });
});

Deno.test("parseFrontmatter reads quotes, comments, lists, maps and texts over several lines", () => {
  assertEquals(
    fields(`q: "say \\"hi\\": \\u4f60"  # why\ns: 'it''s'\np: plain # note\nm: one\n  two\nn:\n  below`),
    {
      q: 'say "hi": 你',
      s: "it's",
      p: "plain",
      m: "one two",
      n: "below",
    },
  );
  assertEquals(fields(`l:\n  - a\n  - "b, c"\ni: [x, "y, z"]\nk: { a: 1, b: two }`), {
    l: ["a", "b, c"],
    i: ["x", "y, z"],
    k: { a: "1", b: "two" },
  });
  assertEquals(fields("metadata:\n  author: me\n  # why\n  'a b': \"1.0\"\nx: y"), {
    metadata: { author: "me", "a b": "1.0" },
    x: "y",
  });
});

Deno.test("parseFrontmatter accepts an unquoted colon and reports the line", () => {
  const read = parseFrontmatter("---\nname: x\ndescription: Use when: asked\n---\n");
  assertEquals(textField(read, "description"), "Use when: asked");
  assertEquals(read.problems.map((problem) => problem.line), [3]);
  assertStringIncludes(read.problems[0]?.text ?? "", "quotes");
});

Deno.test("parseFrontmatter never throws and reports what it skipped", () => {
  for (const text of ["---\nname: x", '---\na: "open\n---\n', "---\n- x\n: y\n\t\n---", "---\n---", "---"]) {
    parseFrontmatter(text);
  }
  assertEquals(parseFrontmatter("---\nname: x").problems.length, 1);
  assertEquals(parseFrontmatter("---\n???\n---\n").problems.map((problem) => problem.line), [2]);
});

Deno.test("listField accepts lists and strings and keeps parentheses together", () => {
  const read = parseFrontmatter("---\na: Read Bash(git add:*), Edit\nb: [x, y]\n---\n");
  assertEquals(listField(read, "a"), ["Read", "Bash(git add:*)", "Edit"]);
  assertEquals(listField(read, "b"), ["x", "y"]);
  assertEquals(listField(read, "c"), []);
});

Deno.test("scalarText round-trips values", () => {
  for (
    const text of [
      "plain",
      "with: colon",
      ' "quoted"',
      "# hash",
      "true",
      "12",
      "back\\slash",
      "你好",
      "",
      "a\nb",
    ]
  ) {
    const read = parseFrontmatter(`---\nkey: ${scalarText(text)}\n---\n`);
    assertEquals([textField(read, "key"), read.problems], [text, []]);
  }
});
