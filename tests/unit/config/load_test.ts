import { ConfigError } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { configFixture, type Fixture } from "./fixture.ts";

/** The configuration file of the Go version with every commented line enabled. */
const GO_FILE = `
default_model = "deepseek"
language = "zh"
[agent]
system_prompt = "You are Reasonix, a coding agent..."
max_steps = 0
planner_max_steps = 0
temperature = 0.0
memory_compiler = { enabled = true }
reasoning_language = "auto"
plan_mode_allowed_tools = ["custom_reader"]
planner_model = "deepseek-pro"
subagent_model = "deepseek-pro"
subagent_models = { review = "deepseek-pro", security_review = "deepseek-pro" }
[[providers]]
name = "deepseek"
kind = "openai"
base_url = "https://api.deepseek.com"
models = ["deepseek-v4-flash", "deepseek-v4-pro"]
default = "deepseek-v4-flash"
api_key_env = "DEEPSEEK_API_KEY"
context_window = 1000000
[[providers]]
name = "mimo-pro"
kind = "openai"
base_url = "https://api.xiaomimimo.com/v1"
model = "mimo-v2.5-pro"
api_key_env = "MIMO_API_KEY"
price = { input = 1.0, output = 3.0, cache_hit = 0.2, currency = "CNY" }
[tools]
enabled = []
bash_timeout_seconds = 120
mcp_call_timeout_seconds = 300
[tools.shell]
prefer = "auto"
path = "C:\\\\Program Files\\\\PowerShell\\\\7\\\\pwsh.exe"
[skills]
paths = ["~/my-skills", "../shared/skills"]
excluded_paths = ["~/.agents/skills"]
disabled_skills = ["review"]
[permissions]
mode = "ask"
deny = ["Bash(rm -rf*)", "Bash(git push*)"]
allow = ["Bash(go test:*)", "Bash(git status:*)"]
ask = []
[sandbox]
workspace_root = ""
allow_write = ["/tmp"]
forbid_read = ["\${HOME}/.ssh"]
[serve]
auth_mode = "none"
token = ""
password_hash = ""
behind_proxy = false
[[plugins]]
name = "example"
command = "reasonix-plugin-example"
args = []
env = { FOO = "bar" }
call_timeout_seconds = 600
tool_timeout_seconds = { "generate_video" = 1800 }
trusted_read_only_tools = ["search"]
[[plugins]]
name = "stripe"
type = "http"
url = "https://mcp.stripe.com"
headers = { Authorization = "Bearer \${STRIPE_KEY}" }
`;

Deno.test("loadConfig reports a missing variable and wrong types together", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      '[agent]\nmax_steps = "x"\n[[providers]]\nname = "p"\nbase_url = "${NOPE}"\nmodel = "m"\n',
  });
  const error = await assertRejects(() => fixture.load(), ConfigError);
  assertEquals(error.problems.map(({ place }) => place?.line), [2, 5]);
});

Deno.test("loadConfig rejects unreadable deny and ask rules and warns about such allow rules", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      '[permissions]\nallow = ["Bash(ls"]\ndeny = [\n  "Bash(rm -rf*)",\n  "Bsh(git push*)",\n]\n',
    "project/reasonix.toml": '[permissions]\nask = ["Edit()"]\ndeny = [""]\n',
  });
  const error = await assertRejects(() => fixture.load(), ConfigError);
  assertEquals(error.exit, "config");
  assertEquals(
    error.problems.map(({ place, message, remedy }) => [place?.line, place?.column, message, remedy]),
    [
      [
        5,
        3,
        'Cannot read permission rule for "Bsh": no tool or family has this name',
        "did you mean Bash?",
      ],
      [
        2,
        8,
        'Cannot read permission rule "Edit()": its parentheses are empty',
        "write Edit alone for every call",
      ],
      [3, 9, "Cannot read an empty permission rule", "write Tool or Tool(what), such as Bash(go test:*)"],
    ],
  );
  fixture.write("home/config.toml", '[permissions]\nallow = ["Bash(ls"]\n');
  fixture.write("project/reasonix.toml", "");
  const { warnings } = await fixture.load();
  assertEquals(warnings.map(({ place, message }) => [place?.line, place?.column, message]), [
    [2, 10, 'Cannot read permission rule "Bash(ls"; it allows nothing'],
  ]);
});

