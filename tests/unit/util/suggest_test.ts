import { assertEquals } from "../../support/assert.ts";
import { suggestNames } from "../../../src/util/suggest.ts";

Deno.test("nearNames sorts by similarity and omits unrelated names", () => {
  const known = ["read_file", "write_file", "grep", "glob", "bash"];
  assertEquals(suggestNames("readfile", known), ["read_file"]);
  assertEquals(suggestNames("gerp", known), ["grep"]);
  assertEquals(suggestNames("READ_FILE", known)[0], "read_file");
  assertEquals(suggestNames("file", known, 2), ["read_file", "write_file"]);
  assertEquals(suggestNames("kubernetes", known), []);
});
