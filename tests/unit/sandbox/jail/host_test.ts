/** Protection of the host outside of the workspace and of the configured directories. */
import { childEnvironment } from "../../../../src/sandbox/jail/environment.ts";
import { looksJailDenied } from "../../../../src/sandbox/jail/jail.ts";
import { currentPlan, fixPlan } from "../../../../src/sandbox/jail/plan.ts";
import { visibleSockets } from "../../../../src/sandbox/mounts/mounts.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { type SandboxDirs, sandboxTest } from "../support.ts";
import { jailed, sandboxJail, sh } from "./jail_support.ts";

async function fileAt(path: string, text = ""): Promise<void> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(path, text);
}

const textOf = (path: string): Promise<string | undefined> => Deno.readTextFile(path).catch(() => undefined);

/** Returns the paths below the home that a jailed command can write, as seen by the user. */
async function written(g: SandboxDirs, root: string, names: readonly string[], path = "/usr/bin:/bin") {
  const jail = await sandboxJail(g, { roots: [root], environment: { env: { PATH: path } } });
  const home = `${g.base}/home`;
  await sh(jail, root, names.map((name) => `echo pwned > '${home}/${name}'`).join("\n"));
  const texts = await Promise.all(names.map((name) => textOf(`${home}/${name}`)));
  return names.filter((_, index) => texts[index] === "pwned\n");
}

sandboxTest(jailed("inherited descriptors do not lead out of the jail"), async (g) => {
  const jail = await sandboxJail(g);
  const line = "echo pwned > /proc/self/fd/25/pwn; echo pwned >&26; ls /proc/self/fd; exit 5";
  const { command, args, env } = jail.wrap(["/bin/bash", "-c", line], { cwd: g.ws });
  const leaking = `exec 25<'${g.outside}' 26>'${g.outside}/open'; exec "$@"`;
  const { code, stdout } = await new Deno.Command("/bin/bash", {
    args: ["-c", leaking, "bash", command, ...args],
    env: { ...env },
    clearEnv: true,
    cwd: g.ws,
  }).output();
  assertEquals([code, new TextDecoder().decode(stdout).split("\n").filter((fd) => fd.length > 1)], [5, []]);
  assertEquals(await textOf(`${g.outside}/pwn`), undefined);
  assertEquals(await textOf(`${g.outside}/open`), "");
});

sandboxTest(
  jailed("cleanup programs are not searched in directories that the command can write"),
  async (g) => {
    await Deno.mkdir(`${g.ws}/.git`);
    const jail = await sandboxJail(g, { environment: { env: { PATH: `${g.ws}/bin:/usr/bin:/bin` } } });
    await sh(
      jail,
      g.ws,
      `mkdir bin; for name in rm cat bash sh; do printf '#!/bin/sh\\necho > ${g.outside}/pwn' > bin/$name; done
     chmod +x bin/*; : > .git/commondir`,
    );
    assertEquals([...Deno.readDirSync(g.outside)].map((entry) => entry.name), ["secret.txt"]);
    assertEquals(await textOf(`${g.ws}/.git/commondir`), undefined);
  },
);

sandboxTest(jailed("sockets of the user's programs are invisible in any directory"), async (g) => {
  const home = `${g.base}/home`;
  await Deno.mkdir(`${home}/.ssh/agent`, { recursive: true });
  const listen = (path: string) => Deno.listen({ transport: "unix", path });
  const seen = async (root: string, paths: readonly string[], env: Record<string, string> = {}) => {
    const jail = await sandboxJail(g, {
      roots: [root],
      environment: { env: { PATH: "/usr/bin:/bin", ...env } },
    });
    using _late = listen(`${home}/.ssh/agent/late`);
    const { stdout } = await sh(
      jail,
      root,
      `for s in ${paths.join(" ")}; do [ -S $s ] && echo $s; done; true`,
    );
    await Deno.remove(`${home}/.ssh/agent/late`);
    return stdout.split("\n").slice(0, -1);
  };
  using _control = listen(`${home}/.ssh/control`);
  using _odd = listen(`${home}/agent.sock`);
  using _other = listen(`${g.outside}/service.sock`);
  using _own = listen(`${g.ws}/database.sock`);
  const all = [
    `${home}/.ssh/control`,
    `${home}/.ssh/agent/late`,
    `${home}/agent.sock`,
    `${g.outside}/service.sock`,
    `${g.ws}/database.sock`,
  ];
  // A project's own server is the project's.
  assertEquals(await seen(g.ws, all), [`${g.ws}/database.sock`]);
  assertEquals(await seen(home, all.slice(0, 3)), []);
  assertEquals(await seen(g.ws, all, { AGENT: `unix:path=${g.outside}/service.sock,guid=0` }), [
    `${g.ws}/database.sock`,
  ]);
});

