import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

function call(name: string, args: unknown) {
  return { calls: [{ name, args: args as Record<string, unknown> }] };
}

Deno.test("run lands the edits of a model that quotes and names things as other agents do", async () => {
  await using server = startModelServer([
    call("Read", { file_path: "a.ts" }),
    call("Edit", { file_path: "a.ts", oldText: 'say("hi") - now;', newText: '  say("ho") - now;' }),
    call("shell", {
      command: [
        "bash",
        "-lc",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: b.ts\n+x\n*** End Patch\nEOF",
      ],
    }),
    { text: "Done." },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.ts", "f() {\r\n  say(“hi”) – now;\r\n}\r\n");
  const { code, stderr } = await world.run(["run", "edit"]);
  assertEquals([code, await world.read("a.ts")], [0, "f() {\r\n  say(“ho”) – now;\r\n}\r\n"], stderr);
  assertEquals(await world.read("b.ts"), "x\n");
});

Deno.test("run judges apply_patch in a command by the rules for edits", async () => {
  const patch = "*** Begin Patch\n*** Add File: docs/x.md\n+x\n*** End Patch";
  await using server = startModelServer([
    call("bash", { command: `apply_patch <<'EOF'\n${patch}\nEOF` }),
    { text: "Done." },
  ]);
  await using world = await makeWorld(mockConfig(server.url, '[permissions]\ndeny = ["Edit(docs/**)"]\n'));
  const { stderr } = await world.run(["run", "edit"]);
  assertStringIncludes(stderr, "Edit(docs/**)");
  await world.read("docs/x.md").then(() => assertEquals("written", "refused"), () => {});
});
