import { seatbelt, seatbeltProfile } from "../../../../src/sandbox/command/backends/seatbelt.ts";
import type { JailPlan } from "../../../../src/sandbox/command/backend.ts";
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

Deno.test("seatbeltProfile writes exactly the reviewed profile", async () => {
  const golden = await Deno.readTextFile(new URL("./seatbelt_profile.sb", import.meta.url));
  assertEquals(seatbeltProfile(PLAN), golden);
});

Deno.test("seatbeltProfile refuses to write what is only shown, but not to what is writable in it", () => {
  const readable = [{ path: "/Users/me", directory: true }, { path: "/private/tmp/ws", directory: true }];
  assertStringIncludes(
    seatbeltProfile({ ...PLAN, writable: [{ path: "/Users/me/.npm", directory: true }], readable }),
    [
      '  (subpath "/Users/me/.npm")\n)',
      '(deny file-write*\n  (subpath "/Users/me")\n  (subpath "/private/tmp/ws")\n)',
      '(allow file-write*\n  (subpath "/Users/me/.npm")\n)\n(deny file-write*',
    ].join("\n"),
  );
});

Deno.test("seatbeltProfile opens the network as far as asked", () => {
  assertStringIncludes(seatbeltProfile({ ...PLAN, network: "open" }), "(deny network*)\n(allow network*)\n");
  const filtered = seatbeltProfile({ ...PLAN, network: "filtered", proxy: { port: 4711 } });
  assertStringIncludes(filtered, '(deny network*)\n(allow network-outbound (remote ip "localhost:4711"))\n');
  assert(!seatbeltProfile(PLAN).includes("(allow network"));
});

Deno.test("seatbeltProfile keeps a path from ending its string", () => {
  const path = '/Users/me/a") (allow file-write* (subpath "/';
  const profile = seatbeltProfile({ ...PLAN, writable: [{ path, directory: true }] });
  assertStringIncludes(profile, String.raw`(subpath "/Users/me/a\") (allow file-write* (subpath \"/")`);
});

Deno.test("the seatbelt backend puts the profile before the command and the proxy into its environment", () => {
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

Deno.test("the seatbelt probe runs a whole profile", { ignore: Deno.build.os !== "darwin" }, async () => {
  const result = await seatbelt.probe();
  assertEquals(result.detail, undefined);
  assert(result.works);
});
