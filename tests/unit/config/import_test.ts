import fc from "fast-check";
import { claudeRule, type RuleListName, type Translation } from "../../../src/config/foreign/claude.ts";
import { loadImport, saveProvider } from "../../../src/config/mod.ts";
import { textOf } from "../../../src/core/mod.ts";
import { isFault, lintRule, readRule } from "../../../src/rule/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";
import { configFixture } from "./fixture.ts";

const { filesFrom, findFiles, previewImport, writeConfig } = await loadImport();

interface Played {
  /** `key value` or `list name` of each written setting, in order. */
  readonly taken: string[];
  readonly left: string[];
  readonly keys: string[];
  readonly problems: string[];
  readonly text: string;
}

/** Imports one user file and loads the result. */
async function play(name: string, text: string, existing = ""): Promise<Played> {
  await using fixture = configFixture(existing === "" ? {} : { "home/config.toml": existing });
  const file = fixture.write(name, text);
  const around = { cwd: fixture.cwd, home: fixture.home, env: () => undefined };
  const preview = await previewImport(filesFrom(file, undefined, around), around);
  for (const { path, after, shared } of preview.files) await writeConfig(path, after, { shared });
  const keys = Object.fromEntries(preview.keys.map((key) => [key.name, "a-value-of-the-test"]));
  const { warnings } = await fixture.load({ variables: { EXAMPLE_TOKEN: "t", ...keys } });
  assertEquals(warnings, []);
  const again = await previewImport(filesFrom(file, undefined, around), around);
  assertEquals(again.files, [], "a second import changes nothing");
  return {
    taken: preview.outcomes.filter(({ state }) => state === "new").map(({ change }) =>
      change.kind === "entry"
        ? `${change.list} ${change.entry.name}`
        : change.kind === "file"
        ? change.path
        : change.kind === "item" && typeof change.item === "object"
        ? `${change.key} ${change.item.event} ${change.item.command}`
        : `${change.key} ${change.kind === "set" ? change.value : change.item}`
    ),
    left: preview.left.map(({ origin, why }) => `${origin.text}: ${textOf(why)}`),
    keys: preview.keys.map((key) => key.name),
    problems: preview.problems.map(({ place, message }) => `${place?.line}:${place?.column} ${message}`),
    text: preview.files.map(({ after }) => after).join(""),
  };
}

Deno.test("import: the last matching rule of opencode becomes deny, ask and allow rules, never wider", async () => {
  const permissions: [string, string[]][] = [
    ['"allow"', ["permissions.mode allow"]],
    ['{"bash": "ask", "edit": "deny"}', ["permissions.mode ask", "permissions.deny Edit"]],
    ['{"bash": {"*": "ask", "git *": "allow"}}', ["permissions.mode ask", "permissions.allow Bash(git *)"]],
    [
      '{"bash": {"*": "deny", "git *": "allow"}}',
      ["permissions.mode deny", "permissions.allow Bash(git *)", "permissions.ask Edit"],
    ],
    [
      '{"*": "deny", "bash": {"*": "ask", "git *": "allow"}}',
      ["permissions.mode deny", "permissions.ask Bash", "permissions.allow Bash(git *)"],
    ],
    [
      '{"*": "allow", "bash": {"*": "ask", "git *": "allow"}}',
      ["permissions.mode ask", "permissions.allow Bash(git *)", "permissions.allow Edit"],
    ],
    ['{"bash": {"git *": "allow", "*": "deny"}}', ["permissions.deny Bash"]],
    ['{"edit": {"*": "allow", "a[1].md": "deny"}}', [
      "permissions.allow Edit",
      "permissions.deny Edit(a\\[1\\].md)",
    ]],
    ['{"read": {"*": "allow", "*.env": "deny", "*.env.example": "allow"}}', ["permissions.deny Read(*.env)"]],
    ['{"webfetch": "deny", "doom_loop": "ask"}', ["permissions.deny WebFetch"]],
  ];
  for (const [permission, wanted] of permissions) {
    const { taken } = await play("home/opencode.json", `{"permission": ${permission}}`);
    assertEquals(taken, wanted, permission);
  }
  const { taken, left } = await play(
    "home/opencode.jsonc",
    '{"permissions": [{"action": "bash", "resource": "git *", "effect": "allow"}, 7, {"action": "x", "effect": "?"}]}',
  );
  assertEquals(taken, ["permissions.allow Bash(git *)"]);
  assertEquals(left.length, 2);
});

