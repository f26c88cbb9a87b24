import { type Schema, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { parse } from "smol-toml";
import { checkConfig } from "../../../src/config/load/check.ts";
import { fillDefaults } from "../../../src/config/load/defaults.ts";
import {
  defaultConfigText,
  formatProblem,
  getConfigValue,
  keySource,
  listSettings,
  resolveKey,
  resolveModel,
  sourceOf,
  unnamedProvider,
  unusedSettings,
} from "../../../src/config/mod.ts";
import type { TomlTable } from "../../../src/config/schema/json_schema.ts";
import { keyNamesOf, VENDORS } from "../../../src/config/vendors.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertThrows } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";
import { configJsonSchema, type JsonNode } from "../../../scripts/config_json_schema.ts";
import { generatedFiles } from "../../../scripts/gen_config.ts";
import { configFixture } from "./fixture.ts";

const ROOT = new URL("../../../", import.meta.url);

for (const [path, content] of Object.entries(generatedFiles())) {
  Deno.test(`${path} equals the output of scripts/gen_config.ts`, () => {
    assertEquals(Deno.readTextFileSync(new URL(path, ROOT)), content);
  });
}

/** Every key of the schema that no entry of the parsed file uses. */
function unusedKeys(node: JsonNode, values: unknown[], path: string): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const here = `${path}${key}`;
    const present = values.filter((value) => Object.hasOwn(value as TomlTable, key)).map((value) =>
      (value as TomlTable)[key]
    );
    if (present.length === 0) return [here];
    if (child.items?.properties) return unusedKeys(child.items, present.flat(), `${here}[].`);
    return child.properties ? unusedKeys(child, present, `${here}.`) : [];
  });
}

Deno.test("reasonix.example.toml shows every key of the schema", () => {
  const tree = parse(Deno.readTextFileSync(new URL("reasonix.example.toml", ROOT)));
  assertEquals(unusedKeys(configJsonSchema(), [tree], ""), []);
});

Deno.test("reasonix.example.toml loads as a user file without warnings", async () => {
  await using fixture = configFixture({
    "home/config.toml": Deno.readTextFileSync(new URL("reasonix.example.toml", ROOT)),
  });
  const loaded = await fixture.load();
  assertEquals(loaded.warnings, []);
  assertEquals(loaded.config.providers.map((entry) => entry.name), ["deepseek", "local", "own", "recorded"]);
});

for (const place of ["home/config.toml", "project/reasonix.toml"]) {
  Deno.test(`defaultConfigText loads without warnings as ${place} and equals the defaults`, async () => {
    await using fixture = configFixture({ [place]: await defaultConfigText() });
    await using empty = configFixture();
    const loaded = await fixture.load();
    const { config } = await empty.load();
    assertEquals([loaded.warnings, loaded.needsTrust], [[], []]);
    assertEquals(loaded.config, {
      ...config,
      default_model: "deepseek",
      permissions: { ...config.permissions, deny: ["Bash(rm -rf*)", "Bash(git push*)"] },
    });
  });
}

/** Values for a node: usually right, sometimes wrong. */
function valueFor(node: JsonNode): fc.Arbitrary<unknown> {
  const wrong = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double({ min: -1e6, max: 1e6, noNaN: true }),
    fc.boolean(),
    fc.constant([1]),
    fc.constant({ a: 1 }),
  );
  return fc.oneof({ weight: 12, arbitrary: rightValue(node) }, { weight: 1, arbitrary: wrong });
}

function rightValue(node: JsonNode): fc.Arbitrary<unknown> {
  if (node.enum) return fc.constantFrom(...node.enum);
  switch (node.type) {
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: -1, max: 1_000_000 });
    case "number":
      return fc.double({ min: -0.5, max: 500, noNaN: true });
    case "string":
      return fc.string({ maxLength: 5 });
    case "array":
      return fc.array(valueFor(node.items ?? {}), { maxLength: 2 });
    case "object":
      return node.properties
        ? fc.record(mapValues(node.properties, valueFor), { requiredKeys: node.required ?? [] })
        : fc.dictionary(
          fc.string({ minLength: 1, maxLength: 4 }),
          valueFor(node.additionalProperties as JsonNode),
          {
            maxKeys: 2,
            noNullPrototype: true,
          },
        );
    default:
      return fc.jsonValue();
  }
}

