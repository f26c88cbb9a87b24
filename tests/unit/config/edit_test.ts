import fc from "fast-check";
import { parse } from "smol-toml";
import { type Jsonc, parseJsonc } from "../../../src/config/load/jsonc.ts";
import { Positions } from "../../../src/config/load/layer.ts";
import { addConfigItem, parseConfigValue, setConfigValue } from "../../../src/config/mod.ts";
import type { KeyPath } from "../../../src/config/problem.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";
import { configFixture } from "./fixture.ts";

const FILE = `# my settings
default_model = "a" # the cheap one

[agent] # how it works
max_steps = 5   # enough
# temperature = 0.5

[permissions]
deny = [
  "a", # never
  # the next one is important
  "b",
]

[[providers]]
name = "a"
model = "m" # local

[[providers]]
name = "b"
model = "n"
`;

const EDITS: [key: string, value: unknown, before: string, after: string][] = [
  ["default_model", "b", 'default_model = "a" # the', 'default_model = "b" # the'],
  ["agent.max_steps", 0, "max_steps = 5   # enough", "max_steps = 0   # enough"],
  ["providers.b.model", "x", 'model = "n"', 'model = "x"'],
  ["providers[0].model", "x", 'model = "m" # local', 'model = "x" # local'],
];

for (const [key, value, before, after] of EDITS) {
  Deno.test(`setConfigValue changes only the bytes of ${key}`, async () => {
    await using fixture = configFixture();
    for (const text of [FILE, FILE.replaceAll("\n", "\r\n"), `\uFEFF${FILE}`]) {
      const file = fixture.write("home/config.toml", text);
      await setConfigValue(file, key, value);
      assertEquals(Deno.readTextFileSync(file), text.replace(before, after));
    }
  });
}