Deno.test("import: keys of servers and providers are reported and never copied", async () => {
  const secret = "sk-proj-0123456789abcdefghijklmn";
  const played = [
    await play(
      "home/opencode.json",
      JSON.stringify({
        model: "mine/m",
        provider: {
          mine: {
            options: { baseURL: `https://u:${secret}@x.example/v1`, apiKey: secret },
            models: { m: {} },
          },
          google: { options: { apiKey: "{env:EXAMPLE_TOKEN}" }, models: { "gemini-2.5-flash": {} } },
        },
        mcp: {
          s: { type: "remote", url: `https://x.example?token=${secret}`, headers: { "X-Api-Key": secret } },
        },
      }),
    ),
    await play(
      "home/.claude.json",
      JSON.stringify({
        mcpServers: {
          a: {
            command: "x",
            args: ["--api-key", secret, `--token=${secret}`],
            env: { A_TOKEN: secret, PORT: "1" },
          },
          b: { command: "x", env: { A_TOKEN: "another-value-of-it" } },
        },
      }),
    ),
    await play(
      "home/reasonix.toml",
      `[[providers]]\nname = "r"\nmodel = "m"\nbase_url = "https://x.example"\nheaders = { Authorization = "Bearer ${secret}" }\n` +
        `api_key = "${secret}"\n[serve]\ntoken = "${secret}"\n`,
    ),
    await play(
      "home/.codex/config.toml",
      `model = "m"\nmodel_provider = "c"\n[model_providers.c]\nbase_url = "https://x.example/v1"\n` +
        `experimental_bearer_token = "${secret}"\nhttp_headers = { X-Client = "me" }\n`,
    ),
  ];
  for (const { text } of played) assert(!text.includes(secret), text);
  assertEquals(played.map(({ keys }) => keys), [
    ["MINE_API_KEY", "MINE_KEY"],
    ["A_TOKEN", "B_A_TOKEN"],
    ["R_TOKEN"],
    ["C_API_KEY"],
  ]);
  assertStringIncludes(played[1]?.text ?? "", 'args = [ "--api-key", "${A_TOKEN}"');
  assertStringIncludes(played[3]?.text ?? "", 'kind = "responses"');
});

Deno.test("import: sandbox and approvals of codex never become wider", async () => {
  const policies: [string, string[]][] = [
    ['sandbox_mode = "read-only"\napproval_policy = "never"', ["permissions.mode deny"]],
    ['sandbox_mode = "read-only"\napproval_policy = "on-request"', ["permissions.mode deny"]],
    ['sandbox_mode = "workspace-write"\napproval_policy = "never"', ["sandbox.bash enforce"]],
    ['sandbox_mode = "danger-full-access"\napproval_policy = "never"', []],
    ['approval_policy = "untrusted"', ["permissions.mode ask"]],
    ["[sandbox_workspace_write]\nnetwork_access = true", ["sandbox.network true"]],
  ];
  for (const [toml, wanted] of policies) {
    assertEquals((await play("home/.codex/config.toml", `${toml}\n`)).taken, wanted, toml);
  }
  const tools = await play(
    "home/.codex/config.toml",
    '[mcp_servers.x]\ncommand = "x"\nenabled_tools = ["a"]\ndisabled_tools = ["b"]\ncwd = "/"\n' +
      '[mcp_servers.none]\ncommand = "x"\nenabled_tools = []\nstartup_timeout_sec = 9\n',
  );
  assertEquals(tools.taken, ["plugins x", "plugins none"]);
  const [x = "", none = ""] = tools.text.split("[[plugins]]").slice(1);
  for (const line of ['cwd = "/"', 'enabled_tools = [ "a" ]', 'disabled_tools = [ "b" ]']) {
    assertStringIncludes(x, line);
  }
  for (const line of ["enabled = false", "startup_timeout_seconds = 9"]) assertStringIncludes(none, line);
});

