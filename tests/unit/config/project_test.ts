import type { Config, ConfigProblem } from "../../../src/config/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

type Read = (config: Config) => unknown;

/**
 * The rights of a project file over one key: the user's file, the project's, what counts, and whether the user is
 * notified.
 */
const TABLE: [name: string, user: string, project: string, read: Read, value: unknown, warned: boolean][] = [
  ["agent.max_steps", "agent.max_steps = 9", "agent.max_steps = 3", (c) => c.agent.max_steps, 9, true],
  [
    "agent.max_steps as it is",
    "agent.max_steps = 9",
    "agent.max_steps = 9",
    (c) => c.agent.max_steps,
    9,
    false,
  ],
  ["agent.planner_max_steps", "", "agent.planner_max_steps = 3", (c) => c.agent.planner_max_steps, 0, true],
  [
    "agent.memory_compiler",
    "",
    "agent.memory_compiler.enabled = false",
    (c) => c.agent.memory_compiler.enabled,
    true,
    true,
  ],
  [
    "agent.plan_mode_allowed_tools",
    "",
    'agent.plan_mode_allowed_tools = ["bash"]',
    (c) => c.agent.plan_mode_allowed_tools,
    [],
    true,
  ],
  ["a first limit", "", "agent.max_cost = 2", (c) => c.agent.max_cost, 2, false],
  ["a lower limit", "agent.max_cost = 5", "agent.max_cost = 2", (c) => c.agent.max_cost, 2, false],
  ["a higher limit", "agent.max_cost = 2", "agent.max_cost = 5", (c) => c.agent.max_cost, 2, true],
  ["a limit lifted", "agent.max_cost = 2", "agent.max_cost = 0", (c) => c.agent.max_cost, 2, true],
  [
    "a longer time",
    "agent.time_limit_seconds = 5",
    "agent.time_limit_seconds = 6",
    (c) => c.agent.time_limit_seconds,
    5,
    true,
  ],
  ["more instructions", "", "instructions_max_bytes = 9999999", (c) => c.instructions_max_bytes, 65536, true],
  [
    "the system prompt",
    'agent.system_prompt = "a"',
    'agent.system_prompt = "b"',
    (c) => c.agent.system_prompt,
    "b",
    false,
  ],
  ["permissions.mode up", "", 'permissions.mode = "allow"', (c) => c.permissions.mode, "ask", true],
  ["permissions.mode down", "", 'permissions.mode = "deny"', (c) => c.permissions.mode, "deny", false],
  [
    "permissions.mode back to ask",
    'permissions.mode = "deny"',
    'permissions.mode = "ask"',
    (c) => c.permissions.mode,
    "deny",
    true,
  ],
  [
    "permissions.mode below the user's allow",
    'permissions.mode = "allow"',
    'permissions.mode = "ask"',
    (c) => c.permissions.mode,
    "ask",
    false,
  ],
  [
    "permissions.allow",
    'permissions.allow = ["a"]',
    'permissions.allow = ["Bash"]',
    (c) => c.permissions.allow,
    ["a"],
    false,
  ],
  ["permissions.deny", 'permissions.deny = ["a"]', 'permissions.deny = ["b"]', (c) => c.permissions.deny, [
    "a",
    "b",
  ], false],
  ["permissions.ask", "", 'permissions.ask = ["b"]', (c) => c.permissions.ask, ["b"], false],
  ["sandbox.bash off", "", 'sandbox.bash = "off"', (c) => c.sandbox.bash, "auto", true],
  ["sandbox.bash enforce", "", 'sandbox.bash = "enforce"', (c) => c.sandbox.bash, "enforce", false],
  [
    "sandbox.bash auto under enforce",
    'sandbox.bash = "enforce"',
    'sandbox.bash = "auto"',
    (c) => c.sandbox.bash,
    "enforce",
    true,
  ],
  ["sandbox.network on", "", "sandbox.network = true", (c) => c.sandbox.network, false, true],
  [
    "sandbox.network off",
    "sandbox.network = true",
    "sandbox.network = false",
    (c) => c.sandbox.network,
    false,
    false,
  ],
  [
    "sandbox.network_hosts",
    "",
    'sandbox.network_hosts = ["evil"]',
    (c) => c.sandbox.network_hosts,
    [],
    false,
  ],
  [
    "sandbox.forbid_read",
    'sandbox.forbid_read = ["/a"]',
    'sandbox.forbid_read = ["/b"]',
    (c) => c.sandbox.forbid_read,
    ["/a", "/b"],
    false,
  ],
  [
    "sandbox.allow_write outside",
    "",
    'sandbox.allow_write = ["/etc", "~/x", "../y"]',
    (c) => c.sandbox.allow_write,
    [],
    true,
  ],
  [
    "sandbox.workspace_root outside",
    "",
    'sandbox.workspace_root = "/"',
    (c) => c.sandbox.workspace_root,
    "",
    true,
  ],
  [
    "sandbox.workspace_root above",
    "",
    'sandbox.workspace_root = "sub/../.."',
    (c) => c.sandbox.workspace_root,
    "",
    true,
  ],
  [
    "security.env_keys on",
    "security.env_keys = false",
    "security.env_keys = true",
    (c) => c.security.env_keys,
    false,
    true,
  ],
  ["security.env_keys off", "", "security.env_keys = false", (c) => c.security.env_keys, false, false],
  ["safety.confirm strict", "", 'safety.confirm = "strict"', (c) => c.safety.confirm, "strict", false],
  [
    "safety.confirm normal",
    'safety.confirm = "strict"',
    'safety.confirm = "normal"',
    (c) => c.safety.confirm,
    "strict",
    true,
  ],
  [
    "serve.auth_mode",
    'serve.auth_mode = "token"',
    'serve.auth_mode = "none"',
    (c) => c.serve.auth_mode,
    "token",
    true,
  ],
  ["serve.token", 'serve.token = "mine"', 'serve.token = "known"', (c) => c.serve.token, "mine", true],
  ["serve.behind_proxy", "", "serve.behind_proxy = true", (c) => c.serve.behind_proxy, false, true],
  [
    "tools.writes up",
    'tools.writes = "dry-run"',
    'tools.writes = "allow"',
    (c) => c.tools.writes,
    "dry-run",
    true,
  ],
  [
    "tools.writes down",
    'tools.writes = "dry-run"',
    'tools.writes = "deny"',
    (c) => c.tools.writes,
    "deny",
    false,
  ],
  [
    "tools.enabled fewer",
    'tools.enabled = ["ls", "bash"]',
    'tools.enabled = ["ls"]',
    (c) => c.tools.enabled,
    ["ls"],
    false,
  ],
  [
    "tools.enabled partly others",
    'tools.enabled = ["ls", "glob"]',
    'tools.enabled = ["ls", "bash"]',
    (c) => c.tools.enabled,
    ["ls"],
    false,
  ],
  ["tools.enabled others", 'tools.enabled = ["ls"]', 'tools.enabled = ["bash"]', (c) => c.tools.enabled, [
    "ls",
  ], true],
  [
    "tools.enabled emptied",
    'tools.enabled = ["ls"]',
    "tools.enabled = []",
    (c) => c.tools.enabled,
    ["ls"],
    true,
  ],
  ["tools.enabled first", "", 'tools.enabled = ["bash"]', (c) => c.tools.enabled, ["bash"], false],
  [
    "tools.disabled",
    'tools.disabled = ["a"]',
    'tools.disabled = ["b"]',
    (c) => c.tools.disabled,
    ["a", "b"],
    false,
  ],
  ["tools.shell.path", "", 'tools.shell.path = "./evil"', (c) => c.tools.shell.path, undefined, false],
  [
    "skills.disabled_skills",
    "",
    'skills.disabled_skills = ["x"]',
    (c) => c.skills.disabled_skills,
    ["x"],
    false,
  ],
  ["language", 'language = "en"', 'language = "zh"', (c) => c.language, "zh", false],
];

