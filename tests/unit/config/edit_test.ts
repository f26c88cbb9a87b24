import fc from "fast-check";
import { parse } from "smol-toml";
import { addConfigItem, parseConfigValue, setConfigValue } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";
import { SEED } from "../../support/seed.ts";

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
