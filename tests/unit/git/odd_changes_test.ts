import { ReasonixError } from "../../../src/core/mod.ts";
import {
  type Change,
  type ChangedFile,
  type ChangeRequest,
  defaultRequest,
  Git,
  numberedDiff,
  readChange,
} from "../../../src/git/mod.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { git, makeRepository } from "../worktree/support.ts";

const LINUX = Deno.build.os === "linux";

async function changeOf(cwd: string, request: ChangeRequest): Promise<Change> {
  return await readChange(Git.find(cwd), cwd, request);
}

function line({ status, kind, path, oldPath, added, removed, omitted }: ChangedFile): string {
  const name = oldPath === undefined ? path : `${oldPath} → ${path}`;
  return `${status} ${kind} ${name} +${added} -${removed}${omitted === undefined ? "" : ` (${omitted})`}`;
}

function fileOf({ files }: Change, path: string): ChangedFile {
  const found = files.find((file) => file.path === path);
  assert(found, `${path} of ${files.map((file) => file.path)}`);
  return found;
}

const ODD = [
  "-rf",
  'with "quotes"',
  "tab\there",
  "line\nfeed",
  "\n@@ -1 +1 @@\n+forged",
  "back\\slash",
  " blank ",
  "ünï 项目",
  '"',
  "diff --git a b",
];