Deno.test("import: rules of codex become command prefixes", async () => {
  const { taken, left } = await play(
    "home/.codex/rules/default.rules",
    `# prefix_rule(pattern=["never"], decision="allow")
prefix_rule(pattern=["git", "status"], decision="allow")
prefix_rule(
    pattern = ["npm", ["run", 'ci'], "a (b)",],
    decision = "prompt",
    justification = "it runs (scripts)",
)
prefix_rule(pattern=["rm"], decision="forbidden")
prefix_rule(pattern=["echo", "*"])
prefix_rule(pattern=[name], decision="allow")
prefix_rule(pattern=["x"], decision="maybe")
`,
  );
  assertEquals(taken, [
    "permissions.allow Bash(git status:*)",
    "permissions.ask Bash(npm run 'a (b)':*)",
    "permissions.ask Bash(npm ci 'a (b)':*)",
    "permissions.deny Bash(rm:*)",
  ]);
  assertEquals(left, [
    "allow echo *: a * or ? is any text here, so it would allow more",
    "allow rule: its pattern is no plain list of words",
    "maybe x: it is none of allow, prompt and forbidden",
  ]);
});

Deno.test("import: the user's settings are kept, with comments, order and line ends", async () => {
  const existing = [
    "# mine",
    'default_model = "own" # 我的',
    "",
    "[permissions]",
    'mode = "allow" # as I like it',
    'allow = ["Bash(ls:*)"]',
    "",
    "[[providers]]",
    'name = "own"',
    'base_url = "http://127.0.0.1:1/v1" # here',
    'model = "m"',
    "",
    "# about skills",
    "[skills]",
    'paths = ["x"]',
    "",
  ].join("\r\n");
  const claude = JSON.stringify({
    model: "claude-sonnet-4-5",
    permissions: { allow: ["Bash(ls:*)", "Bash(make:*)"], defaultMode: "dontAsk" },
  });
  const { taken, text } = await play("home/settings.json", claude, existing);
  assertEquals(taken, ["providers anthropic", "permissions.allow Bash(make:*)"]);
  for (const line of existing.split("\r\n")) {
    if (!line.startsWith("allow")) assertStringIncludes(text, line);
  }
  assert(!/[^\r]\n/.test(text), "line ends stay");
  assert(
    text.indexOf("anthropic") < text.indexOf("# about skills"),
    "an entry goes behind the others of its list",
  );
});

Deno.test("import: an invalid file is reported with its location, and the others are imported", async () => {
  await using fixture = configFixture();
  for (const name of [".claude", ".codex", "claude"]) Deno.mkdirSync(`${fixture.home}/${name}`);
  fixture.write(
    "home/claude/真.json",
    '\uFEFF{\r\n  // why\r\n  "permissions": { "deny": ["Read(密/**)"] },\r\n}\r\n',
  );
  Deno.symlinkSync(`${fixture.home}/claude/真.json`, `${fixture.home}/.claude/settings.json`);
  fixture.write("home/.claude.json", '{\n  "mcpServers": { "a": ]\n}');
  fixture.write("home/.codex/config.toml", 'model = "x\n');
  Deno.mkdirSync(`${fixture.cwd}/.mcp.json`);
  const around = {
    cwd: fixture.cwd,
    home: `${fixture.home}/ours`,
    env: (name: string) => name === "HOME" ? fixture.home : undefined,
  };
  const files = [...findFiles("claude", around), ...findFiles("codex", around)];
  const { problems, outcomes } = await previewImport([...files, ...files], around);
  assertEquals(outcomes.map(({ origin, state }) => `${origin.place.line}:${origin.place.column} ${state}`), [
    "3:29 new",
    "3:29 present",
  ]);
  assertEquals(
    problems.slice(0, 3).map(({ place }) => [place?.file.split("/").at(-1), place?.line, place?.column]),
    [
      [".claude.json", 2, 24],
      [".mcp.json", undefined, undefined],
      ["config.toml", 1, 11],
    ],
  );
});

Deno.test("import: settings of a project file go into the project's file, without its permissions", async () => {
  await using fixture = configFixture();
  fixture.write(
    "project/.claude/settings.local.json",
    '{"permissions": {"allow": ["Bash(make:*)"]}, "model": "opus"}',
  );
  fixture.write("project/.mcp.json", '{"mcpServers": {"p": {"command": "node"}, "q": {"command": ""}}}');
  fixture.write("project/opencode.json", '{"instructions": ["docs/*.md"], "permission": {"edit": "deny"}}');
  const around = { cwd: fixture.cwd, home: fixture.home, env: () => undefined };
  const { outcomes, left, files } = await previewImport(
    [...findFiles("claude", around), ...findFiles("opencode", around)],
    around,
  );
  assertEquals(outcomes.map(({ file, state }) => `${file.replace(fixture.cwd, "")} ${state}`), [
    "/reasonix.toml new",
    "/reasonix.toml new",
  ]);
  assertEquals(files.map(({ shared }) => shared), [true]);
  assertStringIncludes(files[0]?.after ?? "", 'deny = [ "Edit" ]');
  assertEquals(left.map(({ origin }) => origin.text), ["permissions", 'model "opus"', "mcpServers"]);
});

