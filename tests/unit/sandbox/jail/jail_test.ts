import { ReasonixError } from "../../../../src/core/mod.ts";
import type { Backend, ProbeResult } from "../../../../src/sandbox/jail/backend.ts";
import { bubblewrap } from "../../../../src/sandbox/jail/backends/bubblewrap.ts";
import { createJail, expectedSandbox, runForwarder, startFilterProxy } from "../../../../src/sandbox/mod.ts";
import { describeConfinement } from "../../../../src/sandbox/jail/confinement.ts";
import { probeCached, rememberedProbe } from "../../../../src/sandbox/jail/expected_sandbox.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { jailed, sandboxJail, sh } from "./jail_support.ts";
import { type SandboxDirs, sandboxDirs, sandboxTest } from "../support.ts";

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