Deno.test("a change has files of any name, kind and encoding, and each command sees the same ones", async () => {
  const many = Array.from({ length: 40 }, (_, at) => `line ${at}\n`).join("");
  await using repo = await makeRepository({
    "moved.txt": many,
    "edited.txt": many.replaceAll("line", "row"),
    "copied.txt": many.replaceAll("line", "copy"),
    "mode.sh": "echo\n",
    "file-to-link": "text\n",
    "gone.txt": "gone\n",
    "crlf.txt": "one\r\ntwo\r\nthree\r\n",
    "ends.txt": "a\r\nb\nc",
    "binary.bin": "a\0b",
    "wide.txt": "x",
    "keep/package-lock.json": "{}\n",
  });
  const { dir } = repo;
  await Deno.writeFile(`${dir}/latin.txt`, new Uint8Array([0x63, 0x61, 0x66, 0xe9, 10, 0x61, 10]));
  await git(dir, "add", "-A");
  await git(dir, "commit", "-qm", "base");
  await git(dir, "switch", "-qc", "topic");

  await Deno.rename(`${dir}/moved.txt`, `${dir}/renamed.txt`);
  await repo.write("copied.txt", `${many.replaceAll("line", "copy")}more\n`);
  await repo.write("twin.txt", many.replaceAll("line", "copy"));
  await repo.write("edited.txt", `first\n${many.replaceAll("line", "row")}`);
  await Deno.chmod(`${dir}/mode.sh`, 0o755);
  await Deno.remove(`${dir}/file-to-link`);
  await Deno.symlink("/etc/passwd", `${dir}/file-to-link`);
  await Deno.symlink("gone.txt", `${dir}/new-link`);
  await Deno.remove(`${dir}/gone.txt`);
  await repo.write("crlf.txt", "one\r\n2\r\nthree\r\n");
  await repo.write("ends.txt", "a\nb\r\nc\n");
  await repo.write("binary.bin", "a\0c");
  await Deno.writeFile(`${dir}/wide.txt`, new Uint8Array([0xff, 0xfe, 0x61, 0, 10, 0]));
  await Deno.writeFile(`${dir}/latin.txt`, new Uint8Array([0x63, 0x61, 0x66, 0xe9, 10, 0x62, 0xff, 10]));
  await repo.write("keep/package-lock.json", '{ "a": 1 }\n');
  await repo.write("node_modules/x/index.js", "x\n");
  await repo.write("site/app.min.js", "x\n");
  await repo.write("site/app.js", `${"x;".repeat(3_000)}\n`);
  await repo.write("notes.md", `${"word ".repeat(3_000)}\n`);
  await repo.write("empty.txt", "");
  for (const name of ODD) await repo.write(name, `text of ${JSON.stringify(name)}\n`);

  const uncommitted = await changeOf(dir, { kind: "uncommitted" });
  await git(dir, "add", "-A");
  const staged = await changeOf(dir, { kind: "staged" });
  await git(dir, "commit", "-qm", "topic");
  const branch = await changeOf(dir, { kind: "base", base: "main" });
  const commit = await changeOf(dir, { kind: "commit", commit: "topic" });
  for (const other of [staged, branch, commit]) assertEquals(other.files, uncommitted.files);
  assertEquals([branch.onDisk, commit.onDisk], [true, true]);

  assertEquals(
    branch.files.map(line).sort(),
    [
      ...ODD.map((name) => `added text ${name} +1 -0`),
      "added link new-link +1 -0",
      "added text empty.txt +0 -0",
      "added text node_modules/x/index.js +1 -0 (vendored)",
      "added text notes.md +1 -0",
      "added text site/app.js +1 -0 (minified)",
      "added text site/app.min.js +1 -0 (minified)",
      "copied text copied.txt → twin.txt +0 -0",
      "deleted text gone.txt +0 -1",
      "modified binary binary.bin +0 -0 (binary)",
      "modified binary wide.txt +0 -0 (binary)",
      "modified text copied.txt +1 -0",
      "modified text crlf.txt +1 -1",
      "modified text edited.txt +1 -0",
      "modified text ends.txt +3 -3",
      "modified text keep/package-lock.json +1 -1 (lock file)",
      "modified text latin.txt +1 -1",
      "modified text mode.sh +0 -0",
      "renamed text moved.txt → renamed.txt +0 -0",
      "retyped link file-to-link +1 -1",
    ].sort(),
  );
  assertEquals(fileOf(branch, "file-to-link").hunks.flatMap(({ lines }) => lines), [
    "-text",
    "+/etc/passwd",
    "\\ No newline at end of file",
  ]);
  assertEquals(fileOf(branch, "line\nfeed").hunks[0]?.lines, ['+text of "line\\nfeed"']);
  assertEquals(numberedDiff(fileOf(branch, "crlf.txt")), "@@ -1,3 +1,3 @@\n1  one\n  -two\n2 +2\n3  three");
  assertEquals(
    numberedDiff(fileOf(branch, "ends.txt")),
    "@@ -1,3 +1,3 @@\n  -a␍\n  -b\n  -c\n  \\ No newline at end of file\n1 +a\n2 +b␍\n3 +c",
  );
  const cut = numberedDiff(fileOf(branch, "notes.md"));
  assert(cut.length < 2_100 && cut.endsWith("…"), cut.slice(-40));

  // The quote of a line is checked against the decoded text of the file.
  const latin = fileOf(branch, "latin.txt").hunks[0]?.lines.find((each) => each.startsWith("+"));
  for (const { head, base } of [uncommitted, staged, branch, commit]) {
    const text = new TextDecoder().decode(await head.read("latin.txt"));
    assert(latin !== undefined && text.split("\n").includes(latin.slice(1)), text);
    for (const name of ODD) {
      assertEquals(new TextDecoder().decode(await head.read(name)), `text of ${JSON.stringify(name)}\n`);
    }
    assertEquals((await head.read("renamed.txt"))?.length, many.length);
    for (
      const path of [
        "moved.txt",
        "gone.txt",
        "file-to-link",
        "new-link",
        "../home",
        ".git/config",
        "keep",
        "",
        "/etc/passwd",
        "-x",
      ]
    ) {
      assertEquals(await head.read(path), undefined, path);
    }
    assertEquals((await base.read("moved.txt"))?.length, many.length);
    for (const path of ["renamed.txt", "twin.txt", "empty.txt", "keep/"]) {
      assertEquals(await base.read(path), undefined, path);
    }
  }
});

