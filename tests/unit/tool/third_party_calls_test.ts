import type { PreparedCall } from "../../../src/core/mod.ts";
import { BUILTINS, ToolRegistry } from "../../../src/tool/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";

const REGISTRY = new ToolRegistry(BUILTINS);

async function prepared(name: string, args: unknown): Promise<PreparedCall | string> {
  return await REGISTRY.prepare({ id: "1", name, arguments: JSON.stringify(args) });
}

async function seen(name: string, args: unknown): Promise<unknown> {
  const call = await prepared(name, args);
  return typeof call === "string" ? call : [call.tool, call.args];
}

/** The result of the tool behind a call in a directory. */
async function answer(dir: string, name: string, args: unknown): Promise<string> {
  const call = await prepared(name, args);
  assert(typeof call !== "string", String(call));
  const result = await REGISTRY.get(call.tool)?.execute(call.args, makeToolContext(dir));
  return result?.content ?? "";
}

const EDITED = { path: "a", old_string: "x", new_string: "y" };

Deno.test("ToolRegistry maps tool names of other agents to its own tools", async () => {
  const cases: readonly (readonly [string, unknown, unknown])[] = [
    ["edit", { file_path: "a", oldText: "x", newText: "y" }, ["edit_file", EDITED]],
    ["Edit", { file_path: "a", old_string: "x", new_string: "y" }, ["edit_file", EDITED]],
    ["replace", { file_path: "a", old_string: "x", new_string: "y", expected_replacements: 1 }, [
      "edit_file",
      EDITED,
    ]],
    ["str_replace", { path: "a", old_str: "x", new_str: "y" }, ["edit_file", EDITED]],
    ["Read", { file_path: "a" }, ["read_file", { path: "a" }]],
    ["Write", { file_path: "a", content: "x" }, ["write_file", { path: "a", content: "x" }]],
    ["Bash", { command: "ls", description: "List" }, ["bash", { command: "ls" }]],
    ["shell", { command: ["bash", "-lc", "echo 'a b' | cat"] }, ["bash", { command: "echo 'a b' | cat" }]],
    ["shell", { command: ["echo", "it's"] }, ["bash", { command: "echo 'it'\\''s'" }]],
    ["Grep", { pattern: "x", type: "ts", head_limit: 0 }, ["grep", {
      pattern: "x",
      include: "*.{ts,tsx,mts,cts}",
      limit: 100_000,
    }]],
    ["Glob", { pattern: "*.ts", case_sensitive: false }, ["glob", {
      pattern: "*.ts",
      case_sensitive: false,
    }]],
    ["MultiEdit", { file_path: "a", edits: [{ oldText: "x", newText: "y" }] }, ["multi_edit", {
      path: "a",
      edits: [{ old_string: "x", new_string: "y" }],
    }]],
    ["apply_patch", { patchText: "p" }, ["apply_patch", { patch: "p" }]],
  ];
  for (const [name, given, expected] of cases) assertEquals(await seen(name, given), expected, name);
  assertStringIncludes(String(await prepared("launch", {})), 'Unknown tool "launch"');
});

