import { createJail, expectedSandbox, type Jail, startFilterProxy } from "../../../../src/sandbox/mod.ts";
import type { JailPlan } from "../../../../src/sandbox/jail/backend.ts";
import { containerBackend } from "../../../../src/sandbox/jail/backends/container.ts";
import { looksJailDenied } from "../../../../src/sandbox/jail/jail.ts";
import { ShellProcess } from "../../../../src/tool/shell/process.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../../support/assert.ts";
import { contained, containerStore, IMAGE, podman } from "../../../support/containers.ts";
import { type SandboxDirs, sandboxTest } from "../support.ts";
import { sandboxJail, sh } from "./jail_support.ts";

const place = (path: string, directory = true) => ({ path, directory });

const PLAN: JailPlan = {
  writable: [place("/ws"), place("/home/me/.npm")],
  readable: [place("/ws/read")],
  protectedPaths: [place("/ws/.git/hooks"), place("/home/me/.reasonix")],
  agents: [],
  hidden: [place("/ws/keys"), place("/ws/.env", false), place("/home/me/.ssh")],
  mustNotAppear: ["/ws/.git/commondir"],
  replaced: [{ path: "/home/me/.cache", by: "/own/cache", shown: [], shared: ["/home/me/.cache/pip"] }],
  privateTmp: "/own/tmp",
  network: "none",
  userHome: "/home/me",
  project: "/ws",
};

function wordsOf(program: "podman" | "docker", kept: boolean, plan: Partial<JailPlan> = {}): string[] {
  const { args } = containerBackend({ program, image: "debian:12", kept }).wrap({
    argv: ["/usr/bin/bash", "-c", "make"],
    cwd: "/ws/src",
    env: {
      PATH: "/home/me/bin",
      CI: "1",
      JAVA_HOME: "/opt/java",
      VIRTUAL_ENV: "/ws/venv",
      SSH_AUTH_SOCK: "x",
    },
    plan: { ...PLAN, ...plan },
    probe: {
      works: true,
      program: `/usr/bin/${program}`,
      options: ["--user=1000:1000"],
      empty: "/own/empty",
    },
  });
  return args.slice(2);
}

const mountsOf = (words: readonly string[]) =>
  words.filter((word) => word.startsWith("--mount=type=bind,")).map((word) => word.slice(18));

for (const program of ["podman", "docker"] as const) {
  Deno.test(`${program} gets the mounts of the plan, hidden and protected paths over writable ones`, () => {
    assertEquals(mountsOf(wordsOf(program, false)), [
      "source=/ws,destination=/ws",
      "source=/own/tmp,destination=/tmp",
      "source=/ws/read,destination=/ws/read,readonly",
      "source=/ws/.git,destination=/ws/.git",
      "source=/own/empty,destination=/ws/keys,readonly",
      "source=/dev/null,destination=/ws/.env,readonly",
      "source=/home/me/.npm,destination=/home/me/.npm",
      "source=/ws/.git/hooks,destination=/ws/.git/hooks,readonly",
      "source=/own/cache,destination=/home/me/.cache",
      "source=/home/me/.cache/pip,destination=/home/me/.cache/pip",
    ]);
  });

  Deno.test(`${program} starts a new container without network, privileges or pulling for each command`, () => {
    const words = wordsOf(program, false);
    assertEquals(words.slice(0, 4), ["reasonix", `/usr/bin/${program}`, "reasonix", "/ws/.git/commondir"]);
    for (
      const word of [
        "--rm",
        "--read-only",
        "--pull=never",
        "--network=none",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--user=1000:1000",
        "--entrypoint=/bin/sh",
        "--workdir=/ws/src",
        "--env=HOME=/home/me",
        "--env=CI",
        "--env=VIRTUAL_ENV",
      ]
    ) {
      assert(words.includes(word), word);
    }
    assert(words.some((word) => word.startsWith("--tmpfs=/home/me:")), "no home");
    assert(!words.some((word) => /PATH|JAVA|SSH/.test(word) && word.startsWith("--env")), words.join(" "));
    const nested = "\n/ws/read\t/ws\n/ws/.git\t/ws\n/ws/.git/hooks\t/ws/.git\n";
    assertEquals(words.slice(words.indexOf("debian:12") + 3), ["sh", nested, program, "bash", "-c", "make"]);
    assert(wordsOf(program, false, { network: "open" }).includes("--network=host"));
  });

  Deno.test(`${program} runs a command in the persistent container of the project, whose mounts have a mark`, () => {
    const words = wordsOf(program, true);
    const [, , name = "", , , image, mark, create = ""] = words;
    assertMatch(name, /^reasonix-[0-9a-f]{12}$/);
    assertEquals(image, "debian:12");
    assertMatch(create, new RegExp(`'--name=${name}' .*'--label=reasonix.plan=${mark}' .*'--pull=never'`));
    assert(!create.includes("'--read-only'") && !create.includes("'--rm'"), create);
    assertEquals(words.slice(words.lastIndexOf(name) + 1).slice(0, 2), ["/bin/sh", "-c"]);
    assert(wordsOf(program, true, { readable: [] })[6] !== mark, "another plan has the same mark");
    // Where files must not change there is no project of a kept container.
    const { project: _none, ...reading } = PLAN;
    const fresh = containerBackend({ program, image: "debian:12", kept: true }).wrap({
      argv: ["ls"],
      cwd: "/ws",
      env: {},
      plan: reading,
      probe: { works: true },
    });
    assert(fresh.args.includes("--rm"), fresh.args.join(" "));
  });
}

