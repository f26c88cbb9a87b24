import { pluginStart } from "../../../../src/features/mcp/plugin_start.ts";
import { type PluginInfo, serverSpecs } from "../../../../src/mcp/mod.ts";
import { VERSION } from "../../../../src/util/version.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../support/assert.ts";
import { pluginEntry } from "../../../support/config_entries.ts";
import { openMcp, scripted, started } from "../../../support/mcp/mcp_fixture.ts";
import { configFixture, type Fixture } from "../../config/fixture.ts";

const PROBE: PluginInfo = {
  name: "probe",
  brief: "Tries what its process may do",
  module: "probe/server.ts",
  touches: "files of the workspace",
  permissions: ({ workspace, state }) => ({ read: [workspace, state], write: [state], env: ["SEARCH_KEY"] }),
};

/** Prints the outcome of each attempt: a value, or the name of the error. */
const ATTEMPTS = `
const [workspace, state, granted, other] = Deno.args;
const attempts = {
  "file of the workspace": () => Deno.readTextFileSync(workspace + "/a.txt"),
  "write state": () => Deno.writeTextFileSync(state + "/x", "x"),
  "key of the provider": () => Deno.env.get("LOCAL_KEY"),
  "variable of the list": () => Deno.env.get("SEARCH_KEY"),
  "variable of the entry": () => Deno.env.get("MINE"),
  "address of the provider": async () => (await fetch(granted)).status,
  "forbidden file": () => Deno.readTextFileSync(workspace + "/secret/key"),
  "file elsewhere": () => Deno.readTextFileSync("/etc/passwd"),
  "write the workspace": () => Deno.writeTextFileSync(workspace + "/a.txt", "x"),
  "other variable": () => Deno.env.get("OTHER_KEY"),
  "other address": () => fetch(other),
  "run a program": () => new Deno.Command("true").outputSync(),
  "native code": () => Deno.dlopen("/x.so", {}),
  "system information": () => Deno.hostname(),
};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    console.log(name + ": " + await attempt());
  } catch (error) {
    console.log(name + ": " + error.name);
  }
}
`;

function scopeOf(fixture: Fixture) {
  return { home: fixture.home, cwd: fixture.cwd, env: (name: string) => ({ HOME: "/home/someone" })[name] };
}

Deno.test("the process of a plugin can do what its list and its entry grant, and nothing else", async () => {
  await using granted = serve();
  await using other = serve();
  await using fixture = configFixture({
    "home/config.toml": `
[sandbox]
forbid_read = ["secret"]
[[providers]]
name = "local"
kind = "openai"
base_url = "${granted.url}v1"
api_key_env = "LOCAL_KEY"
model = "m"
[[plugins]]
name = "mine"
command = "reasonix"
args = ["plugin", "probe"]
env = { MINE = "mine" }
providers = ["local"]
`,
    "home/.env": "LOCAL_KEY=local\nSEARCH_KEY=search\nOTHER_KEY=other\n",
    "project/a.txt": "a",
    "project/secret/key": "s",
    "probe.js": ATTEMPTS,
  });
  const loaded = await fixture.load();
  const { command, args, env } = await pluginStart({ paths: scopeOf(fixture), loaded }, PROBE);
  const entry = args.findIndex((word) => word.endsWith("plugins/main.ts"));
  assertEquals(args.slice(entry + 1), ["probe"]);
  const state = `${fixture.home}/plugins/probe`;
  assertEquals((Deno.statSync(state).mode ?? 0) & 0o777, 0o700);
  const probe = `${fixture.home}/../probe.js`;
  const words = [fixture.cwd, state, granted.url, other.url];
  const { stdout, stderr } = await new Deno.Command(command, {
    args: [...args.slice(0, entry), probe, ...words],
    env: { ...env, OTHER_KEY: "other" },
    clearEnv: true,
  }).output();
  assertEquals(new TextDecoder().decode(stderr), "");
  assertEquals(new TextDecoder().decode(stdout).trimEnd().split("\n"), [
    "file of the workspace: a",
    "write state: undefined",
    "key of the provider: local",
    "variable of the list: search",
    "variable of the entry: mine",
    "address of the provider: 204",
    "forbidden file: NotCapable",
    "file elsewhere: NotCapable",
    "write the workspace: NotCapable",
    "other variable: NotCapable",
    "other address: NotCapable",
    "run a program: NotCapable",
    "native code: NotCapable",
    "system information: NotCapable",
  ]);
});

