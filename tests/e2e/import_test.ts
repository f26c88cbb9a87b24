/** `reasonix config import`: its output, the written configuration, and its effect. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { denoDir, makeWorld, programFile, type World } from "../support/program.ts";
import { openTerminal } from "../support/tmux.ts";
import { needs } from "../support/tools.ts";

const KEY = "sk-ant-api03-0123456789abcdefghij";
const hasTmux = await new Deno.Command("tmux", { args: ["-V"] }).output().then(() => true, () => false);

const CLAUDE = `{
  "model": "claude-sonnet-4-5[1m]",
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Edit(docs/**)", "Edit(src/*.ts)", "Write(notes/**)", "Edit(文档/**)"],
    "ask": ["Bash(git commit:*)"],
    "deny": ["Read(./.env)", "Bash(curl * | sh)"],
    "defaultMode": "dontAsk"
  },
  "env": { "ANTHROPIC_API_KEY": "${KEY}" },
  "hooks": { "PostToolUse": [{ "matcher": "Edit|Write", "hooks": [{ "type": "command", "command": "fmt" }] }] }
}
`;

const STATE = `{
  "oauthAccount": { "accessToken": "oauth-token-of-no-user-0123456789" },
  "mcpServers": { "github": { "command": "npx", "args": ["-y", "server"], "env": { "GITHUB_TOKEN": "ghp_${
  "0123456789".repeat(4)
}" } } }
}
`;

const CODEX = `# 设置
model = "gpt-5-codex"
approval_policy = "never" # I trust it
sandbox_mode = "workspace-write"

[mcp_servers.docs]
url = "https://docs.example/mcp"
bearer_token_env_var = "DOCS_TOKEN"

[profiles.fast]
model = "gpt-5-mini"
`;

const OPENCODE = `{
  // the local one
  "model": "local/qwen",
  "provider": {
    "local": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "http://127.0.0.1:9/v1", "apiKey": "{env:LOCAL_KEY}" },
      "models": { "qwen": { "limit": { "context": 32768, "output": 4096 } } },
    },
  },
  "permission": { "bash": { "*": "ask", "git status *": "allow", "rm *": "deny" }, "webfetch": "deny" },
  "agent": { "docs": { "description": "Writes the docs", "prompt": "Be brief.", "tools": { "bash": false } } },
  "command": { "test": { "template": "Run the tests of $ARGUMENTS", "agent": "build" } },
}
`;

const GO = `default_model = "ds"
config_version = 3

[agent]
planner_max_steps = 4

[permissions]
allow = ["Bash(go test:*)"]

[[providers]]
name = "ds"
kind = "openai"
base_url = "https://api.deepseek.com"
models = ["deepseek-v4-flash"]
api_key_env = "DEEPSEEK_API_KEY"

[desktop]
theme = "dark"
`;

async function furnished(files: Readonly<Record<string, string>>): Promise<{ world: World; home: string }> {
  const world = await makeWorld();
  const home = world.home.replace(/\/home$/, "");
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(`${home}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${home}/${path}`, text);
  }
  return { world, home };
}

const AGENTS: readonly [agent: string, files: Readonly<Record<string, string>>][] = [
  ["claude", { ".claude/settings.json": CLAUDE, ".claude.json": STATE }],
  [
    "codex",
    {
      ".codex/config.toml": CODEX.replaceAll("\n", "\r\n"),
      ".codex/rules/default.rules": 'prefix_rule(pattern=["make", "test"], decision="allow")\n' +
        'prefix_rule(pattern=["make", "publish"], decision="forbidden")\n',
    },
  ],
  ["opencode", { ".config/opencode/opencode.jsonc": OPENCODE.replaceAll("\n", "\r\n") }],
  ["reasonix", { ".reasonix/config.toml": GO, ".reasonix/.env": "DEEPSEEK_API_KEY=sk-0123456789abcdef\n" }],
];

for (const [agent, files] of AGENTS) {
  Deno.test(`config import ${agent} shows its plan, writes it, and is then up to date`, async () => {
    const { world, home } = await furnished(files);
    await using _world = world;
    const shown = await world.run(["config", "import", agent, "--dry-run"]);
    assertEquals([shown.code, shown.stderr], [0, ""]);
    await golden(agent, shown.stdout.replaceAll(home, "HOME").replaceAll("~/home/", "OURS/"));
    assertEquals([...Deno.readDirSync(world.home)].map(({ name }) => name), [], "a dry run writes nothing");

    const asked = await world.run(["config", "import", agent]);
    assertEquals(asked.code, 3);
    assertStringIncludes(asked.stderr, "there is no terminal");

    const done = await world.run(["config", "import", agent, "--yes", "--keys"]);
    assertEquals([done.code, done.stderr], [0, ""]);
    assertEquals((Deno.statSync(`${world.home}/config.toml`).mode ?? 0) & 0o777, 0o600);
    const written = Deno.readTextFileSync(`${world.home}/config.toml`);
    for (const text of [written, shown.stdout, done.stdout]) {
      assert(!/sk-ant-api03|ghp_0|oauth-token|sk-0123/.test(text), text);
    }
    const checked = await world.run(["config", "show"], { env: { DOCS_TOKEN: "x" } });
    assertEquals([checked.code, checked.stderr], [0, ""], "the file that comes out is free of diagnostics");
    if (agent === "claude") {
      assertStringIncludes((await world.run(["hooks", "list"])).stdout, "PostToolUse");
    } else if (agent === "opencode") {
      assertStringIncludes((await world.run(["agents", "show", "docs"])).stdout, "Be brief.");
      assert(Deno.readTextFileSync(`${world.home}/commands/test.md`).includes("$ARGUMENTS"));
    }

    const again = await world.run(["config", "import", agent, "--yes", "--keys"]);
    assertStringIncludes(again.stdout, "Nothing to write");
    assertEquals(Deno.readTextFileSync(`${world.home}/config.toml`), written);
  });
}

async function golden(name: string, text: string): Promise<void> {
  const file = new URL(`../golden/import/${name}.txt`, import.meta.url);
  if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, text);
  assertEquals(text, await Deno.readTextFile(file), "UPDATE_GOLDEN=1 records a change");
}

/** Decisions of the imported rules: never laxer than those of the agent they come from. */
const DECISIONS: readonly [agent: string, call: readonly string[], decision: RegExp][] = [
  ["claude", ["npm run test:unit"], /^deny/],
  ["claude", ["npm run test -- -w"], /^allow/],
  ["claude", ["git commit -m x"], /^ask/],
  ["claude", ["make"], /^deny/],
  ["claude", ["curl https://x.example | sh"], /^deny/],
  ["claude", ["--tool", "write_file", '{"path": "notes/a.md", "content": ""}'], /^allow/],
  [
    "claude",
    ["--tool", "edit_file", '{"path": "notes/a.md", "old_string": "a", "new_string": "b"}'],
    /^deny/,
  ],
  ["claude", ["--tool", "write_file", '{"path": "文档/a.md", "content": ""}'], /^allow/],
  ["claude", ["--tool", "write_file", '{"path": "src/lib/a.ts", "content": ""}'], /^deny/],
  ["claude", ["--tool", "read_file", '{"path": ".env"}'], /^deny/],
  ["codex", ["make test -j2"], /^allow/],
  ["codex", ["make testing"], /^ask/],
  ["codex", ["cd x && make publish"], /^deny/],
  ["opencode", ["git status --short"], /^allow/],
  ["opencode", ["make"], /^ask/],
  ["opencode", ["rm x"], /^deny/],
];

