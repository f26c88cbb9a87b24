import { chatCommandsPage, commandsPage } from "../../../scripts/gen_commands.ts";
import { assertEquals } from "../../support/assert.ts";

Deno.test("docs/commands.md equals the output of gen_commands", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/commands.md", import.meta.url));
  assertEquals(page, await commandsPage(), "run `deno run -A scripts/gen_commands.ts`");
});

Deno.test("docs/commands-chat.md lists all slash commands", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/commands-chat.md", import.meta.url));
  assertEquals(page, await chatCommandsPage(page), "run `deno run -A scripts/gen_commands.ts`");
});