Deno.test("ToolRegistry maps each command of str_replace_editor", async () => {
  const name = "str_replace_editor";
  assertEquals(await seen(name, { command: "view", path: "a", view_range: [3, 5] }), ["read_file", {
    path: "a",
    offset: 3,
    limit: 3,
  }]);
  assertEquals(await seen(name, { command: "create", path: "a", file_text: "x" }), ["write_file", {
    path: "a",
    content: "x",
  }]);
  assertEquals(await seen(name, { command: "str_replace", path: "a", old_str: "x" }), ["edit_file", {
    path: "a",
    old_string: "x",
    new_string: "",
  }]);
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a b.txt`, "1\n2\n3\n");
  const put = { command: "insert", path: "a b.txt", insert_line: 2, new_str: "x\ny\n" };
  assertStringIncludes(await answer(dir.path, name, put), "updated a b.txt");
  assertEquals(await Deno.readTextFile(`${dir.path}/a b.txt`), "1\n2\nx\ny\n3\n");
  assertStringIncludes(String(await prepared(name, { command: "undo_edit", path: "a" })), "Unknown tool");
});

Deno.test("ToolRegistry treats a command that only calls apply_patch as that tool", async () => {
  const patch = "*** Begin Patch\n*** Add File: docs/x.md\n+x\n*** End Patch";
  for (
    const args of [
      { command: `apply_patch <<'EOF'\n${patch}\nEOF` },
      { command: `apply_patch << "PATCH"\n${patch}\nPATCH\n` },
      { command: ["apply_patch", patch] },
      { cmd: `apply_patch <<EOF\n${patch}\nEOF` },
    ]
  ) {
    const call = await prepared("bash", args);
    assert(typeof call !== "string");
    assertEquals([call.tool, call.family, call.writes], ["apply_patch", "Edit", ["docs/x.md"]]);
  }
  const more = await prepared("bash", { command: `apply_patch <<'EOF'\n${patch}\nEOF\nrm x` });
  assertEquals(typeof more === "string" ? more : more.tool, "bash");
});

Deno.test("ToolRegistry prefers a tool's own names and arguments to an alias", async () => {
  const registry = new ToolRegistry(BUILTINS, [], {
    alias: { edit: { tool: "write_file", args: { body: "content" } } },
  });
  const call = await registry.prepare({ id: "1", name: "edit", arguments: '{"path":"a","body":"x"}' });
  assertEquals(typeof call === "string" ? call : [call.tool, call.args], ["write_file", {
    path: "a",
    content: "x",
  }]);
});

Deno.test("read_file accepts a line range and a number of lines from the end", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a`, "1\n2\n3\n4\n5\n");
  assertStringIncludes(
    await answer(dir.path, "read_file", { path: "a", start_line: 2, end_line: 3 }),
    "   2→2\n   3→3\n[",
  );
  assertEquals(await answer(dir.path, "read_file", { path: "a", offset: -2 }), "   4→4\n   5→5\n".trimEnd());
  assertStringIncludes(await answer(dir.path, "read_file", { path: "a", offset: -9 }), "   1→1\n");
});

Deno.test("grep supports a type, an offset and a line end before CR", async () => {
  await using dir = await makeTempDir();
  await Deno.writeTextFile(`${dir.path}/a.ts`, "one\r\ntwo\r\none more\r\n");
  await Deno.writeTextFile(`${dir.path}/a.py`, "one\n");
  assertEquals(await answer(dir.path, "grep", { pattern: "one$", type: "ts" }), "a.ts:1:one");
  assertEquals(
    await answer(dir.path, "grep", { pattern: "one", offset: 1, include_pattern: "*.ts" }),
    "a.ts:3:one more",
  );
  assertEquals(await answer(dir.path, "grep", { pattern: "o.e", fixed_strings: true }), "No matches");
  assertStringIncludes(
    String(await prepared("grep", { pattern: "x", type: "klingon" })),
    "type is not an argument",
  );
});

Deno.test("glob matches names of route groups literally, and patterns as before", async () => {
  await using dir = await makeTempDir();
  const files = [
    "(dashboard)/page.tsx",
    "[...slug]/page.tsx",
    "[id]/x.ts",
    "@modal/x.ts",
    "ab/x.ts",
    "Up/X.TS",
  ];
  for (const file of files) {
    await Deno.mkdir(`${dir.path}/${file.slice(0, file.indexOf("/"))}`, { recursive: true });
    await Deno.writeTextFile(`${dir.path}/${file}`, "");
  }
  const found = async (pattern: string, more = {}) =>
    (await answer(dir.path, "glob", { pattern, ...more })).split("\n").sort();
  assertEquals(await found("(dashboard)/page.tsx"), ["(dashboard)/page.tsx"]);
  assertEquals(await found("**/(dashboard)/**"), ["(dashboard)/page.tsx"]);
  assertEquals(await found("[...slug]/page.tsx"), ["[...slug]/page.tsx"]);
  assertEquals(await found("[id]/x.ts"), ["[id]/x.ts"]);
  assertEquals(await found("@modal/*"), ["@modal/x.ts"]);
  assertEquals(await found("(ab|cd)/x.ts"), ["ab/x.ts"]);
  assertEquals(await found("a[b]/*"), ["ab/x.ts"]);
  assertEquals(await found("up/x.ts", { case_sensitive: false }), ["Up/X.TS"]);
  assertStringIncludes(
    await answer(dir.path, "grep", { pattern: "^", include: "**/(dashboard)/**" }),
    "No matches",
  );
});