Deno.test("the rules that config import writes decide like their sources", async () => {
  for (const [agent, files] of AGENTS) {
    const { world } = await furnished(files);
    await using _world = world;
    await world.run(["config", "import", agent, "--yes"]);
    for (const [, call, decision] of DECISIONS.filter(([owner]) => owner === agent)) {
      const { stdout, stderr } = await world.run(["permissions", "check", ...call]);
      assertMatch(stdout + stderr, decision, call.join(" "));
    }
  }
});

Deno.test("config import reports broken parts, imports the rest, and sets its exit code", async () => {
  const { world, home } = await furnished({
    ".claude/settings.json": "{ nothing",
    ".codex/config.toml": CODEX,
  });
  await using _world = world;
  await world.write(".mcp.json", '{"mcpServers": {"read": {"command": "where it stands"}}}');
  await world.write(
    "opencode.json",
    '{"mcp": {"p": {"type": "local", "command": ["node"], "environment": {"P_TOKEN": "geheim-0123"}}}}',
  );
  const { code, stdout, stderr } = await world.run(["config", "import", "--yes", "--json"]);
  assertEquals(code, 6);
  assertMatch(stderr, /settings\.json:1:3: Cannot read the JSON here: /);
  const report = JSON.parse(stdout);
  assertEquals(report.written, true);
  assertEquals(
    report.files.map(({ path }: { path: string }) => path.replace(world.dir, "DIR").replace(home, "")),
    [
      "/home/config.toml",
      "DIR/reasonix.toml",
    ],
  );
  assertEquals(report.keys, [{
    name: "P_TOKEN",
    from: "mcp.p",
    place: { file: `${world.dir}/opencode.json`, line: 1, column: 10 },
    state: "missing",
  }]);
  assert(!stdout.includes("geheim-0123"));
  assertStringIncludes(await world.read("reasonix.toml"), 'P_TOKEN = "${P_TOKEN}"');

  const nothing = await makeWorld();
  await using _nothing = nothing;
  const missing = await nothing.run(["config", "import"]);
  assertEquals(missing.code, 2);
  assertStringIncludes(missing.stderr, "/.codex/config.toml");
  assertEquals((await nothing.run(["config", "import", "cursor"])).code, 2);
  assertEquals((await nothing.run(["config", "import", "--from", "nowhere.json"])).code, 2);
});

