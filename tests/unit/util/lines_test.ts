import { linesOf, LineSplitter } from "../../../src/util/lines.ts";
import { assertEquals } from "../../support/assert.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("LineSplitter returns whole lines for any split of the stream, even inside a character", () => {
  const all = bytes("one\nzwei ü\n\nrest");
  for (let cut = 0; cut <= all.length; cut++) {
    const splitter = new LineSplitter();
    const lines = [...splitter.push(all.subarray(0, cut)), ...splitter.push(all.subarray(cut))];
    assertEquals([...lines, splitter.end()], ["one", "zwei ü", "", "rest"]);
  }
});

Deno.test("linesOf omits a last line without a line feed", async () => {
  const lines: string[] = [];
  for await (const line of linesOf(ReadableStream.from([bytes("a\nb"), bytes("\nc")]))) lines.push(line);
  assertEquals(lines, ["a", "b"]);
});
