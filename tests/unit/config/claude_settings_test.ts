import { ConfigError } from "../../../src/config/mod.ts";
import { configuredHooks } from "../../../src/config/query/hooks.ts";
import { formatHookProblem, readHooks } from "../../../src/features/hooks/hook.ts";
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { configFixture, type Fixture } from "./fixture.ts";

type Options = Parameters<Fixture["load"]>[0];

/** The project with these settings, loaded. */
async function load(settings: unknown, options: Options & { readonly local?: unknown; toml?: string } = {}) {
  const { local, toml, ...rest } = options;
  const fixture = configFixture(toml === undefined ? {} : { "project/reasonix.toml": toml });
  Deno.mkdirSync(`${fixture.cwd}/.claude`);
  const text = (value: unknown) => typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
  fixture.write("project/.claude/settings.json", text(settings));
  if (local !== undefined) fixture.write("project/.claude/settings.local.json", text(local));
  await using _ = fixture;
  return await fixture.load(rest);
}

const trusted = { trust: () => true };

for (
  const [rule, refuses, allows = refuses] of [
    ["Bash", ["Bash"]],
    ["Bash(*)", ["Bash"]],
    ["Bash(rm:*)", ["Bash(rm:*)"]],
    ["Bash(npm run test:*)", ["Bash(npm run test:*)"]],
    ["Bash(git * main)", ["Bash(git * main)"]],
    ["Read(./.env)", ["Read(.env)"]],
    ["Read(~/x)", ["Read(~/x)"]],
    ["Read(//etc/hosts)", ["Read(//etc/hosts)"]],
    ["Edit(/src/**)", ["Edit(src/**)"]],
    ["Write(a.txt)", ["Write(a.txt)"], ["write_file(a.txt)"]],
    ["WebFetch", ["WebFetch"]],
    ["WebFetch(domain:x.org)", ["WebFetch(domain:x.org)"]],
    ["WebSearch", ["WebSearch"]],
    ["mcp__server__tool", ["mcp__server__tool"]],
    ["mcp__server__*", ["mcp__server__*"]],
    ["mcp__server", ["mcp__server"]],
    ["ExitPlanMode", []],
    ["Cd(/x)", []],
    ["SomethingNew(x)", []],
  ] as readonly [string, string[], string[]?][]
) {
  Deno.test(`a rule of Claude Code means the same here: ${rule}`, async () => {
    const loaded = await load({ permissions: { deny: [rule], ask: [rule], allow: [rule] } }, trusted);
    const { deny, ask, allow } = loaded.config.permissions;
    assertEquals([deny, ask, allow], [refuses, refuses, allows]);
    assertEquals(loaded.warnings, []);
  });
}

Deno.test("an allow rule with a wider meaning here is ignored, with its reason and location", async () => {
  const allow = ["Edit(src/*.ts)", "WebFetch(x.org)", "Bash(a && b)"];
  const { config, warnings } = await load({ permissions: { allow } }, trusted);
  assertEquals(config.permissions.allow, []);
  assertEquals(warnings.map(({ place }) => place?.line), [4, 5, 6]);
  for (const { message } of warnings) assertMatch(message, /^The rule ".*" allows nothing: /);
});

Deno.test("restrictions apply at once and grants after trust, in both files", async () => {
  const settings = {
    permissions: { allow: ["Bash(make:*)"], deny: ["Bash(rm:*)"], ask: ["Bash(git push:*)"] },
  };
  const local = { permissions: { allow: ["Edit(/src/**)"], deny: ["Read(.env)"] } };
  const before = await load(settings, { local });
  const { allow, ask, deny } = before.config.permissions;
  assertEquals({ allow, ask, deny }, {
    allow: [],
    ask: ["Bash(git push:*)"],
    deny: ["Bash(rm:*)", "Read(.env)"],
  });
  assertEquals(before.needsTrust.map(({ kind, name, place }) => [kind, name, place.line, place.column]), [
    ["widening", ".claude/settings.json", 4, 4],
    ["widening", ".claude/settings.local.json", 4, 4],
  ]);
  const after = await load(settings, { local, ...trusted });
  assertEquals(after.config.permissions.allow, ["Bash(make:*)", "Edit(src/**)"]);
});

