import { startModelServer } from "../support/model_server.ts";
import { openBundles } from "../../src/config/bundles/bundle.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";
import { randomFrom, soakSize } from "../support/seed.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("a bundle is shown, trusted, used, refused after a change, updated and removed", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(`# keep this\n${mockConfig(server.url)}`);
  const { home, dir } = world;
  const base = dir.replace(/\/work$/, "");
  const origin = `${base}/origin`;
  const mark = `${base}/executed`;
  // Programs that a checkout would start.
  await Deno.writeTextFile(
    `${base}/.gitconfig`,
    `[filter "evil"]\n  smudge = touch '${mark}'\n[init]\n  templateDir = ${base}/template\n` +
      "[user]\n  name = a\n  email = a@example.org\n",
  );
  await Deno.mkdir(`${base}/template/hooks`, { recursive: true });
  for (const hook of ["post-checkout", "reference-transaction"]) {
    await Deno.writeTextFile(`${base}/template/hooks/${hook}`, `#!/bin/sh\ntouch '${mark}'\n`, {
      mode: 0o755,
    });
  }
  const write = async (files: Readonly<Record<string, string>>, directory = origin) => {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(`${directory}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${directory}/${path}`, text);
    }
  };
  const git = async (...args: readonly string[]) => {
    const env = { HOME: base, PATH: Deno.env.get("PATH") ?? "" };
    const words = ["-c", "core.hooksPath=/dev/null", ...args];
    const { code, stderr } = await new Deno.Command("git", { args: words, cwd: origin, clearEnv: true, env })
      .output();
    assertEquals(code, 0, decode(stderr));
  };
  await write({
    ".claude-plugin/plugin.json": '{"name":"kit","version":"1.0.0","description":"Greets"}',
    ".gitattributes": "*.txt filter=evil\n",
    "commands/hello.md":
      "---\ndescription: Greets\n---\nGreet $ARGUMENTS: !`cat ${CLAUDE_PLUGIN_ROOT}/note.txt`\n",
    "note.txt": "the note\n",
    "agents/checker.md": "---\ndescription: Checks\n---\nCheck",
    "skills/pdf/SKILL.md":
      "---\nname: pdf\ndescription: Reads PDFs\n---\nRead ${CLAUDE_PLUGIN_ROOT}/note.txt",
    "hooks/hooks.json": JSON.stringify({
      hooks: {
        UserPromptSubmit: [{ hooks: [{ type: "command", command: 'cat "${CLAUDE_PLUGIN_ROOT}/note.txt"' }] }],
      },
    }),
    ".mcp.json": '{"db":{"command":"${CLAUDE_PLUGIN_ROOT}/db"}}',
  });
  await git("init", "--quiet", "--initial-branch=main", "--template=");
  await git("add", ".");
  await git("commit", "--quiet", "-m", "one");
  await git("tag", "v1");
  await Deno.remove(mark).catch(() => {});

  const config = () => Deno.readTextFile(`${home}/config.toml`);
  const before = await config();
  const source = `file://${origin}`;
  const shown = await world.run(["plugin", "install", `${source}@v1`]);
  assertEquals(shown.code, 3);
  assertMatch(
    shown.stdout,
    /^kit {2}1\.0\.0 {2}from file:.* {2}commit [0-9a-f]{40}\nGreets\ncommands: \/kit:hello\n/,
  );
  for (
    const line of [
      "agents: kit:checker",
      "skills: kit:pdf",
      'runs: cat "${CLAUDE_PLUGIN_ROOT}/note.txt"',
      `runs: ${home}/bundles/kit/db`,
      `runs: cat ${home}/bundles/kit/note.txt`,
    ]
  ) assertStringIncludes(shown.stdout, line);
  assertStringIncludes(shown.stderr, "there is no terminal\n       read what is shown, then add --yes");
  const names = [...Deno.readDirSync(home)].map(({ name }) => name).filter((name) => /^bundles/.test(name));
  assertEquals([await config(), names], [before, []]);

  const installed = await world.run(["plugin", "install", `${source}@v1`, "--yes"]);
  assertEquals(installed.code, 0, installed.stderr);
  assertMatch(
    await config(),
    /^# keep this\n[^]*kit = \{ source = "file:.*", ref = "v1", commit = "[0-9a-f]{40}" \}/,
  );
  assertEquals(await Deno.stat(mark).catch(() => undefined), undefined);
  for (const command of ["update", "remove"]) {
    assertEquals((await world.run(["complete", "--", "plugin", command, "k"])).stdout, "kit\n", command);
  }
  const again = await world.run(["plugin", "install", origin, "--yes"]);
  assertStringIncludes(
    again.stderr,
    "a bundle of this name is installed\n       run: reasonix plugin update kit",
  );

  const used = await world.run(["run", "/kit:hello World"]);
  assertEquals(used.code, 0, used.stderr);
  const sent = JSON.stringify(server.requests.at(-1)?.json.messages);
  assertStringIncludes(sent, "Greet World: ");
  assertEquals(sent.split("the note").length - 1, 2, "the line of the command, and the hook");
  assertStringIncludes((await world.run(["mcp", "list"])).stdout, "plugin_kit_db");
  assertStringIncludes((await world.run(["agents", "list"])).stdout, "kit:checker");
  assertStringIncludes((await world.run(["skills", "list"])).stdout, "kit:pdf");
  const listed = await world.run(["plugin", "list", "--json"]);
  const row = JSON.parse(listed.stdout).find((each: { name: string }) => each.name === "kit");
  assertEquals([row.commands, row.agents, row.skills], [["/kit:hello"], ["kit:checker"], ["kit:pdf"]]);
  assertEquals([row.hooks, row.servers, row.problem], [["UserPromptSubmit"], ["plugin_kit_db"], undefined]);

  await Deno.writeTextFile(`${home}/bundles/kit/note.txt`, "the tampered note\n");
  const tampered = await world.run(["run", "Hi"]);
  assertStringIncludes(
    tampered.stderr,
    "The bundle kit is not used: its files are not those that you trusted",
  );
  assert(!JSON.stringify(server.requests.at(-1)?.json).includes("note"), "no hook ran");
  assertEquals((await world.run(["run", "/kit:hello World"])).code, 2);

  await git("checkout", "--quiet", "v1");
  await write({ "note.txt": "another note\n", "new.sh": "#!/bin/sh\n" });
  await git("add", ".");
  await git("commit", "--quiet", "-m", "two");
  await git("tag", "--force", "v1");
  await Deno.remove(mark).catch(() => {});
  const difference = await world.run(["plugin", "update", "kit"]);
  assertEquals(difference.code, 3);
  assertStringIncludes(difference.stdout, "-the tampered note\n+another note\n");
  assertStringIncludes(difference.stdout, "+++ b/new.sh");
  assertEquals(await Deno.readTextFile(`${home}/bundles/kit/note.txt`), "the tampered note\n");
  const updated = await world.run(["plugin", "update", "kit", "--yes"]);
  assertEquals(updated.code, 0, updated.stderr);
  assertStringIncludes((await world.run(["plugin", "update", "kit"])).stdout, "kit has not changed");
  assertEquals((await world.run(["run", "/kit:hello World"])).code, 0);
  assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json.messages), "another note");

  const removed = await world.run(["plugin", "remove", "kit"]);
  assertEquals([removed.code, removed.stdout], [0, "kit is removed\n"], removed.stderr);
  assertEquals((await config()).trimEnd(), before.trimEnd());
  assertEquals([...Deno.readDirSync(`${home}/bundles`)].map(({ name }) => name), [] as string[]);
  assert(!(await Deno.readTextFile(`${home}/trust.json`)).includes("bundles/kit"));
  assertMatch((await world.run(["plugin", "remove", "kit"])).stderr, /Cannot find an installed bundle "kit"/);
  assertEquals(await Deno.stat(mark).catch(() => undefined), undefined);

  // The example of the page, as it shows it.
  const page = await Deno.readTextFile(new URL("../../docs/plugins/bundles.md", import.meta.url));
  for (const [, path = "", text = ""] of page.matchAll(/^`(kit\/[^`]+)`\n\n```\w+\n(.*?)^```/gms)) {
    await write({ [path]: text, "kit/journal.txt": "Monday\n" }, dir);
  }
  const example = await world.run(["plugin", "install", "./kit", "--yes"]);
  const expected = /^```text\n(.*?)^```/ms.exec(page)?.[1]?.replace("DIRECTORY", dir).replaceAll(
    "HOME",
    home,
  );
  assertEquals(example.stdout, `${expected}kit is installed\n`, example.stderr);
  await world.run(["run", "/kit:journal"]);
  assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json.messages), "Monday");
});

Deno.test("an update that is killed leaves the old bundle, the new one or none, and the next one finishes", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:9"));
  const { home, dir } = world;
  const random = randomFrom(29);
  const update = ["plugin", "update", "kit", "--yes"];
  const write = async (version: number) => {
    await world.write("kit/.claude-plugin/plugin.json", `{"name":"kit","version":"${version}"}`);
    for (let at = 0; at < 20; at++) await world.write(`kit/commands/c${at}.md`, `Version ${version}`);
  };
  const versions = async () => {
    const opened = await openBundles({ kit: {} }, { home, file: "config.toml" }, []);
    const [bundle] = opened.bundles;
    if (!bundle) return [];
    const files = Array.from(
      { length: 20 },
      (_, at) => Deno.readTextFile(`${bundle.root}/commands/c${at}.md`),
    );
    return [...new Set([`Version ${bundle.version}`, ...await Promise.all(files)])];
  };
  await write(0);
  const started = performance.now();
  assertEquals((await world.run(["plugin", "install", `${dir}/kit`, "--yes"])).code, 0);
  const duration = performance.now() - started;
  for (let version = 1; version <= soakSize(100, 2); version++) {
    await write(version);
    const child = await world.spawn(update);
    await new Promise((resolve) => setTimeout(resolve, random() * duration));
    // It may have ended.
    try {
      child.kill("SIGKILL");
    } catch { /* as above */ }
    await finished(child);
    const found = await versions();
    const expected = [[], [`Version ${version - 1}`], [`Version ${version}`]].map(String);
    assert(expected.includes(String(found)), `${found}`);
    const next = await world.run(update);
    assertEquals(next.code, 0, next.stderr);
    assertEquals(await versions(), [`Version ${version}`]);
    assertEquals([...Deno.readDirSync(`${home}/bundles`)].map(({ name }) => name), ["kit"]);
  }
});