Deno.test("a path with commas and quotes is one field of a mount", () => {
  const words = wordsOf("podman", false, { writable: [place('/a,b"c')] });
  assert(
    words.includes('--mount=type=bind,"source=/a,b""c","destination=/a,b""c"'),
    mountsOf(words).join(" "),
  );
});

Deno.test("a container error counts as a setup failure, and the same output of a command does not", () => {
  const message = { output: "Error: x: image not known\n", exitCode: 125 };
  assertEquals(looksJailDenied(message, { backend: "podman", network: "none" })?.kind, "setup");
  assertEquals(
    looksJailDenied({ ...message, exitCode: 1 }, { backend: "podman", network: "none" }),
    undefined,
  );
  assertEquals(looksJailDenied(message, { backend: "bubblewrap", network: "none" }), undefined);
});

sandboxTest("no command runs without its container, for any value of [sandbox] bash", async (g) => {
  const container = { program: "docker", image: "reasonix-no-such-image:1", kept: false } as const;
  for (const mode of ["auto", "enforce"] as const) {
    const cacheDir = `${g.base}/cache`;
    const error = await assertRejects(() =>
      createJail({ mode, roots: [g.ws], home: g.home, network: "none", container, cacheDir })
    );
    const reason =
      /docker is not installed|daemon does not answer; start it|is not here; get it: docker pull/;
    assertMatch(String(error), /Cannot run commands in a container as \[sandbox\] backend = "docker" asks: /);
    assertMatch(String(error), reason);
    await assertRejects(
      () => expectedSandbox({ mode, network: "none", container, cacheDir }),
      Error,
      "backend",
    );
  }
});

async function jailOf(g: SandboxDirs, kept: boolean, more: Parameters<typeof sandboxJail>[1] = {}) {
  await containerStore();
  await Deno.mkdir(`${g.base}/tmp`, { recursive: true });
  const container = { program: "podman", image: IMAGE, kept } as const;
  return await sandboxJail(g, { container, privateTmp: `${g.base}/tmp`, ...more });
}

async function until(done: () => Promise<boolean> | boolean): Promise<void> {
  while (!await done()) await new Promise((resolve) => setTimeout(resolve, 20));
}

const exists = (path: string) => Deno.stat(path).then(() => true, () => false);