for (
  const [mode, read, value] of [
    ["dontAsk", "mode", "deny"],
    ["plan", "writes", "deny"],
    ["default", "mode", "ask"],
    ["acceptEdits", "allow", []],
    ["bypassPermissions", "mode", "ask"],
    ["auto", "mode", "ask"],
  ] as const
) {
  Deno.test(`defaultMode ${mode} restricts as in Claude Code and never grants automatically`, async () => {
    const { config, warnings } = await load({ permissions: { defaultMode: mode } });
    const all = {
      mode: config.permissions.mode,
      allow: config.permissions.allow,
      writes: config.tools.writes,
    };
    assertEquals<unknown>(all[read], value);
    assertEquals(warnings.length, /bypass|auto/.test(mode) ? 1 : 0);
  });
}

Deno.test("acceptEdits of a trusted project allows edits, and no file sets a wider mode", async () => {
  const edits = await load({ permissions: { defaultMode: "acceptEdits" } }, trusted);
  assertEquals(edits.config.permissions.allow, ["Edit"]);
  const all = await load({ permissions: { defaultMode: "bypassPermissions" } }, trusted);
  assertEquals([all.config.permissions.mode, all.config.permissions.allow], ["ask", []]);
});

Deno.test("a project file does not relax a restriction of another project file", async () => {
  const toml = '[permissions]\nmode = "ask"\n[tools]\nwrites = "allow"\n';
  const { config, warnings } = await load({ permissions: { defaultMode: "dontAsk" } }, { toml, ...trusted });
  assertEquals([config.permissions.mode, warnings.length], ["deny", 1]);
  assertStringIncludes(warnings[0]?.message ?? "", "cannot loosen permissions.mode");
});

for (
  const [name, text, place, message] of [
    ["broken JSON", '{\n  "permissions": {"deny": ["Bash(rm:*)"]\n', "3:1", "Cannot read the JSON here"],
    ["no object", "[]", "1:1", "A JSON object is expected"],
    ["permissions as a list", '{"permissions": []}', "1:2", "Permissions must be an object"],
    [
      "a text instead of a list",
      '{"permissions": {"deny": "Bash"}}',
      "1:18",
      "Permissions.deny must be an array",
    ],
    [
      "a number as a rule",
      '{"permissions": {"ask": [\n 1]}}',
      "2:2",
      "Permissions.ask[0] must be a text",
    ],
    [
      "a deny rule without its end",
      '{"permissions": {"deny": ["Read",\n "Bash(rm"]}}',
      "2:2",
      'Cannot read permission rule "Bash(rm"',
    ],
    [
      "an empty deny rule",
      '{"permissions": {"deny": ["Bash()"]}}',
      "1:27",
      'Cannot read permission rule "Bash()": its parentheses are empty',
    ],
    [
      "a mistyped deny rule",
      '{"permissions": {"deny": ["Bsh(rm:*)"]}}',
      "1:27",
      'Cannot read permission rule for "Bsh": no tool or family has this name',
    ],
    [
      "an unknown mode",
      '{"permissions": {"defaultMode": "ask"}}',
      "1:18",
      '"ask" is no permission mode',
    ],
  ] as const
) {
  Deno.test(`an unreadable file or restricting rule is an error: ${name}`, async () => {
    const error = await assertRejects(() => load(text), ConfigError) as ConfigError;
    const [problem] = error.problems;
    assertEquals(error.problems.length, 1);
    assertEquals(`${problem?.place?.line}:${problem?.place?.column}`, place);
    assertMatch(problem?.place?.file ?? "", /\.claude\/settings\.json$/);
    assertStringIncludes(problem?.message ?? "", message);
  });
}

Deno.test("the user can disable the files, also invalid ones", async () => {
  const fixture = configFixture({ "home/config.toml": "[permissions]\nclaude_settings = false\n" });
  await using _ = fixture;
  Deno.mkdirSync(`${fixture.cwd}/.claude`);
  fixture.write("project/.claude/settings.json", "{");
  assertEquals((await fixture.load()).warnings, []);
  fixture.write("project/reasonix.toml", "[permissions]\nclaude_settings = false\n");
  fixture.write("home/config.toml", "");
  await assertRejects(() => fixture.load(), ConfigError);
});

