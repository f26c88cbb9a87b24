import { adoptWorktree, createWorktree, reapWorktrees } from "../../../src/worktree/mod.ts";
import { parentOfWorktree } from "../../../src/worktree/mod.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { git, makeRepository } from "./support.ts";
import { removeTree } from "../../support/remove_tree.ts";

Deno.test("createWorktree copies the user's state: staged, changed, deleted and untracked files, not ignored", async () => {
  await using repo = await makeRepository({
    "kept.txt": "kept\n",
    "changed.txt": "old\n",
    "gone.txt": "gone\n",
    "sub/staged.txt": "old\n",
    ".gitignore": "*.log\n",
  });
  await repo.write("changed.txt", "new\n");
  await repo.write("sub/staged.txt", "staged\n");
  await git(repo.dir, "add", "sub/staged.txt");
  await Deno.remove(`${repo.dir}/gone.txt`);
  await repo.write("with blank/新しい.txt", "untracked\n");
  await repo.write("noise.log", "ignored\n");
  await Deno.symlink("kept.txt", `${repo.dir}/link`);
  await Deno.chmod(`${repo.dir}/changed.txt`, 0o755);

  const before = await git(repo.dir, "status", "--porcelain=v1");
  await using tree = await createWorktree({ cwd: repo.dir, home: repo.home, id: "one" });
  assertEquals(await git(tree.cwd, "status", "--porcelain=v1"), before);
  assertEquals(await Deno.readTextFile(`${tree.cwd}/with blank/新しい.txt`), "untracked\n");
  assertEquals(await Deno.readLink(`${tree.cwd}/link`), "kept.txt");
  assertEquals(((await Deno.stat(`${tree.cwd}/changed.txt`)).mode ?? 0) & 0o111, 0o111);
  await assertRejects(() => Deno.stat(`${tree.cwd}/noise.log`));
  assertEquals(await git(tree.cwd, "rev-parse", "HEAD"), await git(repo.dir, "rev-parse", "HEAD"));
  assertEquals(await git(repo.dir, "branch", "--list"), "* main\n");
  assertEquals((await tree.diff()).bytes, 0);
  assertEquals(parentOfWorktree(repo.home, tree.cwd), repo.dir);
});

Deno.test("diff includes binary files, untracked files and commits since the start, and applies", async () => {
  await using repo = await makeRepository({
    "a.txt": "1\n2\n3\n",
    "b.bin": "x\0y",
    "del.txt": "d\n",
    "café/ü.txt": "u\n",
  });
  await repo.write("a.txt", "1\n2\n3\nmine\n");
  await repo.write("mine.txt", "untracked\n");
  await using tree = await createWorktree({ cwd: repo.dir, home: repo.home, id: "two" });
  await Deno.writeTextFile(`${tree.cwd}/a.txt`, "zero\n1\n2\n3\nmine\n");
  await Deno.writeFile(`${tree.cwd}/b.bin`, new Uint8Array([0, 1, 2, 255]));
  await Deno.writeTextFile(`${tree.cwd}/new file.txt`, "new\r\nlines\r\n");
  await Deno.remove(`${tree.cwd}/del.txt`);
  await Deno.writeTextFile(`${tree.cwd}/café/ü.txt`, "changed\n");
  await Deno.writeTextFile(`${tree.cwd}/mine.txt`, "untracked, changed\n");
  await git(tree.cwd, "add", "-A");
  await git(tree.cwd, "commit", "-qm", "work of the agent");

  const patch = await tree.diff();
  assertEquals(
    [...patch.files].sort(),
    ["a.txt", "b.bin", "café/ü.txt", "del.txt", "mine.txt", "new file.txt"].sort(),
  );
  assertEquals(await tree.problemOf(patch), undefined);
  await tree.applyToParent(patch);
  assertEquals(await repo.read("a.txt"), "zero\n1\n2\n3\nmine\n");
  assertEquals(await Deno.readFile(`${repo.dir}/b.bin`), new Uint8Array([0, 1, 2, 255]));
  assertEquals(await repo.read("new file.txt"), "new\r\nlines\r\n");
  assertEquals(await repo.read("mine.txt"), "untracked, changed\n");
  await assertRejects(() => repo.read("del.txt"));
  // Applied once, it fits no more, and says so without changing anything.
  assert(
    (await tree.problemOf(patch))?.includes("patch does not apply") ||
      (await tree.problemOf(patch)) !== undefined,
  );
  await repo.write("a.txt", "something else\n");
  await assertRejects(() => tree.applyToParent(patch), Error, "Cannot apply the changes");
  assertEquals(await repo.read("a.txt"), "something else\n");
});

