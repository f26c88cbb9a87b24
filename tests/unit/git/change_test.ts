import {
  type Change,
  type ChangedFile,
  type ChangeRequest,
  defaultRequest,
  Git,
  hunkDigest,
  numberedDiff,
  readChange,
} from "../../../src/git/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { git, makeRepository, type TestRepository } from "../worktree/support.ts";

async function changeOf(cwd: string, request: ChangeRequest): Promise<Change> {
  return await readChange(Git.find(cwd), cwd, request);
}

/** Each file on one line: its status, kind, names, counts and the reason why it is omitted. */
function listing({ files }: Change): string[] {
  return files.map(({ status, kind, path, oldPath, added, removed, omitted }) =>
    [
      status,
      kind,
      ...(oldPath === undefined ? [] : [oldPath]),
      path,
      `+${added} -${removed}`,
      ...(omitted === undefined ? [] : [omitted]),
    ].join(" ")
  );
}

async function commit(repo: TestRepository, text: string): Promise<string> {
  await git(repo.dir, "add", "-A");
  await git(repo.dir, "commit", "-qm", text);
  return (await git(repo.dir, "rev-parse", "HEAD")).trim();
}

async function text(bytes: Promise<Uint8Array | undefined>): Promise<string | undefined> {
  const read = await bytes;
  return read && new TextDecoder().decode(read);
}

function fileOf({ files }: Change, path: string): ChangedFile {
  const found = files.find((file) => file.path === path);
  assert(found, path);
  return found;
}

Deno.test("readChange reads the working tree, the index, a branch and a commit", async () => {
  await using repo = await makeRepository({
    "a.txt": "one\ntwo\nthree\n",
    "sub/b.txt": "b\n",
    ".gitignore": "*.log\n",
  });
  const { dir } = repo;
  await git(dir, "switch", "-qc", "topic");
  await repo.write("a.txt", "one\n2\nthree\n");
  const first = await commit(repo, "Second\n\nWith a body");
  await repo.write("sub/b.txt", "b\nstaged\n");
  await git(dir, "add", "-A");
  await repo.write("sub/b.txt", "b\nstaged\nchanged\n");
  await repo.write("new/n.txt", "new\n");
  await repo.write("noise.log", "ignored\n");

  const uncommitted = await changeOf(`${dir}/sub`, { kind: "uncommitted" });
  assertEquals(listing(uncommitted), ["added text new/n.txt +1 -0", "modified text sub/b.txt +2 -0"]);
  assertEquals([uncommitted.target, uncommitted.key, uncommitted.top, uncommitted.onDisk], [
    "uncommitted changes",
    "uncommitted",
    dir,
    true,
  ]);
  assertEquals(uncommitted.base.id, first);
  assertEquals(uncommitted.head.id, undefined);
  assertEquals(await text(uncommitted.head.read("sub/b.txt")), "b\nstaged\nchanged\n");
  assertEquals(await text(uncommitted.base.read("sub/b.txt")), "b\n");
  assertEquals(await text(uncommitted.base.read("new/n.txt")), undefined);

  const staged = await changeOf(dir, { kind: "staged" });
  assertEquals(listing(staged), ["modified text sub/b.txt +1 -0"]);
  assertEquals([staged.target, staged.key, staged.onDisk], ["staged changes", "staged", false]);
  assertEquals(await text(staged.head.read("sub/b.txt")), "b\nstaged\n");
  assertEquals(await text(staged.head.read("a.txt")), "one\n2\nthree\n");

  const branch = await changeOf(dir, { kind: "base", base: "main" });
  assertEquals(listing(branch), ["modified text a.txt +1 -1"]);
  assertEquals([branch.target, branch.key, branch.onDisk], ["main...topic, 1 commit", "base main", false]);
  assertEquals(branch.messages, ["Second\n\nWith a body"]);
  assertEquals(branch.head.id, first);
  assertEquals(await text(branch.head.read("a.txt")), "one\n2\nthree\n");
  assertEquals(await text(branch.base.read("a.txt")), "one\ntwo\nthree\n");
  assertEquals(await text(branch.head.read("sub/b.txt")), "b\n");
  assertEquals(fileOf(branch, "a.txt").hunks, [{
    oldStart: 1,
    oldLines: 3,
    newStart: 1,
    newLines: 3,
    lines: [" one", "-two", "+2", " three"],
  }]);
  assertEquals(numberedDiff(fileOf(branch, "a.txt")), "@@ -1,3 +1,3 @@\n1  one\n  -two\n2 +2\n3  three");

  const one = await changeOf(dir, { kind: "commit", commit: "HEAD" });
  assertEquals([listing(one), one.key, one.target], [
    listing(branch),
    `commit ${first}`,
    `commit ${first.slice(0, 12)} Second`,
  ]);
  const root = await changeOf(dir, { kind: "commit", commit: "HEAD^" });
  assertEquals(listing(root), [
    "added text .gitignore +1 -0",
    "added text a.txt +3 -0",
    "added text sub/b.txt +1 -0",
  ]);
  assertEquals([root.base.id, await text(root.base.read("a.txt"))], [undefined, undefined]);

  assertEquals(await defaultRequest(Git.find(dir), dir), { kind: "uncommitted" });
  await git(dir, "add", "-A");
  assertEquals((await changeOf(dir, { kind: "staged" })).onDisk, true);
  await commit(repo, "Third");
  assertEquals(await defaultRequest(Git.find(dir), dir), { kind: "base", base: "main" });
  assertEquals((await changeOf(dir, { kind: "base", base: "main" })).onDisk, true);
});

Deno.test("hunkDigest ignores the position of a hunk, but not its context", () => {
  const hunk = { oldStart: 1, oldLines: 2, newStart: 1, newLines: 2, lines: [" a", "-b", "+c"] };
  const moved = { ...hunk, oldStart: 40, newStart: 44 };
  assert(/^[0-9a-f]{16}$/.test(hunkDigest("a.ts", hunk)));
  assertEquals(hunkDigest("a.ts", moved), hunkDigest("a.ts", hunk));
  assert(hunkDigest("b.ts", hunk) !== hunkDigest("a.ts", hunk));
  assert(hunkDigest("a.ts", { ...hunk, lines: [" other", "-b", "+c"] }) !== hunkDigest("a.ts", hunk));
  assert(hunkDigest("a.ts", { ...hunk, lines: ["-b", "+d"] }) !== hunkDigest("a.ts", hunk));
});