Deno.test("an unreadable allow rule allows nothing and is reported with its location", async () => {
  const { config, warnings } = await load(
    '{"permissions": {"allow": ["Bash(a", "Bsh(b)", "Frobnicate", 1]}}',
    trusted,
  );
  assertEquals(config.permissions.allow, []);
  assertEquals(warnings.map(({ place }) => place?.column), [28, 38, 62]);
});

Deno.test("other keys of the files are reported as unused", async () => {
  const { unused } = await load({ $schema: "x", permissions: {}, hooks: {}, env: {} }, {
    local: { model: "x" },
  });
  assertEquals(unused, [".claude/settings.json (env)", ".claude/settings.local.json (model)"]);
});

Deno.test("a large file, a pipe and a directory are refused, and the text behind a link is never shown", async () => {
  for (
    const plant of [
      (path: string) => Deno.writeTextFileSync(path, " ".repeat((1 << 20) + 1)),
      (path: string) => Deno.mkdirSync(path),
      (path: string) => Deno.symlinkSync("/dev/zero", path),
      (path: string) => Deno.symlinkSync("/etc/passwd", path),
    ]
  ) {
    await using fixture = configFixture();
    Deno.mkdirSync(`${fixture.cwd}/.claude`);
    plant(`${fixture.cwd}/.claude/settings.json`);
    const error = await assertRejects(() => fixture.load(), ConfigError);
    assertEquals(String(error).includes("root:"), false);
  }
});

Deno.test("unread parts of the file are reported, also those of permissions", async () => {
  const { unused } = await load({
    hooks: {},
    permissions: { deny: ["Bash(rm:*)"], disableBypassPermissionsMode: "disable", defaultMode: "plan" },
  });
  assertEquals(unused, [".claude/settings.json (permissions.disableBypassPermissionsMode)"]);
});

const claude = (event: string, command: string, rest = {}) =>
  JSON.stringify({
    hooks: { [event]: [{ matcher: "Bash", hooks: [{ type: "command", command, ...rest }] }] },
  });
const env = () => undefined;

Deno.test("hooks of all files run in one order, the user's first, with their locations", async () => {
  await using fixture = configFixture({
    "home/settings.json": claude("Stop", "one", { timeout: 5 }),
    "home/config.toml": '[[hooks]]\nevent = "Stop"\ncommand = "two"\n',
    "project/.claude/settings.json": claude("Stop", "three"),
    "project/.claude/settings.local.json": claude("Stop", "four"),
    "project/.reasonix/settings.json":
      '{"hooks":{"PreToolUse":[{"match":"bash","command":"five","timeout":1500}]}}',
    "project/reasonix.toml": '\n[[hooks]]\nevent = "Stop"\ncommand = "six"\nfailure = "closed"\n',
  });
  const loaded = await fixture.load({ trust: () => true });
  const hooks = configuredHooks(loaded, { cwd: fixture.cwd, env });
  assertEquals(hooks.map(({ command }) => command), ["one", "two", "three", "four", "five", "six"]);
  assertEquals(hooks.map(({ timeout_seconds }) => timeout_seconds), [5, 60, 60, 60, 1.5, 60]);
  assertEquals(hooks.map(({ source }) => source).join(), "user,user,project,project,project,project");
  assertEquals(hooks.at(-1)?.place, { file: `${fixture.cwd}/reasonix.toml`, line: 2, column: 1 });
  assertEquals(hooks[4]?.matcher, "bash");
  assertEquals(loaded.warnings, []);
});