Deno.test("loadConfig accepts a complete file of the Go version as user settings", async () => {
  await using fixture = configFixture({ "home/config.toml": GO_FILE });
  const { config, warnings } = await fixture.load({ variables: { STRIPE_KEY: "sk" } });
  assertEquals(warnings, []);
  assertEquals(config.providers[1]?.price, { input: 1, output: 3, cache_hit: 0.2, currency: "CNY" });
  assertEquals(config.skills.paths, [
    "/home/someone/my-skills",
    fixture.home.replace("/home", "/shared/skills"),
  ]);
  assertEquals(config.sandbox.forbid_read, ["/home/someone/.ssh"]);
  assertEquals(config.plugins[1]?.headers, { Authorization: "Bearer sk" });
  assertEquals(config.plugins[1]?.type, "http");
});

Deno.test("loadConfig reads the same file in a project and reports settings that a project cannot set", async () => {
  await using fixture = configFixture({ "project/reasonix.toml": GO_FILE });
  const { config, warnings, needsTrust } = await fixture.load();
  assertEquals(
    warnings.map(({ message, place }) => `${place?.line}: ${message.split(/;| with | from /)[0]}`),
    [
      "11: Only your own file can set agent.plan_mode_allowed_tools",
      "38: skills.paths[0] may not leave the project",
      "38: skills.paths[1] may not leave the project",
      "51: Only your own file can set serve.auth_mode",
      '48: Only your own file can open "/tmp" for writing',
    ],
  );
  assertEquals(needsTrust.map((item) => `${item.kind} ${item.place.line}`), [
    "provider 23",
    "shell 36",
    "plugin 55",
    "plugin 63",
    "widening 44",
  ]);
  assertEquals(config.providers.map((entry) => entry.name), ["deepseek"]);
  assertEquals(config.permissions.deny.length, 2);
});

Deno.test("loadConfig ranks flags, project, user, preset and defaults in this order", async () => {
  const key = (value: string) => `[tools]\nbash_timeout_seconds = ${value}\n`;
  await using fixture = configFixture({ "project/reasonix.toml": key("4"), "home/config.toml": key("3") });
  const value = async (options: Parameters<Fixture["load"]>[0]) =>
    (await fixture.load(options)).config.tools.bash_timeout_seconds;
  assertEquals(await value({ flags: { tools: { bash_timeout_seconds: 5 } } }), 5);
  assertEquals(await value({}), 4);
  Deno.removeSync(`${fixture.cwd}/reasonix.toml`);
  assertEquals(await value({}), 3);
  Deno.removeSync(`${fixture.home}/config.toml`);
  assertEquals(await value({}), 120);
  assertEquals((await fixture.load({ preset: "memex" })).config.tools.writes, "dry-run");
  fixture.write("home/config.toml", '[tools]\nwrites = "deny"\n');
  assertEquals((await fixture.load({ preset: "memex" })).config.tools.writes, "deny");
});

Deno.test("loadConfig merges rule lists of all layers without duplicates", async () => {
  await using fixture = configFixture({
    "home/config.toml": '[permissions]\ndeny = ["a", "b"]\nallow = ["x"]',
    "project/reasonix.toml": '[permissions]\ndeny = ["b", "c"]\nask = ["d"]',
  });
  const { config } = await fixture.load({ flags: { permissions: { allow: ["y"], deny: ["e"] } } });
  assertEquals(config.permissions, {
    claude_settings: true,
    mode: "ask",
    allow: ["x", "y"],
    ask: ["d"],
    deny: ["a", "b", "c", "e"],
  });
});

