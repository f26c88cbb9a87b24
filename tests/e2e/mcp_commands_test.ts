/** `reasonix mcp`: written and refused entries, with every other line of a file unchanged. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { denoDir, makeWorld, programFile, type World } from "../support/program.ts";
import { openTerminal } from "../support/tmux.ts";
import { needs } from "../support/tools.ts";

const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

const TOML = `# mine
default_model = "mock" # keep

# my servers
[[plugins]]
name = "one" # the first
command = "sh"
env = { A = "b" }

# about two
[[plugins]]
name = "two"
command = "sh"
[plugins.env]
B = "c"

# the end
[permissions]
mode = "ask"
`;

async function names(world: World): Promise<string[]> {
  const { stdout } = await world.run(["mcp", "list", "--json"]);
  return JSON.parse(stdout).map((row: Record<string, string>) => `${row.name} ${row.state}`);
}

const home = (world: World, name: string) => Deno.readTextFileSync(`${world.home}/${name}`);

Deno.test("mcp add writes one entry and keeps every other line; mcp remove removes it", async () => {
  await using world = await makeWorld(TOML);
  const before = home(world, "config.toml");
  const words = "mcp add three --env X=1 --cwd . -- sh -c".split(" ");
  const added = await world.run([...words, "exit 0"]);
  assertEquals([added.code, added.stderr], [0, ""]);
  const entry =
    `[[plugins]]\nname = "three"\ncommand = "sh"\nargs = [ "-c", "exit 0" ]\nenv = { X = "1" }\n` +
    `cwd = "${await Deno.realPath(world.dir)}"\n`;
  assertEquals(home(world, "config.toml"), before.replace('B = "c"\n', `B = "c"\n\n${entry}`));
  assertStringIncludes(added.stdout, '+ name = "three"');
  assertEquals(await names(world), ["one on", "two on", "three on"]);
  const removed = await world.run(["mcp", "remove", "three"]);
  assertEquals([removed.code, removed.stderr], [0, ""]);
  assertStringIncludes(removed.stdout, '- name = "three"');
  assertEquals(home(world, "config.toml"), before);
  await world.run(["mcp", "remove", "one"]);
  assertEquals(
    home(world, "config.toml"),
    before.replace('\n[[plugins]]\nname = "one" # the first\ncommand = "sh"\nenv = { A = "b" }\n', "\n"),
  );
  await world.run(["mcp", "remove", "two"]);
  assertEquals(await names(world), []);
  for (const comment of ["# mine", "# keep", "# my servers", "# about two", "# the end"]) {
    assertStringIncludes(home(world, "config.toml"), comment);
  }
});

Deno.test("mcp add stores secrets outside of the configuration and prints their location", async () => {
  await using world = await makeWorld("");
  const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
  const lines = [
    ["gh", "--env", `GITHUB_TOKEN=${secret}`, "--env", "PLAIN=x", "--", "sh", "-c", "exit"],
    ["far", "https://far.example/mcp?api_key=abcdefabcdef", "--header", "Authorization: Bearer hush-hush-1"],
    ["arg", "--", "sh", "--token", "hush-hush-2"],
    // The same name with another value must not take the first one's place.
    ["other", "--env", "GITHUB_TOKEN=hush-hush-3", "--", "sh"],
    ["same", "--env", `GITHUB_TOKEN=${secret}`, "--", "sh"],
  ];
  for (const line of lines) {
    const { code, stdout, stderr } = await world.run(["mcp", "add", ...line]);
    assertEquals([code, stderr], [0, ""]);
    assert(!/ghp_0|hush|abcdefabcdef/.test(stdout), stdout);
    assertStringIncludes(stdout, "which only you can read");
  }
  const config = home(world, "config.toml");
  assert(!/ghp_0|hush|abcdefabcdef/.test(config), config);
  for (
    const text of [
      'env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", PLAIN = "x" }',
      'url = "https://far.example/mcp?api_key=${FAR_API_KEY}"',
      'Authorization = "Bearer ${FAR_TOKEN}"',
      'args = [ "--token", "${ARG_TOKEN}" ]',
      'env = { GITHUB_TOKEN = "${OTHER_GITHUB_TOKEN}" }',
    ]
  ) assertStringIncludes(config, text);
  const saved = home(world, ".env");
  assertEquals(saved.trim().split("\n").toSorted(), [
    "ARG_TOKEN=hush-hush-2",
    "FAR_API_KEY=abcdefabcdef",
    "FAR_TOKEN=hush-hush-1",
    `GITHUB_TOKEN=${secret}`,
    "OTHER_GITHUB_TOKEN=hush-hush-3",
  ]);
  assertEquals((Deno.statSync(`${world.home}/.env`).mode ?? 0) & 0o777, 0o600);
  assertEquals((await world.run(["mcp", "list"])).stderr, "");
});

Deno.test("mcp remove --forget-secret removes the secrets that nothing else uses", async () => {
  await using world = await makeWorld("");
  const add = (...line: string[]) => world.run(["mcp", "add", ...line]);
  await add("a", "--env", "A_TOKEN=hush-hush-1", "--env", "SHARED_TOKEN=hush-hush-2", "--", "sh");
  await add("b", "--env", "SHARED_TOKEN=hush-hush-2", "--", "sh");
  await Deno.writeTextFile(`${world.home}/.env`, "\n# mine\nexport OTHER_KEY=x\n", { append: true });
  const saved = home(world, ".env");
  const kept = await world.run(["mcp", "remove", "b"]);
  assertEquals([kept.code, home(world, ".env")], [0, saved]);
  assert(!kept.stdout.includes("SHARED_TOKEN stays"), kept.stdout);
  await add("c", "--env", "C_TOKEN=hush-hush-3", "--", "sh");
  const asked = await world.run(["mcp", "remove", "c"]);
  assertStringIncludes(asked.stdout, "C_TOKEN stays in ");
  assertStringIncludes(asked.stdout, "--forget-secret removes it with the server");
  assertStringIncludes(home(world, ".env"), "C_TOKEN=hush-hush-3\n");
  const gone = await world.run(["mcp", "remove", "a", "--forget-secret"]);
  assertEquals([gone.code, gone.stderr], [0, ""]);
  assertStringIncludes(gone.stdout, "Removed A_TOKEN, SHARED_TOKEN from ");
  assertEquals(home(world, ".env").trim().split("\n"), [
    "# mine",
    "export OTHER_KEY=x",
    "C_TOKEN=hush-hush-3",
  ]);
  assertEquals((Deno.statSync(`${world.home}/.env`).mode ?? 0) & 0o777, 0o600);
});

Deno.test({
  ...needs("tmux", hasTmux, "mcp remove asks a person whether the secret goes too"),
  async fn() {
    await using world = await makeWorld("");
    for (const [name, answer] of [["a", "no"], ["b", "yes"]] as const) {
      await world.run(["mcp", "add", name, "--env", `${name.toUpperCase()}_TOKEN=hush-hush`, "--", "sh"]);
      const env = { HOME: world.home, REASONIX_HOME: world.home, REASONIX_LANG: "en", ...denoDir() };
      await using terminal = await openTerminal(await programFile(), { cwd: world.dir, env, columns: 200 });
      await terminal.shows("$");
      await terminal.type(`reasonix mcp remove ${name}`);
      await terminal.press("Enter");
      await terminal.shows("Type yes:");
      await terminal.type(answer);
      await terminal.press("Enter");
      await terminal.shows(answer === "yes" ? "Removed B_TOKEN" : "A_TOKEN stays in");
    }
    assertEquals(home(world, ".env"), "A_TOKEN=hush-hush\n");
  },
});

Deno.test("mcp add --project stores no secret, and its entry requires trust", async () => {
  await using world = await makeWorld("");
  const line = "mcp add p --project --env API_KEY=hush-hush-hush --cwd sub -- ./run.sh".split(" ");
  await world.write("sub/run.sh", "exit\n");
  const { code, stdout } = await world.run(line);
  assertEquals(code, 0);
  assertStringIncludes(stdout, "It starts after `reasonix trust`");
  assertStringIncludes(stdout, "export API_KEY");
  const text = await world.read("reasonix.toml");
  assert(!text.includes("hush"));
  assertStringIncludes(text, 'cwd = "sub"');
  assertEquals(await names(world), ["p untrusted"]);
  const trust = await world.run(["trust", "--yes"]);
  assertStringIncludes(trust.stdout, "runs: ./run.sh\n  in: sub\n  environment: API_KEY\n");
  assertStringIncludes((await world.run(["mcp", "list"])).stdout, "${API_KEY} in its env.API_KEY is not set");
  const list = await world.run(["mcp", "list", "--json"], { env: { API_KEY: "x" } });
  assertEquals(JSON.parse(list.stdout)[0].state, "on");
  // The script that the command names is a part of what was trusted.
  await world.write("sub/run.sh", "exit 1\n");
  assertEquals(await names(world), ["p untrusted"]);
});

const REFUSED: readonly (readonly [line: string[], message: string, remedy: string])[] = [
  [["a b", "--", "sh"], 'a name cannot have " " in it', "use letters"],
  [["服务", "--", "sh"], 'a name cannot have "服" in it', "use letters"],
  [["a__b", "--", "sh"], "two _ in a row", "use letters"],
  [["x".repeat(41), "--", "sh"], "more than 40 characters", "use letters"],
  [["x"], "neither a command nor an address is given", "reasonix mcp add x -- COMMAND"],
  [["x", "--", "no-such-program"], 'there is no program "no-such-program"', "install it"],
  [["x", "--", "./no/such"], 'there is no program "./no/such"', "give the path"],
  [["x", "--cwd", "nowhere", "--", "sh"], "there is no such directory", "name an existing directory"],
  [["x", "ftp://x"], '"ftp://x" is no address of a web server', "give https://"],
  [["x", "http://"], '"http://" is no address', "give https://"],
  [
    ["x", "https://x.example", "--transport", "sse"],
    '--transport cannot be "sse"',
    "leave it out: most such servers",
  ],
  [["x", "https://x.example", "--env", "A=b"], "--env has no meaning", "leave --env out"],
  [["x", "https://x.example", "--header", "broken"], "a --header is no header", "Name: value"],
  [["x", "--header", "A: b", "--", "sh"], "--header has no meaning", "leave --header out"],
  [["x", "--env", "1=b", "--", "sh"], '"1" is no name of a variable', "--env NAME=value"],
  [["x", "--project", "--user", "--", "sh"], "--project and --user exclude each other", "give one"],
  [["x", "npx", "-y", "thing"], "Unknown option -y", "put -- before the command line"],
  [["one", "--", "sh"], "there is one of that name (", "reasonix mcp remove one"],
  [["x", "--scope", "user", "--", "sh"], "Unknown option --scope", "--project or --user"],
];

Deno.test("mcp add refuses a wrong entry with a reason and a remedy, and changes nothing", async (t) => {
  await using world = await makeWorld(TOML);
  const before = home(world, "config.toml");
  for (const [line, message, remedy] of REFUSED) {
    await t.step(line.join(" ").slice(0, 60), async () => {
      const { code, stdout, stderr } = await world.run(["mcp", "add", ...line]);
      assertEquals([code, stdout], [2, ""]);
      assertStringIncludes(stderr, message);
      assertStringIncludes(stderr, remedy);
      assertEquals(home(world, "config.toml"), before);
    });
  }
});

Deno.test("mcp add and remove keep a file that they cannot read or write", async () => {
  await using world = await makeWorld("[[plugins]\n");
  for (const line of [["add", "x", "--", "sh"], ["remove", "x"]]) {
    const { code, stderr } = await world.run(["mcp", ...line]);
    assertEquals(code, 6);
    assertStringIncludes(stderr, "config.toml:1:1");
  }
  assertEquals(home(world, "config.toml"), "[[plugins]\n");
  await world.write("no-directory", "");
  const env = { REASONIX_HOME: `${world.dir}/no-directory/home` };
  const { code, stderr } = await world.run(["mcp", "add", "x", "--", "sh"], { env });
  assertEquals(code, 6);
  assert(!stderr.includes("Internal error"), stderr);
  assertStringIncludes(stderr, "no-directory");
});

Deno.test("mcp remove deletes a server from .mcp.json and keeps comments, order and commas", async () => {
  await using world = await makeWorld("");
  const json = `\uFEFF{
  // of the team
  "mcpServers": {
    "a": { "command": "sh" }, // the first
    "b": { "command": "sh" },
    // the last
    "c": { "command": "sh", "args": ["-c", "a, b"] }
  },
  "other": [1,2]
}
`;
  await world.write(".mcp.json", json);
  const without = async (name: string) => {
    assertEquals((await world.run(["mcp", "remove", name])).code, 0);
    return await world.read(".mcp.json");
  };
  assertEquals(await without("b"), json.replace('    "b": { "command": "sh" },\n', ""));
  assertEquals(
    await without("c"),
    json.replace('    "b": { "command": "sh" },\n', "").replace(
      '    "c": { "command": "sh", "args": ["-c", "a, b"] }\n',
      "",
    )
      .replace('"sh" }, // the first', '"sh" } // the first'),
  );
  const last = await without("a");
  for (const kept of ["// of the team", "// the first", "// the last", '"other": [1,2]']) {
    assertStringIncludes(last, kept);
  }
  assertEquals(await names(world), []);
  assertEquals((await world.run(["mcp", "list"])).stderr, "");
});

Deno.test("mcp remove prompts for the entry, suggests similar names, and reports the effective entry", async () => {
  await using world = await makeWorld(TOML);
  await world.write(".mcp.json", '{"mcpServers": {"one": {"command": "sh"}}}');
  const both = await world.run(["mcp", "remove", "one"]);
  assertEquals(both.code, 2);
  assertStringIncludes(both.stderr, "add --project or --user");
  const user = await world.run(["mcp", "remove", "one", "--user"]);
  assertEquals(user.code, 0);
  assertStringIncludes(user.stdout, ".mcp.json:1:17 counts");
  const near = await world.run(["mcp", "remove", "tow"]);
  assertEquals(near.code, 2);
  assertStringIncludes(near.stderr, "did you mean two?");
});

Deno.test("mcp import imports only the servers of other agents", async () => {
  await using world = await makeWorld("");
  const user = `${world.dir}/../person`;
  await Deno.mkdir(`${user}/.claude`, { recursive: true });
  await Deno.mkdir(`${user}/.codex`, { recursive: true });
  await Deno.writeTextFile(
    `${user}/.claude.json`,
    JSON.stringify({
      mcpServers: { gh: { command: "sh", env: { GH_TOKEN: "ghp_0123456789abcdefghij0123" } } },
    }),
  );
  await Deno.writeTextFile(
    `${user}/.claude/settings.json`,
    '{"permissions": {"allow": ["Bash(ls)"]}, "hooks": {}}',
  );
  await Deno.writeTextFile(
    `${user}/.codex/config.toml`,
    'model = "x"\n[mcp_servers.docs]\nurl = "https://docs.example"\ncwd = 3\n',
  );
  const env = { HOME: await Deno.realPath(user) };
  const shown = await world.run(["mcp", "import", "--dry-run"], { env });
  assertEquals([shown.code, shown.stderr], [0, ""]);
  assertStringIncludes(shown.stdout, "mcpServers.gh → [[plugins]] gh");
  for (const other of ["Bash(ls)", "hooks", "ghp_0"]) assert(!shown.stdout.includes(other), shown.stdout);
  const done = await world.run(["mcp", "import", "--yes", "--keys"], { env });
  assertEquals(done.code, 0, done.stderr);
  assertEquals(await names(world), ["gh on", "docs on"]);
  assert(!home(world, "config.toml").includes("permissions"));
  assertStringIncludes(home(world, ".env"), "GH_TOKEN=ghp_0");
});

Deno.test("completion proposes server names for commands that take one", async () => {
  await using world = await makeWorld(TOML);
  const complete = async (...words: string[]) =>
    (await world.run(["complete", "--", ...words])).stdout.trim().split("\n");
  assertEquals(await complete("mcp", "remove", ""), ["one", "two"]);
  assertEquals((await complete("mcp", "")).includes("add"), true);
});
