/**
 * A clone whose names and texts contain terminal escapes: none reaches a terminal or a pipe unescaped in
 * lists, explanations or errors.
 */
import { assertEquals } from "../support/assert.ts";
import { Random, SEED, someOf } from "../support/seed.ts";
import { startModelServer } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";

/** Title, color, clearing, C1 introducer, direction, line separator, carriage return, backspace. */
const HOSTILE = "ev\x1b]0;PWN\x07\x1b[38;5;77m\x9b77m\u202e\u2066z\u2028y\x1bPq\rCR\bil";
const ESCAPED = JSON.stringify(HOSTILE).slice(1, -1)
  .replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Sequences of the clone that may not arrive; the program's have other parameters. */
// deno-lint-ignore no-control-regex
const FOREIGN = /\x1b\]0;PWN|\x1b\[38;5;77m|\x1bPq|[\x07\x08\x80-\x9f\u2028-\u202e\u2066-\u2069]|\rCR/g;
// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

function found(output: string, pattern: RegExp): string[] {
  return [...new Set(output.match(pattern) ?? [])].map((each) => JSON.stringify(each));
}

/** The files of a clone whose settings can be read. */
function readable(): Record<string, string> {
  const front = `---\nname: evil\ndescription: "${ESCAPED}"\n---\n${HOSTILE}\n`;
  return {
    "reasonix.toml": `[permissions]\nallow = ["Bash(${ESCAPED})"]\ndeny = ["Edit(${ESCAPED})"]\n` +
      `[[hooks]]\nevent = "PreToolUse"\nmatcher = "${ESCAPED}"\ncommand = "${ESCAPED}"\n` +
      `[sandbox]\nallow_write = ["${ESCAPED}"]\n[skills]\npaths = ["${ESCAPED}"]\n` +
      `[workflow.verify_commands]\n"*" = ["${ESCAPED}"]\n`,
    ".mcp.json": `{"mcpServers": {"${ESCAPED}": {"command": "${ESCAPED}", "args": ["${ESCAPED}"]},` +
      ` "evil": {"command": "sh", "args": ["-c", "printf '%b' '\\\\033]0;PWN' >&2; exit 3"]}}}`,
    ".claude/settings.json": `{"permissions": {"deny": ["Bash(${ESCAPED}:*)"]},` +
      ` "hooks": {"${ESCAPED}": [], "Stop": [{"hooks": [{"type": "command", "command": "${ESCAPED}"}]}]}}`,
    ".claude/agents/evil.md": front,
    ".claude/agents/worse.md": `---\nname: "${ESCAPED}"\nmodel: "${ESCAPED}"\n---\n${HOSTILE}\n`,
    ".claude/commands/evil.md": `---\ndescription: "${ESCAPED}"\n---\n${HOSTILE}\n!\`${HOSTILE}\`\n`,
    [`.claude/commands/${HOSTILE}.md`]: front,
    ".claude/skills/evil/SKILL.md": front,
    ".claude/skills/worse/SKILL.md": `---\nname: "${ESCAPED}"\n${ESCAPED}: 1\n---\n`,
    [`.claude/skills/${HOSTILE}/SKILL.md`]: front,
    "AGENTS.md": HOSTILE,
    [`${HOSTILE}.txt`]: HOSTILE,
    ".git/HEAD": `ref: refs/heads/${HOSTILE}\n`,
    ".git/config": "[core]\n\trepositoryformatversion = 0\n",
    ".git/refs/heads/x": "",
    ".git/objects/x": "",
  };
}

const COMMANDS: readonly (readonly string[])[] = [
  ["session", "list"],
  ["session", "list", "--json"],
  ["session", "search", "PWN"],
  ["session", "show"],
  ["session", "show", "--json"],
  ["replay", "SESSION"],
  ["context"],
  ["context", "--json"],
  ["permissions", "check", `echo ${HOSTILE}; rm -rf ${HOSTILE}`],
  ["permissions", "check", "--tool", "edit_file", `${HOSTILE}.txt`],
  ["permissions", "check", "--json", `echo ${HOSTILE}`],
  ["permissions", "list"],
  ["mcp", "list"],
  ["mcp", "list", "--json"],
  ["mcp", "tools"],
  ["mcp", "test", "evil"],
  ["agents", "list"],
  ["agents", "list", "--json"],
  ["agents", "show", "evil"],
  ["agents", "show", HOSTILE],
  ["skills", "list"],
  ["skills", "list", "--json"],
  ["skills", "validate", ".claude/skills/worse"],
  ["skills", "validate", HOSTILE],
  ["hooks", "list"],
  ["hooks", "test", "PreToolUse", "--tool", HOSTILE],
  ["models", "list"],
  ["models", "show", HOSTILE],
  ["doctor"],
  ["doctor", "--json"],
  ["config", "show", "--origin"],
  ["config", "get", "permissions"],
  ["config", "get", HOSTILE],
  ["config", "import", "claude", "--dry-run"],
  ["config", "import", "claude", "--dry-run", "--json"],
  ["sandbox", "status"],
  ["trust"],
  ["docs", HOSTILE],
  ["complete", "--describe", "--", "reasonix", "mcp", "test", ""],
  [HOSTILE],
  [`--${HOSTILE}`],
  ["run", "--output-format", HOSTILE, "hi"],
  ["run", "--dir", HOSTILE, "hi"],
  ["run", "--ignore-untrusted", `/evil ${HOSTILE}`],
  ["run", "--ignore-untrusted", "/help"],
  ["run", "--ignore-untrusted", "/mcp"],
  ["run", "hi"],
  ["chat", "--ignore-untrusted", "/permissions"],
];

/** Clones that are refused, each for another reason. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a model": { "reasonix.toml": `default_model = "${ESCAPED}"\n` },
  "a key": { "reasonix.toml": `"${ESCAPED}" = 1\n[permissions]\nmode = "${ESCAPED}"\n` },
  "broken TOML": { "reasonix.toml": `name = ${HOSTILE}\n` },
  "a rule": { "reasonix.toml": `[permissions]\ndeny = ["Edit(${ESCAPED}", "${ESCAPED}"]\n` },
  "a server": { ".mcp.json": `{"mcpServers": {"${ESCAPED}": {"command": "x"}}}` },
  "broken JSON": { ".mcp.json": `{"mcpServers": {"x": ${HOSTILE}}}` },
  "a provider": {
    "reasonix.toml":
      `[[providers]]\nname = "${ESCAPED}"\nkind = "${ESCAPED}"\nbase_url = "http://${ESCAPED}"\n`,
  },
};
const REFUSED_COMMANDS = [["run", "hi"], ["hi there"], ["doctor"]];

interface Shown {
  readonly pipe: string;
  readonly terminal: string;
}

const hasScript = Deno.build.os === "linux" &&
  await new Deno.Command("script", { args: ["--version"] }).output().then(() => true, () => false);
const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

async function show(
  world: World,
  args: readonly string[],
  shim: string | undefined,
): Promise<Shown> {
  const { stdout, stderr } = await world.run(args);
  if (!hasScript || shim === undefined || args.includes("--json")) {
    return { pipe: stdout + stderr, terminal: "" };
  }
  const line = `stty cols 300; ${[shim, ...args].map(quoted).join(" ")} </dev/null`;
  const onTerminal = await finished(
    new Deno.Command("script", {
      args: ["-qec", line, "/dev/null"],
      cwd: world.dir,
      env: { HOME: `${world.home}/..`, NO_COLOR: "1", REASONIX_LANG: "en", TERM: "xterm" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn(),
  );
  return { pipe: stdout + stderr, terminal: onTerminal.stdout };
}

const random = new Random(SEED);

/** Runs commands into a pipe, and some of them on a terminal; in `deno task soak` all. */
async function steered(world: World, commands: readonly (readonly string[])[]): Promise<unknown[]> {
  const shim = await world.shim("reasonix");
  const wrong: unknown[] = [];
  const waiting = [...commands];
  const onTerminal = new Set(someOf(commands, Math.ceil(commands.length / 6), random));
  const work = async () => {
    for (let args = waiting.shift(); args; args = waiting.shift()) {
      const { pipe, terminal } = await show(world, args, onTerminal.has(args) ? shim : undefined);
      const seen = [...found(pipe, CONTROL), ...found(pipe, FOREIGN), ...found(terminal, FOREIGN)];
      if (seen.length > 0) wrong.push([args.join(" "), ...seen]);
    }
  };
  await Promise.all([work(), work()]);
  return wrong;
}

async function plant(world: World, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await world.write(name, text);
}

Deno.test("no command passes the escapes of a clone to a pipe or a terminal", async () => {
  await using server = startModelServer([
    { calls: [{ name: "write_file", args: { path: "made.txt", content: HOSTILE } }] },
    { text: "Done PWN." },
  ], { fallback: { text: "Done." }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", `Say PWN ${HOSTILE}`]);
  const [session = ""] = (await world.run(["session", "list"])).stdout.match(/\d{8}-\d{6}-\w{4}/) ?? [];
  await plant(world, readable());
  const commands = COMMANDS.map((args) => args.map((word) => word === "SESSION" ? session : word));
  assertEquals(await steered(world, commands), []);
});

Deno.test("no error about a clone passes its escapes to a pipe or a terminal", async () => {
  for (const [name, files] of Object.entries(REFUSED)) {
    await using world = await makeWorld(mockConfig("http://127.0.0.1:9/v1"));
    await plant(world, files);
    assertEquals([name, await steered(world, REFUSED_COMMANDS)], [name, []]);
  }
});

Deno.test({
  name: "the chat shows branch and name of a clone without its escapes",
  ignore: !hasScript,
  fn: async () => {
    await using server = startModelServer([]);
    await using world = await makeWorld(mockConfig(server.url));
    await plant(world, readable());
    const child = new Deno.Command("script", {
      args: [
        "-qec",
        `stty cols 200 rows 40; ${await world.shim("reasonix")} --ignore-untrusted`,
        "/dev/null",
      ],
      cwd: world.dir,
      env: { HOME: `${world.home}/..`, REASONIX_LANG: "en", TERM: "xterm" },
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const keys = child.stdin.getWriter();
    let shown = "";
    let pressed = false;
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      shown += text;
      // The branch is on the status line, so the chat is drawn.
      if (pressed || !shown.includes("CRil")) continue;
      pressed = true;
      await keys.write(new TextEncoder().encode("\x04"));
    }
    await keys.close().catch(() => {});
    await child.status;
    assertEquals([pressed, found(shown, FOREIGN)], [true, []]);
  },
});