function serve(): AsyncDisposable & { readonly url: string } {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(null, { status: 204 }),
  );
  return { url: `http://127.0.0.1:${server.addr.port}/`, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("a plugin gets its settings with their locations, its providers and what is hidden", async () => {
  await using fixture = configFixture({
    "home/config.toml": `
[sandbox]
forbid_read = ["secret.txt", "/etc"]
[permissions]
deny = ["Read(*.pem)", "Read(./private/**)", "Read(//**/x.key)", "Read(~/.ssh/**)", "Bash(rm:*)"]
[[plugins]]
name = "mine"
command = "reasonix"
args = ["plugin", "probe"]
[plugins.settings]
word = "hello"
[plugins.settings.indexes.docs]
include = ["a", "b"]
`,
  });
  const loaded = await fixture.load();
  const { env } = await pluginStart({ paths: scopeOf(fixture), loaded }, PROBE, { words: ["status"] });
  assertEquals(JSON.parse(env.REASONIX_PLUGIN_SETTINGS ?? ""), {
    word: "hello",
    indexes: { docs: { include: ["a", "b"] } },
  });
  const { locations, ...context } = JSON.parse(env.REASONIX_PLUGIN_CONTEXT ?? "");
  const { home, cwd } = fixture;
  assertEquals(context, {
    workspace: cwd,
    state: `${home}/plugins/probe`,
    home,
    hidden: ["/secret.txt", "**/*.pem", "/*.pem", "/private", "**/x.key"],
    providers: [],
  });
  const at = (line: number, column: number) => `${home}/config.toml:${line}:${column}`;
  assertEquals(locations, {
    "": at(10, 1),
    word: at(11, 8),
    indexes: at(12, 1),
    "indexes.docs": at(12, 1),
    "indexes.docs.include": at(13, 11),
    "indexes.docs.include.0": at(13, 12),
    "indexes.docs.include.1": at(13, 17),
  });
  assert(!("MINE" in env));
});

Deno.test("a plugin gets the key that the command of its provider prints, and not the command", async () => {
  await using fixture = configFixture({
    "home/config.toml": `
[[providers]]
name = "far"
kind = "openai"
base_url = "https://far.example/v1"
api_key_command = "printf printed"
model = "m"
[[plugins]]
name = "mine"
command = "reasonix"
args = ["plugin", "probe"]
providers = ["far"]
`,
  });
  const { args, env } = await pluginStart({ paths: scopeOf(fixture), loaded: await fixture.load() }, PROBE);
  const { providers: [provider] } = JSON.parse(env.REASONIX_PLUGIN_CONTEXT ?? "");
  assertEquals([provider.api_key_env, provider.api_key_command], ["REASONIX_PLUGIN_KEY_0", undefined]);
  assertEquals(env.REASONIX_PLUGIN_KEY_0, "printed");
  assert(args.includes("--allow-net=far.example:443"), args.join(" "));
});

Deno.test("a plugin gets a provider that needs no key", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      '[[providers]]\nname = "local"\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n' +
      '[[plugins]]\nname = "mine"\ncommand = "reasonix"\nargs = ["plugin", "probe"]\nproviders = ["local"]\n',
  });
  const { env } = await pluginStart({ paths: scopeOf(fixture), loaded: await fixture.load() }, PROBE);
  assertEquals(JSON.parse(env.REASONIX_PLUGIN_CONTEXT ?? "").providers[0].name, "local");
  assert(!("" in env));
});

Deno.test("a plugin of the user does not get a provider whose address only the project names", async () => {
  await using fixture = configFixture({
    "home/config.toml":
      '[[plugins]]\nname = "mine"\ncommand = "reasonix"\nargs = ["plugin", "probe"]\nproviders = ["far"]\n',
    "project/reasonix.toml":
      '[[providers]]\nname = "far"\nkind = "openai"\nbase_url = "http://127.0.0.1:9/"\nmodel = "m"\n',
  });
  const loaded = await fixture.load({ trust: () => true });
  await assertRejects(
    () => pluginStart({ paths: scopeOf(fixture), loaded }, PROBE),
    Error,
    "Cannot give a plugin the provider far: its entry is the project's",
  );
});

