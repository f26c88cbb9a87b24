import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { applyEdit } from "../../../../src/tool/edit/match_strategies.ts";

function edit(text: string, oldString: string, newString: string, replaceAll = false): string {
  const outcome = applyEdit(text, { oldString, newString, replaceAll });
  return "problem" in outcome ? `! ${outcome.problem}` : outcome.text;
}

function noteOf(text: string, oldString: string, newString: string): string | undefined {
  const outcome = applyEdit(text, { oldString, newString, replaceAll: false });
  return "problem" in outcome ? outcome.problem : outcome.note;
}

Deno.test("applyEdit replaces an exact match and nothing else", () => {
  assertEquals(edit("a\nb\nc", "b", "x"), "a\nx\nc");
  assertEquals(edit("a  \n\tb\n", "\tb\n", ""), "a  \n");
  assertEquals(edit("a", "a", "a\n\n"), "a\n\n");
});

Deno.test("applyEdit gives new lines the line end of the file for an exact match", () => {
  assertEquals(edit("a\r\nb\r\n", "b", "b\nc"), "a\r\nb\r\nc\r\n");
  assertEquals(edit("a\r\nb\r\nc\n", "c", "c\nd"), "a\r\nb\r\nc\nd\n");
  assertEquals(edit("a\nb\n", "b", "b\r\nc"), "a\nb\nc\n");
  assertEquals(edit("a\rb\r", "b", "b\nc"), "a\rb\rc\r");
});

Deno.test("applyEdit matches LF text in a CRLF file without touching other lines", () => {
  assertEquals(edit("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n"), "a\r\nx\r\ny\r\nc\r\n");
  assertEquals(edit("a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nb\nnew\nc\n"), "a\r\nb\nnew\nc\r\nd\n");
  assertEquals(edit("a\r\nb\r\n", "b\n", ""), "a\r\n");
  assertEquals(edit("x\r\na\r\nb", "a\nb", "b"), "x\r\nb");
  assertEquals(noteOf("a\r\nb\r\n", "a\nb", "b"), undefined);
});

Deno.test("applyEdit matches CRLF text in an LF file and a leading byte order mark", () => {
  assertEquals(edit("a\nb\nc\n", "a\r\nb\r\n", "a\r\nx\r\n"), "a\nx\nc\n");
  assertEquals(edit("a\nb\n", "\ufeffa\nb\n", "\ufeffx\n"), "x\n");
  assertEquals(noteOf("a\nb\n", "a\r\nb", "x"), "matched after ignoring line ends");
});

Deno.test("applyEdit ignores trailing blanks and keeps those of repeated lines", () => {
  assertEquals(edit("if x:  \n  y\t\n  z\n", "if x:\n  y\n", "if x:\n  w\n"), "if x:  \n  w\n  z\n");
  assertEquals(edit("a\nb\n", "a  \nb  ", "c"), "c\n");
  assertEquals(noteOf("a \nb\n", "a\nb", "c"), "matched after ignoring blanks at line ends");
});

Deno.test("applyEdit shifts the indentation when one shift fits all lines", () => {
  const text = "class A {\n    f() {\n      g();\n    }\n}\n";
  assertEquals(
    edit(text, "f() {\n  g();\n}", "f() {\n  g();\n  h();\n}"),
    "class A {\n    f() {\n      g();\n      h();\n    }\n}\n",
  );
  assertEquals(edit("a:\n  b\n", "    a:\n      b\n", "    a:\n      c\n\n      d\n"), "a:\n  c\n\n  d\n");
  assertEquals(noteOf(text, "f() {\n  g();\n}", ""), "matched after indenting by 4 spaces");
  assertEquals(
    noteOf(text, "f() {\n  g();\n}", "f() {\n  h();\n}"),
    "matched after indenting by 4 spaces; written as:\n     2→    f() {\n     3→      h();\n     4→    }",
  );
});

Deno.test("applyEdit converts spaces to tabs when the file has tabs", () => {
  const text = "func f() {\n\tif x {\n\t\ty()\n\t}\n}\n";
  assertEquals(
    edit(text, "    if x {\n        y()\n    }\n", "    if x {\n        z()\n    }\n"),
    "func f() {\n\tif x {\n\t\tz()\n\t}\n}\n",
  );
  assertEquals(noteOf(text, "    if x {\n        y()\n", ""), "matched after taking 4 spaces for a tab");
});

