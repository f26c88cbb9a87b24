import { userText } from "../../../src/util/user_text.ts";
import { assertEquals } from "../../support/assert.ts";

Deno.test("userText leaves out what stands before the user's words", () => {
  assertEquals(userText("just this"), "just this");
  const blocks = '<file path="a.ts">\nlet a;\n</file>\n\n<stdin>\npiped\n</stdin>\n\n';
  assertEquals(userText(`${blocks}look at @a.ts\n\nand say why`), "look at @a.ts\n\nand say why");
});
