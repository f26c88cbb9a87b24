import { generatedPages } from "../../../scripts/gen_tables.ts";
import { assertEquals } from "../../support/assert.ts";

for (const { path, current, wanted } of generatedPages()) {
  Deno.test(`${path} holds the tables that scripts/gen_tables.ts makes of the program's own`, () => {
    assertEquals(current, wanted, "run `deno task gen`");
  });
}
