import { ReasonixError } from "../../../../src/core/mod.ts";
import type { Backend, JailPlan, ProbeResult } from "../../../../src/sandbox/jail/backend.ts";
import { bubblewrap } from "../../../../src/sandbox/jail/backends/bubblewrap.ts";
import { seatbelt } from "../../../../src/sandbox/jail/backends/seatbelt.ts";
import { describeConfinement } from "../../../../src/sandbox/jail/confinement.ts";
import { probeCached, rememberedProbe } from "../../../../src/sandbox/jail/expected_sandbox.ts";
import { createJail, expectedSandbox, runForwarder, startFilterProxy } from "../../../../src/sandbox/mod.ts";
import { gitPaths } from "../../../../src/sandbox/mounts/git.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { type SandboxDirs, sandboxDirs, sandboxTest } from "../support.ts";
import { jailed, sandboxJail, sh } from "./jail_support.ts";

const SET = { roots: ["/srv/ws"], home: "/srv/home", network: "none" } as const;

/** A backend that counts its probes. */
function counting(result: ProbeResult): Backend & { probes: number; stamp: string | undefined } {
  return {
    probes: 0,
    stamp: "one",
    fingerprint() {
      return Promise.resolve(this.stamp);
    },
    probe() {
      this.probes++;
      return Promise.resolve(result);
    },
    wrap: ({ argv, env }) => ({ command: argv[0] ?? "", args: argv.slice(1), env }),
  };
}

sandboxTest("probeCached starts no process while its inputs are unchanged", async (g) => {
  const backend = counting({ works: true, program: "/bin/sh", network: true });
  for (let run = 0; run < 3; run++) {
    assertEquals((await probeCached("x", backend, `${g.base}/cache`)).works, true);
  }
  assertEquals(backend.probes, 1);
  backend.stamp = "two";
  await probeCached("x", backend, `${g.base}/cache`);
  assertEquals(backend.probes, 2);
  await Deno.writeTextFile(`${g.base}/cache/jail-x.json`, "damaged");
  await probeCached("x", backend, `${g.base}/cache`);
  assertEquals(backend.probes, 3);
});

sandboxTest("probeCached probes again after a failure and reports what is missing", async (g) => {
  const backend = counting({ works: false, program: "/bin/sh", detail: "refused" });
  for (let run = 0; run < 2; run++) {
    assertEquals((await probeCached("x", backend, `${g.base}/cache`)).detail, "refused");
  }
  assertEquals(backend.probes, 2);
  backend.stamp = undefined;
  assertEquals((await probeCached("x", backend, undefined)).detail, "it is not installed");
});

Deno.test("createJail runs commands unconfined when it is off, and reports it", async () => {
  const jail = await createJail({ ...SET, mode: "off", environment: { env: { PATH: "/bin", OTEL_X: "1" } } });
  const plan = jail.wrap(["/bin/sh", "-c", "true"], { cwd: "/" });
  assertEquals([plan.command, ...plan.args], ["/bin/sh", "-c", "true"]);
  assertEquals(plan.env.PATH, "/bin");
  assertEquals(plan.env.OTEL_X, undefined);
  assert(!jail.confined);
  assertMatch(jail.describe().text, /^Commands are not confined \(\[sandbox\] bash = "off"\)/);
});

sandboxTest(
  jailed("createJail rejects a jail without network isolation only when it is enforced"),
  async (g) => {
    await remember(g, { network: false, detail: "refused" });
    const error = await assertRejects(() => sandboxJail(g), ReasonixError, "Cannot confine commands");
    assertEquals(error.exit, "blocked");
    assertStringIncludes(error.message, "bubblewrap: cannot cut off the network (refused)");
    const jail = await sandboxJail(g, { mode: "auto" });
    assertStringIncludes(jail.describe().text, "the network is NOT confined (refused)");
    assertEquals((await sh(jail, g.ws, "echo runs")).stdout, "runs\n");
    assert((await sandboxJail(g, { network: "open" })).confined);
  },
);

sandboxTest(
  jailed(
    "expectedSandbox returns the result of an earlier run immediately, and probes again before it fails",
  ),
  async (g) => {
    const cacheDir = `${g.base}/cache`;
    await remember(g, { works: false, detail: "refused" });
    const auto = await expectedSandbox({ mode: "auto", network: "none", cacheDir });
    assertEquals(auto, { confined: false, reason: "bubblewrap: refused" });
    // The jail itself does not believe a failure.
    assert((await sandboxJail(g, { mode: "auto" })).confined);
    await remember(g, { works: false, detail: "refused" });
    assertEquals(await expectedSandbox({ mode: "enforce", network: "none", cacheDir }), { confined: true });
    assertEquals(await expectedSandbox({ mode: "auto", network: "none", cacheDir }), { confined: true });
    assertEquals((await expectedSandbox({ mode: "off", network: "none", cacheDir })).confined, false);
  },
);