Deno.test("applyEdit fails when lines need different shifts", () => {
  const text = "a\n  b\n      c\n";
  assert(edit(text, "  a\n    b\n    c\n", "x\n").startsWith("! old_string was not found"));
});

Deno.test("applyEdit lists all lines of an ambiguous match", () => {
  assertEquals(
    edit("x\ny\nx\nz\nx\n", "x", "w"),
    "! old_string occurs 3 times, at lines 1, 3, 5; add neighbouring lines to make it unique, or set replace_all",
  );
  assertEquals(edit("x\ny\nx\n", "x", "w", true), "w\ny\nw\n");
  assertStringIncludes(edit("  a\n  b\n\n    a\n    b\n", "a\nb\n", "c\n"), "at lines 1, 4");
});

Deno.test("applyEdit shows the nearest lines with visible blanks when nothing matches", () => {
  const text = "function f() {\n\treturn a + b;\n}\n";
  assertEquals(
    edit(text, "function f() {\n  return a - b;\n}\n", "x"),
    [
      "! old_string was not found; the nearest place differs from line 2 on (· space, ⇥ tab)",
      "the file has:",
      "     2→⇥return a + b;",
      "     3→}",
      "old_string has:",
      "      →··return a - b;",
      "      →}",
    ].join("\n"),
  );
  assertStringIncludes(
    edit("const total = sum(values);\n", "const total = sum(valuess)", "x"),
    "const total = sum(values);",
  );
  assertStringIncludes(edit("a\u200bb is here\n", "ab is here\n", "x"), "a<U+200B>b");
  assertStringIncludes(edit("abc\n", "completely different", "x"), "nor anything like it");
});

Deno.test("applyEdit reports line numbers in the text and edits that are already made", () => {
  assertStringIncludes(edit("a\nb\n", "   1→a\n   2→b", "x"), "line numbers of read_file");
  assertStringIncludes(
    edit("const value = 2;\n", "const value = 1;", "const value = 2;"),
    "already there, at line 1",
  );
});

Deno.test("applyEdit removes one level of escaping if that gives a single match, and reports it", () => {
  const text = 'a\r\nb\nsay "hi"\n\tx ${y}\n';
  assertEquals(edit(text, "a\\nb", "c\\nd"), 'c\r\nd\nsay "hi"\n\tx ${y}\n');
  assertEquals(edit(text, 'say \\"hi\\"', 'say \\"ho\\"'), 'a\r\nb\nsay "ho"\n\tx ${y}\n');
  assertEquals(edit(text, "x \\${y}", "x"), 'a\r\nb\nsay "hi"\n\tx\n');
  assertStringIncludes(
    noteOf(text, "\\tx", "\\tz") ?? "",
    "taking away one level of escaping; written as:\n     4→\tz",
  );
  assertStringIncludes(edit("'a'\n'a'\n", "\\'a\\'", "b"), "occurs 2 times");
});

Deno.test("applyEdit reports the end of the file when the text continues after it", () => {
  assertEquals(
    edit("one\ntwo\n", "one\ntwo\nthree\nfour", "x"),
    "! old_string was not found; the nearest place differs from line 3 on (· space, ⇥ tab)\n" +
      "the file has:\n      (end of the file)\nold_string has:\n      →three\n      →four",
  );
});

Deno.test("applyEdit refuses an empty old_string unless the text is empty", () => {
  assertEquals(edit("", "", "x\n"), "x\n");
  assert(edit("a", "", "x").startsWith("! old_string is empty"));
});

Deno.test("applyEdit keeps dollar patterns in the new text", () => {
  assertEquals(edit("a b c", "b", "$& $1 $$"), "a $& $1 $$ c");
});