Deno.test("loadConfig replaces the built-in provider with any entry and puts the project's first", async () => {
  const entry = (name: string) =>
    `[[providers]]\nname = "${name}"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"\n`;
  await using fixture = configFixture({ "home/config.toml": entry("mine") });
  const names = async () => (await fixture.load()).config.providers.map((provider) => provider.name);
  assertEquals(await names(), ["mine"]);
  fixture.write("project/reasonix.toml", entry("theirs"));
  assertEquals(await names(), ["theirs", "mine"]);
  fixture.write("project/reasonix.toml", "providers = []");
  assertEquals(await names(), ["mine"]);
});

Deno.test("loadConfig reads agent.compact_ratio as compaction.ratio unless that is set", async () => {
  await using fixture = configFixture({ "home/config.toml": "[agent]\ncompact_ratio = 0.5" });
  assertEquals((await fixture.load()).config.compaction.ratio, 0.5);
  fixture.write("home/config.toml", "[agent]\ncompact_ratio = 0.5\n[compaction]\nratio = 0.6");
  assertEquals((await fixture.load()).config.compaction.ratio, 0.6);
});

Deno.test("loadConfig reads tui.theme as ui.theme, and the preset offline takes the full-screen view", async () => {
  await using fixture = configFixture({ "home/config.toml": '[tui]\ntheme = "light"' });
  assertEquals((await fixture.load()).config.ui.theme, "light");
  assertEquals((await fixture.load()).config.ui.view, "scroll");
  assertEquals((await fixture.load({ preset: "offline" })).config.ui.view, "full");
  fixture.write("home/config.toml", '[tui]\ntheme = "light"\n[ui]\ntheme = "dark"\nview = "scroll"');
  const { ui } = (await fixture.load({ preset: "offline" })).config;
  assertEquals([ui.theme, ui.view], ["dark", "scroll"]);
});

Deno.test("loadConfig finds the home by REASONIX_HOME, or in the user's home", async () => {
  await using fixture = configFixture({ "home/config.toml": 'language = "zh"' });
  const { loadConfig } = await import("../../../src/config/mod.ts");
  const variables: Record<string, string> = { REASONIX_HOME: "../home", HOME: "/nowhere" };
  const loaded = await loadConfig({ cwd: fixture.cwd, env: (name) => variables[name] });
  assertEquals([loaded.home, loaded.config.language], [fixture.home, "zh"]);
  if (Deno.build.os === "windows") return;
  const other = await loadConfig({
    cwd: fixture.cwd,
    env: (name) => name === "HOME" ? "/nowhere" : undefined,
  });
  assertEquals(other.home, "/nowhere/.reasonix");
  const nowhere = loadConfig({ cwd: fixture.cwd, env: () => undefined });
  assertStringIncludes((await assertRejects(() => nowhere, ReasonixError)).message, "HOME is not set");
});

Deno.test("loadConfig reports every error of every file at once, with position, value and remedy", async () => {
  await using fixture = configFixture({
    "home/config.toml": '[agent]\nmax_steps = "many"\n[sandbox]\nbash = "offf"\n',
    "project/reasonix.toml": "[tools\n",
  });
  const error = await assertRejects(() => fixture.load(), ConfigError);
  assert(error instanceof ReasonixError);
  assertEquals(error.exit, "config");
  assertEquals(error.message.split("\n").slice(1), [
    `  ${fixture.home}/config.toml:2:13: Cannot use the text "many" for agent.max_steps: a whole number of 0 or more is expected. Write for example max_steps = 0`,
    `  ${fixture.home}/config.toml:4:8: Cannot use the text "offf" for sandbox.bash: one of "enforce", "auto", "off" is expected. Did you mean "off"?`,
    `  ${fixture.cwd}/reasonix.toml:1:7: ${
      error.problems[2]?.message
    }. Put the key in quotes, or close the bracket before it`,
  ]);
});

