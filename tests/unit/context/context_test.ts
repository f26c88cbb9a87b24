import { environmentText, loadInstructions, systemPrompt } from "../../../src/context/mod.ts";
import { resolveReferences } from "../../../src/context/references.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir, writeFiles } from "../../support/tool_context.ts";

const HOME = "/nonexistent-home";

function instructions(cwd: string, maxBytes = 10_000, hidden?: (path: string) => boolean) {
  return loadInstructions({ cwd, home: HOME, maxBytes, ...(hidden ? { hidden } : {}) });
}

Deno.test("loadInstructions reads from the repository root down to the working directory", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    ".git/HEAD": "ref: refs/heads/main",
    "AGENTS.md": "root",
    "a/CLAUDE.md": "middle",
    "a/b/AGENTS.md": "near",
    "a/b/REASONIX.md": "own",
    "a/c/AGENTS.md": "elsewhere",
  });
  assertEquals(instructions(`${dir.path}/a/b`).files.map((file) => file.text), [
    "root",
    "middle",
    "near",
    "own",
  ]);
});

Deno.test("loadInstructions prefers AGENTS.md to CLAUDE.md and reports what it ignores", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "AGENTS.md": "\uFEFFone\r\ntwo", "CLAUDE.md": "other" });
  const found = instructions(dir.path);
  assertEquals(found.files.map((file) => file.text), ["one\ntwo"]);
  assertEquals(found.shadowed, [{ path: `${dir.path}/CLAUDE.md`, by: `${dir.path}/AGENTS.md` }]);
});

Deno.test("loadInstructions follows imports inside the directory and rejects cycles and escapes", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "p/AGENTS.md": "top\n@more.md\n@../secret.md\nmail me @home",
    "p/more.md": "more\n@AGENTS.md",
    "secret.md": "secret",
  });
  const found = instructions(`${dir.path}/p`);
  assertEquals(found.files[0]?.text, "top\nmore\n@AGENTS.md\n@../secret.md\nmail me @home");
  assertEquals(found.notices.length, 2);
});

Deno.test("loadInstructions follows imports of a CLAUDE.md, except in code and outside the repository", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "p/.git/HEAD": "",
    "p/sub/CLAUDE.md":
      "See @../docs/a.md and (@b.md), `@c.md`, @types/node, me@x.org, @../../out.md, @p.png.\n" +
      "```java\n@Override\n@b.md\n```\n@../docs/a.md",
    "p/sub/b.md": "B",
    "p/sub/p.png": "\0\x01",
    "p/sub/c.md": "C",
    "p/docs/a.md": "A, then @../sub/b.md",
    "out.md": "OUT",
  });
  const found = instructions(`${dir.path}/p/sub`);
  const a = "A, then @../sub/b.md\n\n## ../sub/b.md\nB";
  assertEquals(
    found.files[0]?.text,
    "See @../docs/a.md and (@b.md), `@c.md`, @types/node, me@x.org, @../../out.md, @p.png.\n```java\n@Override\n@b.md\n```\n" +
      `${a}\n\n## ../docs/a.md\n${a}\n\n## b.md\nB`,
  );
  assertEquals(found.notices, []);
});

Deno.test("loadInstructions does not follow a link to a file that may not be read", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "secrets/key": "TOPSECRET", "p/x": "" });
  await Deno.symlink(`${dir.path}/secrets/key`, `${dir.path}/p/AGENTS.md`);
  const found = instructions(`${dir.path}/p`, 1000, (path) => path.startsWith(`${dir.path}/secrets`));
  assertEquals(found.files, []);
  assertEquals(found.notices.length, 1);
});

Deno.test("loadInstructions truncates at the byte limit between characters and reports it", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "AGENTS.md": "é".repeat(100) });
  const found = instructions(dir.path, 11);
  assertEquals(found.files[0]?.text, "é".repeat(5));
  assertStringIncludes(found.notices[0]?.problem ?? "", "11 bytes");
});

Deno.test("systemPrompt is deterministic and contains no date", () => {
  const options = {
    instructions: [{ path: "/w/AGENTS.md", label: "AGENTS.md (project)", text: "Use tabs" }],
  };
  assertEquals(systemPrompt(options), systemPrompt(options));
  assertStringIncludes(systemPrompt(options), "## AGENTS.md (project)\nUse tabs\n");
  assert(!systemPrompt(options).includes(String(new Date().getFullYear())));
  assertEquals(systemPrompt({ custom: "Be brief.", instructions: [] }), "Be brief.\n");
});

Deno.test("environmentText reads the branch of a repository and of a linked worktree", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "repo/.git/HEAD": "ref: refs/heads/feature/x\n",
    "repo/.git/worktrees/w/HEAD": "0123456789abcdef0123\n",
    "w/.git": `gitdir: ${dir.path}/repo/.git/worktrees/w\n`,
    "repo/sub/file": "",
  });
  const text = (cwd: string) =>
    environmentText({ cwd, now: new Date("2026-02-03T12:00:00Z"), platform: "linux" });
  assertStringIncludes(text(`${dir.path}/repo/sub`), "git branch: feature/x");
  assertStringIncludes(text(`${dir.path}/w`), "git branch: 0123456789ab");
  assertStringIncludes(text(`${dir.path}/w`), "date: 2026-02-03");
});

async function references(text: string, cwd: string, vision = false) {
  return await resolveReferences(text, {
    cwd,
    vision,
    read: (path) =>
      path.includes("forbidden") ? Promise.reject(new Error("Forbidden")) : Deno.realPath(`${cwd}/${path}`),
    hidden: (path) => path.endsWith("/hidden"),
  });
}

