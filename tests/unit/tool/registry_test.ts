import type { PreparedCall } from "../../../src/core/mod.ts";
import { checkArguments } from "../../../src/tool/arguments.ts";
import { APPLY_PATCH } from "../../../src/tool/builtin/apply_patch/tool.ts";
import { GREP } from "../../../src/tool/builtin/grep/tool.ts";
import { MOVE_FILE } from "../../../src/tool/builtin/move_file/tool.ts";
import { READ_FILE } from "../../../src/tool/builtin/read_file/tool.ts";
import { FILE_WRITERS } from "../../../src/tool/file_writers.ts";
import { BUILTINS, type Tool, ToolRegistry, type ToolSelection } from "../../../src/tool/mod.ts";
import { cutLine, keepEnds, keepHead, keepTail, spillPath } from "../../../src/tool/truncation.ts";
import { byteLength } from "../../../src/util/bytes.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../support/tool_context.ts";

function prepare(registry: ToolRegistry, name: string, args: string) {
  return registry.prepare({ id: "1", name, arguments: args });
}

function names(selection: ToolSelection): string[] {
  return new ToolRegistry(BUILTINS, [], selection).schemas().map((schema) => schema.name);
}

Deno.test("ToolRegistry lists the default tools in stable order and bytes", () => {
  const usual = BUILTINS.filter((tool) => !tool.optional && !tool.late).map((tool) => tool.name);
  assertEquals(names({}), usual);
  assertEquals(
    JSON.stringify(new ToolRegistry(BUILTINS).schemas()),
    JSON.stringify(new ToolRegistry(BUILTINS).schemas()),
  );
});

Deno.test("ToolRegistry adds late tools at the end when they are needed, and at once when named", () => {
  const registry = new ToolRegistry(BUILTINS, [{ ...READ_FILE, name: "mcp__x__y" }]);
  const before = registry.schemas();
  assert(registry.get("jobs") !== undefined);
  registry.offerLate();
  const late = BUILTINS.filter((tool) => tool.late).map((tool) => tool.name);
  assert(late.length > 0);
  assertEquals(registry.schemas().map(({ name }) => name), [...before.map(({ name }) => name), ...late]);
  assertEquals(names({ enabled: ["jobs", "read_file"] }), ["read_file", "jobs"]);
});

Deno.test("ToolRegistry offers exactly the selected tools", () => {
  assertEquals(names({ enabled: ["edit_file", "read_file"] }), ["read_file", "edit_file"]);
  assert(names({ enabled: ["*", "skill"] }).includes("skill"));
  assert(!names({ disabled: ["write_file"] }).includes("write_file"));
  assertEquals(new ToolRegistry(BUILTINS, [], { enabled: ["read_fle"] }).unknown, ["read_fle"]);
  // A formerly built-in tool: its name in a configuration is harmless.
  const old = new ToolRegistry(BUILTINS, [], { enabled: ["*", "delete_symbol"] });
  assertEquals([old.unknown, old.schemas().length > 10], [["delete_symbol"], true]);
});

Deno.test("ToolRegistry adds further tools after the built-in ones for any selection", () => {
  const extra = { ...READ_FILE, name: "mcp__x__y" };
  const registry = new ToolRegistry(BUILTINS, [extra], { enabled: ["read_file"] });
  assertEquals(registry.schemas().map((schema) => schema.name), ["read_file", "mcp__x__y"]);
});

Deno.test("ToolRegistry offers an alias with the argument names of the alias", () => {
  const registry = new ToolRegistry(BUILTINS, [], {
    enabled: ["read_file"],
    alias: { view: { tool: "read_file", args: { file: "path", start: "offset" } } },
  });
  const schema = registry.schemas()[0];
  assertEquals(schema?.name, "view");
  assertEquals(Object.keys(schema?.parameters.properties as object), ["file", "start", "limit"]);
  assertEquals(schema?.parameters.required, ["file"]);
  // What a plugin brings may come later.
  const alias = { say: { tool: "mcp__s__echo" }, view: { tool: "read_fil" } };
  assertEquals(new ToolRegistry(BUILTINS, [], { alias }).unknown, ["read_fil"]);
  const call = prepare(registry, "view", '{"file":"a.ts","start":"3"}') as PreparedCall;
  assertEquals([call.tool, call.args], ["read_file", { path: "a.ts", offset: 3 }]);
  const mixed = prepare(registry, "view", '{"path":"a.ts","start":0,"limit":2}') as PreparedCall;
  assertEquals(mixed.args, { path: "a.ts", limit: 2 });
  assertEquals(
    prepare(registry, "view", '{"strat":3}'),
    "Invalid arguments for view: file is required (a string); strat is not an argument; did you mean start? " +
      "(known: file, start, limit)",
  );
  const own = prepare(registry, "read_file", '{"path":"a.ts"}') as PreparedCall;
  assertEquals(own.args, { path: "a.ts" });
});