Deno.test("setConfigValue adds keys and tables, removes keys, and keeps every comment", async () => {
  await using fixture = configFixture();
  const file = fixture.write("home/config.toml", FILE);
  await setConfigValue(file, "sandbox.bash", "enforce");
  await setConfigValue(file, "agent.reasoning_language", "zh");
  await setConfigValue(file, "providers.a.compat.tool_name", true);
  await setConfigValue(file, "tools.alias.list_dir", { tool: "ls", arguments: { dir_path: "path" } });
  await setConfigValue(file, "agent.max_steps", undefined);
  await setConfigValue(file, "agent.planner_model", undefined);
  const text = Deno.readTextFileSync(file);
  for (const comment of FILE.match(/#[^\n]*/g) ?? []) {
    if (comment !== "# enough") assertStringIncludes(text, comment);
  }
  const { config, warnings } = await fixture.load();
  assertEquals(warnings, []);
  assertEquals([config.sandbox.bash, config.agent.reasoning_language, config.agent.max_steps], [
    "enforce",
    "zh",
    0,
  ]);
  assertEquals(config.providers[0]?.compat.tool_name, true);
  assertEquals(config.tools.alias.list_dir, {
    tool: "ls",
    arguments: { dir_path: "path" },
    parameters: [],
    description: "",
  });
});

Deno.test("addConfigItem appends to a list once and creates a missing list", async () => {
  await using fixture = configFixture();
  const file = fixture.write("home/config.toml", FILE);
  for (const rule of ["c", "c", "a"]) await addConfigItem(file, "permissions.deny", rule);
  await addConfigItem(file, "permissions.allow", "Bash(go test:*)");
  const text = Deno.readTextFileSync(file);
  assertStringIncludes(text, '"a", # never\n  # the next one is important\n  "b",');
  const { config } = await fixture.load();
  assertEquals(config.permissions.deny, ["a", "b", "c"]);
  assertEquals(config.permissions.allow, ["Bash(go test:*)"]);
});

Deno.test("addConfigItem appends a whole entry to a list of tables", async () => {
  await using fixture = configFixture();
  const file = fixture.write("home/config.toml", FILE);
  await addConfigItem(file, "plugins", { name: "p", command: "npx", args: ["-y", "x"] });
  await addConfigItem(file, "providers", { name: "c", model: "o" });
  const { config } = await fixture.load();
  assertEquals(config.plugins.map((entry) => [entry.name, entry.args]), [["p", ["-y", "x"]]]);
  assertEquals(config.providers.map((entry) => entry.name), ["a", "b", "c"]);
});

Deno.test("setConfigValue creates a private file and directory if missing", async () => {
  await using fixture = configFixture();
  const file = `${fixture.home}/new/config.toml`;
  await setConfigValue(file, "language", "zh");
  assertEquals(Deno.readTextFileSync(file), 'language = "zh"\n');
  if (Deno.build.os !== "windows") {
    assertEquals((Deno.statSync(file).mode ?? 0) & 0o777, 0o600);
    assertEquals((Deno.statSync(`${fixture.home}/new`).mode ?? 0) & 0o777, 0o700);
  }
});

Deno.test("setConfigValue writes through a link and leaves no temporary file", async () => {
  await using fixture = configFixture();
  const target = fixture.write("project/dotfile.toml", FILE);
  Deno.symlinkSync(target, `${fixture.home}/config.toml`);
  await setConfigValue(`${fixture.home}/config.toml`, "language", "zh");
  assertEquals(Deno.lstatSync(`${fixture.home}/config.toml`).isSymlink, true);
  assertStringIncludes(Deno.readTextFileSync(target), 'language = "zh"');
  assertEquals([...Deno.readDirSync(fixture.cwd)].map((entry) => entry.name), ["dotfile.toml"]);
});

const REFUSED: [name: string, key: string, value: unknown, message: string][] = [
  ["a wrong type", "agent.max_steps", "many", 'Cannot use the text "many" for agent.max_steps'],
  ["a value outside the enum", "sandbox.bash", "on", 'Cannot use the text "on" for sandbox.bash'],
  ["an unknown key", "sandbox.bsh", "off", "Unknown key sandbox.bsh"],
  ["a missing entry", "providers.zzz.model", "x", "this file has no such entry"],
  ["a duplicate name", "providers.b.name", "a", 'the name "a" twice'],
  ["a default that is not in the models", "providers.a.default", "zzz", '"zzz" as default'],
  ["an entry without name", "providers[0].name", undefined, 'lacks the key "name"'],
];

for (const [name, key, value, message] of REFUSED) {
  Deno.test(`setConfigValue rejects ${name} and does not change the file`, async () => {
    await using fixture = configFixture();
    const file = fixture.write("home/config.toml", FILE);
    await assertRejects(() => setConfigValue(file, key, value), ReasonixError, message);
    assertEquals(Deno.readTextFileSync(file), FILE);
  });
}

Deno.test("setConfigValue refuses a file with a syntax error instead of replacing it", async () => {
  await using fixture = configFixture();
  const file = fixture.write("home/config.toml", "[tools\n");
  const error = await assertRejects(
    () => setConfigValue(file, "language", "zh"),
    ReasonixError,
    "Cannot read the TOML",
  );
  assertEquals(error.place?.line, 1);
  assertEquals(Deno.readTextFileSync(file), "[tools\n");
});

Deno.test("addConfigItem rejects a key that is not a list", async () => {
  await using fixture = configFixture();
  await assertRejects(
    () => addConfigItem(`${fixture.home}/c`, "language", "x"),
    ReasonixError,
    "it is not a list",
  );
});

Deno.test("setConfigValue does not change a file that already has the value", async () => {
  await using fixture = configFixture();
  const file = fixture.write("home/config.toml", FILE);
  const before = Deno.statSync(file).ino;
  await setConfigValue(file, "agent.max_steps", 5);
  assertEquals(Deno.statSync(file).ino, before);
});

Deno.test("setConfigValue round-trips any text", async () => {
  await using fixture = configFixture();
  const file = fixture.write("home/config.toml", FILE);
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme", maxLength: 30 }), async (text) => {
      await setConfigValue(file, "agent.system_prompt", text);
      const tree = parse(Deno.readTextFileSync(file)) as { agent: { system_prompt: string } };
      assertEquals(tree.agent.system_prompt, text);
    }),
    { numRuns: 40, seed: SEED, examples: [['"""\\ \' # \n\t\u0000\u001b']] },
  );
});

