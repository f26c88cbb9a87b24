import { loadServerEdits } from "../../../src/config/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

Deno.test("trust in a read-only tool is added to its server, with everything else as it was", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/config.toml`;
  const text =
    '# mine\n[[plugins]]\nname = "a" # first\ncommand = "x"\n\n[[plugins]]\nname = "b"\ncommand = "y"\n';
  await Deno.writeTextFile(path, text);
  const { trustReadOnlyTool } = await loadServerEdits();
  assertEquals(await trustReadOnlyTool(path, "b", "read"), true);
  assertEquals(await trustReadOnlyTool(path, "b", "list 世界"), true);
  assertEquals(await trustReadOnlyTool(path, "b", "read"), true);
  const after = await Deno.readTextFile(path);
  assertEquals(after.startsWith(text.trimEnd()), true, after);
  assertEquals(/trusted_read_only_tools = \[ ?"read", "list 世界" ?\]/.test(after), true, after);
  assertEquals(await trustReadOnlyTool(path, "c", "read"), false);
  assertEquals(await Deno.readTextFile(path), after);
});