Deno.test("a worktree for a subdirectory of a repository has the same subdirectory as its cwd", async () => {
  await using repo = await makeRepository({ "pkg/a/x.txt": "x\n", "top.txt": "t\n" });
  await using tree = await createWorktree({ cwd: `${repo.dir}/pkg/a`, home: repo.home, id: "inner" });
  assert(tree.cwd.endsWith("/pkg/a"));
  await Deno.writeTextFile(`${tree.cwd}/x.txt`, "y\n");
  assertEquals((await tree.diff()).files, ["pkg/a/x.txt"]);
  assertEquals(parentOfWorktree(repo.home, tree.cwd), `${repo.dir}/pkg/a`);
});

Deno.test("files of submodules and nested repositories are copied, and their changes are in the patch", async () => {
  await using lib = await makeRepository({ "lib.txt": "lib\n" });
  await using repo = await makeRepository({ "a.txt": "a\n" });
  await git(repo.dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", lib.dir, "vendor/lib");
  await git(repo.dir, "commit", "-qm", "submodule");
  await repo.write("nested/n.txt", "n\n");
  await git(`${repo.dir}/nested`, "init", "-q");
  await using tree = await createWorktree({ cwd: repo.dir, home: repo.home, id: "modules" });
  assertEquals(await Deno.readTextFile(`${tree.cwd}/vendor/lib/lib.txt`), "lib\n");
  assertEquals(await Deno.readTextFile(`${tree.cwd}/nested/n.txt`), "n\n");
  await Deno.writeTextFile(`${tree.cwd}/vendor/lib/lib.txt`, "changed\n");
  await Deno.writeTextFile(`${tree.cwd}/nested/n.txt`, "changed\n");
  // Project generators make repositories without asking.
  await Deno.mkdir(`${tree.cwd}/made`);
  await git(`${tree.cwd}/made`, "init", "-q");
  await Deno.writeTextFile(`${tree.cwd}/made/m.txt`, "m\n");
  const patch = await tree.diff();
  assertEquals([...patch.files].sort(), ["made/m.txt", "nested/n.txt", "vendor/lib/lib.txt"]);
  await tree.applyToParent(patch);
  assertEquals(await repo.read("vendor/lib/lib.txt"), "changed\n");
  assertEquals(await repo.read("made/m.txt"), "m\n");
});

Deno.test("line endings, filters, sparse checkouts and hooks of the repository have no effect", async () => {
  await using repo = await makeRepository({
    ".gitattributes": "*.crlf text eol=crlf\n*.big filter=big\n",
    "a.crlf": "one\r\ntwo\r\n",
    "b.big": "whole\n",
    "in/x.txt": "x\n",
    "out/y.txt": "y\n",
  });
  await git(repo.dir, "config", "filter.big.clean", `touch ${repo.home}/filter-ran; cat`);
  await git(repo.dir, "config", "filter.big.smudge", `touch ${repo.home}/filter-ran; cat`);
  await git(repo.dir, "config", "filter.big.required", "true");
  await Deno.writeTextFile(
    `${repo.dir}/.git/hooks/post-checkout`,
    `#!/bin/sh\ntouch ${repo.home}/hook-ran\n`,
    { mode: 0o755 },
  );
  await git(repo.dir, "config", "core.fsmonitor", `touch ${repo.home}/monitor-ran; false`);
  await git(repo.dir, "-c", "core.fsmonitor=false", "sparse-checkout", "set", "--no-cone", "/*", "!/out/");
  await Deno.remove(`${repo.home}/filter-ran`).catch(() => {});
  await Deno.remove(`${repo.home}/hook-ran`).catch(() => {});
  await Deno.remove(`${repo.home}/monitor-ran`).catch(() => {});
  await using tree = await createWorktree({ cwd: repo.dir, home: repo.home, id: "odd" });
  assertEquals(await Deno.readTextFile(`${tree.cwd}/a.crlf`), "one\r\ntwo\r\n");
  await assertRejects(() => Deno.stat(`${tree.cwd}/out/y.txt`));
  assertEquals(await git(tree.cwd, "-c", "core.fsmonitor=false", "status", "--porcelain"), "");
  await Deno.remove(`${repo.home}/filter-ran`).catch(() => {});
  await Deno.writeTextFile(`${tree.cwd}/a.crlf`, "one\r\n2\r\n");
  await Deno.writeTextFile(`${tree.cwd}/b.big`, "other\n");
  const patch = await tree.diff();
  assertEquals(patch.files, ["a.crlf", "b.big"]);
  await tree.applyToParent(patch);
  assertEquals(await repo.read("a.crlf"), "one\r\n2\r\n");
  assertEquals(await repo.read("b.big"), "other\n");
  for (const ran of ["filter-ran", "hook-ran", "monitor-ran"]) {
    await assertRejects(() => Deno.stat(`${repo.home}/${ran}`));
  }
});

Deno.test("diff supports files that became directories or links, and tracked files that are ignored", async () => {
  await using repo = await makeRepository({
    "a": "file\n",
    "d/x": "x\n",
    "d/y": "y\n",
    ".gitignore": "forced\n",
  });
  await repo.write("forced", "1\n");
  await git(repo.dir, "add", "-f", "forced");
  await git(repo.dir, "commit", "-qm", "forced");
  await using tree = await createWorktree({ cwd: repo.dir, home: repo.home, id: "kinds" });
  await Deno.remove(`${tree.cwd}/a`);
  await Deno.mkdir(`${tree.cwd}/a`);
  await Deno.writeTextFile(`${tree.cwd}/a/inner`, "in\n");
  await removeTree(`${tree.cwd}/d`);
  await Deno.symlink("a", `${tree.cwd}/d`);
  await Deno.writeTextFile(`${tree.cwd}/forced`, "2\n");
  const patch = await tree.diff();
  assertEquals([...patch.files].sort(), ["a", "a/inner", "d", "d/x", "d/y", "forced"]);
  assertEquals(await tree.problemOf(patch), undefined);
  await tree.applyToParent(patch);
  assertEquals(await Deno.readLink(`${repo.dir}/d`), "a");
  assertEquals(await repo.read("a/inner"), "in\n");
});

Deno.test("a directory without a possible worktree is an error with the reason, and leaves nothing", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  const make = (cwd: string, home = repo.home) => () => createWorktree({ cwd, home, id: "bad" });
  const plain = await Deno.makeTempDir();
  await assertRejects(make(plain), Error, "it is in no git repository");
  await git(plain, "init", "-q");
  await assertRejects(make(plain), Error, "the repository has no commit yet");
  const bare = await Deno.makeTempDir();
  await git(bare, "init", "-q", "--bare");
  await assertRejects(make(bare), Error, "the repository is bare");
  await assertRejects(make(`${repo.dir}/.git`), Error, "inside of git's own directory");
  await Deno.mkdir(`${repo.dir}/home`);
  await assertRejects(make(repo.dir, `${repo.dir}/home`), Error, "it contains the Reasonix home");
  await Deno.chmod(`${repo.dir}/a.txt`, 0o600);
  const stop = AbortSignal.abort();
  await assertRejects(() => createWorktree({ cwd: repo.dir, home: repo.home, id: "bad" }, stop));
  assertEquals((await reapWorktrees(repo.home)).inUse, []);
  assertEquals(
    await git(repo.dir, "worktree", "list"),
    await git(repo.dir, "worktree", "list").then((text) => text.split("\n")[0] + "\n"),
  );
  for (const path of [plain, bare]) await removeTree(path);
});