Deno.test("loadConfig warns about unknown keys with a suggestion", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      'defualt_model = "x"\nmax_steps = 3\nzzz = 1\n[sandbx]\nbash = "off"\n[[providers]]\nname = "a"\ncontext_windw = 5\n',
  });
  const { warnings, config } = await fixture.load();
  assertEquals(
    warnings.map(({ place, message, remedy }) => `${place?.line}:${place?.column} ${message} ${remedy}`),
    [
      '1:1 Unknown key defualt_model has no effect did you mean "default_model"?',
      "2:1 Unknown key max_steps has no effect did you mean agent.max_steps?",
      "3:1 Unknown key zzz has no effect remove it, or look it up with: reasonix docs config",
      '4:1 Unknown key sandbx has no effect did you mean "sandbox"?',
      '8:1 Unknown key providers[0].context_windw has no effect did you mean "context_window"?',
    ],
  );
  assertEquals(config.sandbox.bash, "auto");
});

const BAD_TYPES: [string, string, string][] = [
  ["language = 3", "the number 3 for language: a text in quotes", 'language = ""'],
  ["[agent]\nmax_steps = 1.5", "the number 1.5 for agent.max_steps", "max_steps = 0"],
  [
    "[agent]\nmax_steps = -1",
    "the number -1 for agent.max_steps: a whole number of 0 or more",
    "max_steps = 0",
  ],
  ['[agent]\nmax_steps = "7"', 'the text "7"', "remove the quotes: max_steps = 7"],
  [
    '[tools]\nensure_trailing_newline = "true"',
    'the text "true"',
    "remove the quotes: ensure_trailing_newline = true",
  ],
  ["[tools]\nbash_timeout_seconds = inf", "the number Infinity", "bash_timeout_seconds = 120"],
  ["[compaction]\nratio = 2", "a number from 0.1 to 0.99", "ratio = 0.8"],
  ['[permissions]\ndeny = "Bash"', "an array is expected", 'put it in brackets: deny = ["Bash"]'],
  ["[permissions]\ndeny = [1]", "the number 1 for permissions.deny[0]", "docs"],
  ['[permissions]\nmode = "bogus"', 'one of "deny", "ask", "allow"', 'mode = "ask"'],
  ["sandbox = true", "true for sandbox: a table is expected", "write it as a table: [sandbox]"],
  [
    "[providers]\nname = 'x'",
    "a table for providers: an array of tables",
    "start each entry with [[providers]]",
  ],
  ["[[providers]]\nmodel = 'x'", 'providers[0] lacks the key "name"', "name ="],
  ["[[providers]]\nname = ''", "a text that is not empty", "name"],
  ["[[providers]]\nname='a'\n[[providers]]\nname='a'", 'the name "a" twice', "rename"],
  ["[[providers]]\nname='a'\nmodels=['big','small']\ndefault='bigg'", '"bigg" as default', '"big"'],
  ["[[plugins]]\nname='a'\ntype='bogus'\ncommand='x'", 'the text "bogus" for plugins[0].type', '"stdio"'],
  ["[[plugins]]\nname='a'\nurl='http://x'", 'The plugin "a" has no command', 'add type = "http"'],
  ["[[plugins]]\nname='a'\ntype='http'", 'The plugin "a" has no url', "url ="],
  [
    "[[plugins]]\nname='a'\ncommand='x'\nsettings='x'",
    'the text "x" for plugins[0].settings',
    "[plugins[0].settings]",
  ],
  [
    "[[providers]]\nname='local'\nmodel='m'\n[[plugins]]\nname='a'\ncommand='x'\nproviders=['locl']",
    'Cannot give the plugin "a" the provider "locl": there is no such entry in [[providers]]',
    'did you mean "local"?',
  ],
  [
    "[[providers]]\nname='l'\nmodel='m'\n[providers.server]\n[[plugins]]\nname='a'\ncommand='x'\nproviders=['l']",
    "only this program can start its server",
    "start the server yourself",
  ],
  ["language = 1979-05-27", "a date for language", "language ="],
  ["[tools.alias]\nls = 'bash'", "a table is expected", "[tools.alias.ls]"],
];

for (const [text, message, remedy] of BAD_TYPES) {
  Deno.test(`loadConfig refuses ${JSON.stringify(text)} with position and remedy`, async () => {
    await using fixture = configFixture({ "home/config.toml": text });
    const error = await assertRejects(() => fixture.load(), ConfigError);
    assertStringIncludes(error.message, message);
    if (remedy !== "docs") assertStringIncludes(error.remedy ?? "", remedy);
    assertMatch(`${error.place?.line}:${error.place?.column}`, /^\d+:\d+$/);
  });
}

