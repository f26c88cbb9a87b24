import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

type Server = ReturnType<typeof startModelServer>;

const open = () => startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });

/** The user's own message of the last request. */
function asked(server: Server): string {
  return server.requests.at(-1)?.json.messages.at(-1).content;
}

Deno.test("a Markdown command is sent with its arguments and files, and reloads when its file changes", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("notes.txt", "the notes\n");
  await world.write(
    ".claude/commands/git/commit.md",
    "---\ndescription: Commit\nargument-hint: [scope] [text]\n---\nCommit $1 as $2: $ARGUMENTS for $$5, see @notes.txt\n",
  );
  const run = await world.run(["run", "/git:commit api $1 fast"]);
  assertEquals([run.code, run.stdout], [0, "ok\n"], run.stderr);
  assertStringIncludes(asked(server), "Commit api as $1: api $1 fast for $5, see @notes.txt");
  assertStringIncludes(asked(server), "the notes");
  await world.write(".claude/commands/git/commit.md", "Only this\n");
  await world.run(["run", "/git:commit now"]);
  assertEquals(asked(server), "Only this\n\nArguments: now");
  const help = (await world.run(["run", "/help git:commit"])).stdout;
  assertStringIncludes(help, "- `/git:commit`: Only this");
  assertStringIncludes(help, ".claude/commands/git/commit.md");
});

Deno.test("a project's command overrides the user's, and a built-in command overrides both", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url));
  await Deno.mkdir(`${world.home}/commands`);
  await Deno.writeTextFile(`${world.home}/commands/tidy.md`, "the user's");
  await Deno.writeTextFile(`${world.home}/commands/mine.md`, "mine alone");
  await world.write(".reasonix/commands/tidy.md", "the project's");
  await world.write(".reasonix/commands/cost.md", "not this");
  await world.write(".reasonix/commands/broken.md", "---\ndescription: no end\n");
  await world.run(["run", "/tidy"]);
  assertEquals(asked(server), "the project's");
  await world.run(["run", "/mine"]);
  assertEquals(asked(server), "mine alone");
  const cost = await world.run(["run", "/cost"]);
  assertEquals(cost.stdout, "Nothing was spent yet\n");
  assertStringIncludes(
    cost.stderr,
    "commands/cost.md: `/cost` is a command of the program, which comes first",
  );
  const help = (await world.run(["run", "/help"])).stdout;
  assertStringIncludes(help, "cost.md: `/cost` is a command of the program");
  assertStringIncludes(help, "broken.md:1: the block that begins with --- has no end");
  const broken = await world.run(["run", "/broken"]);
  assertEquals([broken.code, broken.stdout], [2, ""]);
  assertStringIncludes(broken.stderr, "broken.md:1: the block");
  assertEquals(server.requests.length, 2);
});

Deno.test("command lines and allowed-tools of a project's command apply only after trust", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url, "[permissions]\nmode = 'deny'"));
  await world.write(
    ".claude/commands/state.md",
    "---\nallowed-tools: Bash(touch made)\n---\nHere: !`echo state is $1`. Go on.\n",
  );
  const refused = await world.run(["run", "/state good"]);
  assertEquals([refused.code, server.requests.length], [3, 0], refused.stderr);
  assertStringIncludes(refused.stderr, "is not trusted yet, and would run: echo state is $1");
  const shown = await world.run(["trust", "--yes"]);
  assertStringIncludes(shown.stdout, "command /state");
  assertStringIncludes(shown.stdout, "runs: echo state is $1");
  server.push({ calls: [{ name: "bash", args: { command: "touch made" } }] }, { text: "done" });
  const run = await world.run(["run", "/state good"]);
  assertEquals([run.code, run.stdout], [0, "done\n"], run.stderr);
  const messages = JSON.stringify(server.requests[0]?.json.messages);
  assertStringIncludes(messages, "state is good");
  assertStringIncludes(messages, "Here: `echo state is good` (its output is above). Go on.");
  assert(await Deno.stat(`${world.dir}/made`).then(() => true, () => false), "allowed-tools did not count");
  await world.write(".claude/commands/state.md", "Changed: !`echo more`\n");
  assertEquals((await world.run(["run", "/state"])).code, 3);
});

Deno.test("arguments are never run, and a command of another model is answered by it", async () => {
  await using server = open();
  const second = `\n[[providers]]\nname = "other"\nkind = "openai"\nbase_url = "URL"\nmodel = "mock-2"\n`;
  await using world = await makeWorld(mockConfig(server.url) + second.replace("URL", server.url));
  await Deno.mkdir(`${world.home}/commands`);
  await Deno.writeTextFile(`${world.home}/commands/ask.md`, "---\nmodel: other\n---\nAsk: $ARGUMENTS\n");
  await Deno.writeTextFile(`${world.home}/commands/old.md`, "---\nmodel: sonnet\n---\nOld\n");
  await world.run(["run", "/ask !`touch pwned` $$"]);
  assertEquals(asked(server), "Ask: !`touch pwned` $$");
  assertEquals(server.requests.at(-1)?.json.model, "mock-2");
  assertEquals(await Deno.stat(`${world.dir}/pwned`).catch(() => "absent"), "absent");
  const old = await world.run(["run", "/old"]);
  assertEquals(server.requests.at(-1)?.json.model, "mock-1");
  assertStringIncludes(old.stderr, "/old wants the model sonnet, which is not used");
});

Deno.test("a project's command cannot link to private files, and its arguments run nothing", async () => {
  await using server = open();
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(".env", "TOKEN=for-none-else\n");
  await world.write(".claude/commands/real.md", "Real\n");
  for (
    const [name, target] of [["env", "../../.env"], ["out", "/etc/hostname"], ["twin", "real.md"]] as const
  ) {
    await Deno.symlink(target, `${world.dir}/.claude/commands/${name}.md`);
  }
  for (const name of ["env", "out"]) {
    const run = await world.run(["run", `/${name}`]);
    assertEquals([run.code, run.stdout, server.requests.length], [2, "", 0]);
    assertStringIncludes(run.stderr, `${name}.md: left out: it is a link`);
  }
  await world.run(["run", "/twin"]);
  assertEquals(asked(server), "Real");
  await world.write(".claude/commands/say.md", "Said: !`echo $ARGUMENTS`\n");
  await world.write(".claude/commands/sum.md", "Sum: !`echo $((1 + $1))`\n");
  await world.run(["trust", "--yes"]);
  await world.run(["run", "/say x; touch pwned $(touch pwned)"]);
  assertStringIncludes(
    JSON.stringify(server.requests.at(-1)?.json.messages),
    "x; touch pwned $(touch pwned)",
  );
  const sum = await world.run(["run", "/sum a[$(touch pwned)]"]);
  assertEquals(sum.code, 2);
  assertStringIncludes(
    sum.stderr,
    'Cannot run the command line of /sum: "a[$(touch" could become a separate command',
  );
  assertEquals(await Deno.stat(`${world.dir}/pwned`).catch(() => "absent"), "absent");
});
