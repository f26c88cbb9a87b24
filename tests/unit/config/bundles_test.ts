import { bundleFiles, bundleStore, openBundles, readBundle } from "../../../src/config/bundles/bundle.ts";
import { fetchBundle, parseSource } from "../../../src/config/bundles/fetch.ts";
import type { ConfigProblem } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import { bundleItem } from "../../../src/config/bundles/bundle.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { removeTree } from "../../support/remove_tree.ts";

const MANIFEST = ".claude-plugin/plugin.json";

async function write(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${root}/${path}`, text);
  }
}

const textOf = (error: unknown) =>
  error instanceof ReasonixError ? `${error.message}; ${error.remedy ?? ""}` : String(error);

Deno.test("a bundle has the standard parts and those that its manifest names", async () => {
  await using temp = await makeTempDir();
  const root = temp.path;
  await write(root, {
    [MANIFEST]: JSON.stringify({
      name: "kit",
      version: "1.0",
      author: {},
      commands: ["./more", "./one.md", "./none"],
      hooks: { Stop: [] },
      mcpServers: "./servers.json",
      outputStyles: "./styles",
    }),
    "commands/a.md": "a",
    "more/b.md": "b",
    "one.md": "one",
    "skills/s/SKILL.md": "s",
    "hooks/hooks.json": "{}",
    "servers.json": "{}",
  });
  const below = (paths: readonly string[]) => paths.map((path) => path.replace(`${root}/`, ""));
  const bundle = readBundle(root);
  assertEquals(below(bundle.commands), ["commands", "more", "one.md"]);
  assertEquals([below(bundle.agents), below(bundle.skills)], [[], ["skills"]]);
  assertEquals(below(bundle.hooks), ["hooks/hooks.json", MANIFEST]);
  assertEquals([below(bundle.servers), bundle.unused], [["servers.json"], ["outputStyles"]]);
});

Deno.test("a manifest that cannot be used, or that leaves its directory, is refused", async () => {
  await using temp = await makeTempDir();
  const rows: readonly [text: string | undefined, error: RegExp][] = [
    [undefined, /has no file \.claude-plugin\/plugin\.json; name the directory/],
    ["{", /is no JSON: /],
    ["[]", /is no JSON object/],
    ["{}", /its name "\(none\)"|its name \(none\)/],
    ['{"name":"../up"}', /its name "\.\.\/up" has other characters/],
    ['{"name":"a\\u001b[31mb"}', /its name "a\\u001b\[31mb" has/],
    ['{"name":"kit","commands":"../up"}', /commands names "\.\.\/up", which is no path inside of it/],
    ['{"name":"kit","agents":["/etc"]}', /agents names "\/etc"/],
    ['{"name":"kit","hooks":"./a/../../b.json"}', /hooks names/],
    ['{"name":"kit","skills":[3]}', /skills names 3/],
  ];
  for (const [at, [text, error]] of rows.entries()) {
    const root = `${temp.path}/${at}`;
    await write(root, text === undefined ? { "a.md": "a" } : { [MANIFEST]: text });
    try {
      readBundle(root);
    } catch (thrown) {
      assertMatch(textOf(thrown), error);
      continue;
    }
    assert(false, String(text));
  }
});

Deno.test("files of a bundle exclude links, and unsafe names and sizes are refused", async () => {
  await using temp = await makeTempDir();
  const root = `${temp.path}/kit`;
  await write(root, { "a/b.md": "b", ".git/config": "x", "c.md": "c" });
  await Deno.symlink("/etc", `${root}/etc`);
  await Deno.symlink("/etc/passwd", `${root}/a/passwd`);
  assertEquals(bundleFiles(root), { files: ["a/b.md", "c.md"], links: ["a/passwd", "etc"] });
  assertThrows(() => bundleItem({ name: "kit", root }), Error, "a/passwd is a link");
  const target = `${temp.path}/copy`;
  assertEquals(await fetchBundle({ source: root, isGit: false }, target), { leftOut: ["a/passwd", "etc"] });
  assertEquals(bundleFiles(target), { files: ["a/b.md", "c.md"], links: [] });
  for (const name of ["a\x1b[2J.md", "b\u202egnp.md", "c\nd.md", "back\\slash.md"]) {
    const odd = `${temp.path}/odd`;
    await write(odd, { [name]: "x" });
    assertThrows(() => bundleFiles(odd), Error, "is no safe name of a file");
    await removeTree(odd);
  }
  const large = `${temp.path}/large`;
  await write(large, { "a.bin": "" });
  await Deno.truncate(`${large}/a.bin`, 21 * 1024 * 1024);
  assertThrows(() => bundleFiles(large), Error, "more than 2000 files or 20971520 bytes");
});

Deno.test("sources are directories and git addresses without tricks", async () => {
  await using temp = await makeTempDir();
  await Deno.mkdir(`${temp.path}/kit`);
  const git = (source: string, ref?: string) => ({ source, isGit: true, ...(ref ? { ref } : {}) });
  const good: readonly [text: string, expected: unknown][] = [
    ["kit", { source: `${temp.path}/kit`, isGit: false }],
    ["./kit/../kit", { source: `${temp.path}/kit`, isGit: false }],
    ["https://example.org/o/kit", git("https://example.org/o/kit")],
    ["https://example.org/o/kit.git@v1.2", git("https://example.org/o/kit.git", "v1.2")],
    ["ssh://git@example.org/o/kit@feature/x", git("ssh://git@example.org/o/kit", "feature/x")],
    ["git@example.org:o/kit.git@0123abc", git("git@example.org:o/kit.git", "0123abc")],
    ["file:///srv/kit", git("file:///srv/kit")],
    ["http://127.0.0.1:3000/kit", git("http://127.0.0.1:3000/kit")],
  ];
  for (const [text, expected] of good) assertEquals(parseSource(text, temp.path), expected);
  const bad: readonly [text: string, error: RegExp][] = [
    ["none", /there is no such directory; name a directory, or an address/],
    ["--upload-pack=touch x", /there is no such directory/],
    ["ext::sh -c touch% /tmp/x", /there is no such directory/],
    ["ext://sh", /the protocol ext: is not used/],
    ["http://example.org/kit", /the protocol http: is not used/],
    ["git://example.org/kit", /the protocol git: is not used/],
    ["file://server/share", /the protocol file: is not used/],
    ["ssh://-oProxyCommand=touch/kit", /it is no address/],
    ["https://me:secret@example.org/kit", /it has credentials; remove them/],
    ["https://example.org/kit@--upload-pack=x", /"--upload-pack=x" is no branch, tag or commit/],
    ["https://example.org/kit@a..b", /"a\.\.b" is no branch/],
    ["https://example.org/kit@", /"" is no branch/],
  ];
  for (const [text, error] of bad) {
    try {
      parseSource(text, temp.path);
    } catch (thrown) {
      assertMatch(textOf(thrown), error);
      continue;
    }
    assert(false, text);
  }
});

async function git(cwd: string, ...args: readonly string[]): Promise<string> {
  const env = { HOME: cwd, GIT_CONFIG_NOSYSTEM: "1", PATH: Deno.env.get("PATH") ?? "", LC_ALL: "C" };
  const identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
  const { code, stdout, stderr } = await new Deno.Command("git", {
    args: [...identity, ...args],
    cwd,
    env,
    clearEnv: true,
  }).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout).trim();
}

Deno.test("a commit is fetched without hooks, filters, links and submodules, and a hostile tree is refused", async () => {
  await using temp = await makeTempDir();
  const origin = `${temp.path}/origin`;
  await write(origin, {
    [MANIFEST]: '{"name":"kit"}',
    "run.sh": "#!/bin/sh\n",
    "data.bin": "raw\r\n",
    ".gitattributes": "data.bin filter=evil\n* text=auto eol=crlf\n",
  });
  await Deno.chmod(`${origin}/run.sh`, 0o755);
  await Deno.symlink("/etc/passwd", `${origin}/link`);
  await git(origin, "init", "--quiet", "--initial-branch=main");
  await git(origin, "add", ".");
  await git(origin, "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},sub`);
  await git(origin, "commit", "--quiet", "-m", "one");
  const first = await git(origin, "rev-parse", "HEAD");
  await git(origin, "tag", "v1");
  await Deno.writeTextFile(`${origin}/later.md`, "later");
  await git(origin, "add", "later.md");
  await git(origin, "commit", "--quiet", "-m", "two");
  const source = `file://${origin}`;
  const target = `${temp.path}/copy`;
  const fetched = await fetchBundle({ source, isGit: true, ref: "v1" }, target);
  assertEquals(fetched, { commit: first, leftOut: ["link", "sub"] });
  assertEquals(bundleFiles(target), {
    files: [".claude-plugin/plugin.json", ".gitattributes", "data.bin", "run.sh"],
    links: [],
  });
  assertEquals(
    await Deno.readTextFile(`${target}/data.bin`),
    await git(origin, "show", "v1:data.bin") + "\n",
  );
  assertEquals(((await Deno.stat(`${target}/run.sh`)).mode ?? 0) & 0o777, 0o700);
  const latest = `${temp.path}/latest`;
  await fetchBundle({ source, isGit: true }, latest);
  assert(bundleFiles(latest).files.includes("later.md"));

  const blob = await git(origin, "hash-object", "-w", "run.sh");
  const raw = (name: string) =>
    Uint8Array.from([...new TextEncoder().encode(`100644 ${name}\0`), ...Uint8Array.fromHex(blob)]);
  for (const name of ["..", "a\x1b[2J"]) {
    await Deno.writeFile(`${temp.path}/tree`, raw(name));
    const tree = await git(origin, "hash-object", "-w", "-t", "tree", "--literally", `${temp.path}/tree`);
    const commit = await git(origin, "commit-tree", tree, "-m", "hostile");
    await git(origin, "branch", "--force", "hostile", commit);
    const error = await fetchBundle({ source, isGit: true, ref: "hostile" }, `${temp.path}/x${name.length}`)
      .then(() => "", textOf);
    assertMatch(error, /is no safe name of a file/);
  }
  const missing = await fetchBundle({ source, isGit: true, ref: "none" }, `${temp.path}/y`).then(
    () => "",
    textOf,
  );
  assertMatch(missing, /^Cannot fetch none of file:.*: couldn't find remote ref none; check the address/);
});