const TYPED: [key: string, text: string, value: unknown][] = [
  ["default_model", "deepseek/x", "deepseek/x"],
  ["language", "5", "5"],
  ["agent.max_steps", "12", 12],
  ["sandbox.network", "true", true],
  ["permissions.deny", "a, b", ["a", "b"]],
  ["permissions.deny", '["a, b"]', ["a, b"]],
  ["agent.subagent_models", '{ a = "b" }', { a: "b" }],
  ["agent.max_steps", "many words", "many words"],
];

for (const [key, text, value] of TYPED) {
  Deno.test(`parseConfigValue reads ${JSON.stringify(text)} for ${key}`, () => {
    assertEquals(JSON.stringify(parseConfigValue(key, text)), JSON.stringify(value));
  });
}

const TEXT = `# comment with [brackets] = and "quotes"
top = 1
"quoted key" = 'literal \\' # no escape
dotted.inner."last one" = true

[table] # header
first = """
fake = 1
[fake]
""" # after
  second = [ # list
    "a]", 'b,',
    [ 1, 2 ],
  ]
inline = { x = 1, y = { z = [3] }, "k" = 2 }
multi = {
  one = 1, # TOML 1.1
  two = 2,
}

[[list]]
name = "one"
[list.sub]
deep = 1
[[list.nested]]
n = 0
[[list.nested]]
n = 1

[[list]]
name = "two"
sub.deep = 2
when = 1979-05-27 07:32:00
quotes = """a\\"""b""""
after = "x"
`;

const TABLE: [KeyPath, "key" | "value", number, number][] = [
  [["top"], "key", 2, 1],
  [["top"], "value", 2, 7],
  [["quoted key"], "value", 3, 16],
  [["dotted", "inner", "last one"], "value", 4, 27],
  [["table"], "key", 6, 1],
  [["table", "first"], "value", 7, 9],
  [["table", "second"], "key", 11, 3],
  [["table", "second", 1], "value", 12, 11],
  [["table", "second", 2, 1], "value", 13, 10],
  [["table", "inline", "y", "z", 0], "value", 15, 30],
  [["table", "inline", "k"], "key", 15, 36],
  [["table", "multi", "two"], "value", 18, 9],
  [["list", 0, "name"], "value", 22, 8],
  [["list", 0, "sub", "deep"], "key", 24, 1],
  [["list", 0, "nested", 1, "n"], "value", 28, 5],
  [["list", 1], "key", 30, 1],
  [["list", 1, "sub", "deep"], "value", 32, 12],
  [["list", 1, "when"], "key", 33, 1],
  [["list", 1, "after"], "value", 35, 9],
];

for (const [path, at, line, column] of TABLE) {
  Deno.test(`Positions finds the ${at} of ${path.join(".")}`, () => {
    parse(TEXT);
    assertEquals(new Positions(TEXT).find(path, at), { line, column });
    const windows = new Positions(TEXT.replaceAll("\n", "\r\n"));
    assertEquals(windows.find(path, at), { line, column });
  });
}

Deno.test("Positions finds the nearest enclosing key of a missing path", () => {
  assertEquals(new Positions(TEXT).find(["list", 1, "missing"], "value"), { line: 30, column: 1 });
  assertEquals(new Positions(TEXT).find(["nowhere"], "key"), undefined);
});

/**
 * TOML texts made of random keys and values, each value a separate number so that it can be found again.
 */