Deno.test("import: settings without an equivalent are reported, and the rest is imported", async () => {
  const { taken, left } = await play(
    "home/reasonix.toml",
    'default_model = 3\n[sandbox]\nnetwork = "yes"\nbash = "maybe"\n[permissions]\ndeny = ["Bash(", "Bash(rm:*)"]\n' +
      '[[providers]]\nname = "p"\nmodels = ["a"]\ndefault = "b"\n[[plugins]]\nname = "q"\n',
  );
  assertEquals(taken, ["permissions.deny Bash(rm:*)"]);
  assertEquals(left.length, 6);
  const odd = await play(
    "home/.codex/config.toml",
    'model = 3\nmcp_servers = "x"\n[mcp_servers_]\n[profiles]\na = 1\n[model_providers]\nb = 2\n',
  );
  assertEquals([odd.taken, odd.left.length], [[], 5]);
  const claude = await play(
    "home/settings.json",
    '{"permissions": {"allow": "Bash", "deny": [7, null], "ask": {}, "defaultMode": 3}, "env": [], "model": {}}',
  );
  assertEquals([claude.taken, claude.left.length], [[], 7]);
  const none = await play(
    "home/opencode.json",
    '{"mcp": [], "provider": 3, "permission": [], "model": 7, "tools": ""}',
  );
  assertEquals([none.taken, none.left.length], [[], 4]);
});

Deno.test("import: hooks of Claude Code become hooks of our file once", async () => {
  const hooks = {
    PostToolUse: [{
      matcher: "Edit|Write",
      hooks: [{ type: "command", command: "prettier --write .", timeout: 10 }, {
        type: "prompt",
      }],
    }],
    Stop: [{ hooks: [{ type: "command", command: "say done" }] }],
  };
  const { taken, left, text } = await play("home/.claude/settings.json", JSON.stringify({ hooks }, null, 2));
  assertEquals(taken, ["hooks PostToolUse prettier --write .", "hooks Stop say done"]);
  assertEquals(left, ['hooks: a hook of the type "prompt" does not run here: it was left out']);
  assertStringIncludes(text, 'matcher = "Edit|Write"');
  assertStringIncludes(text, "timeout_seconds = 10");
  const off = await play(
    "home/.claude/settings.json",
    JSON.stringify({ hooks, disableAllHooks: true }),
  );
  assertEquals([off.taken, off.left], [[], ["hooks: disableAllHooks switches them off"]]);
  const mine = await play("home/reasonix.toml", '[[hooks]]\nevent = "Stop"\ncommand = "say done"\n');
  assertEquals(mine.taken, ["hooks Stop say done"]);
});

/** Agents of opencode and their translations. */
const OPENCODE_AGENTS: readonly (readonly [agent: unknown, becomes: string])[] = [
  [
    {
      description: "Looks: at diffs",
      prompt: "Be brief.",
      model: "local/qwen",
      temperature: 0.1,
      top_p: 0.9,
      steps: 9,
    },
    '---\ndescription: "Looks: at diffs"\nmodel: local/qwen\ntemperature: 0.1\ntop_p: 0.9\nmax_steps: 9\n---\n\nBe brief.\n',
  ],
  [
    { description: "reads", tools: { write: false, edit: false, bash: false } },
    "---\ndescription: reads\ndisallowedTools: bash\npermission: { edit: deny }\n---\n",
  ],
  [
    { description: "reads", tools: { "*": false, read: true, grep: true } },
    "---\ndescription: reads\ntools: read_file, grep\n---\n",
  ],
  [
    {
      description: "x",
      permission: { edit: "ask", bash: { "*": "ask", "git *": "allow" }, webfetch: "ask" },
    },
    "---\ndescription: x\ndisallowedTools: web_fetch\npermission: { edit: ask, bash: ask }\n---\n",
  ],
  [
    { description: "x", permission: "deny" },
    "---\ndescription: x\ndisallowedTools: web_fetch, web_search\n" +
    "permission: { edit: deny, bash: deny, read: deny, task: deny }\n---\n",
  ],
  [
    { description: "x", permission: { external_directory: "deny" } },
    "nothing here corresponds to external_directory",
  ],
  [{ description: "x", tools: { "my-mcp*": false } }, 'nothing here corresponds to "my-mcp*"'],
  [{ description: "x", prompt: "{file:./p.md}" }, "its prompt is in another file"],
  [
    { description: "x", mode: "primary" },
    "it is for whole conversations; agents here work on parts of a task",
  ],
  [{ description: "x", disable: true }, "it is switched off there"],
  [{ prompt: "x" }, "it has no description"],
];

