import { configuredHooks } from "../../../src/config/query/hooks.ts";
import { formatHookProblem, readHooks } from "../../../src/features/hooks/hook.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

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