sandboxTest(
  jailed(
    "a socket that appears or disappears around the start of a command is not seen and stops no command",
  ),
  async (g) => {
    const home = `${g.base}/home`;
    const [key, agent, card] = [`${home}/.ssh/key`, `${home}/.ssh/control`, `${home}/.gnupg/S.scdaemon`];
    const [service, linked] = [`${home}/service/socket`, `${home}/.gnupg/link`];
    await fileAt(key, "a key");
    await Deno.mkdir(`${home}/.gnupg`);
    await Deno.mkdir(`${home}/service`);
    const listen = (path: string) => Deno.listen({ transport: "unix", path });
    const open = [card, service].map(listen);
    await Deno.symlink(service, linked);
    const seen = async (between: () => unknown, line = ":", options = {}) => {
      const sockets = [agent, card, service, linked].join(" ");
      const look = `for s in ${sockets}; do [ -S $s ] && echo $s; done; echo ran`;
      const { stdout, stderr } = await sh(await sandboxJail(g, options), g.ws, `${line}\n${look}`, between);
      return stdout + stderr;
    };
    // A socket that is closed is removed.
    const close = () => open.splice(0).forEach((socket) => socket.close());
    const forbidRead = [`${home}/.gnupg`, `${home}/service`, `${home}/.ssh`];
    assertEquals(await seen(() => {}, ":", { forbidRead }), "ran\n", "sockets in a hidden directory");
    assertEquals(await seen(close), "ran\n", "a socket disappears");
    open.push(...[card, service].map(listen));
    const removed = async () => {
      close();
      await Deno.remove(`${home}/service`);
    };
    assertEquals(await seen(removed), "ran\n", "a directory disappears");
    await Deno.mkdir(`${home}/service`);
    open.push(listen(service));
    assertEquals(
      await seen(() => open.push(listen(agent)), `cat ${key} && echo; readlink ${linked}`),
      `a key\n${service}\nran\n`,
      "a socket appears",
    );
    close();
    const waits = `echo > started; until [ -e go ]; do sleep 0.01; done`;
    const late = seen(() => {}, waits);
    while (await textOf(`${g.ws}/started`) === undefined) await new Promise((done) => setTimeout(done, 5));
    open.push(listen(agent));
    await Deno.writeTextFile(`${g.ws}/go`, "");
    assertEquals(await late, "ran\n", "a socket appears later");
    close();
  },
);

Deno.test("visibleSockets lists sockets that a jail would expose, without those of the project", () => {
  const sockets = ["/run/a", "/tmp/b", "/home/u/c", "/home/u/ws/d", "/var/lib/lxd/unix.socket"];
  const foreign = (...roots: string[]) => visibleSockets(sockets, { roots, userHome: "/home/u" });
  assertEquals(foreign("/home/u/ws"), ["/home/u/c", "/var/lib/lxd/unix.socket"]);
  assertEquals(foreign("/home/u/ws", "/tmp"), ["/tmp/b", "/home/u/c", "/var/lib/lxd/unix.socket"]);
  assertEquals(foreign("/home/u"), ["/home/u/c", "/home/u/ws/d", "/var/lib/lxd/unix.socket"]);
  assertEquals(foreign("/"), sockets);
  const scope = { roots: ["/tmp/u/ws"], userHome: "/tmp/u" };
  assertEquals(visibleSockets(["/tmp/a", "/tmp/u/b", "/tmp/u/ws/c"], scope, ["/tmp/u"]), ["/tmp/u/b"]);
});