Deno.test("an installed bundle counts while its files are those that the user trusted", async () => {
  await using temp = await makeTempDir();
  const home = temp.path;
  const root = `${home}/bundles/kit`;
  await write(root, {
    [MANIFEST]: '{"name":"kit"}',
    ".mcp.json": '{"db":{"command":"${CLAUDE_PLUGIN_ROOT}/db","args":["${CLAUDE_PLUGIN_ROOT}"]}}',
    "hooks/hooks.json":
      '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"${CLAUDE_PLUGIN_ROOT}/stop"}]}]}}',
  });
  const open = async (name = "kit") => {
    const problems: ConfigProblem[] = [];
    const opened = await openBundles({ [name]: {} }, { home, file: "config.toml" }, problems);
    return { ...opened, why: problems.map(({ message, remedy }) => `${message}; ${remedy}`).join() };
  };
  const trust = () => bundleStore(home, "kit").trust([bundleItem({ name: "kit", root })]);
  const untrusted =
    "The bundle kit is not used: its files are not those that you trusted; run: reasonix plugin update kit";
  assertEquals(await open(), { bundles: [], layers: [], why: untrusted });
  await trust();
  const { bundles, layers, why } = await open();
  assertEquals([bundles.map(({ name }) => name), why], [["kit"], ""]);
  assertEquals(layers.map(({ table, source, root: at }) => [table, source, at]), [
    [{ hooks: [{ event: "Stop", command: "${CLAUDE_PLUGIN_ROOT}/stop", matcher: "" }] }, "user", root],
    [
      {
        plugins: [{
          name: "plugin_kit_db",
          type: "stdio",
          command: `${root}/db`,
          args: [root],
          env: { CLAUDE_PLUGIN_ROOT: root },
        }],
      },
      "user",
      root,
    ],
  ]);
  await Deno.symlink("/etc", `${root}/etc`);
  assertStringIncludes((await open()).why, "etc is a link");
  await Deno.remove(`${root}/etc`);
  for (const path of ["stop", "commands/new.md"]) {
    await write(root, { [path]: "new" });
    assertEquals((await open()).why, untrusted);
    await Deno.remove(`${root}/${path}`);
  }
  assertEquals((await open()).why, "");
  assertStringIncludes((await open("gone")).why, "gone is not used: it is not installed");
  await write(root, { [MANIFEST]: '{"name":"other"}' });
  await trust();
  assertStringIncludes((await open()).why, "it calls itself other");
});