Deno.test("ToolRegistry accepts exactly the parameters of an alias, also under the tool's own name", () => {
  const registry = new ToolRegistry(BUILTINS, [], {
    enabled: ["read_file", "grep", "bash"],
    alias: {
      read_file: {
        tool: "read_file",
        args: { file_path: "path" },
        parameters: ["file_path", "offset?", "limit", "nosuch?"],
        description: "Reads.",
      },
      find: { tool: "grep", parameters: ["path?"] },
      shell: { tool: "bash", parameters: ["command", "max_output_chars?"] },
    },
  });
  const [read, grep, shell] = registry.schemas();
  const declared = ({ parameters: { properties, required } }: NonNullable<typeof read>) => [
    Object.keys(properties as object),
    required,
  ];
  assertEquals(read && [read.name, read.description, ...declared(read)], [
    "read_file",
    "Reads.",
    ["file_path", "offset", "limit"],
    ["file_path", "limit"],
  ]);
  // What the tool cannot do without stays.
  assertEquals(grep && declared(grep), [["pattern", "path"], ["pattern"]]);
  assertEquals(shell && declared(shell), [["command", "max_output_chars"], ["command"]]);
  assertEquals(registry.unknownParameters, [{ alias: "read_file", parameter: "nosuch" }]);
  const wrong: readonly [string, Record<string, unknown>, string][] = [
    ["read_file", { file_path: "a", limit: 0 }, "limit must be at least 1, got 0"],
    ["read_file", { file_path: "a", limit: 2, offset: -1 }, "offset must be at least 1, got -1"],
    [
      "read_file",
      { file_path: "a", limit: 2, last: 3 },
      "last is not an argument (known: file_path, offset, limit)",
    ],
    ["read_file", { file_path: "a" }, "limit is required (an integer)"],
    ["find", { pattern: "x", context: 2 }, "context is not an argument (known: pattern, path)"],
  ];
  for (const [name, args, problem] of wrong) {
    assertEquals(prepare(registry, name, JSON.stringify(args)), `Invalid arguments for ${name}: ${problem}`);
  }
  const call = prepare(registry, "read_file", '{"path":"a.ts","limit":"2"}') as PreparedCall;
  assertEquals(call.args, { path: "a.ts", limit: 2 });
});

Deno.test("ToolRegistry accepts argument names of other agents", () => {
  const registry = new ToolRegistry(BUILTINS);
  const call = prepare(
    registry,
    "edit_file",
    '{"file_path":"a","old_str":"b","newString":"c"}',
  ) as PreparedCall;
  assertEquals(call.args, { path: "a", old_string: "b", new_string: "c" });
});

Deno.test("ToolRegistry adds the facts a tool declares about a call, under any name of the tool", () => {
  const registry = new ToolRegistry(BUILTINS, [], { alias: { shell_command: { tool: "bash", args: {} } } });
  const facts = (name: string, args: unknown) => {
    const { call: _, args: __, title: ___, ...rest } = prepare(
      registry,
      name,
      JSON.stringify(args),
    ) as PreparedCall;
    return rest;
  };
  assertEquals(facts("shell_command", { cmd: "ls", cwd: "sub" }), {
    tool: "bash",
    family: "Bash",
    readOnly: false,
    planSafe: false,
    reads: [],
    subjects: [],
    command: { line: "ls", directory: "sub" },
    runsIn: "main",
  });
  const patch = 'diff --git "a/o\\153.md" b/x.md\ncopy from "o\\153.md"\ncopy to x.md\n';
  const edit = { family: "Edit", readOnly: false, planSafe: false, subjects: [], runsIn: "worker" } as const;
  assertEquals(facts("apply_patch", { input: patch }), {
    tool: "apply_patch",
    ...edit,
    reads: ["ok.md"],
    writes: ["x.md"],
  });
  assertEquals(facts("move_file", { from: "a", to: "b" }), {
    tool: "move_file",
    ...edit,
    reads: ["a"],
    writes: ["a", "b"],
  });
  const read = { family: "Read", readOnly: true, planSafe: true, writes: [], runsIn: "main" } as const;
  assertEquals(facts("glob", { pattern: "{src,docs/a}/*.ts,!x/*" }), {
    tool: "glob",
    ...read,
    reads: ["src", "docs/a"],
    subjects: ["{src,docs/a}/*.ts,!x/*"],
  });
  assertEquals(facts("grep", { pattern: "x" }), { tool: "grep", ...read, reads: ["."], subjects: ["x"] });
});

