import { seccompFilter } from "../../../../src/sandbox/jail/backends/bubblewrap.ts";
import { neededBelowTemporary } from "../../../../src/sandbox/mounts/mounts.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { sandboxDirs, sandboxTest } from "../support.ts";
import { jailed, sandboxJail, sh } from "./jail_support.ts";
import { removeTree } from "../../../support/remove_tree.ts";

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
    await removeTree(below);
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
      await removeTree(main);
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
      await removeTree(directory);
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
  await removeTree(g.outside);
  assertEquals((await sh(jail, g.ws, "echo fine")).stdout, "fine\n");
});

interface SystemCall {
  readonly arch: number;
  readonly number: number;
  readonly args?: readonly number[];
}

const [X86, ARM] = [0xc000003e, 0xc00000b7];
const [ALLOW, EPERM, ENOSYS, EAFNOSUPPORT] = [0x7fff0000, 0x50001, 0x50026, 0x50061];

/** Runs a filter like the kernel. */
function judge(filter: Uint8Array<ArrayBuffer>, { arch, number, args = [] }: SystemCall): number {
  const view = new DataView(filter.buffer);
  const data: Record<number, number> = { 0: number, 4: arch, 16: args[0] ?? 0, 24: args[1] ?? 0 };
  let value = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const [code, operand] = [view.getUint16(at * 8, true), view.getUint32(at * 8 + 4, true)];
    if (code === 0x06) return operand;
    if (code === 0x20) value = data[operand] ?? 0;
    else {
      const holds = code === 0x15
        ? value === operand
        : code === 0x35
        ? value >= operand
        : (value & operand) !== 0;
      at += view.getUint8(at * 8 + (holds ? 2 : 3));
    }
  }
  throw new Error("The filter has no end");
}

Deno.test("seccompFilter denies dangerous system calls and allows ordinary ones", () => {
  const filter = seccompFilter("x86_64") as Uint8Array<ArrayBuffer>;
  const cases: [string, SystemCall, number][] = [
    ["read", { arch: X86, number: 0 }, ALLOW],
    ["execve", { arch: X86, number: 59 }, ALLOW],
    ["ptrace", { arch: X86, number: 101 }, ALLOW],
    ["fork by clone", { arch: X86, number: 56, args: [0x01200011] }, ALLOW],
    ["clone with a user namespace", { arch: X86, number: 56, args: [0x10000011] }, EPERM],
    ["clone3", { arch: X86, number: 435 }, ENOSYS],
    ["mount", { arch: X86, number: 165 }, EPERM],
    ["keyctl", { arch: X86, number: 250 }, EPERM],
    ["unshare", { arch: X86, number: 272 }, EPERM],
    ["io_uring_setup", { arch: X86, number: 425 }, EPERM],
    ["bpf", { arch: X86, number: 321 }, EPERM],
    ["mount_setattr", { arch: X86, number: 442 }, EPERM],
    ["open_by_handle_at", { arch: X86, number: 304 }, EPERM],
    ["AF_UNIX", { arch: X86, number: 41, args: [1] }, ALLOW],
    ["AF_INET6", { arch: X86, number: 41, args: [10] }, ALLOW],
    ["AF_NETLINK", { arch: X86, number: 41, args: [16] }, ALLOW],
    ["AF_VSOCK", { arch: X86, number: 41, args: [40] }, EAFNOSUPPORT],
    ["AF_ALG", { arch: X86, number: 41, args: [38] }, EAFNOSUPPORT],
    ["AF_PACKET", { arch: X86, number: 41, args: [17] }, EAFNOSUPPORT],
    ["TCGETS", { arch: X86, number: 16, args: [0, 0x5401] }, ALLOW],
    ["TIOCSTI", { arch: X86, number: 16, args: [0, 0x5412] }, EPERM],
    ["TIOCLINUX", { arch: X86, number: 16, args: [0, 0x541c] }, EPERM],
    ["x32 mount", { arch: X86, number: 0x40000000 + 165 }, ENOSYS],
    ["i386", { arch: 0x40000003, number: 3 }, ENOSYS],
    ["arm on x86", { arch: ARM, number: 0 }, ENOSYS],
  ];
  for (const [name, call, decision] of cases) assertEquals(judge(filter, call), decision, name);
});

Deno.test("seccompFilter supports x86-64 and ARM and returns none for other processors", () => {
  const filter = seccompFilter("aarch64") as Uint8Array<ArrayBuffer>;
  assertEquals(judge(filter, { arch: ARM, number: 40 }), EPERM);
  assertEquals(judge(filter, { arch: ARM, number: 63 }), ALLOW);
  assertEquals(judge(filter, { arch: ARM, number: 198, args: [40] }), EAFNOSUPPORT);
  assertEquals(judge(filter, { arch: ARM, number: 165 }), ALLOW);
  assertEquals(judge(filter, { arch: X86, number: 0 }), ENOSYS);
  assertEquals(seccompFilter("riscv64"), undefined);
});

sandboxTest(
  jailed(
    "a jail with a cache directory runs under the filter, without core dumps and without its descriptor",
  ),
  async (g) => {
    const jail = await sandboxJail(g);
    const status = await sh(
      jail,
      g.ws,
      "grep -E '^Seccomp:' /proc/self/status; ulimit -c; ls /proc/self/fd | grep -cx [4-9]",
    );
    assertMatch(status.stdout, /^Seccomp:\s+2\n0\n0\n$/);
    const node = await sh(
      jail,
      g.ws,
      `${Deno.execPath()} eval 'console.log(await new Deno.Command("sh", {args: ["-c", "echo threads"]}).output().then((o) => o.code))'`,
    );
    assertEquals(node.stdout, "0\n");
    const loose = await sandboxJail(g, { mode: "auto" });
    const file = jail.data.probe.filter ?? "";
    assert(file.startsWith(`${g.base}/cache/`));
    await Deno.remove(file);
    assertEquals((await sandboxJail(g)).data.probe.filter, loose.data.probe.filter);
    assertEquals((await sh(loose, g.ws, "echo again")).stdout, "again\n");
  },
);

