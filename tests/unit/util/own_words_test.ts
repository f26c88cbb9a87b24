import { ownWords } from "../../../src/util/own_words.ts";
import { assertEquals } from "../../support/assert.ts";

Deno.test("ownWords leaves out what stands before the user's words", () => {
  assertEquals(ownWords("just this"), "just this");
  const blocks = '<file path="a.ts">\nlet a;\n</file>\n\n<stdin>\npiped\n</stdin>\n\n';
  assertEquals(ownWords(`${blocks}look at @a.ts\n\nand say why`), "look at @a.ts\n\nand say why");
});