sandboxTest(jailed("package caches are shared with the user, program caches are not"), async (g) => {
  const home = `${g.base}/home`;
  const shared = [
    ".cache/pip/x",
    ".cache/go-build/x",
    ".npm/_cacache/x",
    ".cargo/registry/x",
    "go/pkg/mod/x",
  ];
  const programs = [
    ".cache/p10k-instant-prompt.zsh",
    ".cache/nvim/luac/x",
    ".cache/uv/x",
    ".cache/ms-playwright/chrome",
    ".cache/deno/x",
    ".npm/_npx/a/run",
    ".cargo/bin/rg",
    ".local/bin/x",
    "go/pkg/mod/golang.org/toolchain@v0.0.1/bin/go",
    "tools/bin/x",
  ];
  for (const name of [...shared, ...programs]) await fileAt(`${home}/${name}`, "real");
  const path = `${home}/tools/bin:/usr/bin:/bin`;
  assertEquals(await written(g, g.ws, [...shared, ...programs], path), shared);
  // A home that is the workspace stays writable, but not what is started from it.
  assertEquals(await written(g, home, [...shared, ...programs, "notes.txt"], path), [
    ...shared,
    "notes.txt",
  ]);
  const jail = await sandboxJail(g);
  const line = `cat ${home}/.cache/ms-playwright/chrome ${home}/.cache/pip/x; cat ${home}/.cache/nvim/luac/x`;
  assertEquals((await sh(jail, g.ws, line)).stdout, "realpwned\n");
  const own = await sh(jail, g.ws, `mkdir -p ${home}/.cache/new && echo kept > ${home}/.cache/new/x`);
  assertEquals([own.code, await textOf(`${home}/.cache/new/x`)], [0, undefined], own.stderr);
  assertEquals((await sh(jail, g.ws, `cat ${home}/.cache/new/x`)).stdout, "kept\n");
});

sandboxTest(jailed("a configured cache, or a project inside of one, is the real directory"), async (g) => {
  const cache = `${g.base}/home/.cache`;
  await fileAt(`${cache}/checkout/a`);
  for (const root of [cache, `${cache}/checkout`]) {
    const jail = await sandboxJail(g, { roots: [root] });
    await sh(jail, root, `echo real > ${cache}/checkout/a`);
    assertEquals(await textOf(`${cache}/checkout/a`), "real\n");
    await Deno.writeTextFile(`${cache}/checkout/a`, "");
  }
});

sandboxTest(
  jailed("programs in a PATH directory of the project remain writable"),
  async (g) => {
    const bin = `${g.ws}/node_modules/.bin`;
    await Deno.mkdir(bin, { recursive: true });
    const jail = await sandboxJail(g, { environment: { env: { PATH: `${bin}:/usr/bin:/bin` } } });
    assertEquals((await sh(jail, g.ws, `echo > ${bin}/tool`)).code, 0);
  },
);

sandboxTest(
  jailed(
    "a workspace that is the whole file system exposes no processes, services or kernel settings",
  ),
  async (g) => {
    await fileAt(`${g.base}/home/.bashrc`);
    const jail = await sandboxJail(g, { roots: ["/"] });
    const { stdout } = await sh(
      jail,
      g.ws,
      `[ -e /proc/${Deno.pid}/environ ] && echo process
     ls -A /run; echo > /sys/kernel/uevent_helper && echo kernel
     echo > ${g.home}/config.toml && echo state; cat ${g.home}/.env
     echo > ${g.base}/home/.bashrc && echo shell; echo fine > ${g.outside}/new && echo wrote`,
    );
    const shown = ["NetworkManager", "current-system", "opengl-driver", "resolvconf", "systemd"];
    const lines = stdout.split("\n").filter((line) => !shown.includes(line));
    assertEquals(lines, ["wrote", ""]);
    assertEquals(await textOf(`${g.outside}/new`), "fine\n");
  },
);

sandboxTest("a plan is plain data that another process can execute", (g) => {
  const areas = { roots: [g.ws], home: g.home, userHome: `${g.base}/home`, network: "none" } as const;
  const fixed = fixPlan(areas, { standIns: `${g.base}/cache`, searchPath: ["bin", "/usr/bin"], sockets: [] });
  assertEquals(currentPlan(structuredClone(fixed)), currentPlan(fixed));
  assert(fixed.programs.every((place) => place.path.startsWith("/")));
  assertStringIncludes(JSON.stringify(fixed.programs), '"/usr/bin"');
});

Deno.test("childEnvironment keeps what commands need and identifies the agent", () => {
  const env = childEnvironment({
    env: { PATH: "/bin", HOME: "/home/me", LANG: "de_DE.UTF-8", TERM: "xterm" },
  });
  assertEquals(env.PATH, "/bin");
  assertEquals(env.HOME, "/home/me");
  assertEquals(env.LANG, "de_DE.UTF-8");
  assertEquals(env.TERM, "dumb");
  assertEquals(env.REASONIX, "1");
  assertEquals(env.AI_AGENT, "reasonix");
  assertEquals([env.GIT_TERMINAL_PROMPT, env.GIT_OPTIONAL_LOCKS], ["0", "0"]);
});

