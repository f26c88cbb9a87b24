import { gitPaths } from "../../../../src/sandbox/mounts/git.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../../support/assert.ts";
import { jailed, sandboxJail, sh } from "./jail_support.ts";
import { sandboxTest } from "../support.ts";

async function git(cwd: string, ...args: string[]): Promise<void> {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
  const { success, stderr } = await new Deno.Command("git", { args: [...identity, ...args], cwd }).output();
  assert(success, new TextDecoder().decode(stderr));
}

sandboxTest(
  "gitPaths makes the repository of a linked worktree writable, without files that run programs",
  async (g) => {
    const main = `${g.base}/main`;
    await Deno.mkdir(main);
    await git(main, "init", "-q");
    await git(main, "commit", "-q", "--allow-empty", "-m", "one");
    await git(main, "worktree", "add", "-q", `${g.base}/tree`);
    const places = gitPaths(`${g.base}/tree`);
    assertEquals(places.writable, [`${main}/.git`]);
    for (
      const path of [
        `${g.base}/tree/.git`,
        `${main}/.git/hooks`,
        `${main}/.git/config`,
        `${main}/.git/worktrees/tree/commondir`,
      ]
    ) {
      assert(places.protectedPaths.includes(path), path);
    }
  },
);

sandboxTest("gitPaths ignores a .git file that the repository does not confirm", async (g) => {
  await git(g.outside, "init", "-q");
  for (const target of [`${g.outside}/.git`, "../outside/.git", "/etc", "nowhere"]) {
    await Deno.writeTextFile(`${g.ws}/.git`, `gitdir: ${target}\n`);
    assertEquals(gitPaths(g.ws), { writable: [], protectedPaths: [`${g.ws}/.git`], redirects: [] });
  }
  assertEquals(gitPaths(`${g.base}/missing`).protectedPaths, []);
});

sandboxTest(
  jailed("a jailed command commits in a linked worktree but cannot change the repository's settings"),
  async (g) => {
    const [main, tree] = [`${g.base}/main`, `${g.base}/tree`];
    await Deno.mkdir(main);
    await git(main, "init", "-q");
    await git(main, "commit", "-q", "--allow-empty", "-m", "one");
    await git(main, "worktree", "add", "-q", tree);
    const jail = await sandboxJail(g, { roots: [tree] });
    const commit =
      "echo x > f && git add f && git -c user.name=t -c user.email=t@example.com commit -qm two && git log --format=%s";
    assertEquals((await sh(jail, tree, commit)).stdout, "two\none\n");
    for (
      const line of [
        "git config core.fsmonitor x",
        `echo x > ${main}/.git/hooks/pre-commit`,
        "echo x > .git",
      ]
    ) {
      assertEquals((await sh(jail, tree, line)).code === 0, false, line);
    }
    // Below /tmp the command's own file is made, but not the user's.
    await sh(jail, tree, `echo x > ${main}/f`);
    await assertRejects(() => Deno.stat(`${main}/f`), Deno.errors.NotFound);
  },
);

/** A repository with a submodule two directories deep, a submodule in that, and a nested repository. */
async function family(base: string): Promise<string> {
  const [lib, top] = [`${base}/lib`, `${base}/top`];
  for (const path of [lib, top, `${top}/other`]) {
    await Deno.mkdir(path);
    await git(path, "init", "-q", "-b", "main", "--template=");
    await git(path, "commit", "-q", "--allow-empty", "-m", "one");
  }
  const add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
  await git(top, ...add, lib, "vendor/lib");
  await git(`${top}/vendor/lib`, ...add, lib, "in/ner");
  return top;
}

