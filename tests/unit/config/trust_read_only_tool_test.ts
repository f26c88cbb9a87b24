import { loadServerEdits } from "../../../src/config/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

Deno.test("trust in a read-only tool is added to its server without other changes", async () => {
  await using dir = await makeTempDir();
  const path = `${dir.path}/config.toml`;
  const text =
    '# mine\n[[plugins]]\nname = "a" # first\ncommand = "x"\n\n[[plugins]]\nname = "b"\ncommand = "y"\n';
  await Deno.writeTextFile(path, text);
  const { setTrustedTools } = await loadServerEdits();
  const set = (server: string, trusted: boolean, ...tools: string[]) =>
    setTrustedTools(path, server, { tools, trusted });
  assertEquals(await set("b", true, "read"), true);
  assertEquals(await set("b", true, "list 世界"), true);
  assertEquals(await set("b", true, "read"), true);
  const after = await Deno.readTextFile(path);
  assertEquals(after.startsWith(text.trimEnd()), true, after);
  assertEquals(/trusted_read_only_tools = \[ ?"read", "list 世界" ?\]/.test(after), true, after);
  assertEquals(await set("c", true, "read"), false);
  assertEquals(await Deno.readTextFile(path), after);
  assertEquals(await set("b", false, "read", "other"), true);
  assertEquals(/trusted_read_only_tools = \[ ?"list 世界" ?\]/.test(await Deno.readTextFile(path)), true);
  assertEquals(await set("b", false, "list 世界"), true);
  assertEquals(await Deno.readTextFile(path), text);
});