Deno.test("childEnvironment drops provider keys by name, by value and inside other values", () => {
  const env = childEnvironment({
    env: {
      DEEPSEEK_API_KEY: "sk-deep-0123456789",
      deepseek_api_key: "x",
      COPY: "sk-deep-0123456789",
      URL: "https://me:sk-deep-0123456789@host/",
      FROM_FILE: "value-of-the-env-file",
      GITHUB_TOKEN: "kept",
      SHORT: "1",
      FLAG: "1",
    },
    secretNames: ["DEEPSEEK_API_KEY", "SHORT"],
    secretValues: ["sk-deep-0123456789", "value-of-the-env-file"],
  });
  const kept = Object.keys(env).filter((name) =>
    ["COPY", "URL", "FROM_FILE", "SHORT", "FLAG", "GITHUB_TOKEN"].includes(name)
  );
  assertEquals(kept, ["GITHUB_TOKEN", "FLAG"]);
  assertEquals(env.DEEPSEEK_API_KEY, undefined);
  assertEquals(env.deepseek_api_key, undefined);
});

Deno.test("childEnvironment drops variables that load code, and internal ones", () => {
  const dropped = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "BASH_FUNC_ls%%",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "REASONIX_HOME",
    "REASONIX_TOKEN",
    "DENO_AUTH_TOKENS",
    "TMUX",
    "SSH_ASKPASS",
  ];
  const env = childEnvironment({ env: Object.fromEntries(dropped.map((name) => [name, "some value"])) });
  assertEquals(dropped.filter((name) => name in env), []);
});

Deno.test("childEnvironment keeps essential variables, even if a secret is part of the value", () => {
  const env = childEnvironment({
    env: { PATH: "/usr/local/bin:/bin", HOME: "/usr/local", ROOT: "/usr/local", ROOT_KEY: "/usr/local" },
    secretNames: ["ROOT_KEY"],
    secretValues: ["/usr/local"],
  });
  assertEquals([env.PATH, env.HOME, env.ROOT, env.ROOT_KEY], [
    "/usr/local/bin:/bin",
    "/usr/local",
    undefined,
    undefined,
  ]);
});

const LINUX = { backend: "bubblewrap", network: "none" } as const;
const MAC = { backend: "seatbelt", network: "filtered" } as const;

Deno.test("looksJailDenied recognizes how programs report a denied access", () => {
  const cases: [line: string, kind: "file" | "network" | "setup", host?: string][] = [
    ["touch: cannot touch '/etc/x': Read-only file system", "file"],
    ["Error: EROFS: read-only file system, open '/usr/x'", "file"],
    ["error: could not lock config file .git/config: Device or resource busy", "file"],
    ["OSError: [Errno 30] Read-only file system: '/x'", "file"],
    ["curl: (6) Could not resolve host: example.com", "network", "example.com"],
    ["npm error getaddrinfo EAI_AGAIN registry.example.org", "network", "registry.example.org"],
    ["go: dial tcp: lookup proxy.golang.org: no such host", "network", "proxy.golang.org"],
    ["failed to lookup address information: Temporary failure in name resolution", "network"],
    ["npm error code EAI_AGAIN", "network"],
    ["fatal: unable to access 'https://x/': Could not resolve host: x", "network"],
    ["ssh: connect to host 1.2.3.4 port 22: Network is unreachable", "network"],
    ["bwrap: Can't find source path /x: No such file or directory", "setup"],
  ];
  for (const [line, kind, host] of cases) {
    const denial = looksJailDenied({ exitCode: 1, output: `some output\n${line}\nmore\n` }, LINUX);
    assertEquals(denial, { kind, evidence: line, ...(host === undefined ? {} : { host }) });
  }
  assertEquals(
    looksJailDenied({ exitCode: 1, output: "sh: /x: Operation not permitted" }, MAC)?.kind,
    "file",
  );
});

Deno.test("looksJailDenied ignores other failures, success and unconfined runs", () => {
  const output = "touch: cannot touch '/etc/x': Read-only file system";
  assertEquals(looksJailDenied({ exitCode: 0, output }, LINUX), undefined);
  assertEquals(looksJailDenied({ exitCode: undefined, output }, LINUX), undefined);
  assertEquals(looksJailDenied({ exitCode: 1, output }, { ...LINUX, backend: "none" }), undefined);
  const others = [
    "FAIL src/a_test.ts",
    "cat: secret/key: Permission denied",
    "No such file or directory",
    "kill: No such process",
  ];
  for (const line of others) assertEquals(looksJailDenied({ exitCode: 1, output: line }, LINUX), undefined);
  const dns = "Could not resolve host: example.com";
  assertEquals(looksJailDenied({ exitCode: 1, output: dns }, { ...LINUX, network: "open" }), undefined);
});
