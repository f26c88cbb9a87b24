import { configuredHooks } from "../../../src/config/hooks/hooks.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { configFixture } from "./fixture.ts";

const claude = (event: string, command: string, rest = {}) =>
  JSON.stringify({
    hooks: { [event]: [{ matcher: "Bash", hooks: [{ type: "command", command, ...rest }] }] },
  });
const env = () => undefined;

Deno.test("hooks of all files count in one order, the user's first, with their places", async () => {
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

Deno.test("hooks of a project wait for trust, each by what it runs", async () => {
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

Deno.test("what is wrong with a hook is said with its place, and the others count", async () => {
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
  assertEquals(warnings.length, 8);
  for (const { place } of warnings) assertStringIncludes(place?.file ?? "", "settings.json");
  assertEquals(warnings.filter(({ place }) => (place?.line ?? 1) === 1), []);
});

Deno.test("disableAllHooks and claude_settings = false leave a file's hooks out", async () => {
  const text = claude("Stop", "x");
  await using off = configFixture({ "home/settings.json": text.replace("{", '{"disableAllHooks":true,') });
  assertEquals((await off.load()).config.hooks, []);
  await using left = configFixture({
    "project/.claude/settings.json": text,
    "home/config.toml": "[permissions]\nclaude_settings = false\n",
  });
  assertEquals((await left.load({ trust: () => true })).config.hooks, []);
});