Deno.test("hooks of a project require trust, each by its command", async () => {
  const files = {
    "home/config.toml": '[[hooks]]\nevent = "Stop"\ncommand = "mine"\n',
    "project/.claude/settings.json": claude("Stop", "theirs"),
    "project/reasonix.toml":
      '[[hooks]]\nevent = "PreToolUse"\ncommand = "./check.sh \\"$CLAUDE_PROJECT_DIR\\"/b.sh"\n',
  };
  await using fixture = configFixture(files);
  const { config, needsTrust } = await fixture.load();
  assertEquals(config.hooks.map(({ command }) => command), ["mine"]);
  assertEquals(needsTrust.map(({ kind, name }) => [kind, name]), [["hook", "Stop Bash"], [
    "hook",
    "PreToolUse",
  ]]);
  const paths = needsTrust[1]?.paths ?? [];
  assertEquals(["check.sh", "b.sh"].filter((name) => !paths.includes(`${fixture.cwd}/${name}`)), []);
  const one = await fixture.load({ trust: ({ name }) => name === "PreToolUse" });
  assertEquals(one.config.hooks.length, 2);
});

Deno.test("an invalid hook is reported with its location, and the others run", async () => {
  await using fixture = configFixture({
    "home/settings.json": JSON.stringify(
      {
        hooks: {
          Stop: [
            {
              hooks: [{ type: "prompt", prompt: "x" }, { type: "command" }, {
                type: "command",
                command: "ok",
                iff: 1,
              }],
            },
            { hooks: "x" },
            7,
            { matcher: 7, command: "x" },
          ],
          SessionEnd: {},
        },
      },
      undefined,
      1,
    ),
  });
  const { config, warnings } = await fixture.load();
  assertEquals(config.hooks.map(({ command }) => command), ["ok"]);
  assertEquals(warnings.length, 6);
  for (const { place } of warnings) assertStringIncludes(place?.file ?? "", "settings.json");
  assertEquals(warnings.filter(({ place }) => (place?.line ?? 1) === 1), []);
});

Deno.test("disableAllHooks and claude_settings = false disable the hooks of a file", async () => {
  const text = claude("Stop", "x");
  await using off = configFixture({ "home/settings.json": text.replace("{", '{"disableAllHooks":true,') });
  assertEquals((await off.load()).config.hooks, []);
  await using left = configFixture({
    "project/.claude/settings.json": text,
    "home/config.toml": "[permissions]\nclaude_settings = false\n",
  });
  assertEquals((await left.load({ trust: () => true })).config.hooks, []);
});

Deno.test("an unknown key disables its hook only, with its location and a suggestion", async () => {
  await using fixture = configFixture({
    "home/config.toml": [
      '[[hooks]]\nevent = "Stop"\ncommand = "one"\ntimeout = 5\n',
      '[[hooks]]\nevent = "PreToolUse"\nmatch = "Bash"\ncommand = "two"\n',
      '[[hooks]]\nevent = "PreToolUse"\nmatch = "Bash"\nmatcher = "Edit"\ncommand = "three"\n',
    ].join("\n"),
    "home/settings.json": JSON.stringify({
      hooks: {
        Stop: [
          {
            hooks: [{ type: "command", command: "four", if: "Bash(git *)" }, {
              type: "command",
              command: "five",
            }],
          },
          { matchers: "x", hooks: [{ type: "command", command: "six" }] },
          { matcher: "Bash", hooks: [{ type: "command", command: "seven", async: true }] },
          { match: "Bash", command: "eight", event: "Stop" },
        ],
      },
    }),
  });
  const loaded = await fixture.load();
  const hooks = configuredHooks(loaded, { cwd: fixture.cwd, env });
  const { hooks: running, problems } = readHooks(hooks);
  assertEquals(running.map(({ source }) => [source.command, source.matcher]), [
    ["five", ""],
    ["seven", "Bash"],
    ["two", "Bash"],
  ]);
  assertEquals(problems.map(formatHookProblem).map((line) => line.replace(/^.*?\/home\//, "")), [
    'settings.json:1:29: Unknown key "if"; the hook "four" does not run; remove it, or see reasonix docs hooks',
    'settings.json:1:147: Unknown key "matchers"; the hook "six" does not run; did you mean "matcher"?',
    'settings.json:1:263: Unknown key "event"; the hook "eight" does not run; remove it, or see reasonix docs hooks',
    'config.toml:1:1: Unknown key "timeout"; the hook "one" does not run; did you mean "timeout_seconds"?',
    'config.toml:11:1: Unknown key "match"; the hook "three" does not run; did you mean "matcher"?',
  ]);
  assertEquals(loaded.warnings.map(({ message }) => message), ['"async" of a hook has no effect here']);
});
