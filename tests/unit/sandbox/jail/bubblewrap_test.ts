import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { jailed, sandboxJail, sh } from "./jail_support.ts";
import { sandboxTest } from "../support.ts";

sandboxTest(jailed("a jailed command works in the workspace like outside of the jail"), async (g) => {
  const jail = await sandboxJail(g);
  const result = await sh(
    jail,
    `${g.ws}/src`,
    "pwd; cat a.ts; echo new > b.ts; mkdir ../d; echo err >&2; exit 7",
  );
  assertEquals(result, { code: 7, stdout: `${g.ws}/src\ninside`, stderr: "err\n" });
  assertEquals(await Deno.readTextFile(`${g.ws}/src/b.ts`), "new\n");
  assert((await Deno.stat(`${g.ws}/d`)).isDirectory);
});

sandboxTest(jailed("a jailed command sees no variable of a socket that it cannot reach"), async (g) => {
  const env = {
    PATH: "/usr/bin:/bin",
    KEPT: "yes",
    SSH_AUTH_SOCK: "/run/agent",
    XDG_RUNTIME_DIR: "/run/user/1",
  };
  const jail = await sandboxJail(g, { environment: { env } });
  const { stdout } = await sh(jail, g.ws, 'echo "$KEPT [$SSH_AUTH_SOCK$XDG_RUNTIME_DIR]"');
  assertEquals(stdout, "yes []\n");
});

sandboxTest(jailed("a jailed command writes only in the workspace"), async (g) => {
  const jail = await sandboxJail(g);
  const targets = [
    `${g.outside}/x`,
    `${g.home}/config.toml`,
    "/etc/x",
    "/usr/bin/x",
    "/x",
    "/var/x",
    "/opt/x",
    "/sys/kernel/x",
  ];
  for (const target of targets) {
    const result = await sh(jail, g.ws, `echo x > ${target}`);
    assertEquals(result.code, 1, target);
    assertMatch(result.stderr, /Read-only file system|Permission denied|No such file/);
  }
  const kernel = await sh(jail, g.ws, "exec 3<>/proc/sys/kernel/core_pattern");
  assertMatch(kernel.stderr, /Read-only file system|Permission denied/);
});

sandboxTest(jailed("/tmp is private and kept between commands when a directory is given"), async (g) => {
  await Deno.mkdir(`${g.base}/tmp`);
  const jail = await sandboxJail(g, { privateTmp: `${g.base}/tmp` });
  await sh(jail, g.ws, "echo kept > /tmp/mark");
  assertEquals((await sh(jail, g.ws, 'cat "$TMPDIR/mark"')).stdout, "kept\n");
  assertEquals(await Deno.readTextFile(`${g.base}/tmp/mark`), "kept\n");
  const loose = await sandboxJail(g);
  await sh(loose, g.ws, "echo gone > /tmp/mark");
  const real = await Deno.makeTempFile({ dir: "/tmp" });
  try {
    const look = `for file in /tmp/mark ${real}; do [ -e $file ] && echo $file; done; true`;
    assertEquals(await sh(loose, g.ws, look), { code: 0, stdout: "", stderr: "" });
  } finally {
    await Deno.remove(real);
  }
});

sandboxTest(jailed("a writable root /tmp is the real directory"), async (g) => {
  const file = await Deno.makeTempFile({ dir: "/tmp" });
  try {
    const jail = await sandboxJail(g, { roots: [g.ws, "/tmp"] });
    await sh(jail, g.ws, `echo real > ${file}`);
    assertEquals(await Deno.readTextFile(file), "real\n");
  } finally {
    await Deno.remove(file);
  }
});

