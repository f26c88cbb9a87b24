/** The table of docs/hooks.md, row by row, through the real program. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { type Finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { codeBlocks } from "../support/readme.ts";

const bash = (command: string): Turn => ({ calls: [{ name: "bash", args: { command } }] });
const hook = (event: string, command: string, rest = "") =>
  `[[hooks]]\nevent = "${event}"\ncommand = '''${command}'''\n${rest}\n`;
const specific = (fields: Record<string, unknown>) => JSON.stringify({ hookSpecificOutput: fields });
const says = (text: string) => `cat <<'END'\n${text}\nEND`;

/** The behavior of the hooks of calls, by the word in the command: the first and the second hook. */
const DOES: Readonly<Record<string, string | readonly [string, string]>> = {
  "plain-2": "echo only-for-the-log",
  "no-3": "echo reason-3 >&2; exit 2",
  "no-4": "exit 2",
  "one-5": "echo oops >&2; exit 1",
  "missing-6": "no-such-program-6",
  "killed-7": "exit 137",
  "garbage-9": "echo '{broken'",
  "deny-14": says(specific({ permissionDecision: "deny", permissionDecisionReason: "reason-14" })),
  "free-15": says(specific({ permissionDecision: "allow" })),
  "never-16": says(specific({ permissionDecision: "allow" })),
  "asked-17": says(specific({ permissionDecision: "allow" })),
  "gone-18": says(specific({ permissionDecision: "allow" })),
  "ask-19": says(specific({ permissionDecision: "ask", permissionDecisionReason: "reason-19" })),
  "both-20": [
    says(specific({ permissionDecision: "allow" })),
    says(specific({ permissionDecision: "deny", permissionDecisionReason: "reason-20" })),
  ],
  "other-21": says(specific({ updatedInput: { command: "touch open-21-new" } })),
  "other-22": says(specific({ updatedInput: { command: "touch never-22" } })),
  "other-23": [
    says(specific({ updatedInput: { command: "touch open-23-one" } })),
    says(specific({ updatedInput: { command: "touch open-23-two" } })),
  ],
  "context-24": says(specific({ additionalContext: "context-of-24" })),
  "message-25": says(JSON.stringify({ systemMessage: "message-of-25" })),
  "block-26": says(JSON.stringify({ decision: "block", reason: "reason-26" })),
};

/** The behavior of hooks that must not fail. */
const CLOSED: Readonly<Record<string, string>> = {
  "closed-10": "exit 1",
  "closed-11": "no-such-program-11",
  "closed-13": "echo '{broken'",
};

/** Hooks with a short timeout, which a busy machine may reach for other calls as well, where they look. */
const LATE = [{ "late-8": "sleep 30" }, { "closed-12": "sleep 30" }] as const;

function script(rows: Readonly<Record<string, string | readonly string[]>>, at: number): string {
  const cases = Object.entries(rows).flatMap(([word, does]) => {
    const text = typeof does === "string" ? (at === 0 ? does : undefined) : does[at];
    return text === undefined ? [] : [`*'${word}'*)\n${text}\n;;`];
  });
  return `input=$(cat)\ncase $input in\n${cases.join("\n")}\nesac\n`;
}

interface Rows {
  readonly world: World;
  readonly done: Finished;
  /** Returns the result of the call with a word. */
  readonly reported: (word: string) => string;
  readonly made: (name: string) => Promise<boolean>;
}

const COMMANDS = [
  "touch open-1",
  ...Object.keys(DOES).map((word) =>
    word === "gone-18"
      ? "rm -rf ~ gone-18"
      : `touch ${/^(?:free|never|asked)/.test(word) ? "" : "open-"}${word}`
  ),
  ...LATE.flatMap((rows) => Object.keys(rows)).map((word) => `touch open-${word}`),
  ...Object.keys(CLOSED).map((word) => `touch open-${word}`),
  "touch free-0",
  "touch open-27",
  "touch open-28",
  "ls no-such-29",
];

/** The file of a command that another tool makes: only its call has a hook that may not end for others. */
const WRITTEN = "open-closed-12";