for (const [name, user, project, read, value, warned] of TABLE) {
  Deno.test(`a project file ${warned ? "cannot" : "meets its rule when it does"} change ${name}`, async () => {
    await using fixture = configFixture({ "home/config.toml": user, "project/reasonix.toml": project });
    const { config, warnings } = await fixture.load();
    assertEquals(read(config), value);
    assertEquals(warnings.length > 0, warned, JSON.stringify(warnings));
    for (const warning of warnings) {
      assertStringIncludes(warning.remedy, `${fixture.home}/config.toml`);
      assertEquals([warning.place?.file, warning.place?.line], [`${fixture.cwd}/reasonix.toml`, 1]);
    }
  });
}

Deno.test("a project file may name paths inside the project, also absolute ones", async () => {
  await using fixture = configFixture();
  Deno.mkdirSync(`${fixture.cwd}/sub`);
  fixture.write(
    "project/reasonix.toml",
    `instructions = ["docs/*.md"]\n[agent]\nsystem_prompt_file = "p.md"\n[sandbox]\nworkspace_root = "sub"\nallow_write = ["${fixture.cwd}/out"]\n`,
  );
  const { config, warnings } = await fixture.load();
  assertEquals(warnings, []);
  assertEquals(config.instructions, [`${fixture.cwd}/docs/*.md`]);
  assertEquals(config.agent.system_prompt_file, `${fixture.cwd}/p.md`);
  assertEquals([config.sandbox.workspace_root, config.sandbox.allow_write], [
    `${fixture.cwd}/sub`,
    [`${fixture.cwd}/out`],
  ]);
});

