import { attachments, userText } from "../../../src/util/user_text.ts";
import { assertEquals } from "../../support/assert.ts";

Deno.test("userText omits text before the user's text", () => {
  assertEquals(userText("just this"), "just this");
  const blocks = '<file path="a.ts">\nlet a;\n</file>\n\n<stdin>\npiped\n</stdin>\n\n';
  assertEquals(userText(`${blocks}look at @a.ts\n\nand say why`), "look at @a.ts\n\nand say why");
});

Deno.test("attachments lists the attachments before the user's text, and nothing inside it", () => {
  const before = '<file path="a.ts" lines="1-2">\nx\n</file>\n\n<dir path="src">\n</dir>\n\n' +
    "<stdin>\n<file>\n</stdin>\n\n";
  assertEquals(attachments(`${before}explain`), ["a.ts:1-2", "src", "standard input"]);
  const plan = '<plan by="deep/deep-1">\n1. x\n</plan>\n\n';
  assertEquals([attachments(`${before}${plan}go`).at(-1), userText(`${plan}go`)], [
    "plan of deep/deep-1",
    "go",
  ]);
  assertEquals(attachments('see <file path="b"> </file>\n\n'), []);
  assertEquals(attachments(""), []);
});
