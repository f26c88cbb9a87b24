import type { ConfigProblem } from "../../../src/config/mod.ts";
import { valueAt } from "../../../src/config/schema/json_schema.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

/** The rights of a project file over a key: the user's value, the project's ("" = none), and what counts. */
const TABLE: [key: string, user: string, project: string, value: unknown, warned: boolean][] = [
  ["agent.max_steps", "9", "3", 9, true],
  ["agent.max_steps", "9", "9", 9, false],
  ["agent.planner_max_steps", "", "3", 0, true],
  ["agent.memory_compiler.enabled", "", "false", true, true],
  ["agent.plan_mode_allowed_tools", "", '["bash"]', [], true],
  ["agent.max_cost", "", "2", 2, false],
  ["agent.max_cost", "5", "2", 2, false],
  ["agent.max_cost", "2", "5", 2, true],
  ["agent.max_cost", "2", "0", 2, true],
  ["agent.time_limit_seconds", "5", "6", 5, true],
  ["instructions_max_bytes", "", "9999999", 65536, true],
  ["agent.system_prompt", '"a"', '"b"', "b", false],
  ["permissions.mode", "", '"allow"', "ask", true],
  ["permissions.mode", "", '"deny"', "deny", false],
  ["permissions.mode", '"deny"', '"ask"', "deny", true],
  ["permissions.mode", '"allow"', '"ask"', "ask", false],
  ["permissions.allow", '["a"]', '["Bash"]', ["a"], false],
  ["permissions.deny", '["a"]', '["b"]', ["a", "b"], false],
  ["permissions.ask", "", '["b"]', ["b"], false],
  ["sandbox.bash", "", '"off"', "auto", true],
  ["sandbox.bash", "", '"enforce"', "enforce", false],
  ["sandbox.bash", '"enforce"', '"auto"', "enforce", true],
  ["sandbox.network", "", "true", false, true],
  ["sandbox.network", "true", "false", false, false],
  ["sandbox.network_hosts", "", '["evil"]', [], false],
  ["sandbox.forbid_read", '["/a"]', '["/b"]', ["/a", "/b"], false],
  ["sandbox.allow_write", "", '["/etc", "~/x", "../y"]', [], true],
  ["sandbox.workspace_root", "", '"/"', "", true],
  ["sandbox.workspace_root", "", '"sub/../.."', "", true],
  ["security.env_keys", "false", "true", false, true],
  ["security.env_keys", "", "false", false, false],
  ["safety.confirm", "", '"strict"', "strict", false],
  ["safety.confirm", '"strict"', '"normal"', "strict", true],
  ["serve.auth_mode", '"token"', '"none"', "token", true],
  ["serve.token", '"mine"', '"known"', "mine", true],
  ["serve.behind_proxy", "", "true", false, true],
  ["tools.writes", '"dry-run"', '"allow"', "dry-run", true],
  ["tools.writes", '"dry-run"', '"deny"', "deny", false],
  ["tools.enabled", '["ls", "bash"]', '["ls"]', ["ls"], false],
  ["tools.enabled", '["ls", "glob"]', '["ls", "bash"]', ["ls"], false],
  ["tools.enabled", '["ls"]', '["bash"]', ["ls"], true],
  ["tools.enabled", '["ls"]', "[]", ["ls"], true],
  ["tools.enabled", "", '["bash"]', ["bash"], false],
  ["tools.disabled", '["a"]', '["b"]', ["a", "b"], false],
  ["tools.shell.path", "", '"./evil"', undefined, false],
  ["skills.disabled_skills", "", '["x"]', ["x"], false],
  ["language", '"en"', '"zh"', "zh", false],
];

for (const [key, user, project, value, warned] of TABLE) {
  Deno.test(`a project file sets ${key} from ${user || "nothing"} to ${project}${warned ? ": refused" : ""}`, async () => {
    const line = (text: string) => text === "" ? "" : `${key} = ${text}`;
    await using fixture = configFixture({
      "home/config.toml": line(user),
      "project/reasonix.toml": line(project),
    });
    const { config, warnings } = await fixture.load();
    assertEquals(valueAt(config, key.split(".")), value);
    assertEquals(warnings.length > 0, warned, JSON.stringify(warnings));
    for (const warning of warnings) {
      assertStringIncludes(warning.remedy, `${fixture.home}/config.toml`);
      assertEquals([warning.place?.file, warning.place?.line], [`${fixture.cwd}/reasonix.toml`, 1]);
    }
  });
}

Deno.test("a project file can name paths inside the project, also absolute ones", async () => {
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

Deno.test("programs of a project require trust, keyed by their content", async () => {
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

Deno.test("a project plugin does not replace the user's plugin of the same name before it is trusted", async () => {
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

Deno.test("the project's .env sets variables of its plugins only, without keys and Reasonix variables", async () => {
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

Deno.test("a plugin with a missing variable is omitted with a warning, other settings are an error", async () => {
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

Deno.test("a preset without network blocks the hosts of a trusted project", async () => {
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