for (const kept of [false, true]) {
  const kind = kept ? "a kept container" : "a new container";

  sandboxTest(
    contained(`a command in ${kind} works in the workspace and sees no other files of the machine`),
    async (g) => {
      const secret = `${g.ws}/keys`;
      await Deno.mkdir(secret);
      await Deno.writeTextFile(`${secret}/key`, "hidden-key");
      await Deno.writeTextFile(`${g.ws}/.env`, "hidden-key");
      const jail = await jailOf(g, kept, { forbidRead: [secret], denyRead: [`/${g.ws}/.env`] });
      const line = "pwd; cat a.ts; echo new > b.ts; echo kept > /tmp/mark; echo err >&2; exit 7";
      assertEquals(await sh(jail, `${g.ws}/src`, line), {
        code: 7,
        stdout: `${g.ws}/src\ninside`,
        stderr: "err\n",
      });
      assertEquals(await Deno.readTextFile(`${g.ws}/src/b.ts`), "new\n");
      assertEquals(await Deno.readTextFile(`${g.base}/tmp/mark`), "kept\n");
      const look = await sh(jail, g.ws, `cat keys/key .env ${g.outside}/secret.txt ${g.home}/.env; ls keys`);
      assertEquals(look.stdout, "");
      const wrap: typeof jail.wrap = (argv, { cwd }) =>
        jail.wrap(argv, { cwd, env: { TRACEPARENT: "00-1" } });
      const { stdout } = await sh({ wrap }, g.ws, "id -u; echo $TRACEPARENT; kill -9 $$");
      assertEquals(stdout, `${Deno.uid()}\n00-1\n`);
      assertEquals((await sh(jail, g.ws, "no-such-program")).code, 127);
      assertEquals((await sh(jail, g.ws, "chroot / true")).code, 125);
    },
  );

  sandboxTest(
    contained(`processes of a command in ${kind} end with it, also when it is stopped`),
    async (g) => {
      const jail = await jailOf(g, kept);
      // Each process that is left would write again.
      const writer = (file: string) => `while :; do echo x >> ${file}; sleep 0.02; done`;
      await sh(jail, g.ws, `(setsid bash -c '${writer("left")}' &) ; while [ ! -e left ]; do :; done`);
      const plan = jail.wrap(
        ["/bin/bash", "-c", `(setsid bash -c '${writer("far")}' &); ${writer("near")}`],
        {
          cwd: g.ws,
        },
      );
      const child = new ShellProcess(plan, { cwd: g.ws, onOutput: () => {} });
      await until(async () => await exists(`${g.ws}/far`) && await exists(`${g.ws}/near`));
      await child.kill();
      assert((await child.ended).code !== 0);
      // The container ends a moment after the programs outside of it.
      await until(async () => {
        const sizes = () => Promise.all(["left", "far", "near"].map((name) => Deno.stat(`${g.ws}/${name}`)));
        const before = (await sizes()).map(({ size }) => size);
        await new Promise((resolve) => setTimeout(resolve, 200));
        return (await sizes()).every(({ size }, index) => size === before[index]);
      });
      if (!kept) assertEquals(await podman("ps", "-aq"), "");
    },
  );

  sandboxTest(contained(`a command in ${kind} gets a signal to terminate before it is killed`), async (g) => {
    const jail = await jailOf(g, kept);
    const line = "trap 'echo asked > asked; exit 3' TERM; touch ready; while :; do sleep 0.02; done";
    const plan = jail.wrap(["/bin/bash", "-c", line], { cwd: g.ws });
    const child = new ShellProcess(plan, { cwd: g.ws, onOutput: () => {} });
    await until(() => exists(`${g.ws}/ready`));
    await child.kill(20_000);
    assertEquals((await child.ended).code, 3);
    assertEquals(await Deno.readTextFile(`${g.ws}/asked`), "asked\n");
  });

  sandboxTest(contained(`a command in ${kind} reaches the listed hosts and no others`), async (g) => {
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      () => new Response("reached\n"),
    );
    const host = `127.0.0.1:${server.addr.port}`;
    await Deno.mkdir(`${g.base}/tmp`);
    await using proxy = await startFilterProxy({
      hosts: [host],
      listen: { socket: `${kept ? `${g.base}/tmp` : g.base}/proxy.sock` },
    });
    const jail = await jailOf(g, kept, { network: "filtered", proxy: proxy.address });
    const get = (target: string) =>
      sh(
        jail,
        g.ws,
        `exec 3<>/dev/tcp/\${HTTP_PROXY#http://127.0.0.1:}; exec 3<>/dev/tcp/127.0.0.1/3128; ` +
          `printf 'GET http://${target}/ HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`,
      );
    assertMatch((await get(host)).stdout, /reached/);
    assertMatch((await get("example.org:80")).stdout, /not listed/);
    const direct = await sh(jail, g.ws, `exec 3<>/dev/tcp/127.0.0.1/${server.addr.port}`);
    assertEquals(direct.code, 1);
  });
}

