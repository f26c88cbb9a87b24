import { assertEquals } from "../../support/assert.ts";
import { nearNames } from "../../../src/util/near_names.ts";

Deno.test("nearNames puts the most likely name first and leaves strangers out", () => {
  const known = ["read_file", "write_file", "grep", "glob", "bash"];
  assertEquals(nearNames("readfile", known), ["read_file"]);
  assertEquals(nearNames("gerp", known), ["grep"]);
  assertEquals(nearNames("READ_FILE", known)[0], "read_file");
  assertEquals(nearNames("file", known, 2), ["read_file", "write_file"]);
  assertEquals(nearNames("kubernetes", known), []);
});
