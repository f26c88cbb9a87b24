import { cloneWorktree, RepositoryCache, shownRepository, type Worktree } from "../../../src/worktree/mod.ts";
import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { git, makeRepository, type TestRepository } from "./support.ts";

const signal = new AbortController().signal;

function cacheOf({ home }: TestRepository, said: string[] = []): RepositoryCache {
  return new RepositoryCache({ home, notify: (text) => void said.push(text) });
}

async function commitOf(repo: TestRepository, rev = "HEAD"): Promise<string> {
  return (await git(repo.dir, "rev-parse", rev)).trim();
}

async function commit(repo: TestRepository, name: string, text: string): Promise<string> {
  await Deno.writeTextFile(`${repo.dir}/${name}`, text);
  await git(repo.dir, "add", "-A");
  await git(repo.dir, "commit", "-qm", name);
  return await commitOf(repo);
}

Deno.test("RepositoryCache finds commits, branches, tags and other refs, and says what is not there", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  const first = await commitOf(repo);
  await git(repo.dir, "tag", "v1");
  await git(repo.dir, "update-ref", "refs/pull/7/head", first);
  const lost = await commit(repo, "lost.txt", "x\n");
  await git(repo.dir, "reset", "-q", "--hard", "HEAD~1");
  const second = await commit(repo, "b.txt", "b\n");
  await git(repo.dir, "branch", "feature/x", second);
  await git(repo.dir, "config", "uploadpack.allowAnySHA1InWant", "true");
  const cache = cacheOf(repo);
  const find = async (ref?: string) => (await cache.find(repo.dir, ref, signal)).commit;
  assertEquals(
    await Promise.all([find(), find("HEAD"), find("feature/x"), find("v1"), find("refs/pull/7/head")]),
    [second, second, second, first, first],
  );
  assertEquals([await find(first.slice(0, 10)), await find(lost)], [first, lost]);
  for (const ref of ["gone", "refs/pull/8/head", "0".repeat(40), "0123456"]) {
    await assertRejects(() => find(ref), Error, `Cannot find ${ref} in `);
  }
  assertEquals(
    [...Deno.readDirSync(`${repo.home}/repositories`)].filter(({ isDirectory }) => isDirectory).length,
    1,
  );
});

Deno.test("RepositoryCache looks branches up again where it can, and never commits", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  const url = `file://${repo.dir}`;
  const first = await commitOf(repo);
  assertEquals((await cacheOf(repo).find(url, "main", signal)).commit, first);
  const second = await commit(repo, "b.txt", "b\n");
  assertEquals((await cacheOf(repo).find(url, "main", signal)).commit, second, "a branch is looked up again");
  await Deno.rename(repo.dir, `${repo.dir}.away`);
  const said: string[] = [];
  const later = cacheOf(repo, said);
  assertEquals([(await later.find(url, first, signal)).commit, said], [first, []]);
  assertEquals((await later.find(url, "main", signal)).commit, second);
  assert(said[0]?.includes(`cannot be reached; main is ${second} as before`), `${said}`);
  await assertRejects(() => later.find(url, "other", signal), Error, `Cannot fetch ${url}`);
  await Deno.rename(`${repo.dir}.away`, repo.dir);
});

Deno.test("RepositoryCache continues what a killed git left, and shows no credentials", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  const { mirror } = await cacheOf(repo).find(repo.dir, undefined, signal);
  const second = await commit(repo, "b.txt", "b\n");
  for (const name of ["refs/heads/main.lock", "packed-refs.lock", "objects/pack/tmp_pack_x"]) {
    await Deno.writeTextFile(`${mirror}/${name}`, "");
    await Deno.utime(`${mirror}/${name}`, 1, 1);
  }
  await Deno.remove(`${mirror}/config`);
  assertEquals((await cacheOf(repo).find(repo.dir, "main", signal)).commit, second);
  await assertRejects(() => Deno.stat(`${mirror}/objects/pack/tmp_pack_x`));
  const secret = "https://user:hunter2hunter2@127.0.0.1:1/a.git?private_token=hunter3";
  const error = await assertRejects(() => cacheOf(repo).find(secret, "main", signal), Error);
  assert(!/hunter/.test(String(error)) && String(error).includes("https://127.0.0.1:1/a.git"), String(error));
  assertEquals(shownRepository("git@github.com:a/b.git"), "git@github.com:a/b.git");
  const written = [...Deno.readDirSync(`${repo.home}/repositories`)].map(({ name }) => name).join(" ");
  assert(!written.includes("hunter"), written);
});

