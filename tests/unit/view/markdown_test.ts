import { displayWidth } from "../../../src/util/display_width.ts";
import { loadMarkdown, MarkdownBlocks, palette } from "../../../src/view/mod.ts";
import { spansOf } from "../../../scripts/terminal/spans.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const plain = await loadMarkdown(palette(false));

Deno.test("a table of wide characters keeps its borders at 40 columns", () => {
  const lines = plain("| 文件 | 说明 |\n| - | - |\n| a.md | 这一格的文字比较长，需要换行显示才放得下 |", 40);
  assertEquals(new Set(lines.map(displayWidth)), new Set([40]));
  assert(lines.length > 5, "the long cell takes several lines");
});

Deno.test("lines of code stay whole, with the characters they had", () => {
  const code = 'const a = "11"; // $& \\1 `x` 宽字符 and a line that is much wider than the terminal';
  const lines = plain(`Text\n\n\`\`\`ts\n${code}\n\n  return;\n\`\`\``, 30);
  assert(lines.includes(`  ${code}`), lines.join("\n"));
  assert(lines.includes("    return;"));
});

Deno.test("without colours Markdown has no escape sequence, with them each line ends what it began", async () => {
  const text =
    "# Head\n\n*a* **b** `c` ~~d~~ [link](https://example.org)\n\n> quote\n\n- item\n\n```\ncode\n```";
  // deno-lint-ignore no-control-regex
  assert(!/\x1b\[\d/.test(plain(text, 40).join("\n")));
  for (const line of (await loadMarkdown(palette(true)))(text, 40)) {
    const [after] = spansOf(`${line}\nnext`)[1] ?? [];
    assertEquals(Object.values(after?.style ?? {}).filter(Boolean), [], JSON.stringify(line));
  }
});

Deno.test("MarkdownBlocks gives the same blocks whatever the pieces are", () => {
  const text = "One\ntwo\n\n- a\n\n- b\n\n```\nx\n\ny\n```\n\n| a |\n| - |\n| 1 |\n\nend";
  const whole = ["One\ntwo", "- a\n\n- b", "```\nx\n\ny\n```", "| a |\n| - |\n| 1 |", "end"];
  for (const size of [1, 2, 3, 5, 8, 99]) {
    const blocks = new MarkdownBlocks();
    const got: string[] = [];
    for (let at = 0; at < text.length; at += size) got.push(...blocks.push(text.slice(at, at + size)));
    got.push(blocks.end());
    assertEquals(
      got.filter((block) => block !== "").map((block) => block.trim()),
      whole,
      `pieces of ${size}`,
    );
  }
});