const texts = (problems: readonly ConfigProblem[]) => problems.map((problem) => problem.message).join("\n");

Deno.test("a project file cannot leave the project through a link, a parent directory or a variable", async () => {
  await using fixture = configFixture();
  fixture.write("home/secret", "hush");
  Deno.symlinkSync(`${fixture.home}/secret`, `${fixture.cwd}/prompt.md`);
  Deno.symlinkSync(fixture.home, `${fixture.cwd}/link`);
  fixture.write(
    "project/reasonix.toml",
    'instructions = ["link/*.md", "../x.md", "~/.ssh/id_rsa"]\nagent.system_prompt_file = "prompt.md"\nsandbox.allow_write = ["link/new", "${HOME}", "${OUT:-/etc}"]\nsandbox.workspace_root = "link"',
  );
  const { config, warnings } = await fixture.load();
  assertEquals(
    [
      config.instructions,
      config.agent.system_prompt_file,
      config.sandbox.allow_write,
      config.sandbox.workspace_root,
    ],
    [[], "", [], ""],
  );
  assertEquals(warnings.length, 8, texts(warnings));
});

Deno.test("what a project would run waits for trust, keyed by its content", async () => {
  const plugin = '[[plugins]]\nname = "p"\ncommand = "npx"\nargs = ["-y", "${PKG}"]\n';
  await using fixture = configFixture({ "project/reasonix.toml": `tools.shell.path = "./sh"\n${plugin}` });
  const first = await fixture.load({ variables: { PKG: "x" } });
  assertEquals([first.config.plugins, first.config.tools.shell.path], [[], undefined]);
  assertEquals(
    first.needsTrust.map(({ kind, name, reason, place }) => [kind, name, reason, place.line]),
    [
      ["shell", "./sh", 'it would run "./sh" as the shell', 1],
      ["plugin", "p", 'it would run "npx -y ${PKG}" as an MCP server, and pass on your PKG', 2],
    ],
  );
  const trusted = new Set(first.needsTrust.map((item) => item.definition));
  const load = () => fixture.load({ variables: { PKG: "y" }, trust: (item) => trusted.has(item.definition) });
  const second = await load();
  assertEquals(second.needsTrust, []);
  assertEquals([second.config.plugins[0]?.args, second.config.tools.shell.path], [["-y", "y"], "./sh"]);
  fixture.write("project/reasonix.toml", plugin.replace("-y", "--yes"));
  assertEquals((await load()).needsTrust.map((item) => item.kind), ["plugin"]);
});