Deno.test("loadConfig never quotes the value of a secret key", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      '[serve]\ntoken = ["hush-1"]\n[[plugins]]\nname = "a"\ncommand = "x"\nenv = "hush-2"\n[[providers]]\nname = "p"\napi_key = "hush-3"\nheaders = { X = 4711 }\n',
  });
  const error = await assertRejects(() => fixture.load(), ConfigError);
  assertEquals(error.problems.length, 3);
  assert(!/hush|4711/.test(error.message + error.problems.map((problem) => problem.remedy)));
});

Deno.test("AGENT_BASE_URL uses AGENT_API_KEY or, at Model Studio, DASHSCOPE_API_KEY, and only facts of an entry", async () => {
  await using fixture = configFixture({
    "home/config.toml": '[[providers]]\nname = "environment"\nkind = "anthropic"\nmodel = "m"\n' +
      'context_window = 32000\napi_key_env = "OWN"\nheaders = { a = "b" }\nextra = { c = 1 }\n',
  });
  const load = async (address: string, env: Record<string, string> = {}) => {
    const variables = { AGENT_BASE_URL: address, DASHSCOPE_API_KEY: "d", OWN: "o", ...env };
    const { config } = await fixture.load({ variables });
    const { name, kind, models, api_key_env, context_window, headers, extra } =
      config.providers.find((entry) => entry.name !== "environment") ?? {};
    return [config.default_model, name, kind, models, api_key_env, context_window, headers, extra];
  };
  const facts = ["environment-2", "anthropic", ["m"]];
  const rest = [32000, {}, {}];
  const studio = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1";
  assertEquals(await load(studio), ["environment-2/m", ...facts, "DASHSCOPE_API_KEY", ...rest]);
  assertEquals(await load(studio, { AGENT_API_KEY: "a" }), [
    "environment-2/m",
    ...facts,
    "AGENT_API_KEY",
    ...rest,
  ]);
  for (
    const address of [
      "https://dashscope.aliyuncs.com.evil.org",
      "http://dashscope.aliyuncs.com",
      "http://10.0.0.5/v1",
    ]
  ) {
    assertEquals((await load(address))[4], "");
  }
});

const SYNTAX: [name: string, text: string, place: string, remedy: string][] = [
  ["a duplicate table", "[a]\n[b]\n[a]\n", "3:2", "[[…]]"],
  ["a duplicate key", "x = 1\nx = 2\n", "2:1", "merge"],
  ["a missing value", "language =\n", "1:11", "quotes"],
  ["an unquoted text", "language = zh\n", "1:12", "quotes"],
  ["an open string", 'language = "zh\n', "1:15", ""],
  ["an open array", "[tools]\nenabled = [1,\n", "3:1", ""],
  ["NUL", 'language = "a\0b"\n', "1:14", "close the quote"],
  ["a lone header bracket", "[tools\n", "1:7", ""],
  ["a key with an umlaut", "schlüssel = 1\n", "1:5", "put the key in quotes"],
  ["a number beyond 2^53", "[agent]\nmax_steps = 99999999999999999999\n", "2:13", ""],
];

for (const [name, text, place, remedy] of SYNTAX) {
  for (const file of ["home/config.toml", "project/reasonix.toml"]) {
    Deno.test(`loadConfig refuses ${name} in ${file} and points at ${place}`, async () => {
      await using fixture = configFixture({ [file]: text });
      const error = await assertRejects(() => fixture.load(), ConfigError, "Cannot read the TOML");
      assertEquals(`${error.place?.line}:${error.place?.column}`, place);
      assertStringIncludes(error.remedy ?? "", remedy);
    });
  }
}

Deno.test("loadConfig does not quote the value of an invalid line", async () => {
  await using fixture = configFixture({ "home/config.toml": '[serve]\ntoken = "hush\n' });
  const error = await assertRejects(() => fixture.load(), ConfigError, '(at "token")');
  assertEquals(error.message.includes("hush"), false);
});

