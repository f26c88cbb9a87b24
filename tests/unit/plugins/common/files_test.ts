import { dirname } from "node:path";
import { assertEquals, assertRejects } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";
import { walkFiles, type WalkOptions } from "../../../../plugins/common/files.ts";
import { removeTree } from "../../../support/remove_tree.ts";

async function walked(root: string, options: WalkOptions = {}): Promise<string[]> {
  return (await Array.fromAsync(walkFiles(root, options))).map(({ path }) => path);
}

async function write(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(dirname(`${root}/${path}`), { recursive: true });
    await Deno.writeTextFile(`${root}/${path}`, text);
  }
}

Deno.test("walkFiles yields sorted files that rules, links and sizes leave", async (t) => {
  await using directory = await makeTempDir();
  const root = `${directory.path}/work`;
  await write(directory.path, {
    ".gitignore": "*.log\n",
    "work/.git/HEAD": "ref",
    "work/.gitignore": "build/\n/top.txt\n*.tmp\n!keep.tmp\n",
    "work/b.txt": "1",
    "work/a.md": "12345",
    "work/top.txt": "",
    "work/x.tmp": "",
    "work/keep.tmp": "",
    "work/all.log": "",
    "work/.env": "KEY=1",
    "work/build/out.txt": "",
    "work/node_modules/p/index.js": "",
    "work/docs/.ignore": "draft.md\n!notes.tmp\n",
    "work/docs/.gitignore": "!draft.md\n",
    "work/docs/.reasonixignore": "private.md\n",
    "work/docs/draft.md": "",
    "work/docs/private.md": "",
    "work/docs/notes.tmp": "",
    "work/docs/top.txt": "",
    "work/docs/中文 a.md": "",
    "work/docs/deep/private.md": "",
  });
  await Deno.symlink(`${root}/a.md`, `${root}/link.md`);
  await Deno.symlink(`${root}/docs`, `${root}/linked`);
  const all = ["a.md", "all.log", "b.txt", "docs/notes.tmp", "docs/top.txt", "docs/中文 a.md", "keep.tmp"];

  await t.step("with ignore files of each directory, up to the repository", async () => {
    assertEquals(await walked(root), all);
    await removeTree(`${root}/.git`);
    assertEquals(await walked(root), all.filter((path) => path !== "all.log"));
  });
  await t.step("below a directory whose parents have rules", async () => {
    assertEquals(await walked(`${root}/docs`), ["notes.tmp", "top.txt", "中文 a.md"]);
  });
  await t.step("that patterns include or exclude", async () => {
    assertEquals(await walked(root, { include: ["**/*.md", "*.txt"], exclude: ["docs/top.*"] }), [
      "a.md",
      "b.txt",
      "docs/中文 a.md",
    ]);
    assertEquals(await walked(root, { exclude: ["docs"] }), ["a.md", "b.txt", "keep.tmp"]);
  });
  await t.step("that the session may read", async () => {
    const hidden = ["/docs/top.txt", "b.*"];
    assertEquals(await walked(root, { hidden }), ["a.md", "docs/notes.tmp", "docs/中文 a.md", "keep.tmp"]);
    assertEquals(await walked(`${root}/docs`, { hidden, workspace: root }), ["notes.tmp", "中文 a.md"]);
  });
  await t.step("up to a size, with size and time", async () => {
    const [file] = await Array.fromAsync(walkFiles(root, { maxBytes: 5 }));
    const { mtime } = await Deno.stat(`${root}/a.md`);
    assertEquals(file, { path: "a.md", size: 5, mtimeMs: mtime?.getTime() ?? 0 });
    assertEquals((await walked(root, { maxBytes: 4 })).includes("a.md"), false);
  });
  await t.step("until the signal aborts, and none for a directory that is missing", async () => {
    const signal = AbortSignal.abort(new Error("cancelled"));
    await assertRejects(() => walked(root, { signal }), Error, "cancelled");
    assertEquals(await walked(`${root}/missing`), []);
  });
});
