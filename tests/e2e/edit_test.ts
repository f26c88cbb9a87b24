import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

function call(name: string, args: unknown) {
  return { calls: [{ name, args: args as Record<string, unknown> }] };
}

Deno.test("run applies edits of a model that uses the names and quoting of other agents", async () => {
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

Deno.test("edits keep the original indentation when the model quotes other whitespace", async () => {
  const blanks = {
    ideographic: ["\u3000\u3000", "    "],
    fixed: ["\u00a0".repeat(4), "    "],
    mixed: ["\t\u00a0", "\t "],
  } as const;
  for (const [name, [blank, lead]] of Object.entries(blanks)) {
    const lines = (timeout: number) => `${lead}timeout: ${timeout}\n${lead}retries: 2`;
    const quoted = { old_string: lines(1), new_string: lines(30) };
    const hunk = `@@\n-${lead}timeout: 1\n+${lead}timeout: 30\n ${lead}retries: 2\n`;
    const patch = (file: string) => `*** Begin Patch\n*** Update File: ${file}\n${hunk}*** End Patch`;
    const files = ["edited", "multi", "patched"].map((how) => `${name}_${how}.yaml`);
    const [edited = "", multi = "", patched = ""] = files;
    await using server = startModelServer([
      { calls: files.map((path) => ({ name: "read_file", args: { path } })) },
      call("edit_file", { path: edited, ...quoted }),
      call("multi_edit", { path: multi, edits: [quoted] }),
      call("apply_patch", { patch: patch(patched) }),
      { text: "Done." },
    ]);
    await using world = await makeWorld(mockConfig(server.url));
    const text = (timeout: number) => `# 段落\n${blank}timeout: ${timeout}\n${blank}retries: 2\n`;
    for (const file of files) await world.write(file, text(1));
    const { code, stderr } = await world.run(["run", "edit"]);
    assertEquals(code, 0, stderr);
    for (const file of files) assertEquals(await world.read(file), text(30), `${file}\n${stderr}`);
  }
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