Deno.test("applyEdit does not indent text again that has the indentation of the file", () => {
  assertEquals(edit("    const x = 1;\n", "const x = 1;", "    const x = 2;"), "    const x = 2;\n");
  assertEquals(edit("    const x = 1;\n", "  const x = 1;", "    const x = 2;"), "    const x = 2;\n");
  assertEquals(edit("    const x = 1;\n", "const x = 1;", "const x = 2;"), "    const x = 2;\n");
  assertEquals(edit("    a;\n      b;\n", "a;\n  b;\n", "    a;\n      c;\n"), "    a;\n      c;\n");
  // Too deep in old_string only, and in both.
  assertEquals(edit("    a;\n", "        a;\n", "    b;\n"), "    b;\n");
  assertEquals(edit("    a;\n", "        a;\n", "        b;\n"), "    b;\n");
  assertEquals(
    edit("    a;\n      b;\n", "a;\n  b;\n", "    foo(1)\n      bar(2)\n"),
    "    foo(1)\n      bar(2)\n",
  );
  // A new line has the file's indentation by chance: the changed line reports that nothing else has.
  assertEquals(
    edit(
      "z\n    a;\n      b = 1;\n",
      "        a;\n          b = 1;\n",
      "    new;\n        a;\n          b = 2;\n",
    ),
    "z\nnew;\n    a;\n      b = 2;\n",
  );
  // A line that cannot be unindented as far as the others: nothing is put at column 0.
  assert(edit("    a;\n", "        a;\n", "        b;\n  c;\n").startsWith("! old_string was not found"));
});

Deno.test("applyEdit gives every new line the line end of the file, whichever text has CRLF", () => {
  assertEquals(edit("a\nb\nc\n", "b\n", "x\r\ny\r\n"), "a\nx\ny\nc\n");
  assertEquals(edit("a\nb\nc\n", "b\r\n", "x\ny\n"), "a\nx\ny\nc\n");
  assertEquals(edit("a\r\nb\r\n", "b\r\n", "x\ny\n"), "a\r\nx\r\ny\r\n");
});

Deno.test("applyEdit refuses a placeholder for deleted text", () => {
  const text = "function f() {\n  one();\n  two();\n}\n";
  for (
    const line of [
      "// ... rest of the code",
      "(existing methods)",
      "# unchanged",
      "/* ... */",
      "// … existing code …",
    ]
  ) {
    assertStringIncludes(edit(text, "  one();\n  two();\n", `  ${line}\n`), "placeholder");
  }
  assertEquals(edit("# unchanged\na\n", "# unchanged\na", "# unchanged\nb"), "# unchanged\nb\n");
  assertEquals(edit("a\n", "a", "# Other imports\nimport b"), "# Other imports\nimport b\n");
  assertEquals(edit("def f():\n  pass\n", "  pass", "  ..."), "def f():\n  ...\n");
});

Deno.test("applyEdit matches typographic variants in one place and changes only what the model changed", () => {
  assertEquals(
    edit("// It’s “great” – foo(1)\n", `// It's "great" - foo(1)`, `// It's "great" - foo(2)`),
    "// It’s “great” – foo(2)\n",
  );
  assertEquals(edit("a\u00a0b = 1;\nrest\n", "a b = 1;\n", "a b = 2;\n"), "a\u00a0b = 2;\nrest\n");
  assertEquals(edit("cafe\u0301 = 1\n", "café = 1", "café = 2"), "cafe\u0301 = 2\n");
  assertEquals(edit("x（1），y\n", "x(1),y", "x(1),z"), "x（1），z\n");
  assertEquals(edit("  a – b;\n  c;\n", "a - b;\nc;\n", "a - b;\nd;\n"), "  a – b;\n  d;\n");
  assert(edit("o\ufb01ce\n", "ofice", "x").startsWith("!"));
  assert(edit("\u0430bc\n", "abc", "x").startsWith("!"), "a Cyrillic letter is not a Latin one");
  assertStringIncludes(edit("a–b\na—b\n", "a-b", "x"), "occurs 2 times, at lines 1, 2");
});

Deno.test("applyEdit shows the code points of characters that look the same", () => {
  const message = edit("first\nq – “a”\nthird\n", 'q - "a"\nzzz\n', "x");
  assertStringIncludes(message, "<U+2013>");
  assertStringIncludes(message, "<U+201C>a<U+201D>");
});

Deno.test("applyEdit ignores blank lines and blanks if that gives a single match", () => {
  assertEquals(edit("a\nb\nc\n", "\nb\n\n", "\nx\n\n"), "a\nx\nc\n");
  assertEquals(edit("f(a)\n", " a ", " b "), "f(b)\n");
  assertEquals(edit("x   =  1;\ny = 2;\n", "x = 1;", "x = 3;"), "x   =  3;\ny = 2;\n");
  assertStringIncludes(edit("x  = 1\nx   = 1\n", "x = 1", "x = 2"), "occurs 2 times");
});