sandboxTest(
  jailed("a stale expectation is safe: without the expected jail nothing runs"),
  async (g) => {
    const cacheDir = `${g.base}/cache`;
    await sandboxJail(g);
    assertEquals(await expectedSandbox({ mode: "auto", network: "none", cacheDir }), { confined: true });
    const probe = bubblewrap.probe;
    bubblewrap.probe = () => Promise.resolve({ works: false, detail: "gone" });
    try {
      await Deno.remove(`${cacheDir}/jail-bubblewrap.json`);
      const error = await assertRejects(
        () => sandboxJail(g, { mode: "auto", expected: true }),
        ReasonixError,
      );
      assertEquals([error.exit, error.message], [
        "blocked",
        "Cannot confine commands any more: bubblewrap: gone",
      ]);
      const enforced = () => expectedSandbox({ mode: "enforce", network: "none", cacheDir });
      assertEquals((await assertRejects(enforced, ReasonixError)).exit, "blocked");
      assert(!(await sandboxJail(g, { mode: "auto" })).confined);
    } finally {
      bubblewrap.probe = probe;
    }
  },
);

sandboxTest(
  jailed("a cached probe applies to the same program, kernel and user, without starting a process"),
  async (g) => {
    const cacheDir = `${g.base}/cache`;
    await sandboxJail(g);
    const file = `${cacheDir}/jail-bubblewrap.json`;
    const stamp = JSON.parse(await Deno.readTextFile(file));
    for (const part of stamp.system.split(" ")) {
      const system = stamp.system.replace(part, `${part}x`);
      await Deno.writeTextFile(file, JSON.stringify({ ...stamp, system }));
      assertEquals(rememberedProbe("bubblewrap", cacheDir), undefined, part);
    }
    await Deno.writeTextFile(file, JSON.stringify(stamp));
    const probe = bubblewrap.probe;
    bubblewrap.probe = () => Promise.reject(new Error("a process was started"));
    try {
      assert((await expectedSandbox({ mode: "enforce", network: "none", cacheDir })).confined);
    } finally {
      bubblewrap.probe = probe;
    }
  },
);

/** The stamp of an earlier run with this result. */
async function remember(g: SandboxDirs, found: Partial<ProbeResult>): Promise<void> {
  await sandboxJail(g);
  const file = `${g.base}/cache/jail-bubblewrap.json`;
  const stamp = JSON.parse(await Deno.readTextFile(file));
  await Deno.writeTextFile(file, JSON.stringify({ ...stamp, result: { ...stamp.result, ...found } }));
}

sandboxTest(jailed("forgetProbe makes the next jail run its probe again"), async (g) => {
  const jail = await sandboxJail(g);
  await Deno.lstat(`${g.base}/cache/jail-bubblewrap.json`);
  await jail.forgetProbe();
  await assertRejects(() => Deno.lstat(`${g.base}/cache/jail-bubblewrap.json`), Deno.errors.NotFound);
});

sandboxTest(jailed("describe reports in one line what is confined and what is not"), async (g) => {
  const closed = (await sandboxJail(g, { forbidRead: [g.outside] })).describe().text;
  assertStringIncludes(
    closed,
    `Commands run in a jail (bubblewrap): they can write ${g.ws}, a private /tmp and package caches; no network`,
  );
  assertStringIncludes(closed, "1 path is hidden (forbid_read)");
  const usual = (await sandboxJail(g)).describe(g.ws).text;
  assertStringIncludes(usual, "they can write this project, a private /tmp and package caches; no network");
  assert(!usual.includes("hidden"), usual);
  assertStringIncludes((await sandboxJail(g, { network: "open" })).describe().text, "network open");
  const readOnly = (await sandboxJail(g)).readOnly().confinement();
  assertStringIncludes(
    describeConfinement({ ...readOnly, openNetwork: "refused" }).text,
    "the workspace is read-only, they can write a private /tmp and package caches; " +
      "the network is NOT confined (refused)",
  );
});

Deno.test("runForwarder relays to the proxy and returns the exit code of its command", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using g = await sandboxDirs();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("hello"),
  );
  await using _proxy = await startFilterProxy({
    hosts: [`127.0.0.1:${server.addr.port}`],
    listen: { socket: `${g.base}/p.sock` },
  });
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = String(free.addr.port);
  free.close();
  const line =
    `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET http://127.0.0.1:${server.addr.port}/ HTTP/1.0\\r\\n\\r\\n' >&3; grep -q hello <&3 && exit 5`;
  await runForwarder([`${g.base}/p.sock`, port, "/bin/bash", "-c", line]);
  assertEquals(Deno.exitCode, 5);
  Deno.exitCode = 0;
});

sandboxTest(
  jailed("a jail reports private temporary directories and access to others"),
  async (g) => {
    const around = async (options: Parameters<typeof sandboxJail>[1]) => {
      const { privateDirectories, network } = await sandboxJail(g, options);
      return [...privateDirectories, network];
    };
    assertEquals(await around({}), ["/tmp", "/var/tmp", false]);
    assertEquals(await around({ roots: [g.ws, "/tmp"], network: "open" }), ["/var/tmp", true]);
    assertEquals(await around({ mode: "off" }), [true]);
  },
);