Deno.test("import: an agent of opencode becomes a file that is never wider", async () => {
  for (const [agent, becomes] of OPENCODE_AGENTS) {
    const { taken, left, text } = await play("home/opencode.json", JSON.stringify({ agent: { a: agent } }));
    assertEquals(taken.length > 0 ? text : left[0]?.replace("agent.a: ", ""), becomes);
  }
  const { left } = await play("home/opencode.json", '{"agent": {"../../x": {"description": "x"}}}');
  assertEquals(left, ['agent."../../x": its name is no name of a file']);
});

Deno.test("import: commands of opencode and Markdown files of both tools become our files", async () => {
  const command = { template: "Run the tests of $ARGUMENTS", description: "tests", agent: "build" };
  const { taken, text } = await play("home/opencode.json", JSON.stringify({ command: { test: command } }));
  assertEquals(taken, ["commands/test.md"]);
  assertEquals(text, "---\ndescription: tests\n---\n\nRun the tests of $ARGUMENTS\n");
  const file =
    "---\ndescription: Writes docs: the short ones\nmode: subagent\ntools:\n  bash: false\n---\nWrite.\n";
  const agent = await play("home/opencode/agent/docs.md", file);
  assertEquals(agent.taken, ["agents/docs.md"]);
  assertEquals(
    agent.text,
    '---\ndescription: "Writes docs: the short ones"\ndisallowedTools: bash\n---\n\nWrite.\n',
  );
  const nested = await play(
    "home/opencode/agent/x.md",
    "---\ndescription: x\npermission:\n  bash:\n    git push: deny\n---\nx\n",
  );
  assertEquals([nested.taken, nested.problems.length], [[], 1], "what is not understood is not half taken");
});

Deno.test("import: an existing file is kept, and no link of a project redirects one", async () => {
  await using fixture = configFixture({});
  const source = fixture.write("home/opencode.json", '{"agent": {"a": {"description": "theirs"}}}');
  const around = { cwd: fixture.cwd, home: fixture.home, env: () => undefined };
  fixture.write("home/agents/a.md", "mine");
  const kept = await previewImport(filesFrom(source, undefined, around), around);
  assertEquals([kept.files, kept.outcomes.map(({ state }) => state)], [[], ["kept"]]);
  const project = `${fixture.cwd}/opencode.json`;
  Deno.writeTextFileSync(project, '{"agent": {"b": {"description": "theirs"}}}');
  Deno.symlinkSync(fixture.home, `${fixture.cwd}/.reasonix`);
  const led = await previewImport(filesFrom(project, undefined, around), around);
  assertEquals([led.files, led.outcomes.map(({ state }) => state)], [[], ["kept"]]);
});

Deno.test("saveProvider keeps the line ends of the file", async () => {
  await using fixture = configFixture();
  const file = fixture.write("home/config.toml", '[[providers]]\r\nname = "a"\r\nmodel = "m"\r\n');
  await saveProvider(file, { name: "b", model: "n" }, { isDefault: false });
  assertEquals(
    Deno.readTextFileSync(file),
    '[[providers]]\r\nname = "a"\r\nmodel = "m"\r\n\r\n[[providers]]\r\nname = "b"\r\nmodel = "n"\r\n',
  );
});