Deno.test("resolveReferences attaches only existing files, line ranges and directories", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "a.txt": "1\n2\n3\n",
    "d/x.ts": "",
    "d/hidden": "",
    "d/node_modules/y": "",
    "sp ace.txt": "s",
  });
  const found = await references(
    'See @a.txt, @a.txt:2-3 and @d/ or @"sp ace.txt"; mail x@y.com, @handle.',
    dir.path,
  );
  assertEquals(found.blocks, [
    '<file path="a.txt">\n1\n2\n3\n</file>',
    '<file path="a.txt" lines="2-3">\n2\n3\n</file>',
    '<dir path="d/">\nx.ts\n</dir>',
    '<file path="sp ace.txt">\ns\n</file>',
  ]);
  assertEquals(found.notices, []);
});

Deno.test("resolveReferences notes binary files, truncates long ones and attaches images for vision models", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, {
    "b.bin": new Uint8Array([1, 0, 2]),
    "long.txt": "x".repeat(100_000),
    "i.png": new Uint8Array(10),
  });
  const blind = await references("@b.bin @long.txt @i.png", dir.path);
  assertStringIncludes(blind.blocks[0] ?? "", "binary file, 3 bytes");
  assertStringIncludes(blind.blocks[1] ?? "", "the file has 100000 bytes");
  assert((blind.blocks[1] ?? "").length < 70_000);
  assertEquals(blind.images, []);
  assertEquals(blind.notices, ["@i.png was not attached: the model takes no images"]);
  assertEquals((await references("@i.png", dir.path, true)).images.length, 1);
});

Deno.test("resolveReferences reports empty and truncated content", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "a.txt": "1\n2\n", "none.txt": "", "long.txt": "x".repeat(70_000) });
  await Deno.mkdir(`${dir.path}/d`);
  const { blocks } = await references("@a.txt:3-9 @none.txt @d/ @long.txt:1-2", dir.path);
  assertEquals(blocks.slice(0, 3), [
    '<file path="a.txt" lines="3-9">\n[the file has only 2 lines]\n</file>',
    '<file path="none.txt">\n[empty]\n</file>',
    '<dir path="d/">\n[empty]\n</dir>',
  ]);
  assertStringIncludes(blocks[3] ?? "", "x\n[cut; read_file shows the rest]\n</file>");
});

Deno.test("resolveReferences reports a file that must not be read", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "forbidden.txt": "no" });
  const found = await references("@forbidden.txt", dir.path);
  assertEquals(found.blocks, []);
  assertStringIncludes(found.notices[0] ?? "", "Forbidden");
});

Deno.test("resolveReferences suggests a name for a mistyped path and ignores packages and handles", async () => {
  await using dir = await makeTempDir();
  const files = {
    "src/wrap.ts": "x",
    "main.ts": "y",
    ".git/x": "",
    "node_modules/@scope/pkg.js/index.js": "",
  };
  await writeFiles(dir.path, files);
  const output = async (text: string) => (await references(text, dir.path)).notices;
  for (
    const [name, hint] of [
      ["src/wrpa.ts", "src/wrap.ts"],
      ["mian.ts:3-4", "main.ts"],
      ["src/other.go"],
      ["../reasonix-tset.txt"],
      ["zzz/none.ts"],
      ["src/zzz/none.ts"],
      ["scr/wrap.ts", "src/wrap.ts"],
      ["scr/wrpa.ts:3-9", "src/wrap.ts"],
      ["nofile.ts"],
      ["qqq.md"],
      ["./Makefile"],
      ["a/b/c/Dockerfile.yml"],
      ["lib/none.js"],
      ["/no/such/place.json"],
    ]
  ) {
    const expected = `@${name} was not attached: there is no such file`;
    assertEquals(await output(`see @${name}.`), [hint ? `${expected}; did you mean @${hint}?` : expected]);
  }
  assertEquals(await output("@sr/"), ["@sr/ was not attached: there is no such directory"]);
  for (
    const text of [
      "@john.doe and @jane @someone @scope/pkg.js @types/node me@src/wrpa.ts @Override",
      "@types/chart.js @types/socket.io @types/lodash.get @babel/core @angular/core@17.1.0",
      "@Injectable() @app.route('/x.html') @functools.cache @pytest.mark.skip @property",
      "me@example.com @example.com <a@b.ts> a@b/c.ts",
      "@media (x) @param name @v1.2 @2.5 @...",
      "@/components/Button",
    ]
  ) {
    assertEquals(await output(text), [], text);
  }
});

Deno.test("resolveReferences reads resources of connected servers and ignores other colons", async () => {
  await using dir = await makeTempDir();
  await writeFiles(dir.path, { "a.txt": "1\n2" });
  const found = await resolveReferences("@docs:page://intro, @bad:x and @a.txt:2 mail:me", {
    cwd: dir.path,
    vision: false,
    read: (path) => Deno.realPath(`${dir.path}/${path}`),
    hidden: () => false,
    resource(server, uri) {
      if (server === "docs") return Promise.resolve({ text: `text of ${uri}\n`, images: [] });
      return server === "bad" ? Promise.reject(new Error("gone")) : undefined;
    },
  });
  assertEquals(found.blocks, [
    '<resource ref="docs:page://intro">\ntext of page://intro\n</resource>',
    '<file path="a.txt" lines="2-2">\n2\n</file>',
  ]);
  assertEquals(found.notices, ["@bad:x was not attached: gone"]);
});

Deno.test("environmentText describes the access to all files", () => {
  const options = { cwd: "/w", now: new Date("2026-02-03T12:00:00Z"), platform: "linux" };
  const text = environmentText({ ...options, files: "not to be changed" });
  assertEquals(text.split("\n").at(-2), "files: not to be changed");
});