Deno.test("applyEdit counts overlapping matches as several", () => {
  assertStringIncludes(edit("}\n}\n}\n", "}\n}\n", "x\n"), "occurs 2 times, at lines 1, 2");
  assertEquals(edit("aaaa", "aa", "b", true), "bb");
});

Deno.test("applyEdit uses the indentation of the file, of spaces or tabs", () => {
  const [old, fresh] = ["    timeout: 1\n    retries: 2", "    timeout: 30\n    retries: 2\n      more: 3"];
  for (const [lead, step] of [["\u3000\u3000", "\u3000"], ["\u00a0".repeat(4), "\u00a0\u00a0"]]) {
    assertEquals(
      edit(`${lead}timeout: 1\n${lead}retries: 2\n`, old, fresh),
      `${lead}timeout: 30\n${lead}retries: 2\n${lead}${step}more: 3\n`,
    );
  }
  assertEquals(edit("\t\u00a0timeout: 1\n", "\t timeout: 1", "\t timeout: 30"), "\t\u00a0timeout: 30\n");
  // The blanks of the file and a twin in the same line.
  assertEquals(edit("\u3000“a” = 1\n", ' "a" = 1\n', ' "a" = 2\n'), "\u3000“a” = 2\n");
  assertEquals(edit("\u3000\u3000a = 1\n", "a = 1", "\u3000\u3000a = 2"), "\u3000\u3000a = 2\n");
  assertStringIncludes(noteOf("\u3000a\n", "  a\n", "  b\n") ?? "", "taking 2 spaces for a U+3000 blank");
});

Deno.test("applyEdit never joins lines when blank lines around old_string are ignored", () => {
  assertEquals(edit("a\nb\n", "b\n\n", "c\n"), "a\nc\n");
  assertEquals(edit("a\nb\n", "b\n\n", "c"), "a\nc\n");
  assertEquals(
    edit("function foo() {\n  const x = 1;\n}", "\nconst x = 1;\n", "  const x = 2;"),
    "function foo() {\n  const x = 2;\n}",
  );
  assertEquals(edit("{\n  a\n}\n", "\n\na\n", "\nb\n"), "{\n  b\n}\n");
  assertEquals(edit("a\nb\nc\n", "\n\nb\n\n", ""), "a\nc\n");
});

Deno.test("applyEdit puts new lines on separate lines after a last line without a line end", () => {
  assertEquals(edit("  a\n  b", "a\nb\n", "a\nb\nc\n"), "  a\n  b\n  c");
  assertEquals(edit("  a\r\n  b", "a\nb\n", "a\nb\nc\n"), "  a\r\n  b\r\n  c");
});

Deno.test("applyEdit takes changed characters from the new text and quotes from the file", () => {
  assertEquals(edit("break—here\n", "break-here", "break--here"), "break--here\n");
  assertEquals(edit("a—b\n", "a-b", "a->b"), "a->b\n");
  assertEquals(edit("wait…\n", "wait...", "wait...."), "wait....\n");
  assertEquals(edit("“a”—b\n", '"a"-b', '"a"--b'), "“a”--b\n");
  assertEquals(edit("f（“a”）\n", 'f("a")', 'f("a");'), "f（“a”）;\n");
});

Deno.test("applyEdit does not match inside a character of the file", () => {
  assert(edit("wait…\n", "wait.", "x").startsWith("!"));
  assertEquals(edit("a – x\u0301b\n", "a - x\u0301b", "a - x\u0301c"), "a – x\u0301c\n");
});

Deno.test("applyEdit removes the indentation with the first of several lines", () => {
  assertEquals(edit("    if (x) {\n      b();\n", "if (x) {\n      b();", "      b();"), "      b();\n");
});

Deno.test("applyEdit pairs changed lines with the most similar removed lines", () => {
  assertEquals(
    edit("first\nit’s “one”\nlast\n", 'first\nit\'s "one"\nlast', 'it\'s "two"\nlast'),
    "it’s “two”\nlast\n",
  );
});