function mapValues<A, B>(record: Record<string, A>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

Deno.test("checkConfig and a JSON Schema validator accept the same input, also with defaults", () => {
  let accepted = 0;
  const tables = configJsonSchema().properties ?? {};
  const text = JSON.stringify(configJsonSchema());
  // Unknown keys are errors to an editor, and warnings here.
  const schema = JSON.parse(
    text,
    (name, value) => name === "additionalProperties" && !value ? undefined : value,
  );
  const validator = new Validator(schema as Schema, "2020-12");
  for (const [name, node] of Object.entries(tables)) {
    fc.assert(
      fc.property(valueFor(node), (value) => {
        const tree: TomlTable = { [name]: value };
        const { valid, errors: found } = validator.validate(tree);
        const errors = checkConfig(tree).filter((finding) => finding.level === "error");
        assertEquals(errors.length === 0, valid, JSON.stringify([tree, errors, found]));
        if (!valid) return;
        accepted++;
        assertEquals(validator.validate(fillDefaults(tree)).valid, true);
      }),
      { numRuns: 60, seed: SEED },
    );
  }
  assert(accepted > 200, `only ${accepted} inputs were valid: the property says little`);
});

const USER = `
[permissions]
deny = [
  "a",
  "b", # both
]
[[providers]]
name = "a.b"
model = "m"
base_url = "http://127.0.0.1:1"
[[providers]]
name = "mine"
model = "m"
effort = "low"
`;
const PROJECT = `
tools.writes = "deny"
[permissions]
deny = ["b", "c"]
allow = ["x"]
[[providers]]
name = "theirs"
model = "m"
base_url = "http://127.0.0.1:1/"
[[plugins]]
name = "evil"
command = "x"
`;

const fixtureWith = () => configFixture({ "home/config.toml": USER, "project/reasonix.toml": PROJECT });

Deno.test("sourceOf returns the layer that set a value and the location in its file", async () => {
  await using fixture = fixtureWith();
  const loaded = await fixture.load({ preset: "offline", flags: { default_model: "mine" } });
  const user = (line: number, column = 1) => ({
    source: "user",
    file: `${fixture.home}/config.toml`,
    line,
    column,
  });
  const project = (line: number, column = 1) => ({
    source: "project",
    file: `${fixture.cwd}/reasonix.toml`,
    line,
    column,
  });
  const table: [string, unknown][] = [
    ["default_model", { source: "flag" }],
    ["tools.writes", project(2)],
    ["permissions.deny", project(4)],
    ["permissions.deny[0]", user(4, 3)],
    ["permissions.deny[1]", project(4, 9)],
    ["permissions.deny[2]", project(4, 14)],
    ["permissions.allow", { source: "preset", file: "preset offline", line: 12, column: 1 }],
    ["providers.mine.effort", user(14)],
    ["providers[2].effort", user(14)],
    ['providers."a.b".model', user(9)],
    ["providers.theirs.base_url", project(9)],
    ["providers.theirs.effort", { source: "default" }],
    ["plugins", project(10)],
    ["sandbox.bash", { source: "default" }],
  ];
  assertEquals<unknown>(table.map(([key]) => [key, sourceOf(loaded, key)]), table);
});

Deno.test("getConfigValue accepts names, indexes and quoted names", async () => {
  await using fixture = fixtureWith();
  const loaded = await fixture.load();
  assertEquals(getConfigValue(loaded, "providers.mine.effort"), "low");
  assertEquals(getConfigValue(loaded, "providers[2].effort"), "low");
  assertEquals(getConfigValue(loaded, "providers.'a.b'.model"), "m");
  assertEquals(getConfigValue(loaded, "providers.unknown.model"), undefined);
  assertEquals(getConfigValue(loaded, "permissions.deny[2]"), "c");
  assertEquals(getConfigValue(loaded, "sandbox.network"), false);
});

for (
  const [key, message, remedy] of [
    ["sandbox.bsh", "Unknown key sandbox.bsh", "did you mean sandbox.bash?"],
    ["zzz", "Unknown key zzz", "run `reasonix config show` to see every key"],
    ["sandbox.bash.x", "Unknown key sandbox.bash.x", "run `reasonix config show` to see every key"],
    [
      "a..b",
      'Cannot read the key "a..b"',
      "write it with dots, such as sandbox.bash or providers.deepseek.effort",
    ],
    ["", 'Cannot read the key ""', "write it with dots, such as sandbox.bash or providers.deepseek.effort"],
  ] as const
) {
  Deno.test(`getConfigValue and originOf refuse the key "${key}"`, async () => {
    await using fixture = fixtureWith();
    const loaded = await fixture.load();
    for (const read of [getConfigValue, sourceOf]) {
      const error = assertThrows(() => read(loaded, key), ReasonixError, message);
      assertEquals([error.exit, error.remedy], ["usage", remedy]);
    }
  });
}

Deno.test("listSettings lists every setting once, and each can be read", async () => {
  await using fixture = fixtureWith();
  const loaded = await fixture.load({ trust: () => true });
  const settings = listSettings(loaded);
  assertEquals(new Set(settings.map((setting) => setting.key)).size, settings.length);
  for (const { key, value, from: origin } of settings) {
    assertEquals(getConfigValue(loaded, key), value, key);
    assertEquals(sourceOf(loaded, key), origin, key);
  }
});

Deno.test("no displayed value contains a secret, alone, in its table or in the list", async () => {
  await using fixture = configFixture({
    "home/config.toml": `
[[providers]]
name = "mine"
base_url = "https://user:HIDE-1@example.com/v1?api-version=2&api_key=HIDE-2"
model = "m"
api_key_env = "MY_KEY"
api_key = "HIDE-3"
headers = { Authorization = "HIDE-4" }
extra = { top_k = 3, auth = { access_token = "HIDE-5" } }
[[plugins]]
name = "p"
command = "run"
args = ["--port", "80", "--token", "HIDE-6", "--api-key=HIDE-7", "https://x.example/?token=HIDE-8"]
env = { A = "HIDE-9" }
[serve]
token = "HIDE-10"
`,
  });
  const loaded = await fixture.load({ trust: () => true });
  const get = (key: string) => getConfigValue(loaded, key);
  for (const key of ["providers", "providers.mine", "plugins", "serve", "serve.token", "plugins.p.args"]) {
    assert(!JSON.stringify(get(key)).includes("HIDE"), key);
  }
  assert(!JSON.stringify(listSettings(loaded)).includes("HIDE"));
  assertEquals(
    get("providers.mine.base_url"),
    "https://[secret]@example.com/v1?api-version=2&api_key=[secret]",
  );
  assertEquals(get("plugins.p.args"), [
    "--port",
    "80",
    "--token",
    "[secret]",
    "--api-key=[secret]",
    "https://x.example/?token=[secret]",
  ]);
  assertEquals(get("providers.mine.extra"), { top_k: 3, auth: { access_token: "[secret]" } });
  assertEquals([get("providers.mine.api_key_env"), get("serve.password_hash")], ["MY_KEY", ""]);
});

Deno.test("unusedSettings returns settings without effect, once per table and without defaults", async () => {
  await using fixture = configFixture({
    "home/config.toml": `[lsp.servers.go]
install_hint = "x"
command = "gopls"
[serve]
token = "hush"
`,
  });
  const loaded = await fixture.load();
  assertEquals(
    unusedSettings(loaded).map((problem) => formatProblem(problem).replaceAll(/\S*\/(home|project)\//g, "")),
    [
      "config.toml:2:1: lsp.servers.go.install_hint has no effect. Remove it",
    ],
  );
  await using empty = configFixture();
  assertEquals(unusedSettings(await empty.load()), []);
});

const PROVIDER =
  '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "https://api.example.com"\napi_key_env = "P_KEY"\n';

Deno.test("resolveKey prefers .env of the home to the environment", async () => {
  await using fixture = configFixture({ "home/config.toml": PROVIDER, "home/.env": "P_KEY=from-home\n" });
  const { config, keys } = await fixture.load({ variables: { P_KEY: "from-env" } });
  const [entry] = config.providers;
  assert(entry);
  assertEquals([resolveKey(entry, keys), keySource(entry, keys)], ["from-home", "home"]);
  fixture.write("home/.env", "P_KEY=\n");
  const again = await fixture.load({ variables: { P_KEY: "from-env" } });
  assertEquals([resolveKey(entry, again.keys), keySource(entry, again.keys)], ["from-env", "env"]);
});

Deno.test("resolveKey ignores the environment when security.env_keys is off", async () => {
  await using fixture = configFixture({ "home/config.toml": `security.env_keys = false\n${PROVIDER}` });
  const { config, keys } = await fixture.load({ variables: { P_KEY: "from-env" } });
  const [entry] = config.providers;
  assert(entry);
  const error = assertThrows(
    () => resolveKey(entry, keys),
    ReasonixError,
    'No API key for provider "p": P_KEY is not set',
  );
  assertEquals(error.exit, "config");
  assertEquals(
    error.remedy,
    `write P_KEY=… into ${fixture.home}/.env; the environment is not used while security.env_keys is false`,
  );
  assertEquals(keySource(entry, keys), "missing");
});

Deno.test("resolveKey never reads the project's .env", async () => {
  await using fixture = configFixture({
    "home/config.toml": PROVIDER,
    "project/.env": "P_KEY=from-project\n",
  });
  const { config, keys } = await fixture.load();
  const [entry] = config.providers;
  assert(entry);
  const error = assertThrows(() => resolveKey(entry, keys), ReasonixError);
  assertEquals(error.remedy, `write P_KEY=… into ${fixture.home}/.env, or export P_KEY`);
});

Deno.test("resolveKey needs no key for a local server or without a key name", async () => {
  await using fixture = configFixture();
  const { keys } = await fixture.load();
  const entry = { name: "p", api_key_env: "P_KEY", base_url: "http://127.0.0.1:8000/v1" };
  assertEquals(resolveKey(entry, keys), undefined);
  assertEquals(
    resolveKey({ ...entry, api_key_env: "", base_url: "https://api.example.com" }, keys),
    undefined,
  );
  assertEquals(keySource({ ...entry, api_key_env: "" }, keys), "none");
});

const OPENAI = { OPENAI_API_KEY: "sk-o" };

Deno.test("unnamedProvider reports that nothing is configured and no key is set", async () => {
  await using fixture = configFixture();
  const loaded = await fixture.load();
  assertEquals(unnamedProvider(loaded), {
    vendor: "DeepSeek",
    keyName: "DEEPSEEK_API_KEY",
    key: "missing",
  });
});

Deno.test("loadConfig uses the first vendor with a key in the environment, and unnamedProvider reports it", async () => {
  await using fixture = configFixture();
  const one = await fixture.load({ variables: { ...OPENAI, XAI_API_KEY: "xai-1" } });
  assertEquals(one.config.providers.map(({ name, base_url }) => [name, base_url]), [
    ["openai", "https://api.openai.com/v1"],
  ]);
  assertEquals(unnamedProvider(one), { vendor: "OpenAI", keyName: "OPENAI_API_KEY", key: "environment" });
  const both = await fixture.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(both.config.providers.map(({ name }) => name), ["deepseek"]);
});

Deno.test("loadConfig uses the vendor that --model names", async () => {
  await using fixture = configFixture();
  const variables = { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" };
  for (const default_model of ["openai", "gpt-5.5", "openai/gpt-5.5", "openai/of-tomorrow"]) {
    const { config } = await fixture.load({ variables, flags: { default_model } });
    assertEquals(config.providers.map(({ name }) => name), ["openai"]);
  }
});

Deno.test("a key in the home's .env needs no notice", async () => {
  await using fixture = configFixture({ "home/.env": "OPENAI_API_KEY=sk-o\n" });
  const loaded = await fixture.load();
  assertEquals(loaded.config.providers[0]?.name, "openai");
  assertEquals(unnamedProvider(loaded), undefined);
});

Deno.test("the environment selects no vendor with a configured provider or security.env_keys off", async () => {
  const entry = '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  await using configured = configFixture({ "home/config.toml": entry });
  const loaded = await configured.load({ variables: OPENAI });
  assertEquals(loaded.config.providers.map(({ name }) => name), ["p"]);
  assertEquals(unnamedProvider(loaded), undefined);
  await using closed = configFixture({ "home/config.toml": "security.env_keys = false\n" });
  const unused = await closed.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(unnamedProvider(unused)?.key, "unused");
});

Deno.test("a project cannot select a vendor of the environment", async () => {
  await using fixture = configFixture({ "project/reasonix.toml": 'default_model = "openai"\n' });
  const loaded = await fixture.load({ variables: { ...OPENAI, DEEPSEEK_API_KEY: "sk-d" } });
  assertEquals(loaded.config.providers.map(({ name }) => name), ["deepseek"]);
});

Deno.test("a vendor name accepts any of its models, with and without configured providers", async () => {
  const entry = '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  for (const text of ["", entry]) {
    await using fixture = configFixture({ "home/config.toml": text });
    const named = async (default_model: string) => {
      const loaded = await fixture.load({ variables: OPENAI, flags: { default_model } });
      const { entry, model } = resolveModel(loaded.config);
      return [
        entry.name,
        entry.base_url,
        model,
        entry.api_key_env,
        loaded.keyNames.includes(entry.api_key_env),
      ];
    };
    assertEquals(await named("openrouter/qwen/qwen3-max"), [
      "openrouter",
      "https://openrouter.ai/api/v1",
      "qwen/qwen3-max",
      "OPENROUTER_API_KEY",
      true,
    ]);
    const local = await named("ollama/llama3.3:70b");
    assertEquals(local.slice(0, 4), ["ollama", "http://127.0.0.1:11434/v1", "llama3.3:70b", ""]);
    assertEquals((await named("gemini/gemini-2.5-pro"))[0], "gemini");
  }
});

Deno.test("a configured provider overrides the vendor of the same name", async () => {
  const entry = '[[providers]]\nname = "groq"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  await using fixture = configFixture({ "home/config.toml": entry });
  const loaded = await fixture.load({ flags: { default_model: "groq/m" } });
  assertEquals(resolveModel(loaded.config).entry.base_url, "http://127.0.0.1:1/v1");
  const other = await fixture.load({ flags: { default_model: "groq/other" } });
  assertThrows(() => resolveModel(other.config), Error, 'Unknown model "groq/other"');
});

Deno.test("settings that name several models of a vendor share its entry and keep the first provider", async () => {
  const text = 'default_model = "p"\ncompaction.summary_model = "groq/small"\n' +
    '[[providers]]\nname = "p"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n';
  await using fixture = configFixture({ "home/config.toml": text });
  const { config } = await fixture.load({ flags: { default_model: "groq/large" } });
  assertEquals(config.providers.map(({ name }) => name), ["p", "groq"]);
  assertEquals(config.providers[1]?.models, ["large", "openai/gpt-oss-120b", "small"]);
});

Deno.test("a project cannot name a vendor that the user does not have", async () => {
  await using fixture = configFixture({ "project/reasonix.toml": 'default_model = "ollama/x"\n' });
  const loaded = await fixture.load({ variables: OPENAI });
  assertThrows(() => resolveModel(loaded.config), Error, 'Unknown model "ollama/x"');
});

Deno.test("a vendor key is found under its alternative names", async () => {
  await using fixture = configFixture();
  const loaded = await fixture.load({ variables: { GOOGLE_API_KEY: "AIza1" } });
  assertEquals(loaded.config.providers.map(({ name, api_key_env }) => [name, api_key_env]), [
    ["google", "GOOGLE_API_KEY"],
  ]);
  assertEquals(unnamedProvider(loaded)?.keyName, "GOOGLE_API_KEY");
});

Deno.test("docs/config.md lists the variables of the vendors in order", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/config.md", import.meta.url));
  const listed = /The order: ([^.]*)\./.exec(page)?.[1]?.match(/\w+/g);
  assertEquals(listed, VENDORS.flatMap(keyNamesOf));
});
