import { LateInstructions, loadInstructionGlobs, loadInstructions } from "../../../src/context/mod.ts";
import type { Message } from "../../../src/core/mod.ts";
import { BUILTINS, ToolRegistry } from "../../../src/tool/mod.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir, writeFiles } from "../../support/tool_context.ts";

const HOME = "/nonexistent-home";
const { describe } = new ToolRegistry(BUILTINS);

const touching = (...paths: string[]): Message => ({
  role: "assistant",
  content: "",
  calls: paths.map((path, i) => ({ id: `c${i}`, name: "read_file", arguments: JSON.stringify({ path }) })),
});

function late(cwd: string, messages: () => readonly Message[], maxBytes = 10_000) {
  return new LateInstructions({ cwd, home: HOME, maxBytes, messages, describe });
}

Deno.test("LateInstructions reports the files of a subtree once, when a call first touches it", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    ".git/HEAD": "",
    "AGENTS.md": "root",
    "a/AGENTS.md": "about a",
    "a/b/CLAUDE.md": "about b",
    "a/b/x.ts": "",
    "c/x.ts": "",
  });
  const messages: Message[] = [{ role: "user", content: "go" }];
  const instructions = late(dir.path, () => messages);
  assertEquals(instructions.take(), []);
  messages.push(touching("top.ts", "./a/../a/b/x.ts", "/etc/hosts", "../outside.ts"));
  const texts = instructions.take();
  assertEquals(texts.map((text) => text.split("\n")[0]), [
    '<instructions folder="a">',
    '<instructions folder="a/b">',
  ]);
  assertStringIncludes(texts[1] ?? "", "## a/b/CLAUDE.md (project)\nabout b\n</instructions>");
  messages.push(touching("a/b/y.ts", "c/x.ts", `${dir.path}/a`));
  assertEquals(instructions.take(), []);
});

Deno.test("LateInstructions recognizes earlier instructions in a resumed or rewound conversation", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "a/AGENTS.md": "about a", "b/AGENTS.md": "about b" });
  let messages: readonly Message[] = [touching("b/x"), {
    role: "user",
    content: '<instructions folder="a">\n…',
  }];
  const instructions = late(dir.path, () => messages);
  assertEquals(instructions.take(), []);
  messages = [...messages, touching("a/x", "b/x")];
  assertEquals(instructions.take().map((text) => text.split("\n")[0]), ['<instructions folder="b">']);
  messages = [{ role: "user", content: "rewound" }, touching("a/x")];
  assertEquals(instructions.take().map((text) => text.split("\n")[0]), ['<instructions folder="a">']);
});

Deno.test("LateInstructions stays within its byte limit and reports truncation", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "a/AGENTS.md": "x".repeat(50), "b/AGENTS.md": "y" });
  const notices: string[] = [];
  const instructions = new LateInstructions({
    cwd: dir.path,
    home: HOME,
    maxBytes: 20,
    messages: () => [],
    describe,
    onNotice: (notice) => notices.push(notice.problem),
  });
  assertStringIncludes(instructions.touch("a/x")[0] ?? "", "x".repeat(20));
  assertEquals(instructions.touch("b/x"), []);
  assertEquals(notices.length, 1);
});

Deno.test("loadInstructions rejects a link that leaves the repository, not one inside it", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "secret.md": "secret",
    "p/.git/HEAD": "",
    "p/docs/agents.md": "inside",
    "p/sub/x": "",
    "home/x": "",
  });
  await Deno.symlink("docs/agents.md", `${dir.path}/p/AGENTS.md`);
  await Deno.symlink(`${dir.path}/secret.md`, `${dir.path}/p/sub/AGENTS.md`);
  await Deno.symlink(`${dir.path}/secret.md`, `${dir.path}/home/AGENTS.md`);
  const found = loadInstructions({ cwd: `${dir.path}/p/sub`, home: `${dir.path}/home`, maxBytes: 1_000 });
  assertEquals(found.files.map((file) => file.text), ["secret", "inside"]);
  assertEquals(found.notices, [{
    path: `${dir.path}/p/sub/AGENTS.md`,
    problem: "left out: it is a link that leads out of the repository",
  }]);
});

Deno.test("expandInstructionGlobs returns sorted matches and keeps plain paths unchanged", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "docs/b.md": "",
    "docs/a.md": "",
    "docs/deep/c.md": "",
    "docs/d.txt": "",
    "docs/node_modules/e.md": "",
  });
  const { expandInstructionGlobs } = await loadInstructionGlobs();
  const at = (name: string) => `${dir.path}/${name}`;
  assertEquals(await expandInstructionGlobs([at("x.md"), at("docs/*.md")]), [
    at("x.md"),
    at("docs/a.md"),
    at("docs/b.md"),
  ]);
  assertEquals(await expandInstructionGlobs([at("docs/**/*.md")]), [
    at("docs/a.md"),
    at("docs/b.md"),
    at("docs/deep/c.md"),
  ]);
  assertEquals(await expandInstructionGlobs([at("none/*.md")]), []);
});

Deno.test("loadInstructions rejects a configured file that links out of the repository", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "secret.md": "secret", "p/.git/HEAD": "", "home/x": "" });
  await Deno.symlink(`${dir.path}/secret.md`, `${dir.path}/p/more.md`);
  const extra = [`${dir.path}/p/more.md`, `${dir.path}/secret.md`];
  const found = loadInstructions({ cwd: `${dir.path}/p`, home: `${dir.path}/home`, extra, maxBytes: 1_000 });
  assertEquals(found.files.map((file) => file.path), [`${dir.path}/secret.md`]);
  assertEquals(found.notices.map((notice) => notice.path), [`${dir.path}/p/more.md`]);
});

Deno.test("CLAUDE.local.md of a project follows AGENTS.md or CLAUDE.md, and REASONIX.md follows it", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "home/CLAUDE.local.md": "of no user",
    "repo/.git/HEAD": "",
    "repo/CLAUDE.local.md": "\uFEFFroot notes, see @notes/x.md\r\n",
    "repo/notes/x.md": "taken in",
    "repo/sub/REASONIX.md": "ours",
    "repo/sub/CLAUDE.local.md": "notes",
    "repo/sub/CLAUDE.md": "theirs",
    "repo/sub/deep/CLAUDE.local.md": "deep notes",
    "secret": "secret",
  });
  await Deno.mkdir(`${dir.path}/repo/sub/x`);
  await Deno.symlink("../../../secret", `${dir.path}/repo/sub/x/CLAUDE.local.md`);
  const options = { cwd: `${dir.path}/repo/sub`, home: `${dir.path}/home`, maxBytes: 10_000 };
  const { files } = loadInstructions(options);
  assertEquals(files.map(({ text }) => text.trim()), [
    "root notes, see @notes/x.md\n\n\n## notes/x.md\ntaken in",
    "theirs",
    "notes",
    "ours",
  ]);
  const messages: Message[] = [{ role: "user", content: "go" }];
  const instructions = late(options.cwd, () => messages);
  instructions.take();
  messages.push(touching("deep/a.ts", "x/a.ts"));
  const sent = instructions.take();
  assertEquals(sent.length, 1);
  assertStringIncludes(sent[0] ?? "", "## deep/CLAUDE.local.md (project)\ndeep notes");
});