Deno.test("every built-in tool declares its changes, and tools that change files run in a worker", () => {
  assertEquals(BUILTINS.filter(({ family }) => family === "Edit"), FILE_WRITERS);
  for (const tool of BUILTINS) {
    const edits = tool.family === "Edit";
    assertEquals(tool.runsIn ?? "main", edits ? "worker" : "main", tool.name);
    const known = tool.writes !== undefined || tool.command !== undefined || tool.delegates === true;
    assertEquals(tool.readOnly || known, true, tool.name);
    if (edits || tool.family === "Read") {
      assertEquals(tool.optional || tool.readOnly !== edits, true, tool.name);
    }
    if (tool.family === "Read") assertEquals(tool.reads?.({}) !== undefined, true, tool.name);
  }
});

Deno.test("ToolRegistry knows only the texts of a tool without declarations", () => {
  const tool = {
    name: "mcp__web__fetch",
    description: "",
    schema: { type: "object" },
    readOnly: false,
    execute: () => Promise.resolve({ content: "", summary: "" }),
  };
  const call = prepare(new ToolRegistry([], [tool]), tool.name, '{"url":"u","list":["v",1],"path":"p"}');
  assertEquals(call, {
    call: { id: "1", name: tool.name, arguments: '{"url":"u","list":["v",1],"path":"p"}' },
    tool: tool.name,
    title: "mcp__web__fetch u, v, p",
    args: { url: "u", list: ["v", 1], path: "p" },
    readOnly: false,
    planSafe: false,
    reads: [],
    subjects: ["u", "v", "p"],
    runsIn: "main",
  });
});