Deno.test("a project plugin does not replace the user's of the same name before it is trusted", async () => {
  const plugin = (command: string) => `[[plugins]]\nname = "p"\ncommand = "${command}"\n`;
  await using fixture = configFixture({
    "home/config.toml": plugin("mine"),
    "project/reasonix.toml": plugin("theirs"),
  });
  const commands = async (trust: boolean) =>
    (await fixture.load({ trust: () => trust })).config.plugins.map((entry) => entry.command);
  assertEquals(await commands(false), ["mine"]);
  assertEquals(await commands(true), ["theirs"]);
});

Deno.test("the project's .env feeds its plugins, but no keys, no Reasonix variables and no other setting", async () => {
  await using fixture = configFixture({
    "project/.env": "TOKEN=t\nREASONIX_HOME=x\nDEEPSEEK_API_KEY=x\nMINE_KEY=x\n",
    "project/reasonix.toml": `
[[plugins]]
name = "p"
command = "c"
env = { A = "\${TOKEN}", B = "\${REASONIX_HOME:-none}", C = "\${DEEPSEEK_API_KEY:-none}", D = "\${MINE_KEY:-none}" }
[sandbox]
forbid_read = ["/\${TOKEN:-none}"]
[[providers]]
name = "mine"
model = "m"
base_url = "http://127.0.0.1:1/\${TOKEN:-none}"
api_key_env = "MINE_KEY"
`,
  });
  const { config, keys } = await fixture.load({ trust: () => true });
  assertEquals(config.plugins[0]?.env, { A: "t", B: "none", C: "none", D: "none" });
  assertEquals(config.sandbox.forbid_read, ["/none"]);
  assertEquals(config.providers[0]?.base_url, "http://127.0.0.1:1/none");
  assertEquals(keys.saved().size, 0);
});

Deno.test("a plugin whose variable is missing is left out with a warning, anything else is an error", async () => {
  const plugin = '[[plugins]]\nname = "p"\ncommand = "${NOPE}"\n';
  await using fixture = configFixture({ "home/config.toml": plugin });
  const { config, warnings } = await fixture.load();
  assertEquals(config.plugins, []);
  assertEquals(warnings[0]?.message, 'The MCP server "p" is not started: ${NOPE} in its command is not set');
  assertEquals([warnings[0]?.place?.line, warnings[0]?.remedy], [
    3,
    "set NOPE, or write ${NOPE:-…} with a default",
  ]);
  fixture.write("home/config.toml", `${plugin}enabled = false\n`);
  assertEquals((await fixture.load()).warnings, []);
  fixture.write("home/config.toml", '[sandbox]\nforbid_read = ["/a", "${NOPE}/b"]\n');
  const error = await fixture.load().catch((error) => error);
  assertMatch(error.message, /NOPE.* in sandbox.forbid_read\[1\] is not set/);
  assert(error.place?.line === 2 && error.place?.column === 22, JSON.stringify(error.place));
});

Deno.test("a preset without network opens no host of a trusted project, and asks for no other decision", async () => {
  await using fixture = configFixture({
    "project/reasonix.toml": 'permissions.allow = ["Bash(make:*)"]\nsandbox.network_hosts = ["a.example"]\n',
    "home/config.toml": 'sandbox.network_hosts = ["own.example"]\n',
  });
  const contents: unknown[] = [];
  const trust = ({ definition }: { readonly definition: unknown }) => contents.push(definition) > 0;
  const usual = await fixture.load({ trust });
  const offline = await fixture.load({ trust, preset: "offline" });
  assertEquals(usual.config.sandbox.network_hosts, ["own.example", "a.example"]);
  assertEquals(offline.config.sandbox.network_hosts, ["own.example"]);
  assertEquals(offline.config.permissions.allow.at(-1), "Bash(make:*)");
  assertEquals(contents[0], contents[1]);
  assertEquals(offline.warnings.map(({ message, place }) => [message, place?.line]), [
    ['With preset offline a project cannot open the host "a.example"; it is ignored', 2],
  ]);
});