Deno.test("RepositoryCache makes a shallow repository usable and refuses a partial clone", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  await commit(repo, "b.txt", "b\n");
  const shallow = `${repo.home}/shallow`;
  await git(repo.dir, "clone", "-q", "--depth=1", `file://${repo.dir}`, shallow);
  const cached = await cacheOf(repo).find(shallow, undefined, signal);
  await using tree = await cloneWorktree({ ...cached, home: repo.home, id: "shallow", prefix: "" });
  assertEquals((await git(tree.cwd, "log", "--format=%s")).trim(), "b.txt");
  const partial = `${repo.home}/partial`;
  await git(repo.dir, "config", "uploadpack.allowFilter", "true");
  await git(repo.dir, "clone", "-q", "--bare", "--filter=blob:none", `file://${repo.dir}`, partial);
  await assertRejects(() => cacheOf(repo).find(partial, undefined, signal), Error, "it is a partial clone");
});

Deno.test("cloneWorktree shares objects and nothing else, and what prepare changes is not in the patch", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n", "sub/b.txt": "b\n", ".gitignore": "build\n" });
  await git(repo.dir, "tag", "v1");
  const { length: size } = "x".repeat(100_000);
  const base = await commit(repo, "large.bin", crypto.randomUUID().repeat(size / 36));
  const secret = await commit(repo, "later.txt", "the fix\n");
  await git(repo.dir, "tag", "v2");
  const cached = await cacheOf(repo).find(repo.dir, base, signal);
  const make = (id: string) =>
    cloneWorktree({
      ...cached,
      home: repo.home,
      id,
      prefix: "sub",
      prepare: async (cwd) => {
        assert(cwd.endsWith("/sub"));
        await Deno.writeTextFile(`${cwd}/b.txt`, `set up for ${id}\n`);
        await Deno.writeTextFile(`${cwd}/made.txt`, "made\n");
        await Deno.remove(`${cwd}/../a.txt`);
        await Deno.mkdir(`${cwd}/../build`);
      },
    });
  await using one = await make("one");
  await using two = await make("two");
  assertEquals((await one.diff()).bytes, 0);
  for (const tree of [one, two]) {
    const stored = [...Deno.readDirSync(`${tree.record.tree}/.git/objects`)].map(({ name }) => name).sort();
    assertEquals(stored, ["info", "pack"]);
  }
  assertEquals((await git(one.cwd, "tag")).trim(), "v1");
  assertEquals([await git(one.cwd, "remote"), await git(one.cwd, "branch", "--format=%(refname)")], [
    "",
    "(HEAD detached at " + base.slice(0, 7) + ")\n",
  ]);
  assert(
    !(await git(one.cwd, "log", "--all", "--format=%H")).includes(secret),
    "the future is not in the history",
  );
  // Branches, stashes and settings of one are not those of the other.
  await git(one.cwd, "checkout", "-qb", "fix");
  await git(two.cwd, "checkout", "-qb", "fix");
  await Deno.writeTextFile(`${one.cwd}/b.txt`, "changed\n");
  await git(one.cwd, "commit", "-qam", "change");
  await Deno.writeTextFile(`${one.cwd}/new.txt`, "new\n");
  const patch = await one.diff();
  assertEquals(patch.files, ["sub/b.txt", "sub/new.txt"]);
  const text = await Deno.readTextFile(patch.file);
  assert(text.includes("-set up for one\n+changed") && !text.includes("made.txt"), text);
  assertEquals((await two.diff()).bytes, 0);
});