sandboxTest(contained("a link that replaces a mounted directory leads nowhere"), async (g) => {
  await Deno.mkdir(`${g.ws}/a b/.vscode`, { recursive: true });
  await Deno.writeTextFile(`${g.ws}/a b/.vscode/tasks.json`, "{}");
  const jail = await jailOf(g, false, { forbidRead: [`${g.ws}/a b/.vscode`] });
  assertEquals((await sh(jail, g.ws, "echo fine")).stdout, "fine\n");
  const plan = jail.wrap(["/bin/bash", "-c", "cat 'a b/secret.txt'; echo ran"], { cwd: g.ws });
  await Deno.rename(`${g.ws}/a b`, `${g.ws}/c`);
  await Deno.mkdir(`${g.outside}/.vscode`);
  await Deno.symlink(g.outside, `${g.ws}/a b`);
  const { code, stdout, stderr } = await new Deno.Command(plan.command, {
    args: [...plan.args],
    env: plan.env,
    clearEnv: true,
  }).output();
  assertEquals([code, new TextDecoder().decode(stdout)], [125, ""]);
  assert(jail.failedToBegin(new TextDecoder().decode(stderr)), new TextDecoder().decode(stderr));
});

sandboxTest(
  contained(
    "hosts allowed for commands of a persistent container do not restart it or affect other commands",
  ),
  async (g) => {
    const jail = await jailOf(g, true);
    const job = sh(jail, g.ws, "touch job; while [ ! -e done ]; do sleep 0.05; done; echo survived");
    await until(() => exists(`${g.ws}/job`));
    const ask = async (jail: Jail, host: string, after = "") =>
      await sh(
        jail,
        g.ws,
        `exec 3<>/dev/tcp/127.0.0.1/\${HTTP_PROXY##*:}; ` +
          `printf 'GET http://${host}/ HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3; ${after}`,
      );
    const opened = async (name: string) => {
      const socket = `${g.base}/tmp/${name}.sock`;
      const proxy = await startFilterProxy({ hosts: [`${name}.invalid`], listen: { socket } });
      return { proxy, jail: await jail.withNetwork({ network: "filtered", proxy: proxy.address }) };
    };
    const [a, b] = [await opened("a"), await opened("b")];
    await using _a = a.proxy;
    await using _b = b.proxy;
    const first = ask(a.jail, "b.invalid", "touch first; while [ ! -e done ]; do sleep 0.05; done");
    await until(() => exists(`${g.ws}/first`));
    const second = await ask(b.jail, "b.invalid");
    await Deno.writeTextFile(`${g.ws}/done`, "");
    assertMatch((await first).stdout, /b\.invalid:80 is not listed/);
    assert(!second.stdout.includes("is not listed"), second.stdout);
    assertMatch(second.stdout, /^HTTP/);
    assertEquals((await job).stdout, "survived\n");
  },
);

sandboxTest(
  contained("a new container discards changes of the image, a persistent one keeps them"),
  async (g) => {
    const fresh = await jailOf(g, false);
    assertMatch((await sh(fresh, g.ws, "echo x > /opt/mark")).stderr, /Read-only file system/);
    const jail = await jailOf(g, true);
    assertEquals((await sh(jail, g.ws, "echo kept > /opt/mark")).code, 0);
    assertEquals((await sh(jail, g.ws, "cat /opt/mark")).stdout, "kept\n");
    // A new protected path changes the mounts: the container is made again from its own files.
    await Deno.mkdir(`${g.ws}/.vscode`);
    await Deno.writeTextFile(`${g.ws}/.vscode/tasks.json`, "{}");
    assertEquals((await sh(jail, g.ws, "cat /opt/mark")).stdout, "kept\n");
    assertMatch((await sh(jail, g.ws, "echo x > .vscode/tasks.json")).stderr, /Read-only file system/);
    const reading = await sh(jail.readOnly(), g.ws, "cat src/a.ts /opt/mark; echo x > src/a.ts");
    assertEquals([reading.code, reading.stdout], [1, "inside"]);
  },
);

sandboxTest(
  contained("a missing image is reported with the command that pulls it"),
  async (g) => {
    await containerStore();
    const container = { program: "podman", image: "localhost/no-such:1", kept: false } as const;
    const error = await assertRejects(() => sandboxJail(g, { container }));
    assertMatch(String(error), /localhost\/no-such:1 is not here; get it: podman pull localhost\/no-such:1/);
    const unnamed = await assertRejects(() => sandboxJail(g, { container: { ...container, image: "" } }));
    assertMatch(String(unnamed), /\[sandbox\] image names no image/);
  },
);
