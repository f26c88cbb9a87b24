import { displayWidth } from "../../../src/util/display_width.ts";
import { type Block, loadMarkdown, MarkdownBlocks, palette } from "../../../src/view/mod.ts";
import { spansOf } from "../../../scripts/terminal/spans.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const renderer = await loadMarkdown({ palette: palette(false), links: false });
const plain = (text: string, columns: number) => renderer.render(text, columns);
const coloured = await loadMarkdown({ palette: palette(true), links: false });

Deno.test("a table of wide characters keeps its borders at 40 columns", () => {
  const lines = plain("| 文件 | 说明 |\n| - | - |\n| a.md | 这一格的文字比较长，需要换行显示才放得下 |", 40);
  assertEquals(new Set(lines.map(displayWidth)), new Set([40]));
  assert(lines.length > 5, "the long cell takes several lines");
});

Deno.test("lines of code stay whole and unchanged", () => {
  const code = 'const a = "11"; // $& \\1 `x` 宽字符 and a line that is much wider than the terminal';
  const lines = plain(`Text\n\n\`\`\`ts\n${code}\n\n  return;\n\`\`\``, 30);
  assert(lines.includes(`  ${code}`), lines.join("\n"));
  assert(lines.includes("    return;"));
});

Deno.test("Markdown has no escape sequence without colors, and complete ones with colors", () => {
  const text =
    "# Head\n\n*a* **b** `c` ~~d~~ [link](https://example.org)\n\n> quote\n\n- item\n\n```\ncode\n```";
  // deno-lint-ignore no-control-regex
  assert(!/\x1b\[\d/.test(plain(text, 40).join("\n")));
  for (const line of coloured.render(text, 40)) {
    const [after] = spansOf(`${line}\nnext`)[1] ?? [];
    assertEquals(Object.values(after?.style ?? {}).filter(Boolean), [], JSON.stringify(line));
  }
});

Deno.test("a block of punctuation is shown unchanged, quickly", () => {
  for (const sign of ["*", "_", "A_", "![a](", "\\", "1. ", "- "]) {
    const text = `${sign.repeat(100_000)}x`;
    const start = performance.now();
    const lines = plain(text, 80);
    assert(performance.now() - start < 5000, sign);
    assertEquals(lines.join("").replaceAll(" ", ""), text.replaceAll(" ", ""));
  }
  assertEquals(plain(`${"word *bold* ".repeat(100)}`, 2000).length, 1);
});

function blocksOf(text: string, size = text.length): Block[] {
  const blocks = new MarkdownBlocks();
  const got: Block[] = [];
  for (let at = 0; at < text.length; at += size) got.push(...blocks.push(text.slice(at, at + size)));
  const rest = blocks.end();
  return rest ? [...got, rest] : got;
}

Deno.test("MarkdownBlocks returns the same blocks for any chunks", () => {
  const text = "One\ntwo\n\n- a\n\n- b\n\n```\nx\n\ny\n```\n\n| a |\n| - |\n| 1 |\n\nend\n# Head\nText:\n" +
    "~~~ts\nx\n```\n~~~\n1. a\n   ```\n   b\n   ```\n\n   c\n2. d\n\nlast";
  const whole = [
    "One\ntwo",
    "- a\n\n- b",
    "```\nx\n\ny\n```",
    "| a |\n| - |\n| 1 |",
    "end",
    "# Head",
    "Text:",
    "~~~ts\nx\n```\n~~~",
    "1. a\n   ```\n   b\n   ```\n\n   c\n2. d",
    "last",
  ];
  for (const size of [1, 2, 3, 5, 8, 999]) {
    assertEquals(blocksOf(text, size).map(({ source }) => source), whole, `pieces of ${size}`);
  }
});

Deno.test("MarkdownBlocks recognizes fenced code, its language and its lines while they arrive", () => {
  assertEquals(blocksOf("```ts x\na\n\nb\n```\nend").map(({ code }) => code), [
    { info: "ts x", lines: ["a", "", "b"] },
    undefined,
  ]);
  const blocks = new MarkdownBlocks();
  const shown: unknown[] = [];
  for (const piece of ["``", "`ts\n", "a\nb", "\n`", "``"]) {
    blocks.push(piece);
    shown.push(blocks.open?.code?.lines);
  }
  assertEquals(shown, [undefined, [], ["a", "b"], ["a", "b"], ["a", "b"]]);
  assertEquals(blocks.end()?.code, { info: "ts", lines: ["a", "b"] });
});

Deno.test("MarkdownBlocks ends a block without a blank line before fenced code and headings", () => {
  const sources = (text: string) => blocksOf(text).map(({ source }) => source);
  assertEquals(sources("Look:\n```\nx\n```\nand\n## On\ntext"), [
    "Look:",
    "```\nx\n```",
    "and",
    "## On",
    "text",
  ]);
  assertEquals(sources("- a\n  ```\n  # no heading\n  ```\n- b"), ["- a\n  ```\n  # no heading\n  ```\n- b"]);
  assertEquals(sources("a `` b\n``` inline ``` code\nc"), ["a `` b\n``` inline ``` code\nc"]);
});

Deno.test("MarkdownBlocks emits finished items of a long list, and no parts of other blocks", () => {
  const blocks = new MarkdownBlocks();
  blocks.push("1. a\n2. b\n   more\n3. c\n   - d\n   - e");
  assertEquals(blocks.takeItems(9), undefined);
  assertEquals(blocks.takeItems(2)?.source, "1. a\n2. b\n   more");
  assertEquals(blocks.takeItems(0), undefined);
  assertEquals(blocks.end(), { source: "3. c\n   - d\n   - e", follows: true });
  blocks.push("a\nb\nc\nd\n");
  assertEquals(blocks.takeItems(1), undefined);
});

Deno.test("code is highlighted after its language is loaded, with complete sequences on each line", async () => {
  const code = "/* a\nb */ const x = `1\n2` // <&>\"'";
  const source = `\`\`\`ts\n${code}\n\`\`\``;
  assertEquals(coloured.prepare("text `x` only"), undefined);
  await coloured.prepare(source);
  assertEquals(coloured.prepare(source), undefined);
  const lines = coloured.code(code, "ts title=a");
  // deno-lint-ignore no-control-regex
  assertEquals(lines.join("\n").replace(/\x1b\[[0-9;]*m/g, ""), code);
  assertEquals(lines[0], "\x1b[2m/* a\x1b[22m");
  assert(lines[1]?.startsWith("\x1b[2mb */\x1b[22m \x1b[35mconst\x1b[39m"), lines[1]);
  assertEquals(coloured.code("a\nb", "no-such-language"), ["\x1b[36ma\x1b[39m", "\x1b[36mb\x1b[39m"]);
});

Deno.test("links are limited to web addresses and files if the terminal shows links, else written out", async () => {
  const text = "[a](https://example.org) [b](javascript:x) [c](mailto:a@b.c) [d](file:///x)";
  assertEquals(plain(text, 99), ["a (https://example.org) b (javascript:x) c (mailto:a@b.c) d (file:///x)"]);
  const linked = await loadMarkdown({ palette: palette(false), links: true });
  const link = (label: string, to: string) => `\x1b]8;;${to}\x1b\\${label}\x1b]8;;\x1b\\`;
  const shown = [link("a", "https://example.org"), "b", link("c", "mailto:a@b.c"), link("d", "file:///x")];
  assertEquals(linked.render(text, 99), [shown.join(" ")]);
  await loadMarkdown({ palette: palette(false), links: false });
});
