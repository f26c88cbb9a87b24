import { buildAccessScope } from "../../../src/run/access/access_scope.ts";
import { fillDefaults } from "../../../src/config/load/defaults.ts";
import type { Config } from "../../../src/config/mod.ts";
import { assertEquals, assertMatch } from "../../support/assert.ts";

function config(bash: Config["sandbox"]["bash"], writes: Config["tools"]["writes"]): Config {
  return fillDefaults({ sandbox: { bash }, tools: { writes } });
}

/** The access of a run with this configuration in an empty directory. */
function accessOf(config: Config, mode?: Parameters<typeof buildAccessScope>[2]) {
  const { full, notice } = buildAccessScope({ cwd: "/w", home: "/h", env: () => undefined }, config, mode);
  return { full, ...(notice === undefined ? {} : { notice }) };
}

Deno.test("buildAccessScope is full only in danger-full-access, and reports it", () => {
  for (const mode of [undefined, "read-only", "workspace-write", "plan"] as const) {
    assertEquals(accessOf(config("off", "allow"), mode), { full: false });
  }
  for (const bash of ["auto", "off"] as const) {
    const { full, notice } = accessOf(config(bash, "allow"), "danger-full-access");
    assertEquals(full, true);
    assertMatch(notice?.text ?? "", /^Commands run unconfined \(--permission-mode danger-full-access\)/);
  }
});

Deno.test("buildAccessScope keeps stricter settings and names them", () => {
  const enforced = accessOf(config("enforce", "allow"), "danger-full-access");
  assertEquals(enforced.full, false);
  assertMatch(enforced.notice?.text ?? "", /stay confined .* because of \[sandbox\] bash = "enforce"$/);
  const kept = accessOf(config("auto", "dry-run"), "danger-full-access");
  assertEquals(kept.full, false);
  assertMatch(kept.notice?.text ?? "", /because of \[tools\] writes = "dry-run"$/);
});