Deno.test("ToolRegistry refuses a path with the character that rules use for unknown text", () => {
  const registry = new ToolRegistry(BUILTINS);
  for (const path of ["x\x02/../docs/a.md", "docs\x01", "\x03", "a\x04b", "a\0b"]) {
    for (const args of [{ path, content: "" }, { file_path: path, content: "" }]) {
      assertStringIncludes(
        String(prepare(registry, "write_file", JSON.stringify(args))),
        "a control character",
      );
    }
    const patch = `--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
    assertStringIncludes(
      String(prepare(registry, "apply_patch", JSON.stringify({ patch }))),
      "control character",
    );
  }
});

Deno.test("ToolRegistry suggests similar names for an unknown tool", () => {
  const registry = new ToolRegistry(BUILTINS);
  assertEquals(prepare(registry, "readfile", "{}"), 'Unknown tool "readfile"; did you mean read_file?');
  assertStringIncludes(
    String(prepare(registry, "qqqq", "{}")),
    'Unknown tool "qqqq"; available: read_file, ',
  );
});

Deno.test("ToolRegistry repairs invalid JSON with one reading and explains other errors", async () => {
  const registry = new ToolRegistry(BUILTINS);
  const repaired = await prepare(registry, "read_file", "{'path': 'a.ts', limit: 3,}") as PreparedCall;
  assertEquals(repaired.args, { path: "a.ts", limit: 3 });
  const broken = await prepare(registry, "read_file", '{"path": "a.t');
  assertStringIncludes(String(broken), "Arguments of read_file are not valid JSON");
  assertStringIncludes(String(prepare(registry, "read_file", "")), "path is required (a string)");
});

Deno.test("ToolRegistry resolves an alias unless another tool or a user alias has the name", () => {
  const tool = (name: string, alias: string): Tool => ({
    name,
    alias,
    description: name,
    schema: { type: "object" },
    readOnly: true,
    execute: () => Promise.resolve({ content: "", summary: "" }),
  });
  const registry = new ToolRegistry(BUILTINS, [], {
    enabled: ["ls"],
    alias: { look: { tool: "mcp__a__see" } },
  });
  registry.setPluginTools([
    tool("mcp__a__find", "find"),
    tool("mcp__b__find", "find"),
    tool("mcp__b__read", "read_file"),
    tool("mcp__b__ls", "mcp__a__find"),
    tool("mcp__a__see", "see"),
  ]);
  assertEquals(registry.schemas().map(({ name }) => name), [
    "ls",
    "find",
    "mcp__b__find",
    "mcp__b__read",
    "mcp__b__ls",
    "look",
  ]);
  assertEquals(registry.get("find")?.name, "mcp__a__find");
  registry.setPluginTools([tool("mcp__b__find", "find")]);
  assertEquals(registry.get("find")?.name, "mcp__b__find");
});

Deno.test("a dry run over many files stays within the size limit of a result", async () => {
  await using dir = await makeTempDir();
  const files = Array.from(
    { length: 200 },
    (_, index) => `*** Add File: ${index}.txt\n${"+line\n".repeat(2000)}`,
  );
  const patch = `*** Begin Patch\n${files.join("")}*** End Patch`;
  const context = makeToolContext(dir.path, { settings: { writes: "dry-run" } });
  const result = await APPLY_PATCH.execute({ patch }, context);
  assert(byteLength(result.content) < 41_000);
  assertMatch(result.content, /\[middle cut: \d+ of \d+ bytes/);
  assertEquals([result.truncated?.cut, result.changes?.length], ["middle", 200]);
});

Deno.test("a very long path is refused with a short line", async () => {
  await using dir = await makeTempDir();
  for (const [tool, key] of [[READ_FILE, "path"], [GREP, "path"], [MOVE_FILE, "source_path"]] as const) {
    const args = { path: "a", pattern: "x", destination_path: "b", [key]: "长/".repeat(100_000) };
    const result = await tool.execute(args, makeToolContext(dir.path));
    assertStringIncludes(result.content, "error: The path is too long (200000 characters): 长/长/");
    assert(result.content.length < 200);
  }
});

const FOLDER = new URL("../../golden/tools/", import.meta.url);

for (const tool of BUILTINS) {
  Deno.test(`${tool.name} is described to the model as recorded in tests/golden/tools`, async () => {
    const now = `${
      JSON.stringify(
        { name: tool.name, description: tool.description, parameters: tool.schema },
        null,
        2,
      )
    }\n`;
    const file = new URL(`${tool.name}.json`, FOLDER);
    if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, now);
    assertEquals(
      now,
      await Deno.readTextFile(file),
      "a changed description is a decision: UPDATE_GOLDEN=1 records it",
    );
  });
}

Deno.test("tests/golden/tools has only files of existing tools", () => {
  const recorded = [...Deno.readDirSync(FOLDER)].map((entry) => entry.name.replace(/\.json$/, "")).sort();
  assertEquals(recorded, BUILTINS.map((tool) => tool.name).sort());
});

Deno.test("ToolRegistry describes the default tools in at most 9.5 KB", () => {
  assert(JSON.stringify(new ToolRegistry(BUILTINS).schemas()).length <= 9.5 * 1024);
});

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string" },
    limit: { type: "integer", minimum: 1, maximum: 100 },
    all: { type: "boolean" },
    mode: { type: "string", enum: ["files", "count"] },
    names: { type: "array", items: { type: "string" } },
    edits: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        properties: { old: { type: "string" } },
        required: ["old"],
        additionalProperties: false,
      },
    },
  },
  required: ["path"],
  additionalProperties: false,
};

function check(given: unknown): unknown {
  const result = checkArguments(SCHEMA, given, { synonyms: { file: "path", note: null } });
  return "problem" in result ? result.problem : result.args;
}

Deno.test("checkArguments returns valid arguments unchanged", () => {
  const args = { path: "a", limit: 3, all: true, mode: "count", names: ["x"], edits: [{ old: "y" }] };
  assertEquals(check(args), args);
});

Deno.test("checkArguments fixes values with only one meaning", () => {
  assertEquals(check({ path: 5, limit: "3", all: "True", mode: "FILES" }), {
    path: "5",
    limit: 3,
    all: true,
    mode: "files",
  });
  assertEquals(check({ path: "a", names: "x", edits: { old: "y" } }), {
    path: "a",
    names: ["x"],
    edits: [{ old: "y" }],
  });
  assertEquals(check({ path: "a", names: '["x","y"]', limit: null }), { path: "a", names: ["x", "y"] });
  assertEquals(check('{"path":"a"}'), { path: "a" });
  assertEquals(check({ path: "a", limit: 0 }), { path: "a" });
  assertEquals(check({ path: "a", mode: "files_with_matches" }), { path: "a", mode: "files" });
});

Deno.test("checkArguments renames synonyms unless the real name is present", () => {
  assertEquals(check({ file: "a", note: "why" }), { path: "a" });
  assertEquals(check({ file: "a", path: "b" }), { path: "b" });
});

Deno.test("checkArguments reports the field, the value and the expected type", () => {
  assertEquals(check({}), "path is required (a string)");
  assertEquals(check({ path: ["a"] }), 'path must be a string, got ["a"]');
  assertEquals(check({ path: "a", limit: "many" }), 'limit must be an integer, got "many"');
  assertEquals(check({ path: "a", limit: 1.5 }), "limit must be an integer, got 1.5");
  assertEquals(check({ path: "a", limit: -1 }), "limit must be at least 1, got -1");
  assertEquals(check({ path: "a", limit: 101 }), "limit must be at most 100, got 101");
  assertEquals(check({ path: "a", mode: "x" }), 'mode must be one of files, count, got "x"');
  assertEquals(check({ path: "a", all: 1 }), "all must be a boolean, got 1");
  assertEquals(check({ path: "a", edits: [] }), "edits must have at least 1 entries, got 0");
  assertEquals(check({ path: "a", edits: [{ old: "x" }, {}] }), "edits[1].old is required (a string)");
  assertEquals(
    check({ path: "a", limt: 3 }),
    "limt is not an argument; did you mean limit? (known: path, limit, all, mode, names, edits)",
  );
  assertEquals(check([1]), "arguments must be an object, got [1]");
});

Deno.test("checkArguments ignores keywords outside its schema subset", () => {
  const schema = { type: "object", properties: { x: { anyOf: [{ type: "string" }, { type: "null" }] } } };
  assertEquals(checkArguments(schema, { x: null, other: 1 }), { args: { x: null, other: 1 } });
});

const LINES = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join("\n");

Deno.test("keepHead, keepTail and keepEnds return a text within the limits unchanged", () => {
  for (const keep of [keepHead, keepTail, keepEnds]) {
    assertEquals(keep("short\n", { maxBytes: 100, maxLines: 10 }), { text: "short\n" });
  }
});

Deno.test("keepHead keeps whole lines and reports what is missing and how to continue", () => {
  const cut = keepHead(LINES, { maxBytes: 10_000, maxLines: 3 }, { next: "use offset" });
  assertEquals(
    cut.text,
    "line 1\nline 2\nline 3\n[tail cut: 770 of 791 bytes, about 96 of 100 lines left out; use offset]",
  );
  assertEquals(cut.truncated, {
    cut: "tail",
    reason: "lines",
    totalBytes: 791,
    totalLines: 100,
    keptBytes: 21,
  });
});

Deno.test("keepTail keeps the last lines", () => {
  const cut = keepTail(LINES, { maxBytes: 30 });
  assertMatch(cut.text, /^\[head cut: .*; narrow the request to see more\]\nline 98\nline 99\nline 100$/);
  assertEquals(cut.truncated?.reason, "bytes");
});

Deno.test("keepEnds keeps both ends around one marker", () => {
  const cut = keepEnds(LINES, { maxBytes: 10_000, maxLines: 4 }, { fullText: "/tmp/full.txt" });
  assertMatch(
    cut.text,
    /^line 1\nline 2\n\[middle cut: .* left out; full text: \/tmp\/full.txt\]\nline 99\nline 100$/,
  );
  assertEquals(cut.truncated?.fullText, "/tmp/full.txt");
});

Deno.test("keepHead never splits a character", () => {
  for (let maxBytes = 1; maxBytes < 20; maxBytes++) {
    for (const keep of [keepHead, keepTail]) {
      const cut = keep("é好😀".repeat(9), { maxBytes });
      assert(cut.text.isWellFormed() && (cut.truncated?.keptBytes ?? 99) <= maxBytes);
    }
  }
});

Deno.test("cutLine reports the length of the line", () => {
  assertEquals(cutLine("abcdef", 3), "abc… [line cut: 6 bytes in all]");
  assertEquals(cutLine("好好", 6), "好好");
});

Deno.test("spillPath stays in the output directory for any call id", () => {
  const context = makeToolContext("/tmp/x", { callId: "call/../1" });
  assertEquals(spillPath(context), "/tmp/x-output/call____1.txt");
});