Deno.test("loadConfig reads a file with a byte order mark and CRLF, with correct line numbers", async () => {
  await using fixture = configFixture({
    "home/config.toml": '\uFEFFlangage = "zh"\r\n[agent]\r\nmax_step = 1\r\n',
  });
  const { warnings } = await fixture.load();
  assertEquals(warnings.map(({ place }) => [place?.line, place?.column]), [[1, 1], [3, 1]]);
});

Deno.test("loadConfig reads TOML 1.1: inline tables over several lines, trailing commas, \\e", async () => {
  await using fixture = configFixture({
    "home/config.toml": 'language = "\\e"\n[agent]\nsubagent_models = {\n  a = "b",\n}\n',
  });
  assertEquals((await fixture.load()).config.agent.subagent_models, { a: "b" });
});

for (const file of ["home/config.toml", "project/reasonix.toml"]) {
  const refuse = (name: string, prepare: (path: string) => void, reason: string) =>
    Deno.test(`loadConfig refuses ${name} as ${file}`, async () => {
      await using fixture = configFixture();
      prepare(`${fixture.home.replace(/home$/, "")}${file}`);
      const error = await assertRejects(
        () => fixture.load(),
        ConfigError,
        "Cannot read the configuration file",
      );
      assertStringIncludes(error.message, reason);
      assertStringIncludes(error.place?.file ?? "", file);
    });
  refuse("a directory", (path) => Deno.mkdirSync(path), "it is a directory");
  refuse("a link to itself", (path) => Deno.symlinkSync(path, path), "");
  refuse("2 MiB", (path) => Deno.writeTextFileSync(path, `# ${"x".repeat(2 << 20)}\n`), "1 MiB");
  refuse(
    "UTF-16",
    (path) => Deno.writeFileSync(path, new Uint8Array([0xff, 0xfe, 0x61, 0, 0x3d, 0])),
    "not UTF-8",
  );
  refuse(
    "Latin-1",
    (path) => Deno.writeFileSync(path, new Uint8Array([0x23, 0x20, 0xe9, 0x0a])),
    "not UTF-8",
  );
}

Deno.test({
  name: "loadConfig refuses a project file that is a link to an endless device",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using fixture = configFixture();
    Deno.symlinkSync("/dev/zero", `${fixture.cwd}/reasonix.toml`);
    await assertRejects(() => fixture.load(), ConfigError, "it is not a regular file");
  },
});

Deno.test({
  name: "loadConfig refuses a file it may not read",
  ignore: Deno.build.os === "windows" || Deno.uid() === 0,
  fn: async () => {
    await using fixture = configFixture();
    Deno.chmodSync(fixture.write("home/config.toml", ""), 0);
    await assertRejects(() => fixture.load(), ConfigError, "ermission denied");
  },
});

Deno.test("loadConfig accepts a U+FFFD that is in the file", async () => {
  await using fixture = configFixture({ "home/config.toml": 'language = "\uFFFD"' });
  assertEquals((await fixture.load()).config.language, "\uFFFD");
});

Deno.test("loadConfig treats keys named __proto__ and constructor as ordinary keys", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      '[__proto__]\npolluted = 1\n[constructor]\nx = 1\n[agent.subagent_models]\n__proto__ = "m"\nconstructor = "n"\n[[providers]]\nname = "p"\nextra = { __proto__ = { polluted = 1 } }\n',
  });
  const { config, warnings } = await fixture.load();
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
  assertEquals(Object.entries(config.agent.subagent_models), [["__proto__", "m"], ["constructor", "n"]]);
  assertEquals(warnings.length, 2);
});

Deno.test("loadConfig works without any file", async () => {
  await using fixture = configFixture();
  Deno.removeSync(fixture.home);
  const { config, warnings, files } = await fixture.load();
  assertEquals(config.providers[0]?.name, "deepseek");
  assertEquals([warnings.length, files.map((file) => file.found)], [0, [false, false]]);
});