const PLAN: JailPlan = {
  writable: [{ path: "/Users/me/ws", directory: true }, { path: "/Users/me/.npm", directory: true }],
  readable: [],
  protectedPaths: [
    { path: "/Users/me/ws/.git/hooks", directory: true },
    { path: "/Users/me/ws/.git/config", directory: false },
  ],
  hidden: [{ path: "/Users/me/.ssh", directory: true }, {
    path: "/Users/me/.reasonix/.env",
    directory: false,
  }],
  agents: [],
  mustNotAppear: ["/Users/me/ws/.git/commondir"],
  replaced: [],
  network: "none",
};

/** The profile that a command of this plan gets. */
function profileOf(plan: JailPlan): string {
  const probe = { works: true, network: true };
  return seatbelt.wrap({ argv: ["true"], cwd: "/", env: {}, plan, probe }).args[1] ?? "";
}

Deno.test("the seatbelt backend writes exactly the reviewed profile", async () => {
  const golden = await Deno.readTextFile(new URL("./seatbelt_profile.sb", import.meta.url));
  assertEquals(profileOf(PLAN), golden);
});

Deno.test("the seatbelt profile denies writes to read-only paths except writable ones inside them", () => {
  const readable = [{ path: "/Users/me", directory: true }, { path: "/private/tmp/ws", directory: true }];
  assertStringIncludes(
    profileOf({ ...PLAN, writable: [{ path: "/Users/me/.npm", directory: true }], readable }),
    [
      '  (subpath "/Users/me/.npm")\n)',
      '(deny file-write*\n  (subpath "/Users/me")\n  (subpath "/private/tmp/ws")\n)',
      '(allow file-write*\n  (subpath "/Users/me/.npm")\n)\n(deny file-write*',
    ].join("\n"),
  );
});

Deno.test("the seatbelt profile opens the network as configured", () => {
  assertStringIncludes(profileOf({ ...PLAN, network: "open" }), "(deny network*)\n(allow network*)\n");
  const filtered = profileOf({ ...PLAN, network: "filtered", proxy: { port: 4711 } });
  assertStringIncludes(filtered, '(deny network*)\n(allow network-outbound (remote ip "localhost:4711"))\n');
  assert(!profileOf(PLAN).includes("(allow network"));
});

Deno.test("the seatbelt profile escapes paths", () => {
  const path = '/Users/me/a") (allow file-write* (subpath "/';
  const profile = profileOf({ ...PLAN, writable: [{ path, directory: true }] });
  assertStringIncludes(profile, String.raw`(subpath "/Users/me/a\") (allow file-write* (subpath \"/")`);
});

Deno.test("the seatbelt backend passes the profile before the command and the proxy in its environment", () => {
  const plan = seatbelt.wrap({
    argv: ["/bin/sh", "-c", "true"],
    cwd: "/Users/me/ws",
    env: { PATH: "/bin" },
    plan: { ...PLAN, network: "filtered", proxy: { port: 4711 } },
    probe: { works: true, network: true },
  });
  assertEquals(plan.command, "/usr/bin/sandbox-exec");
  assertEquals([plan.args[0], ...plan.args.slice(2)], ["-p", "/bin/sh", "-c", "true"]);
  assertEquals(plan.env.HTTPS_PROXY, "http://127.0.0.1:4711");
  assertEquals(plan.env.ALL_PROXY, "socks5h://127.0.0.1:4711");
});

Deno.test("the seatbelt probe runs a complete profile", { ignore: Deno.build.os !== "darwin" }, async () => {
  const result = await seatbelt.probe();
  assertEquals(result.detail, undefined);
  assert(result.works);
});

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
  jailed("a session protects a repository that an earlier session of its process has cloned"),
  async (g) => {
    const repositories = new Map();
    const first = await sandboxJail(g, { repositories });
    const settle = (name: string) => `cd inner && echo "${name}" >> .git/config && cat .git/config`;
    assertEquals((await sh(first, g.ws, `git init -q inner && ${settle("# first")}`)).code, 0);
    const second = await sandboxJail(g);
    assertEquals((await sh(second, g.ws, settle("# second"))).code === 0, false);
    await sh(second, g.ws, "mkdir -p inner/.git/hooks; echo pwned > inner/.git/hooks/post-commit");
    await assertRejects(() => Deno.stat(`${g.ws}/inner/.git/hooks/post-commit`), Deno.errors.NotFound);
    // Another jail of the first session, such as one with a further directory.
    const further = await sandboxJail(g, { repositories });
    assertStringIncludes(
      (await sh(further, g.ws, settle("# first again"))).stdout,
      "# first\n# first again\n",
    );
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
    stderr: "piped",
    detached: true,
  }).spawn();
  const errors = new Response(child.stderr).text();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  assertEquals(new TextDecoder().decode(value), "made\n", value ? "" : await errors);
  Deno.kill(-child.pid, "SIGTERM");
  assertEquals((await child.status).code, 143);
  await Promise.all([reader.cancel(), errors]);
  assertEquals(await Deno.lstat(`${g.ws}/.git/commondir`).then(() => true, () => false), false);
});