Deno.test("attributes of the base name generated files, those of the change do not", async () => {
  await using repo = await makeRepository({
    ".gitattributes":
      "*.gen linguist-generated\n/lib/** linguist-vendored=true\nreal.lock linguist-generated=false\n/sub/package-lock.json -linguist-generated\n",
    "a.gen": "1\n",
    "hidden.gen": "a\nb\nc\nd\n",
    "lib/b.ts": "1\n",
    "src/evil.ts": "1\n",
    "sub/.gitattributes": "mine.ts linguist-generated=true\n",
    "sub/mine.ts": "1\n",
    "sub/package-lock.json": "1\n",
  });
  const { dir } = repo;
  await repo.write(".git/info/attributes", "src/evil.ts linguist-generated\n");
  await repo.write(".gitattributes", "src/evil.ts linguist-generated -diff\n* -diff\n");
  for (const name of ["a.gen", "lib/b.ts", "src/evil.ts", "sub/mine.ts", "sub/package-lock.json"]) {
    await repo.write(name, "2\n");
  }
  const expected = [
    "modified text .gitattributes +2 -4",
    "modified text a.gen +1 -1 (generated)",
    "modified text lib/b.ts +1 -1 (vendored)",
    "modified text src/evil.ts +1 -1",
    "modified text sub/mine.ts +1 -1 (generated)",
    "modified text sub/package-lock.json +1 -1",
  ];
  assertEquals((await changeOf(dir, { kind: "uncommitted" })).files.map(line), expected);
  await git(dir, "commit", "-qam", "second");
  assertEquals((await changeOf(dir, { kind: "commit", commit: "HEAD" })).files.map(line), expected);
  // A file is not hidden by the name that it had.
  await git(dir, "mv", "hidden.gen", "shown.ts");
  assertEquals((await changeOf(dir, { kind: "staged" })).files.map(line), [
    "renamed text hidden.gen → shown.ts +0 -0",
  ]);
});

Deno.test("line ends that git converts are no change of a working tree", async () => {
  await using repo = await makeRepository({
    ".gitattributes": "*.txt text\n",
    "a.txt": "1\n2\n",
    "b.txt": "1\n2\n",
    "raw.md": "1\n",
  });
  const { dir } = repo;
  await repo.write("a.txt", "1\r\n2\r\n");
  await repo.write("b.txt", "1\r\n3\r\n");
  await repo.write("raw.md", "1\r\n");
  const change = await changeOf(dir, { kind: "uncommitted" });
  assertEquals(change.files.map(line), ["modified text b.txt +1 -1", "modified text raw.md +1 -1"]);
  assertEquals(fileOf(change, "b.txt").hunks[0]?.lines, [" 1", "-2", "+3"]);
  await git(dir, "config", "core.autocrlf", "true");
  assertEquals((await changeOf(dir, { kind: "uncommitted" })).files.map(line), ["modified text b.txt +1 -1"]);
});

Deno.test("100,000 changed lines and files of any size take bounded memory", async () => {
  const lines = (count: number, word: string) =>
    Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join("");
  await using repo = await makeRepository({ "long.txt": lines(100_000, "old"), "short.txt": "1\n" });
  const { dir } = repo;
  await repo.write("long.txt", lines(100_000, "new"));
  await repo.write("short.txt", "2\n");
  for (let at = 0; at < 10; at++) await repo.write(`parts/${at}.txt`, lines(10_000, "part"));
  await Deno.writeFile(`${dir}/huge.bin`, new Uint8Array(6 * 1024 * 1024).fill(65));
  const expected = [
    "modified text long.txt +100000 -100000 (too large)",
    ...Array.from({ length: 10 }, (_, at) => `added text parts/${at}.txt +10000 -0`),
    "modified text short.txt +1 -1",
  ];
  const uncommitted = await changeOf(dir, { kind: "uncommitted" });
  assertEquals(uncommitted.files.map(line), [...expected, "added binary huge.bin +0 -0 (too large)"]);
  assertEquals(fileOf(uncommitted, "long.txt").hunks, []);
  assertEquals(await uncommitted.head.read("huge.bin"), undefined);
  await git(dir, "add", "-A");
  await git(dir, "commit", "-qm", "second");
  const commit = await changeOf(dir, { kind: "commit", commit: "HEAD" });
  assertEquals(commit.files.map(line), ["added binary huge.bin +0 -0 (too large)", ...expected]);
  assertEquals(await commit.head.read("huge.bin"), undefined);
  const stop = new AbortController();
  const reading = readChange(Git.find(dir), dir, { kind: "commit", commit: "HEAD" }, stop.signal);
  stop.abort();
  await assertRejects(() => reading);
});