sandboxTest(jailed("read-only roots cannot be changed, /tmp and caches can"), async (g) => {
  await Deno.mkdir(`${g.base}/home/.npm`);
  const below = await Deno.makeTempDir({ dir: "/tmp" });
  try {
    await Deno.writeTextFile(`${below}/seen`, "seen\n");
    const roots = [g.ws, below, "/tmp", `${g.base}/home`];
    const jail = await sandboxJail(g, { roots, rootAccess: "read" });
    for (const path of [`${g.ws}/x`, `${g.ws}/src/a.ts`, `${below}/x`, `${g.base}/home/x`]) {
      assertMatch((await sh(jail, g.ws, `echo x > ${path}`)).stderr, /Read-only file system/, path);
    }
    const mark = `/tmp/${crypto.randomUUID()}`;
    const free = `echo x > ${mark} && cat ${mark} ${below}/seen && echo y > ${g.base}/home/.npm/y`;
    assertEquals(await sh(jail, g.ws, free), { code: 0, stdout: "x\nseen\n", stderr: "" });
    await assertRejects(() => Deno.stat(mark), Deno.errors.NotFound);
    assertStringIncludes(
      jail.describe().text,
      "the workspace is read-only, they can write a private /tmp and package caches;",
    );
  } finally {
    await Deno.remove(below, { recursive: true });
  }
});

sandboxTest(
  jailed(
    "the repository of a linked worktree is readable, and nothing else, with read-only roots",
  ),
  async (g) => {
    const main = await Deno.makeTempDir({ dir: "/tmp" });
    try {
      const git = "git -c user.name=a -c user.email=a@b";
      const made = await new Deno.Command("sh", {
        args: ["-c", `git init -q . && ${git} commit -q --allow-empty -m one && git worktree add -q tree`],
        cwd: main,
      }).output();
      assertEquals(made.code, 0, new TextDecoder().decode(made.stderr));
      const jail = await sandboxJail(g, { roots: [`${main}/tree`], rootAccess: "read" });
      assertEquals((await sh(jail, `${main}/tree`, "git log --format=%s")).stdout, "one\n");
      assertMatch((await sh(jail, `${main}/tree`, "git branch two")).stderr, /Read-only file system/);
    } finally {
      await Deno.remove(main, { recursive: true });
    }
  },
);

