import { seatbelt } from "../../../../src/sandbox/jail/backends/seatbelt.ts";
import type { JailPlan } from "../../../../src/sandbox/jail/backend.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";

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