const document = fc.array(
  fc.record({
    header: fc.constantFrom("", "[t]", "[[a]]", "[t.u]", "[[a.b]]"),
    style: fc.constantFrom("plain", "list", "inline", "quoted"),
    space: fc.constantFrom("", " ", "\t", "  "),
    comment: fc.constantFrom("", " # = [x]", " # '''"),
    newline: fc.constantFrom("\n", "\r\n", "\n\n"),
  }),
  { maxLength: 12 },
).map((parts) =>
  parts.map(({ header, style, space, comment, newline }, index) => {
    const key = `k${index}`;
    const value = {
      plain: `${index}`,
      list: `[${space}'x', ${index}]`,
      inline: `{ y =${space}${index} }`,
      quoted: `${index}`,
    };
    const name = style === "quoted" ? `"${key}"` : key;
    return `${header === "" ? "" : header + comment + newline}${space}${name}${space}=${space}${
      value[style]
    }${comment}`;
  }).join("\n")
);

function numbersIn(value: unknown, path: KeyPath): [KeyPath, number][] {
  if (typeof value === "number") return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((item, index) => numbersIn(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => numbersIn(item, [...path, key]));
}

Deno.test("Positions locates the value of every number in any document", () => {
  fc.assert(
    fc.property(document, (text) => {
      let tree: unknown;
      try {
        tree = parse(text);
      } catch {
        return;
      }
      const positions = new Positions(text);
      for (const [path, number] of numbersIn(tree, [])) {
        const place = positions.find(path, "value") ?? { line: 0, column: 0 };
        const rest = (text.split("\n")[place.line - 1] ?? "").slice(place.column - 1);
        assertEquals(Number.parseInt(rest), number, `${path.join(".")} in\n${text}`);
      }
    }),
    { numRuns: 300, seed: SEED },
  );
});

Deno.test("Positions terminates for any text, valid or not", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("[", "]", "{", "}", '"', "'", "=", ".", ",", "a", " ", "\n", "\\", "#", "é"), {
        maxLength: 40,
      }),
      (parts) => void new Positions(parts.join("")),
    ),
    { numRuns: 2000, seed: SEED },
  );
});

async function parsed(text: string): Promise<Jsonc> {
  const json = await parseJsonc(text);
  if ("fault" in json) throw new Error(json.fault);
  return json;
}

Deno.test("parseJsonc reads JSON with comments, trailing commas and a byte order mark", async () => {
  for (
    const [text, value] of [
      ['{"a": [1, "x,]", null], "c": "// no comment"}', {
        a: [1, "x,]", null],
        c: "// no comment",
      }],
      ['\uFEFF{ // one\n "a": 1, /* two, */ }', { a: 1 }],
      ['["a", // x\n]', ["a"]],
      ['"/* text */"', "/* text */"],
    ] as const
  ) assertEquals<unknown>(structuredClone((await parsed(text)).value), value);
});

Deno.test("parseJsonc locates each value, after characters of any kind", async () => {
  const { find } = await parsed(
    '\uFEFF{\n  // "deny": ["no"]\n  "名": "値,]}", "deny": ["a\\"b", {"x": [1, 2]}]}',
  );
  const at = (...path: (string | number)[]) => Object.values(find(path) ?? {}).join(":");
  assertEquals([at("deny", 0), at("deny", 1, "x", 1), at("deny", 9), at("none")], [
    "3:25",
    "3:43",
    "3:16",
    "",
  ]);
});

for (
  const [name, text] of [
    ["an unfinished object", '{"a": 1'],
    ["two values", "1 2"],
    ["an unfinished comment", "{ /* "],
    ["nothing", ""],
    ["single quotes", "{'a': 1}"],
    ["many open brackets", "[".repeat(900_000)],
    ["an unclosed quote", `{"a": "${'\\"'.repeat(300_000)}`],
    ["unclosed comments", `{"a": ${"/*".repeat(300_000)}`],
  ] as const
) {
  Deno.test(`parseJsonc rejects ${name} without quoting the text`, async () => {
    const json = await parseJsonc(text);
    assert(
      "fault" in json && !/[[{'"*]/.test(json.fault) && json.line === 1,
      JSON.stringify(json).slice(0, 200),
    );
  });
}
