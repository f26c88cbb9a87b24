import { Git, readChange } from "../../../src/git/mod.ts";
import { objectTools } from "../../../src/review/object_tools.ts";
import { ToolRegistry } from "../../../src/tool/mod.ts";
import { createWorkspace } from "../../../src/sandbox/mod.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { makeToolContext } from "../../support/tool_context.ts";
import { git, makeRepository } from "../worktree/support.ts";

Deno.test("objectTools read, search and list both versions of a change by the rules about files", async () => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at + 1}`).join("\n");
  await using repo = await makeRepository({
    "src/a.ts": "export const a = 1;\n",
    "src/long.txt": `${lines}\n`,
    "secret/key.txt": "token\n",
    "private.env": "token\n",
    "bytes.bin": "a\0b",
  });
  const { dir, home } = repo;
  await git(dir, "switch", "-qc", "topic");
  await repo.write("src/a.ts", "// token\r\nexport const a = 2;\r\n");
  await repo.write("src/-b ü.ts", "token and token\nend");
  await Deno.symlink("../secret/key.txt", `${dir}/src/link.txt`);
  await git(dir, "add", "-A");
  await git(dir, "commit", "-qm", "second");
  await git(dir, "switch", "-q", "main");
  const finder = Git.find(dir);
  const change = await readChange(finder, dir, { kind: "base", base: "main", head: "topic" });
  assertEquals(change.onDisk, false);
  const tools = new Map(objectTools(finder, change).map((tool) => [tool.name, tool]));
  const paths = createWorkspace({
    cwd: `${dir}/src`,
    roots: [dir],
    home,
    forbidRead: [`${dir}/secret`],
    denyRead: ["*.env"],
  });
  const context = makeToolContext(`${dir}/src`, { paths });
  const call = async (name: string, args: Record<string, unknown>) =>
    (await tools.get(name)?.execute(args, context))?.content;

  assertEquals(await call("read_file", { path: "src/a.ts" }), "   1→// token\n   2→export const a = 2;");
  assertEquals(
    await call("read_file", { path: `${dir}/src/a.ts`, revision: "base" }),
    "   1→export const a = 1;",
  );
  assertEquals(
    await call("read_file", { path: "src/-b ü.ts" }),
    "   1→token and token\n   2→end\n[no newline at the end]",
  );
  assertEquals(
    await call("read_file", { path: "src/long.txt", offset: 4_999, limit: 1 }),
    "4999→line 4999\n[lines 4999–4999 of 5000; continue with offset 5000]",
  );
  assertEquals(
    await call("read_file", { path: "src/long.txt", offset: 5_001 }),
    "(offset 5001 is past the end: src/long.txt has 5000 lines)",
  );
  const long = await call("read_file", { path: "src/long.txt" }) ?? "";
  assert(
    long.length < 40_000 && long.endsWith("[lines 1–1992 of 5000; continue with offset 1993]"),
    long.slice(-100),
  );
  const refused: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ path: "src/gone.ts" }, /^error: Cannot read src\/gone.ts: the changed version has no such file/],
    [
      { path: "src/-b ü.ts", revision: "base" },
      /^error: Cannot read src\/-b ü.ts: the base has no such file/,
    ],
    [{ path: "src/link.txt" }, /no such file, or it is a link/],
    [{ path: "bytes.bin" }, /it is a binary file/],
    [{ path: "secret/key.txt" }, /the user has forbidden it/],
    [{ path: "private.env" }, /the rules deny reading it/],
    [{ path: "src/../../home/x" }, /is outside of the repository/],
  ];
  for (const [args, expected] of refused) {
    const content = await call("read_file", args) ?? "";
    assert(expected.test(content), `${JSON.stringify(args)}: ${content}`);
  }

  const found = "src/-b ü.ts:1:token and token\nsrc/a.ts:1:// token";
  assertEquals(await call("grep", { pattern: "tok[e]n\\b" }), found);
  assertEquals(
    await call("grep", { pattern: "TOKEN", case_insensitive: true, include: "*.{ts,js}", path: "src" }),
    found,
  );
  assertEquals(
    await call("grep", { pattern: "token", include: "src/a.*", context: 1 }),
    "src/a.ts:1:// token\nsrc/a.ts-2-export const a = 2;",
  );
  assertEquals(
    await call("grep", { pattern: "token", limit: 1 }),
    "src/-b ü.ts:1:token and token\n[the first matches; narrow the pattern, include or path, or raise limit]",
  );
  assertEquals(await call("grep", { pattern: "a = ", revision: "base" }), "src/a.ts:1:export const a = 1;");
  assertEquals(await call("grep", { pattern: "a = (", literal: true }), "No matches");
  assertEquals(await call("grep", { pattern: "-e" }), "No matches");
  assert(
    /^error: Cannot search: .*; fix the regular expression/.test(await call("grep", { pattern: "(" }) ?? ""),
  );

  assertEquals(await call("list_files", {}), "bytes.bin\nsrc/-b ü.ts\nsrc/a.ts\nsrc/link.txt\nsrc/long.txt");
  assertEquals(await call("list_files", { path: "src", pattern: "*.ts", offset: 2 }), "src/a.ts");
  assertEquals(
    await call("list_files", { limit: 1, revision: "base" }),
    "bytes.bin\n[files 1–1 of 3; continue with offset 2]",
  );

  const stopped = makeToolContext(dir, { signal: AbortSignal.abort() });
  for (const tool of tools.values()) {
    await assertRejects(() => tool.execute({ path: ".", pattern: "a" }, stopped));
  }
});

Deno.test("objectTools read the index and the working tree where these are what changed", async () => {
  await using repo = await makeRepository({
    "a.txt": "committed\n",
    "b.txt": "b\n",
    ".gitignore": "*.log\n",
  });
  const { dir } = repo;
  await repo.write("a.txt", "staged\n");
  await git(dir, "add", "-A");
  await repo.write("a.txt", "on the disk\n");
  await repo.write("new.txt", "untracked\n");
  await repo.write("noise.log", "untracked\n");
  const finder = Git.find(dir);
  const context = makeToolContext(dir);
  for (
    const [kind, content, files] of [
      ["staged", "staged", ".gitignore\na.txt\nb.txt"],
      ["uncommitted", "on the disk", ".gitignore\na.txt\nb.txt\nnew.txt"],
    ] as const
  ) {
    const registry = new ToolRegistry([], objectTools(finder, await readChange(finder, dir, { kind })));
    const call = async (name: string, args: object) => {
      const prepared = await registry.prepare({ id: "1", name, arguments: JSON.stringify(args) });
      assert(typeof prepared !== "string", String(prepared));
      assertEquals(prepared.reads, ["path" in args ? `${dir}/a.txt` : dir]);
      const tool = registry.get(prepared.tool);
      return (await tool?.execute(prepared.args, context))?.content;
    };
    assertEquals(await call("read_file", { file_path: "a.txt", path: "a.txt" }), `   1→${content}`);
    assertEquals(await call("read_file", { path: "a.txt", revision: "base" }), "   1→committed");
    assertEquals(await call("grep", { pattern: "^[a-z ]+$", include: "a.txt" }), `a.txt:1:${content}`);
    assertEquals(await call("list_files", {}), files);
  }
});