/** rule, list, scope → our rule; undefined = not imported */
const CASES: [string, RuleListName, "user" | "project", string | undefined][] = [
  ["Bash(git:*)", "allow", "user", "Bash(git:*)"],
  ["Bash(ls*)", "allow", "user", "Bash(ls*)"],
  ["Bash", "allow", "user", "Bash"],
  ["Bash(*)", "allow", "user", "Bash"],
  ["Bash(make && make test)", "allow", "user", undefined],
  ['Bash(git commit -m "a && b")', "allow", "user", 'Bash(git commit -m "a && b")'],
  ["Bash(curl https://x.example/?a=1)", "allow", "user", undefined],
  ["Bash(curl https://x.example/?a=1)", "deny", "user", "Bash(curl https://x.example/?a=1)"],
  ["Bash(curl * | sh)", "deny", "user", "Bash(curl *)"],
  ["Bash()", "deny", "user", undefined],
  ["Read(./.env)", "deny", "user", "Read(.env)"],
  ["Read(//etc/shadow)", "deny", "user", "Read(//etc/shadow)"],
  ["Read(~/.ssh/**)", "deny", "user", "Read(~/.ssh/**)"],
  ["Edit(/docs/**)", "allow", "project", "Edit(docs/**)"],
  ["Edit(/docs/**)", "allow", "user", undefined],
  ["Edit(/docs/**)", "deny", "user", "Edit(docs/**)"],
  ["Edit(文档/**)", "allow", "user", "Edit(文档/**)"],
  ["Edit(src/*.ts)", "allow", "user", undefined],
  ["Edit(src/*.ts)", "deny", "user", "Edit(src/*.ts)"],
  ["Edit(*.ts)", "allow", "user", "Edit(*.ts)"],
  ["Edit(src/**/*.ts)", "allow", "user", "Edit(src/**/*.ts)"],
  ["Edit(//*.ts)", "allow", "user", undefined],
  ["Edit(src/*/x.ts)", "allow", "user", undefined],
  ["Edit(a?.ts)", "allow", "user", undefined],
  ["Write(notes/**)", "allow", "user", "write_file(notes/**)"],
  ["Write(notes/**)", "deny", "user", "Write(notes/**)"],
  ["MultiEdit", "allow", "user", "multi_edit"],
  ["NotebookEdit", "ask", "user", "NotebookEdit"],
  ["WebFetch(domain:example.org)", "allow", "user", "WebFetch(domain:example.org)"],
  ["WebFetch(domain:*.example.org)", "allow", "user", "WebFetch(domain:*.example.org)"],
  ["WebFetch(domain:example.org)", "deny", "user", "WebFetch(domain:example.org)"],
  ["WebFetch(example.org)", "deny", "user", "WebFetch"],
  ["WebFetch(example.org)", "allow", "user", undefined],
  ["WebSearch", "deny", "user", "WebSearch"],
  ["mcp__github", "allow", "user", "mcp__github"],
  ["mcp__github__get(x)", "allow", "user", undefined],
  ["mcp__github__get(x)", "deny", "user", "mcp__github__get"],
  ["Task(Explore)", "allow", "user", "Task(Explore)"],
  ["Agent(Explore)", "deny", "user", "Task(Explore)"],
  ["Skill(review)", "allow", "user", "Skill(review)"],
  ["Skill(review:*)", "allow", "user", undefined],
  ["Read(!x)", "deny", "user", undefined],
  ["Bash(", "deny", "user", undefined],
  ["", "allow", "user", undefined],
];

for (const [text, list, scope, wanted] of CASES) {
  Deno.test(`import: ${list} ${text} of the ${scope} → ${wanted ?? "left out"}`, () => {
    const result = claudeRule(text, list, scope);
    assertEquals("rule" in result ? result.rule : undefined, wanted);
  });
}

Deno.test("import: every translated rule parses without a warning", () => {
  const inner = fc.stringMatching(/^[a-z*?./:~!&|;"'\[\]{} $\\()]{0,12}$/);
  const tool = fc.constantFrom(
    "Bash",
    "Read",
    "Edit",
    "Write",
    "WebFetch",
    "Skill",
    "mcp__a__b",
    "Task",
    "Ghost",
  );
  fc.assert(
    fc.property(tool, inner, fc.constantFrom<RuleListName>("allow", "ask", "deny"), (name, what, list) => {
      const result: Translation = claudeRule(`${name}(${what})`, list, "user");
      if ("why" in result) return assert(result.why !== "");
      const read = readRule(result.rule);
      assert(!isFault(read) && lintRule(read) === undefined, `${name}(${what}) → ${result.rule}`);
    }),
    { seed: SEED },
  );
});
