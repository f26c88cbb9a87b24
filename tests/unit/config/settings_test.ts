import {
  formatProblem,
  getConfigValue,
  listSettings,
  sourceOf,
  unusedSettings,
} from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { assert, assertEquals, assertThrows } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

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
    "project/reasonix.toml": 'serve.auth_mode = "none"\n',
  });
  const loaded = await fixture.load();
  assertEquals(
    unusedSettings(loaded).map((problem) => formatProblem(problem).replaceAll(/\S*\/(home|project)\//g, "")),
    [
      "reasonix.toml:1:1: serve has no effect yet. Keep it for a later version, or remove it",
      "config.toml:2:1: lsp.servers.go.install_hint has no effect. Remove it",
      "config.toml:4:1: serve has no effect yet. Keep it for a later version, or remove it",
    ],
  );
  await using empty = configFixture();
  assertEquals(unusedSettings(await empty.load()), []);
});
