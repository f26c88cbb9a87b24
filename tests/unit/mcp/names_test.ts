import fc from "fast-check";
import { toolName } from "../../../src/mcp/server_spec.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";

Deno.test("toolName joins server and tool names and replaces blanks with _", () => {
  assertEquals(toolName("github", "create_issue"), "mcp__github__create_issue");
  assertEquals(toolName("my server", "echo it"), "mcp__my_server__echo_it");
});

Deno.test("toolName distinguishes names that are equal after sanitizing", () => {
  const names = [toolName("s", "über"), toolName("s", "öber"), toolName("s", "_ber"), toolName("s", "工具")];
  assertEquals(new Set(names).size, 4);
  for (const name of names) assert(/^[A-Za-z0-9_-]{1,64}$/.test(name), name);
});

Deno.test("toolName returns a different name when the first is taken", () => {
  const first = toolName("a__b", "c");
  const second = toolName("a", "b__c", new Set([first]));
  assert(first !== second && second.startsWith("mcp__a__b__c_"), second);
});

Deno.test("toolName returns valid and stable names for any input", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (server, tool) => {
      const name = toolName(server, tool);
      assert(/^mcp__[A-Za-z0-9_-]{1,59}$/.test(name), name);
      assertEquals(toolName(server, tool), name);
    }),
    { seed: SEED },
  );
});

Deno.test("toolName distinguishes long names by a hash suffix", () => {
  const long = "x".repeat(80);
  const [one, two] = [toolName("server", `${long}1`), toolName("server", `${long}2`)];
  assert(one.length === 64 && two.length === 64 && one !== two);
});
