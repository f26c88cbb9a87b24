/** `reasonix commit` and `reasonix pr` as a user starts them, and the examples of docs/commit.md. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { onTerminal, openChat, shownSoon } from "../support/terminal_chat.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/commit.md", import.meta.url));

/** The words of each example, and the lines that it prints. */
const EXAMPLES = [...PAGE.matchAll(/```console\n(.*?)```/gs)].map(([, text = ""]) => {
  const lines = text.trimEnd().split("\n");
  const commands = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2).split(" "));
  return { commands, printed: lines.filter((line) => !line.startsWith("$ ")) };
});

Deno.test("the examples of docs/commit.md run as they are printed, errors have exit codes, and a killed pr continues", async () => {
  const [commit, pull] = EXAMPLES;
  assert(commit && pull);
  const text = pull.printed.slice(0, 3).join("\n");
  const script = [{ text: commit.printed[0] ?? "" }, { text }, { text }];
  await using server = startModelServer(script, { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const remote = `${world.home}/hello.git`;
  const env = { GIT_CONFIG_GLOBAL: `${world.home}/gitconfig`, GIT_CONFIG_NOSYSTEM: "1" };
  await Deno.writeTextFile(
    env.GIT_CONFIG_GLOBAL,
    `[user]\nname = Test\nemail = t@example.com\n[init]\ndefaultBranch = main\n` +
      `[url "${remote}"]\ninsteadOf = https://codeberg.org/me/hello\ninsteadOf = https://github.com/me/hello\n`,
  );
  const git = async (...args: string[]) => {
    const { code, stderr } = await new Deno.Command("git", { args, cwd: world.dir, env }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
  };
  const run = async (...words: string[]) => await world.run(words, { env });

  assertEquals((await run("commit", "--yes")).code, 1);
  await git("init", "-q");
  const nothing = await run("commit", "--yes");
  assertEquals([nothing.code, nothing.stderr.split("\n")[0]], [2, "error: Cannot commit: nothing is staged"]);
  await git("commit", "-q", "--allow-empty", "-m", "Begin");
  await git("init", "-q", "--bare", remote);
  await git("remote", "add", "origin", "https://codeberg.org/me/hello");
  await git("push", "-q", "origin", "main");
  await git("switch", "-qc", "greet");
  await world.write("greet.ts", "greet();\n");
  await world.write("sub/file.txt", "x");
  for (const words of commit.commands.filter(([first]) => first === "git")) await git(...words.slice(1));
  const unasked = await run("commit");
  assertEquals(unasked.code, 2);
  assertStringIncludes(unasked.stderr, "add --yes");

  // A subdirectory is as good as the top.
  const words = commit.commands.at(-1)?.slice(1) ?? [];
  const committed = await world.run(words, { env, cwd: `${world.dir}/sub` });
  const plain = (text: string) => text.replace(/\[\S+ [0-9a-f]+\]/, "[main 1f2e3d4]").trimEnd();
  assertEquals(plain(committed.stdout), commit.printed.join("\n"), committed.stderr);
  const opened = await run(...pull.commands[0]?.slice(1) ?? []);
  assertStringIncludes(opened.stdout, pull.printed.join("\n"), opened.stderr);
  assertStringIncludes(opened.stderr, "Uncommitted changes are not part of it (files: 1)");
  assertStringIncludes(server.requests[0]?.body ?? "", "because of issue 12");
  await git("--git-dir", remote, "rev-parse", "refs/heads/greet");

  // A kill between push and create: the next run creates, and only then.
  await git("remote", "set-url", "origin", "https://github.com/me/hello");
  const bin = `${world.home}/bin`;
  await Deno.mkdir(bin);
  const gh = async (onCreate: string) =>
    await Deno.writeTextFile(
      `${bin}/gh`,
      `#!/bin/sh\nif [ "$2" = list ]; then echo "[]"; else echo "$2" >> "${world.home}/calls"; ${onCreate}; fi\n`,
      { mode: 0o755 },
    );
  const provider =
    '[[providers]]\nname = "x"\nkind = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"\n';
  await world.write("reasonix.toml", provider);
  const open = (...more: string[]) =>
    world.run(["pr", "--yes", ...more], { env: { ...env, PATH: `${bin}:${Deno.env.get("PATH")}` } });
  const untrusted = await open();
  assertEquals(untrusted.code, 3);
  assertStringIncludes(untrusted.stderr, "or --ignore-untrusted");
  await gh("kill -9 $PPID");
  assert((await open("--ignore-untrusted")).code !== 0);
  await gh("cat > /dev/null; echo https://github.com/me/hello/pull/1");
  const requests = server.requests.length;
  const again = await open("--ignore-untrusted");
  assertEquals([again.code, again.stdout.trim().split("\n").at(-1)], [
    0,
    "https://github.com/me/hello/pull/1",
  ]);
  assertEquals(server.requests.length, requests);
  assertStringIncludes(again.stderr, "The text of the last attempt is used");
  assertEquals(await Deno.readTextFile(`${world.home}/calls`), "create\ncreate\n");
});

onTerminal("Enter that was typed while the model wrote commits nothing and pushes nothing", async () => {
  const written = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const script = [
    { text: "Greet readers", before: written[0].promise },
    { text: "Greet readers\n\nBy name.", before: written[1].promise },
  ];
  await using server = startModelServer(script, { check: { prefix: false } });
  const env = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  await using chat = await openChat(mockConfig(server.url), { env, args: "version" });
  const { terminal, world: { dir, home } } = chat;
  await terminal.shows("left-with-0");
  const git = async (...args: string[]) => {
    const { stdout } = await new Deno.Command("git", { args, cwd: dir, env, stderr: "null" }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  const asked = (count: number) => shownSoon(terminal, (screen) => screen.split("[n] leave").length > count);
  const requests = async (count: number) => {
    while (server.requests.length < count) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await git("init", "-qb", "main");
  await git("config", "user.name", "Test");
  await git("config", "user.email", "t@example.com");
  await git("commit", "-q", "--allow-empty", "-m", "Begin");
  await git("init", "-q", "--bare", `${home}/hello.git`);
  await git("remote", "add", "origin", `${home}/hello.git`);
  await git("push", "-q", "origin", "main");
  await git("switch", "-qc", "greet");
  await chat.world.write("greet.ts", "greet();\n");
  await git("add", ".");

  await chat.enter("clear; reasonix commit");
  await requests(1);
  await terminal.press("Enter");
  written[0].resolve();
  await asked(2);
  assertEquals(await git("log", "--format=%s"), "Begin");
  await chat.answer("Enter");
  await terminal.shows("1 file changed");
  assertEquals(await git("log", "-1", "--format=%s"), "Greet readers");

  await chat.enter("clear; reasonix pr");
  await requests(2);
  await terminal.press("Enter");
  written[1].resolve();
  await asked(2);
  assertEquals(await git("ls-remote", "--heads", "origin", "greet"), "");
  await terminal.press("C-c");
});