Deno.test("a name that is not UTF-8 is quoted, and no model sees the file", { ignore: !LINUX }, async () => {
  await using repo = await makeRepository({ "a.txt": "1\n" });
  const { dir } = repo;
  const named = async (text: string) => {
    const script = `printf '${text}\\n' > "$(printf 'caf\\351.txt')"`;
    const { success } = await new Deno.Command("sh", { args: ["-c", script], cwd: dir }).output();
    assert(success);
  };
  const shown = (status: string, counts: string) =>
    `${status} "caf\\351.txt" ${counts} (its name is not UTF-8)`;
  await named("1");
  const untracked = await changeOf(dir, { kind: "uncommitted" });
  assertEquals(untracked.files.map(line), [shown("added binary", "+0 -0")]);
  await git(dir, "add", "-A");
  await git(dir, "commit", "-qm", "second");
  assertEquals((await changeOf(dir, { kind: "commit", commit: "HEAD" })).files.map(line), [
    shown("added text", "+1 -0"),
  ]);
  await named("2");
  assertEquals((await changeOf(dir, { kind: "uncommitted" })).files.map(line), [
    shown("modified binary", "+0 -0"),
  ]);
});

Deno.test("a change is read before the first commit, in a work tree, a submodule and with SHA-256", async () => {
  await using repo = await makeRepository({ "sub/a.txt": "1\n" });
  const { dir, home } = repo;
  for (const format of ["sha1", "sha256"]) {
    const empty = `${home}/${format}`;
    await git(home, "init", "-q", "-b", "main", `--object-format=${format}`, empty);
    for (const kind of ["uncommitted", "staged"] as const) {
      const { files, base, head } = await changeOf(empty, { kind });
      assertEquals([files, base.id, head.id, await base.read("a.txt")], [
        [],
        undefined,
        undefined,
        undefined,
      ]);
    }
    await Deno.writeTextFile(`${empty}/a.txt`, "1\n");
    assertEquals((await changeOf(empty, { kind: "uncommitted" })).files.map(line), [
      "added text a.txt +1 -0",
    ]);
    assertEquals((await changeOf(empty, { kind: "staged" })).files, []);
    await git(empty, "add", "-A");
    assertEquals((await changeOf(empty, { kind: "staged" })).files.map(line), ["added text a.txt +1 -0"]);
    await git(empty, "commit", "-qm", "first");
    const { files, head } = await changeOf(empty, { kind: "commit", commit: "HEAD" });
    assertEquals(files.map(line), ["added text a.txt +1 -0"]);
    assertEquals(new TextDecoder().decode(await head.read("a.txt")), "1\n");
    assertEquals(head.id?.length, format === "sha1" ? 40 : 64);
  }

  // A submodule: its commit is data, its files and settings are not looked at.
  await git(dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", `${home}/sha1`, "module");
  await git(dir, "commit", "-qm", "module");
  assertEquals((await changeOf(dir, { kind: "commit", commit: "HEAD" })).files.map(line), [
    "added text .gitmodules +3 -0",
    "added submodule module +1 -0",
  ]);
  await Deno.writeTextFile(`${dir}/module/a.txt`, "2\n");
  assertEquals((await changeOf(dir, { kind: "uncommitted" })).files, []);
  await git(`${dir}/module`, "commit", "-qam", "second");
  const moved = await changeOf(dir, { kind: "uncommitted" });
  assertEquals(moved.files.map(line), ["modified submodule module +1 -1"]);
  assert(
    fileOf(moved, "module").hunks[0]?.lines.every((each) =>
      /^[-+]Subproject commit [0-9a-f]{40}$/.test(each)
    ),
  );
  assertEquals([await moved.head.read("module"), await moved.head.read("module/a.txt") === undefined], [
    undefined,
    false,
  ]);
  assertEquals((await changeOf(`${dir}/module`, { kind: "commit", commit: "HEAD" })).files.map(line), [
    "modified text a.txt +1 -1",
  ]);
  // A repository that is not a submodule is not part of this one.
  await git(dir, "init", "-q", `${dir}/nested`);
  await Deno.writeTextFile(`${dir}/nested/n.txt`, "1\n");
  assertEquals((await changeOf(dir, { kind: "uncommitted" })).files.map(line), [
    "modified submodule module +1 -1",
  ]);

  // A second work tree with a detached head.
  await git(dir, "worktree", "add", "-q", "--detach", `${home}/tree`, "HEAD");
  await Deno.writeTextFile(`${home}/tree/sub/a.txt`, "2\n");
  const tree = await changeOf(`${home}/tree/sub`, { kind: "uncommitted" });
  assertEquals([tree.files.map(line), tree.top], [["modified text sub/a.txt +1 -1"], `${home}/tree`]);
  await git(`${home}/tree`, "commit", "-qam", "detached");
  const detached = await changeOf(`${home}/tree`, { kind: "base", base: "main" });
  assert(/^main\.\.\.[0-9a-f]{12}, 1 commit$/.test(detached.target), detached.target);
  assertEquals(detached.messages, ["detached"]);

  // A merge is compared with its first parent.
  const id = (await git(`${home}/tree`, "rev-parse", "HEAD")).trim();
  await Deno.writeTextFile(`${dir}/other.txt`, "1\n");
  await git(dir, "add", "other.txt");
  await git(dir, "commit", "-qm", "other");
  await git(dir, "merge", "-q", "--no-ff", "-m", "merged", id);
  const merge = await changeOf(dir, { kind: "commit", commit: "HEAD" });
  assertEquals(merge.files.map(line), ["modified text sub/a.txt +1 -1"]);
});

Deno.test("sparse checkouts, split indexes, hidden and unfinished states of the index are understood", async () => {
  await using repo = await makeRepository({
    "in/a.txt": "1\n",
    "out/b.txt": "1\n",
    "c.txt": "1\n",
    "d.txt": "1\n",
    "e": "1\n",
  });
  const { dir } = repo;
  await git(dir, "sparse-checkout", "set", "--cone", "--sparse-index", "in");
  await repo.write("in/a.txt", "2\n");
  const sparse = await changeOf(dir, { kind: "uncommitted" });
  assertEquals(sparse.files.map(line), ["modified text in/a.txt +1 -1"]);
  assertEquals((await changeOf(dir, { kind: "staged" })).files, []);
  await git(dir, "commit", "-qam", "second");
  const commit = await changeOf(dir, { kind: "commit", commit: "HEAD" });
  assertEquals([commit.files.map(line), commit.onDisk], [["modified text in/a.txt +1 -1"], false]);
  assertEquals(new TextDecoder().decode(await commit.head.read("out/b.txt")), "1\n");

  await git(dir, "sparse-checkout", "disable");
  await git(dir, "update-index", "--split-index");
  await repo.write("c.txt", "2\n");
  await git(dir, "add", "c.txt");
  await git(dir, "update-index", "--assume-unchanged", "d.txt");
  await repo.write("d.txt", "2\n");
  await repo.write("intended.txt", "intended\n");
  await git(dir, "add", "-N", "intended.txt");
  await Deno.remove(`${dir}/e`);
  await repo.write("e/f.txt", "1\n");
  const split = await changeOf(dir, { kind: "uncommitted" });
  assertEquals(split.files.map(line), [
    "modified text c.txt +1 -1",
    "renamed text e → e/f.txt +0 -0",
    "added text intended.txt +1 -0",
  ]);
  assertEquals((await changeOf(dir, { kind: "staged" })).files.map(line), ["modified text c.txt +1 -1"]);
  if (LINUX) {
    await Deno.remove(`${dir}/in/a.txt`);
    assert((await new Deno.Command("mkfifo", { args: [`${dir}/in/a.txt`] }).output()).success);
    const pipe = await changeOf(dir, { kind: "uncommitted" });
    assertEquals(line(fileOf(pipe, "in/a.txt")), "deleted text in/a.txt +0 -1");
    assertEquals(await pipe.head.read("in/a.txt"), undefined);
  }
  await git(dir, "reset", "-q", "--hard");
  await Deno.remove(`${dir}/e`, { recursive: true });
  await Deno.rename(`${dir}/in`, `${dir}/real`);
  await Deno.symlink("real", `${dir}/in`);
  const linked = await changeOf(dir, { kind: "uncommitted" });
  assertEquals(await linked.head.read("in/a.txt"), undefined);
  assertEquals(linked.files.filter(({ path }) => path === "in").map(line), ["added link in +1 -0"]);
});

Deno.test("a file that was changed in the second of its index, and kept its size, is a change", async () => {
  await using repo = await makeRepository({ "a.txt": "1\n" });
  const { dir } = repo;
  await git(dir, "config", "core.trustCtime", "false");
  await Deno.utime(`${dir}/a.txt`, 1_700_000_000, 1_700_000_000);
  await git(dir, "update-index", "--refresh");
  await repo.write("a.txt", "2\n");
  await Deno.utime(`${dir}/a.txt`, 1_700_000_000, 1_700_000_000);
  await Deno.utime(`${dir}/.git/index`, 1_700_000_000, 1_700_000_000);
  const change = await changeOf(dir, { kind: "uncommitted" });
  assertEquals(change.files.map(line), ["modified text a.txt +1 -1"]);
});

Deno.test("a request that cannot be read fails with the reason and the remedy", async () => {
  await using repo = await makeRepository({ "a.txt": "1\n" });
  const { dir, home } = repo;
  await git(dir, "switch", "-qc", "topic");
  await repo.write("a.txt", "2\n");
  await git(dir, "commit", "-qam", "second");
  await git(dir, "switch", "-q", "--orphan", "alone");
  await repo.write("b.txt", "2\n");
  await git(dir, "add", "-A");
  await git(dir, "commit", "-qm", "alone");
  await git(dir, "switch", "-q", "main");
  await repo.write("a.txt", "3\n");
  await git(dir, "commit", "-qam", "third");
  await git(dir, "clone", "-q", "--bare", dir, `${home}/bare`);
  await git(dir, "clone", "-q", "--depth=1", "--no-single-branch", `file://${dir}`, `${home}/shallow`);
  await git(dir, "clone", "-q", `file://${dir}`, `${home}/clone`);
  await git(`${home}/clone`, "switch", "-q", "--detach", "origin/topic");
  await git(`${home}/clone`, "branch", "-qD", "main");
  await git(dir, "config", "uploadpack.allowFilter", "true");
  await git(dir, "clone", "-q", "--filter=blob:none", `file://${dir}`, `${home}/partial`);
  await git(`${home}/partial`, "remote", "set-url", "origin", "ssh://127.0.0.1:1/none");
  await git(dir, "clone", "-q", dir, `${home}/conflict`);
  await git(`${home}/conflict`, "merge", "-q", "origin/topic").catch(() => "");
  await Deno.mkdir(`${home}/plain`);

  const rows: readonly (readonly [string, ChangeRequest, string, string | undefined])[] = [
    [
      `${home}/plain`,
      { kind: "uncommitted" },
      "it is in no git repository",
      "use a directory of a repository, or make one with `git init`",
    ],
    [
      `${home}/bare`,
      { kind: "uncommitted" },
      "the repository is bare",
      "use a directory with checked-out files",
    ],
    [
      `${dir}/.git`,
      { kind: "uncommitted" },
      "it is inside of git's own directory",
      "use a directory with checked-out files",
    ],
    [
      dir,
      { kind: "base", base: "none" },
      'Cannot read the revision "none": this clone has no such commit',
      "name a branch, a tag or a commit that `git log` shows, or get it with `git fetch`",
    ],
    [
      `${home}/clone`,
      { kind: "base", base: "main" },
      'Cannot read the revision "main": this clone has no such commit',
      "use origin/main",
    ],
    [
      dir,
      { kind: "base", base: "--output=x" },
      'Cannot read the revision "--output=x": it is no name of a commit',
      "name a branch, a tag or a commit",
    ],
    [
      dir,
      { kind: "commit", commit: "" },
      'Cannot read the revision "": it is no name of a commit',
      "name a branch, a tag or a commit",
    ],
    [dir, { kind: "commit", commit: "main..topic" }, "this clone has no such commit", undefined],
    [dir, { kind: "commit", commit: "HEAD:a.txt" }, "this clone has no such commit", undefined],
    [
      dir,
      { kind: "base", base: "main", head: "alone" },
      "Cannot compare alone with main: they have no commit in common",
      "name a base that alone was made from",
    ],
    [
      `${home}/shallow`,
      { kind: "base", base: "main", head: "origin/topic" },
      "this clone does not have the commit both begin at",
      "get the history with `git fetch --unshallow`",
    ],
    [
      `${home}/shallow`,
      { kind: "base", base: "origin/older" },
      "this clone has no such commit",
      "get the history with `git fetch --unshallow origin older:refs/remotes/origin/older`",
    ],
    [
      `${home}/shallow`,
      { kind: "commit", commit: "HEAD~1" },
      "this clone has no such commit",
      "get the history with `git fetch --unshallow`",
    ],
    [
      `${home}/shallow`,
      { kind: "commit", commit: "main" },
      "Cannot compare main with its parent: this clone does not have it",
      "get it with `git fetch --deepen=1`",
    ],
    [
      `${home}/partial`,
      { kind: "base", base: "origin/topic~1", head: "origin/topic" },
      "Cannot read the change in",
      "fetch the missing objects with `git fetch --refetch --no-filter`",
    ],
    [
      `${home}/conflict`,
      { kind: "staged" },
      "a.txt has a merge conflict",
      "resolve it, and stage the file with `git add`",
    ],
  ];
  for (const [cwd, request, expected, remedy] of rows) {
    const error = await changeOf(cwd, request).then(() => undefined, (thrown) => thrown);
    assert(
      error instanceof ReasonixError && error.message.includes(expected),
      `${JSON.stringify(request)}: ${error}`,
    );
    if (remedy !== undefined) assertEquals(error.remedy, remedy);
  }
  // Conflicts of the working tree are content of the file.
  const conflict = await changeOf(`${home}/conflict`, { kind: "uncommitted" });
  assertEquals(conflict.files.map(line), ["modified text a.txt +4 -0"]);
  // What a partial clone has is read, and nothing is fetched for the rest.
  const partial = await changeOf(`${home}/partial`, { kind: "uncommitted" });
  assertEquals([partial.files, await partial.base.read("none.txt")], [[], undefined]);
  await assertRejects(
    () => defaultRequest(Git.find(`${home}/clone`), `${home}/plain`),
    ReasonixError,
    "it is in no git repository",
  );
  assertEquals(await defaultRequest(Git.find(dir), `${home}/clone`), { kind: "base", base: "origin/main" });
});