Deno.test("cloneWorktree refuses a directory that is a link or is not there, and leaves nothing", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n", "real/b.txt": "b\n" });
  await Deno.symlink("/etc", `${repo.dir}/out`);
  await Deno.symlink("real", `${repo.dir}/in`);
  await commit(repo, "c.txt", "c\n");
  const cached = await cacheOf(repo).find(repo.dir, undefined, signal);
  for (const prefix of ["out", "in", "gone", "a.txt"]) {
    const made = () => cloneWorktree({ ...cached, home: repo.home, id: "bad", prefix });
    await assertRejects(made, Error, `Cannot work in ${prefix}: it is no directory of the repository`);
  }
  const failing = { prepare: () => Promise.reject(new Error("no setup")), prefix: "" };
  await assertRejects(
    () => cloneWorktree({ ...cached, ...failing, home: repo.home, id: "bad" }),
    Error,
    "no setup",
  );
  assertEquals([...Deno.readDirSync(`${repo.home}/worktrees`)].filter(({ isDirectory }) => isDirectory), []);
});

/** A repository whose every way to run a program writes a file; ordinary git is the control. */
async function arm(repo: TestRepository): Promise<string> {
  const trap = `${repo.home}/trap`;
  await Deno.mkdir(trap);
  const program = `${trap}/run.sh`;
  await Deno.writeTextFile(program, `#!/bin/sh\necho "$0 $*" >> ${trap}/ran\ncat\n`, { mode: 0o755 });
  for (const hook of ["post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"]) {
    await Deno.mkdir(`${repo.dir}/.git/hooks`, { recursive: true });
    await Deno.writeTextFile(`${repo.dir}/.git/hooks/${hook}`, `#!/bin/sh\necho ${hook} >> ${trap}/ran\n`, {
      mode: 0o755,
    });
  }
  await Deno.writeTextFile(`${repo.dir}/.gitattributes`, "*.txt filter=evil diff=evil merge=evil\n");
  await Deno.writeTextFile(
    `${repo.dir}/.gitmodules`,
    '[submodule "s"]\n\tpath = s\n\turl = ext::sh -c touch% x\n',
  );
  await commit(repo, "x.txt", "x\n");
  const settings = [
    ...[["core.fsmonitor", program], ["filter.evil.smudge", program], ["filter.evil.clean", program]],
    ...[["filter.evil.required", "true"], ["core.alternateRefsCommand", program], [
      "core.sshCommand",
      program,
    ]],
    ...[["uploadpack.packObjectsHook", program], ["credential.helper", `!${program}`], [
      "core.pager",
      program,
    ]],
  ];
  for (const [name = "", value = ""] of settings) await git(repo.dir, "config", name, value);
  await Deno.remove(`${trap}/ran`);
  return trap;
}

Deno.test("nothing of a hostile repository runs while it is fetched, cloned and compared", async () => {
  await using repo = await makeRepository({ "a.txt": "a\n" });
  const trap = await arm(repo);
  const ran = () => Deno.readTextFile(`${trap}/ran`).catch(() => "");
  const cached = await cacheOf(repo).find(repo.dir, undefined, signal);
  let tree: Worktree | undefined;
  try {
    tree = await cloneWorktree({
      ...cached,
      home: repo.home,
      id: "hostile",
      prefix: "",
      prepare: async () => {},
    });
    await Deno.writeTextFile(`${tree.cwd}/a.txt`, "changed\n");
    assertEquals((await tree.diff()).files, ["a.txt"]);
  } finally {
    await tree?.remove();
  }
  assertEquals(await ran(), "");
  // The control: an ordinary git runs them.
  await Deno.writeTextFile(`${repo.dir}/a.txt`, "changed\n");
  await git(repo.dir, "checkout", "-q", "-B", "other");
  await git(repo.dir, "checkout", "-qf", "HEAD", "--", ".");
  assert((await ran()).includes("post-checkout") && (await ran()).includes("run.sh"), await ran());
});