Deno.test("the worktree of a killed process is removed by the next process, a waiting one is not", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  const script = new URL("./left_behind.ts", import.meta.url).pathname;
  for (const [id, days] of [["lost", ""], ["kept", "7"]]) {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-config", "--no-check", script, repo.dir, repo.home, id ?? "", days ?? ""],
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    assertEquals(new TextDecoder().decode((await reader.read()).value).trim(), "ready");
    assertEquals(
      (await reapWorktrees(repo.home)).inUse.map((record) => record.id),
      [id]
        .concat([]).sort(),
    );
    child.kill("SIGKILL");
    await child.status;
    await reader.cancel();
    if (id === "lost") {
      const report = await reapWorktrees(repo.home);
      assertEquals([report.removed, report.inUse, report.failed], [["lost"], [], []]);
    }
  }
  const report = await reapWorktrees(repo.home);
  assertEquals([report.removed, report.waiting.map(({ id }) => id)], [[], ["kept"]]);
  const tree = await adoptWorktree({ home: repo.home, id: "kept" });
  assert(tree);
  assertEquals((await tree.diff()).files, ["by-the-agent.txt"]);
  // Caches of packages come with directories that cannot be changed.
  await Deno.mkdir(`${tree.cwd}/cache/inner`, { recursive: true });
  await Deno.chmod(`${tree.cwd}/cache`, 0o500);
  await tree.remove();
  assertEquals(await adoptWorktree({ home: repo.home, id: "kept" }), undefined);
  assertEquals((await git(repo.dir, "worktree", "list")).trim().split("\n").length, 1);
  assertEquals(
    [...Deno.readDirSync(`${repo.dir}/.git`)].some(({ name }) => name === "worktrees") &&
      [...Deno.readDirSync(`${repo.dir}/.git/worktrees`)].length > 0,
    false,
  );
});

Deno.test("the worktree of another machine with the same home is in use for a week", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  const tree = await createWorktree({ cwd: repo.dir, home: repo.home, id: "there" });
  const file = `${repo.home}/worktrees/there/owner.json`;
  const record = JSON.parse(await Deno.readTextFile(file));
  assertEquals(record.host, Deno.hostname());
  await Deno.writeTextFile(file, JSON.stringify({ ...record, host: "elsewhere", start: "0" }));
  const report = await reapWorktrees(repo.home);
  assertEquals([report.removed, report.inUse.map(({ id }) => id)], [[], ["there"]]);
  const longAgo = new Date(Date.now() - 8 * 24 * 60 * 60 * 1000);
  await Deno.utime(file, longAgo, longAgo);
  assertEquals((await reapWorktrees(repo.home)).removed, ["there"]);
  await tree.remove();
});