sandboxTest(
  jailed(
    "commands cannot create hooks and settings of submodules and nested repositories",
  ),
  async (g) => {
    const top = await family(g.base);
    const jail = await sandboxJail(g, { roots: [top] });
    const directories = [
      ".git",
      ".git/modules/vendor/lib",
      ".git/modules/vendor/lib/modules/in/ner",
      "other/.git",
    ];
    for (const directory of directories) {
      for (const name of ["config", "hooks/post-commit", "commondir"]) {
        const path = `${top}/${directory}/${name}`;
        const before = await Deno.readTextFile(path).catch(() => "");
        await sh(jail, top, `mkdir -p $(dirname ${path}); echo pwned >> ${path}`);
        assertEquals(await Deno.readTextFile(path).catch(() => ""), before, path);
      }
    }
    const moves = [
      "rm -f vendor/lib/.git",
      "mv vendor v",
      "mv other o",

      "echo > vendor/lib/.git",
    ];
    for (const line of moves) assertEquals((await sh(jail, top, line)).code === 0, false, line);
    const identity = "git -c user.name=t -c user.email=t@example.com";
    for (const directory of [".", "vendor/lib", "vendor/lib/in/ner", "other"]) {
      const line =
        `cd ${directory} && echo x > f && git add f && ${identity} commit -qm two && git log -1 --format=%s`;
      assertEquals(await sh(jail, top, line), { code: 0, stdout: "two\n", stderr: "" }, directory);
    }
  },
);

sandboxTest(
  jailed(
    "a jailed command commits in a submodule as workspace and changes nothing else of the outer repository",
  ),
  async (g) => {
    const top = await family(g.base);
    const [root, own] = [`${top}/vendor/lib`, `${top}/.git/modules/vendor/lib`];
    assertEquals(gitPaths(root).writable, [own]);
    const jail = await sandboxJail(g, { roots: [root] });
    const line =
      "echo x > f && git add f && git -c user.name=t -c user.email=t@example.com commit -qm two && git log -1 --format=%s";
    assertEquals((await sh(jail, root, line)).stdout, "two\n");
    for (
      const path of [`${own}/config`, `${own}/modules/in/ner/config`, `${top}/.git/index`, `${root}/.git`]
    ) {
      const before = await Deno.readTextFile(path);
      await sh(jail, root, `echo pwned >> ${path}`);
      assertEquals(await Deno.readTextFile(path), before, path);
    }
    await Deno.writeTextFile(`${g.ws}/.git`, `gitdir: ${own}\n`);
    assertEquals(gitPaths(g.ws).writable, []);
  },
);

sandboxTest(
  jailed(
    "a file that redirects git to other settings is removed after the command, which keeps its exit code",
  ),
  async (g) => {
    await git(g.ws, "init", "-q");
    const jail = await sandboxJail(g);
    const result = await sh(jail, g.ws, "echo ../evil > .git/commondir; exit 3");
    assertEquals(result.code, 3);
    assertMatch(
      result.stderr,
      /^reasonix: removed .*\/\.git\/commondir, which would have made git run other programs\n$/,
    );
    await git(g.ws, "status", "-s");
  },
);

sandboxTest(jailed("an existing file that redirects git is kept unchanged"), async (g) => {
  await git(g.ws, "init", "-q");
  await git(g.ws, "config", "extensions.worktreeConfig", "true");
  await git(g.ws, "config", "--worktree", "user.name", "the user");
  const settings = await Deno.readTextFile(`${g.ws}/.git/config.worktree`);
  const jail = await sandboxJail(g);
  const line = "echo pwned >> .git/config.worktree; git config user.name";
  assertMatch((await sh(jail, g.ws, line)).stdout, /^the user\n$/);
  assertEquals(await Deno.readTextFile(`${g.ws}/.git/config.worktree`), settings);
});

sandboxTest(jailed("a file that redirects git is also removed when the command is terminated"), async (g) => {
  await git(g.ws, "init", "-q");
  const jail = await sandboxJail(g);
  const plan = jail.wrap(["/bin/bash", "-c", "echo x > .git/commondir; echo made; sleep 300"], {
    cwd: g.ws,
  });
  const child = new Deno.Command(plan.command, {
    args: [...plan.args],
    cwd: g.ws,
    env: plan.env,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    detached: true,
  }).spawn();
  const reader = child.stdout.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value), "made\n");
  Deno.kill(-child.pid, "SIGTERM");
  assertEquals((await child.status).code, 143);
  await reader.cancel();
  assertEquals(await Deno.lstat(`${g.ws}/.git/commondir`).then(() => true, () => false), false);
});
