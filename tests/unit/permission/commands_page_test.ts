import { generatedPages } from "../../../scripts/gen_tables.ts";
import { assertEquals } from "../../support/assert.ts";

for (const { path, current, wanted } of generatedPages()) {
  Deno.test(`${path} has the tables that scripts/gen_tables.ts generates from the program`, () => {
    assertEquals(current, wanted, "run `deno task gen`");
  });
}