const terminalTest = needs(
  "tmux",
  hasTmux,
  "config import asks which agents, shows the plan and asks before it writes",
);
Deno.test({
  ...terminalTest,
  fn: async () => {
    const { world, home } = await furnished({ ".claude/settings.json": CLAUDE, ".codex/config.toml": CODEX });
    await using _world = world;
    await using terminal = await openTerminal(await programFile(), {
      cwd: world.dir,
      rows: 120,
      columns: 120,
      env: {
        REASONIX_HOME: world.home,
        HOME: home,
        LANG: "en_US.UTF-8",
        LC_ALL: "en_US.UTF-8",
        ...denoDir(),
      },
    });
    await terminal.type("reasonix config import");
    await terminal.press("Enter");
    await terminal.shows("Import from");
    await terminal.press("Down", "Space", "Enter");
    await terminal.shows("Write this?");
    await terminal.type("n");
    await terminal.press("Enter");
    await terminal.shows("Save this key in");
    await terminal.type("n");
    await terminal.press("Enter");
    const screen = await terminal.shows("No configuration was written");
    assert(!screen.includes("gpt-5-codex"), "codex was not chosen");
    assertEquals([...Deno.readDirSync(world.home)], []);
    // Output of the first round could be mistaken for that of the second.
    await terminal.type("clear; printf 'round %d\\n' 2; reasonix config import claude");
    await terminal.press("Enter");
    await terminal.shows("round 2\n");
    await terminal.shows("Write this?");
    await terminal.type("y");
    await terminal.press("Enter");
    await terminal.shows("Save this key in");
    await terminal.type("y");
    await terminal.press("Enter");
    await terminal.shows("Wrote");
    assertEquals(Deno.readTextFileSync(`${world.home}/.env`), `ANTHROPIC_API_KEY=${KEY}\n`);
  },
});

Deno.test("config import prints Chinese for a Chinese user and English to programs", async () => {
  const { world } = await furnished({ ".claude/settings.json": CLAUDE });
  await using _world = world;
  const env = { REASONIX_LANG: "zh-CN" };
  const shown = await world.run(["config", "import", "claude"], { env });
  for (const words of ["找到\n", "→ 不变\n", "未导入：", "没有写入配置\n"]) {
    assertStringIncludes(shown.stdout, words);
  }
  assertStringIncludes(shown.stderr, "没有终端");
  const json = await world.run(["config", "import", "claude", "--json"], { env });
  assertStringIncludes(json.stdout, "none yet");
  const done = await world.run(["config", "import", "claude", "--yes", "--keys"], { env });
  assertStringIncludes(done.stdout, "已保存 ANTHROPIC_API_KEY\n");
  assertStringIncludes(done.stdout, `已写入 ${world.home}/config.toml\n`);
});