Deno.test("a setting that only the user can have ends the start of a project's entry", async () => {
  const entry = '[[plugins]]\nname = "p"\ncommand = "reasonix"\nargs = ["plugin", "probe"]\n' +
    '[plugins.settings]\nallow_private = ["10.0.0.0/8"]\n';
  const info = { ...PROBE, userSettings: ["allow_private"] };
  await using project = configFixture({ "project/reasonix.toml": entry });
  const trusted = await project.load({ trust: () => true });
  await assertRejects(
    () => pluginStart({ paths: scopeOf(project), loaded: trusted }, info),
    Error,
    `${project.cwd}/reasonix.toml:6:17: Only your own file can set allow_private for the plugin probe`,
  );
  await using user = configFixture({ "home/config.toml": entry });
  const { env } = await pluginStart({ paths: scopeOf(user), loaded: await user.load() }, info);
  assertEquals(env.REASONIX_PLUGIN_SETTINGS, '{"allow_private":["10.0.0.0/8"]}');
});

Deno.test("variables of an entry do not replace the settings and the context of a plugin", async () => {
  const forged = '{"allow_private":["10.0.0.0/8"]}';
  const names = ["REASONIX_PLUGIN_SETTINGS", "REASONIX_PLUGIN_CONTEXT"];
  await using fixture = configFixture({
    "project/reasonix.toml": '[[plugins]]\nname = "p"\ncommand = "reasonix"\nargs = ["plugin", "probe"]\n' +
      `[plugins.env]\n${names.map((name) => `${name} = ${JSON.stringify(forged)}`).join("\n")}\n`,
  });
  const loaded = await fixture.load({ trust: () => true });
  const { env } = await pluginStart({ paths: scopeOf(fixture), loaded }, PROBE);
  assertEquals(env.REASONIX_PLUGIN_SETTINGS, "{}");
  assertEquals(JSON.parse(env.REASONIX_PLUGIN_CONTEXT ?? "").allow_private, undefined);
  await using mcp = await openMcp([
    { name: "p", command: "reasonix", args: ["plugin", "probe"], env: { REASONIX_PLUGIN_SETTINGS: forged } },
    scripted("other", {}, { settings: { word: "hello" } }),
  ], { plugins: { list: [PROBE], behaviour: {} } });
  await mcp.servers.start();
  const seen = async (server: string) =>
    JSON.parse((await mcp.call(`mcp__${server}__surroundings`)).content).env.REASONIX_PLUGIN_SETTINGS;
  assertEquals([await seen("p"), await seen("other")], [undefined, '{"word":"hello"}']);
});

Deno.test("a proxy in a user's entry is what its process reaches, and one in a project's entry opens nothing", async () => {
  const entry = '[[plugins]]\nname = "p"\ncommand = "reasonix"\nargs = ["plugin", "probe"]\n' +
    'env = { HTTPS_PROXY = "10.0.0.1:3128" }\n';
  const info: PluginInfo = {
    ...PROBE,
    permissions: ({ variable }) => ({ net: [variable?.("HTTPS_PROXY") ?? "none"], env: ["HTTPS_PROXY"] }),
  };
  for (const [file, isReached] of [["home/config.toml", true], ["project/reasonix.toml", false]] as const) {
    await using fixture = configFixture({ [file]: entry });
    const loaded = await fixture.load({ trust: () => true });
    const { args } = await pluginStart({ paths: scopeOf(fixture), loaded }, info);
    assertEquals(args.includes("--allow-net=10.0.0.1:3128"), isReached, args.join(" "));
  }
});

Deno.test("an entry for a plugin that the program does not have names the nearest one", async () => {
  await using mcp = await openMcp([{ name: "w", command: "reasonix", args: ["plugin", "exmaple"] }]);
  assertEquals(
    await started(mcp),
    'failed: This program has no plugin "exmaple"; did you mean "example"?',
  );
});

Deno.test("the last listing of a plugin counts for its version, build, settings and providers", () => {
  const definition = (
    more: Record<string, unknown> = {},
    plugins: readonly PluginInfo[] = [PROBE],
    build = "1-1",
  ) =>
    serverSpecs([pluginEntry({ name: "p", command: "reasonix", args: ["plugin", "probe"], ...more })], {
      cwd: "/w",
      callSeconds: 0,
      plugins,
      build,
    })[0]?.definition ?? "";
  const same = definition();
  assertEquals(definition({ settings: {} }), same);
  assertEquals(definition({ env: { KEY: "a" } }), same);
  assertStringIncludes(same, VERSION);
  for (const more of [{ settings: { search: "brave" } }, { providers: ["local"] }, { cwd: "/elsewhere" }]) {
    assert(definition(more) !== same, JSON.stringify(more));
  }
  assert(definition({}, []) !== same);
  assert(definition({}, [PROBE], "1-2") !== same);
  assert(definition({ settings: { a: 1 } }, []) !== definition({ settings: { a: 2 } }, []));
});