async function runRows(): Promise<Rows & AsyncDisposable> {
  const turns = COMMANDS.map((command): Turn =>
    command.endsWith(WRITTEN)
      ? { calls: [{ name: "write_file", args: { path: WRITTEN, content: "" } }] }
      : bash(command)
  );
  const server = startModelServer([...turns, { text: "done" }], { check: { prefix: false } });
  const config = `[permissions]\nallow = ["Bash(touch open-*)", "Bash(ls:*)", "Edit(open-*)"]\n` +
    `deny = ["Bash(touch never-*)"]\nask = ["Bash(touch asked-*)"]\n`;
  const world = await makeWorld(mockConfig(server.url, config));
  const file = async (name: string, text: string) => {
    await Deno.writeTextFile(`${world.home}/${name}`, text);
    return `sh ${world.home}/${name}`;
  };
  const toml = [
    hook("PreToolUse", await file("one.sh", script(DOES, 0)), 'matcher = "Bash"'),
    hook("PreToolUse", await file("two.sh", script(DOES, 1)), 'matcher = "Bash|Edit"'),
    hook("PreToolUse", await file("closed.sh", script(CLOSED, 0)), 'failure = "closed"'),
    hook("PreToolUse", await file("late.sh", script(LATE[0], 0)), "timeout_seconds = 1"),
    hook(
      "PreToolUse",
      await file("closed-late.sh", script(LATE[1], 0)),
      'matcher = "Write"\nfailure = "closed"\ntimeout_seconds = 1',
    ),
    hook("PreToolUse", "touch ran-27", 'matcher = "Read|Bas|ash|BASH"'),
    hook("PostToolUse", `grep -q open-28 && { echo reason-28 >&2; exit 2; }; true`),
    hook("PostToolUseFailure", says(specific({ additionalContext: "context-of-29" }))),
  ].join("");
  await Deno.writeTextFile(`${world.home}/config.toml`, toml, { append: true });
  const done = await world.run(["run", "--on-ask", "deny", "go"]);
  const messages = server.requests.at(-1)?.json.messages ?? [];
  return {
    world,
    done,
    reported(word) {
      const at = COMMANDS.findIndex((command) => command.endsWith(word));
      // deno-lint-ignore no-explicit-any
      return messages.filter((message: any) => message.role === "tool")[at]?.content ?? "";
    },
    made: (name) => Deno.stat(`${world.dir}/${name}`).then(() => true, () => false),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

Deno.test("rows 1 to 29 of the table of hooks: the output of a hook decides about a call", async () => {
  await using rows = await runRows();
  const { done, reported, made } = rows;
  assertEquals(done.code, 0, done.stderr);
  const ran = async (word: string) =>
    assert(await made(`open-${word}`), `${word}: ${reported(word)}\n${done.stderr}`);
  const refused = async (word: string, text: string | RegExp, file = `open-${word}`) => {
    assertEquals(await made(file), false, word);
    assertMatch(reported(word), /^blocked: /, word);
    assertMatch(reported(word), typeof text === "string" ? new RegExp(text) : text);
  };
  await ran("1");
  await ran("plain-2");
  assertEquals(reported("plain-2").includes("only-for-the-log"), false);
  await refused("no-3", "reason-3");
  await refused("no-4", "no reason");
  for (
    const [word, text] of [
      ["one-5", "exit code 1: oops"],
      ["missing-6", "not found \\(exit code 127\\)"],
      ["killed-7", "137"],
      ["late-8", "ended after 1 s"],
      ["garbage-9", "begins like JSON"],
    ] as const
  ) {
    await ran(word);
    assertMatch(done.stderr, new RegExp(`! The PreToolUse hook .*${text}.*it had no effect`));
  }
  await refused("closed-10", "must not fail");
  await refused("closed-11", "not found");
  await refused("closed-12", "ended after 1 s");
  await refused("closed-13", "begins like JSON");
  await refused("deny-14", "reason-14");
  assert(await made("free-15"));
  await refused("free-0", "is non-interactive", "free-0");
  await refused("never-16", "forbids", "never-16");
  await refused("asked-17", "is non-interactive", "asked-17");
  await refused("gone-18", "destructive", "never");
  await refused("ask-19", "is non-interactive");
  await refused("both-20", "reason-20");
  assertEquals([await made("open-21-new"), await made("open-other-21")], [true, false]);
  await refused("other-22", "forbids", "never-22");
  assertEquals([await made("open-23-one"), await made("open-23-two")], [false, true]);
  assertStringIncludes(done.stderr, "2 hooks changed the arguments of one call");
  assertStringIncludes(reported("context-24"), "context-of-24");
  assertStringIncludes(done.stderr, "message-of-25");
  await refused("block-26", "reason-26");
  assertEquals(await made("ran-27"), false);
  assertStringIncludes(reported("open-28"), "reason-28");
  assertStringIncludes(reported("no-such-29"), "context-of-29");
});

Deno.test("rows 30 and 31: a hook with defer or continue: false ends the turn before the call", async () => {
  for (
    const output of [
      specific({ permissionDecision: "defer", permissionDecisionReason: "word-of-the-hook" }),
      JSON.stringify({ continue: false, stopReason: "word-of-the-hook" }),
    ]
  ) {
    await using server = startModelServer([bash("touch a"), { text: "done" }], { check: { prefix: false } });
    await using world = await makeWorld(mockConfig(server.url) + hook("PreToolUse", says(output)));
    const done = await world.run(["run", "go"]);
    assertEquals([done.code, server.requests.length], [3, 1], done.stderr);
    assertStringIncludes(done.stderr, "word-of-the-hook");
    assertEquals(await Deno.stat(`${world.dir}/a`).then(() => true, () => false), false);
  }
});

Deno.test("row 32: a refused prompt never reaches the model; output of start and prompt hooks does", async () => {
  await using server = startModelServer([{ text: "done" }], { check: { prefix: false } });
  const prompt = `grep -q secret && { echo not-this >&2; exit 2; }; echo of-the-prompt`;
  await using world = await makeWorld(
    mockConfig(server.url) + hook("UserPromptSubmit", prompt) +
      hook("SessionStart", "echo of-the-start", 'matcher = "startup"'),
  );
  const refused = await world.run(["run", "the secret"]);
  assertEquals([refused.code, server.requests.length], [3, 0], refused.stderr);
  assertStringIncludes(refused.stderr, "not-this");
  const done = await world.run(["run", "hello"]);
  assertEquals(done.code, 0, done.stderr);
  const last = server.requests[0]?.json.messages.at(-1);
  assertMatch(last.content, /of-the-start[^]*of-the-prompt[^]*hello$/);
  assertEquals(server.requests[0]?.json.messages[0].content.includes("of-the-start"), false);
});

Deno.test("row 33: a hook prevents the end of a turn at most five times, with a notice", async () => {
  const answers = Array.from({ length: 9 }, (_, n) => ({ text: `answer ${n}` }));
  await using server = startModelServer(answers, { check: { prefix: false } });
  await using world = await makeWorld(
    mockConfig(server.url) + hook("Stop", "cat >> stops; echo not-yet >&2; exit 2"),
  );
  const done = await world.run(["run", "go"]);
  assertEquals([done.code, server.requests.length, done.stdout], [0, 6, "answer 5\n"], done.stderr);
  assertStringIncludes(server.requests[1]?.json.messages.at(-1).content, "not-yet");
  assertStringIncludes(done.stderr, "5 times");
  const active = (await world.read("stops")).trim().split("\n").map((line) =>
    JSON.parse(line).stop_hook_active
  );
  assertEquals(active, [false, true, true, true, true, true]);
});

Deno.test("the page about hooks has these rows, and its example works unchanged", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/hooks.md", import.meta.url));
  const numbers = [...page.matchAll(/^\| +(\d+) \|/gm)].map(([, number]) => Number(number));
  assertEquals(numbers, Array.from({ length: 33 }, (_, n) => n + 1));
  const [toml = ""] = await codeBlocks("docs/hooks.md", "toml");
  const [sh = ""] = await codeBlocks("docs/hooks.md", "sh");
  await using server = startModelServer([bash("git push origin main"), bash("touch a"), { text: "done" }], {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  await Deno.writeTextFile(`${world.home}/config.toml`, toml, { append: true });
  const home = world.home.replace(/\/[^/]*$/, "");
  await Deno.mkdir(`${home}/.reasonix/hooks`, { recursive: true });
  await Deno.writeTextFile(`${home}/.reasonix/hooks/no-push.sh`, sh, { mode: 0o755 });
  const done = await world.run(["run", "go"]);
  assertEquals(done.code, 0, done.stderr);
  const reported = server.requests.at(-1)?.json.messages.at(-3).content;
  assertStringIncludes(reported, "leave pushing to me");
  const list = await world.run(["hooks", "list"]);
  assertMatch(
    list.stdout,
    /PreToolUse Bash {2}~\/\.reasonix\/hooks\/no-push\.sh\n {2}on · user · refuses when it fails/,
  );
  const test = await world.run(["hooks", "test", "PreToolUse", "--input", '{"command": "git push"}']);
  assertEquals(test.code, 3, test.stderr);
  assertStringIncludes(test.stdout, "decision: deny");
  assertEquals((await world.run(["hooks", "test", "PreToolUse"])).code, 0);
  assertMatch((await world.run(["hooks", "test", "PreToolUze"])).stderr, /did you mean PreToolUse/);
});

Deno.test("doctor lists a hook that does not run as a problem with its location", async () => {
  await using world = await makeWorld(
    mockConfig("http://127.0.0.1:9/v1", '[[hooks]]\nevent = "PreToolUse"\nmatchr = "Bash"\ncommand = "true"'),
  );
  const { stdout } = await world.run(["doctor"]);
  const [problems = ""] = stdout.split("\n\n");
  assertMatch(
    problems,
    /config\.toml:\d+:\d+: hook of PreToolUse: Unknown key "matchr"; did you mean "matcher"\?/,
  );
});