// Homes, programs and projects below /tmp, which is private in the jail.

async function temporary(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.realPath(await Deno.makeTempDir({ dir: "/tmp" }));
  try {
    await run(directory);
  } finally {
    await removeTree(directory);
  }
}

Deno.test("neededBelowTemporary returns paths inside a temporary directory, not the directory itself", () =>
  temporary(async (base) => {
    for (const name of ["home/bin", "tools"]) await Deno.mkdir(`${base}/${name}`, { recursive: true });
    await Deno.writeTextFile(`${base}/deno`, "");
    const paths = (userHome: string, host: Parameters<typeof neededBelowTemporary>[1]) =>
      neededBelowTemporary({ userHome }, host).map(({ path, directory }) => directory ? `${path}/` : path);
    const searchPath = ["/tmp", "", ".", "/usr/bin", `${base}/home/bin`, `${base}/tools`, `${base}/missing`];
    assertEquals(paths(`${base}/home`, { searchPath, executable: `${base}/deno` }), [
      `${base}/home/`,
      `${base}/tools/`,
      `${base}/deno`,
    ]);
    assertEquals(paths("/tmp", { searchPath: ["/tmp/"], executable: "/usr/bin/env" }), []);
  }));

Deno.test({
  ...jailed("a home, programs and a project below /tmp are visible, and only the project is writable"),
  fn: () =>
    temporary(async (base) => {
      await using g = await sandboxDirs();
      const [home, work, bin] = [`${base}/home`, `${base}/home/work`, `${base}/bin`];
      for (const path of [`${work}/.git/hooks`, bin, `${home}/.reasonix`]) {
        await Deno.mkdir(path, { recursive: true });
      }
      for (const file of [`${home}/.gitconfig`, `${home}/secret`, `${base}/other`, `${work}/.git/config`]) {
        await Deno.writeTextFile(file, "real\n");
      }
      await Deno.writeTextFile(`${bin}/tool`, "#!/bin/sh\necho tool\n", { mode: 0o755 });
      using _socket = Deno.listen({ transport: "unix", path: `${home}/agent.sock` });
      const jail = await sandboxJail(g, {
        roots: [work],
        home: `${home}/.reasonix`,
        userHome: home,
        forbidRead: [`${home}/secret`],
        environment: { env: { PATH: `/tmp:${bin}:/usr/bin:/bin`, HOME: home } },
      });
      const seen = `cat ~/.gitconfig; tool; cat ~/secret ${base}/other; [ -S ~/agent.sock ] && echo socket`;
      assertEquals((await sh(jail, work, seen)).stdout, "real\ntool\n");
      assertMatch((await sh(jail, work, `echo x >> ${bin}/tool`)).stderr, /Read-only file system/);
      assertMatch((await sh(jail, work, "echo x > ~/new")).stderr, /Read-only file system/);
      assertEquals((await sh(jail, work, "echo fine > new")).code, 0);
      // What is above a protected file stays where it is, though the home around it is only shown.
      await sh(jail, work, "mv .git .git2; mkdir -p .git && echo pwned > .git/config");
      assertEquals(await Deno.readTextFile(`${work}/.git/config`), "real\n");
      assertMatch((await sh(jail.readOnly(), work, "cat ~/.gitconfig; echo x > new")).stderr, /Read-only/);
      const wide = await sandboxJail(g, { roots: [home], userHome: home });
      assertEquals((await sh(wide, home, "echo mine > new")).code, 0);
      assertEquals(await Deno.readTextFile(`${home}/new`), "mine\n");
      await assertRejects(() => Deno.stat(`${work}/.git2`), Deno.errors.NotFound);
    }),
});

sandboxTest(
  jailed("bubblewrap is started up to three times for a command that it cannot begin"),
  async (g) => {
    const jail = await sandboxJail(g);
    const [counted, stub] = [`${g.base}/starts`, `${g.base}/bwrap`];
    const rows = [
      // Failed starts, the command; the starts and the exit code.
      [0, "exit 1", 1, 1],
      [2, "exit 7", 3, 7],
      [3, "exit 7", 3, 1],
    ] as const;
    for (const [failures, line, starts, code] of rows) {
      const plan = jail.wrap(["/bin/sh", "-c", line], { cwd: g.ws });
      const at = plan.args.findIndex((arg) => arg.endsWith("/bwrap"));
      await Deno.writeTextFile(counted, "");
      await Deno.writeTextFile(
        stub,
        `#!/bin/sh\necho start >> ${counted}\n` +
          `[ $(wc -l < ${counted}) -gt ${failures} ] && exec ${plan.args[at]} "$@"\nexit 1\n`,
        { mode: 0o755 },
      );
      const result = await new Deno.Command(plan.command, {
        args: plan.args.with(at, stub),
        cwd: g.ws,
        env: plan.env,
        clearEnv: true,
        stdin: "null",
      }).output();
      const seen = (await Deno.readTextFile(counted)).split("\n").length - 1;
      assertEquals([seen, result.code], [starts, code], line);
    }
  },
);