sandboxTest(
  jailed("an additional directory is mounted read-only below the private /tmp once it exists"),
  async (g) => {
    const directory = await Deno.makeTempDir({ dir: "/tmp" });
    try {
      const jail = await sandboxJail(g, { shown: [`${directory}/outputs`] });
      assertEquals((await sh(jail, g.ws, `ls ${directory}/outputs`)).stdout, "");
      await Deno.mkdir(`${directory}/outputs`);
      await Deno.writeTextFile(`${directory}/outputs/long.txt`, "all of it\n");
      await Deno.writeTextFile(`${directory}/other.txt`, "not this\n");
      const result = await sh(jail, g.ws, `cat ${directory}/outputs/long.txt; cat ${directory}/other.txt`);
      assertEquals(result.stdout, "all of it\n");
      assertMatch((await sh(jail, g.ws, `echo x > ${directory}/outputs/x`)).stderr, /Read-only file system/);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);

sandboxTest(
  jailed("forbidden files and key files are invisible, also through a symlink"),
  async (g) => {
    await Deno.symlink(g.outside, `${g.ws}/link`);
    const jail = await sandboxJail(g, { forbidRead: [g.outside, `${g.ws}/src/a.ts`] });
    const result = await sh(
      jail,
      g.ws,
      `ls -A ${g.outside} link/; cat link/secret.txt; cat src/a.ts ${g.home}/.env`,
    );
    assertEquals(result.stdout, `${g.outside}:\n\nlink/:\n`);
    assertMatch(result.stderr, /^cat: link\/secret.txt: No such file or directory\n/);
    assertEquals((await sh(jail, g.ws, `rm -rf src/a.ts; umount ${g.home}/.env`)).code === 0, false);
    assertEquals(await Deno.readTextFile(`${g.ws}/src/a.ts`), "inside");
  },
);

sandboxTest(jailed("protected paths are read-only, also after an attempt to rename .git"), async (g) => {
  await Deno.mkdir(`${g.ws}/.git/hooks`, { recursive: true });
  await Deno.mkdir(`${g.ws}/.git/modules/sub/hooks`, { recursive: true });
  await Deno.writeTextFile(`${g.ws}/.git/config`, "[core]\n");
  await Deno.writeTextFile(`${g.ws}/.bashrc`, "");
  const jail = await sandboxJail(g);
  const tries = [
    "echo x > .git/hooks/pre-commit",
    "echo x >> .git/config",
    "rm .git/config",
    "mv .git .git2",
    "rm -rf .git",
    "echo x >> .bashrc",
    "mv .bashrc b",
    "echo x > .git/modules/sub/hooks/post-checkout",
    "ln -sf /bin/true .git/config",
  ];
  for (const line of tries) assertEquals((await sh(jail, g.ws, line)).code === 0, false, line);
  assertEquals((await sh(jail, g.ws, "echo x > .git/index && mkdir .git/objects")).code, 0);
  assertEquals(await Deno.readTextFile(`${g.ws}/.git/config`), "[core]\n");
});

sandboxTest(
  jailed("a hook directory that a command creates is protected from the next command"),
  async (g) => {
    const jail = await sandboxJail(g);
    assertEquals((await sh(jail, g.ws, "mkdir -p .git/hooks && echo > .git/config")).code, 0);
    assertEquals((await sh(jail, g.ws, "echo x > .git/hooks/pre-commit")).code, 1);
  },
);

sandboxTest(
  jailed("a jailed command has no access to other processes, the network or more privileges"),
  async (g) => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    try {
      const jail = await sandboxJail(g);
      const seen = await sh(
        jail,
        g.ws,
        `ls -d /proc/[0-9]* | wc -l; kill -9 ${Deno.pid}; ls /sys/class/net /run`,
      );
      assert(Number(seen.stdout.split("\n")[0]) < 6);
      assertMatch(seen.stderr, /No such process/);
      const dial = await sh(jail, g.ws, `exec 3<>/dev/tcp/127.0.0.1/${listener.addr.port}`);
      assertStringIncludes(dial.stderr, "Connection refused");
      const rights = await sh(
        jail,
        g.ws,
        "grep NoNewPrivs /proc/self/status; mount -t tmpfs x /mnt; umount /run; unshare -rm true",
      );
      assertStringIncludes(rights.stdout, "NoNewPrivs:\t1");
      assertEquals(rights.code === 0, false);
    } finally {
      listener.close();
    }
  },
);

sandboxTest(jailed("a jail with network access reaches the host"), async (g) => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    const jail = await sandboxJail(g, { network: "open" });
    const dial = await sh(jail, g.ws, `exec 3<>/dev/tcp/127.0.0.1/${listener.addr.port} && echo connected`);
    assertEquals(dial.stdout, "connected\n");
    (await listener.accept()).close();
  } finally {
    listener.close();
  }
});

sandboxTest(
  jailed("killing the group of a jailed command ends all its processes"),
  async (g) => {
    const jail = await sandboxJail(g);
    const plan = jail.wrap(["/bin/bash", "-c", "(sleep 300 & echo started; wait)"], { cwd: g.ws });
    const child = new Deno.Command(plan.command, {
      args: [...plan.args],
      env: plan.env,
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      detached: true,
    }).spawn();
    const reader = child.stdout.getReader();
    assertEquals(new TextDecoder().decode((await reader.read()).value), "started\n");
    Deno.kill(-child.pid, "SIGTERM");
    const status = await child.status;
    assertEquals(status.success, false);
    // The pipe ends only when no process holds it any more.
    assertEquals((await reader.read()).done, true);
  },
);

sandboxTest(
  jailed("a signal that ends the command is in the exit code as in a shell"),
  async (g) => {
    const jail = await sandboxJail(g);
    assertEquals((await sh(jail, g.ws, "kill -SEGV $$")).code, 139);
    assertEquals((await sh(jail, g.ws, "exec no-such-program")).code, 127);
  },
);

sandboxTest(jailed("directories that disappear before a command do not break it"), async (g) => {
  await Deno.mkdir(`${g.base}/extra`);
  const jail = await sandboxJail(g, { roots: [g.ws, `${g.base}/extra`], forbidRead: [g.outside] });
  await Deno.remove(`${g.base}/extra`);
  await Deno.remove(g.outside, { recursive: true });
  assertEquals((await sh(jail, g.ws, "echo fine")).stdout, "fine\n");
});
