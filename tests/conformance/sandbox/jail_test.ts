import { createJail, type Jail, type JailOptions } from "../../../src/sandbox/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED, soakSize } from "../../support/seed.ts";
import { contained, containerStore, IMAGE } from "../../support/containers.ts";
import { jailed, sh } from "../../unit/sandbox/jail/jail_support.ts";
import { type Fixture, makeFixture } from "./fixture.ts";
import { SHELL_ATTACKS } from "./attacks.ts";

function jailOf(
  s: Fixture,
  mode: "enforce" | "off",
  container?: JailOptions["container"],
): Promise<Jail> {
  return createJail({
    mode,
    ...(container === undefined ? {} : { container }),
    roots: [s.g.ws],
    forbidRead: [s.vault],
    home: s.g.home,
    userHome: s.userHome,
    network: "none",
    cacheDir: `${s.g.home}/cache`,
  });
}

Deno.test("the attack table has no duplicates", () => {
  const lines = SHELL_ATTACKS.map((attack) => attack.line);
  assertEquals(new Set(lines).size, lines.length);
  assert(lines.length >= 60);
});

for (const attack of SHELL_ATTACKS) {
  Deno.test({
    ...jailed(`the jail alone stops: ${attack.name}`),
    fn: async () => {
      if (!attack.unproven) {
        await using open = await makeFixture();
        const outcome = await sh(await jailOf(open, "off"), open.g.ws, open.fill(attack.line));
        assert(
          await attack.succeeded(open, outcome),
          `The attempt does nothing without a jail: ${outcome.stderr}`,
        );
      }
      await using s = await makeFixture();
      const outcome = await sh(await jailOf(s, "enforce"), s.g.ws, s.fill(attack.line));
      assert(!await attack.succeeded(s, outcome), `The attempt succeeded: ${outcome.stdout}`);
      assert(!outcome.stderr.startsWith("bwrap:"), outcome.stderr);
    },
  });
}

/** A container starts in half a second, so that a run uses every eighth attack, offset by its seed. */
const CONTAINED = SHELL_ATTACKS.filter((_, at) => (at + Math.abs(SEED)) % soakSize(1, 8) === 0);

for (const attack of CONTAINED) {
  Deno.test({
    ...contained(`the container alone stops: ${attack.name}`),
    fn: async () => {
      await containerStore();
      await using s = await makeFixture();
      const jail = await jailOf(s, "enforce", { program: "podman", image: IMAGE, kept: false });
      const outcome = await sh(jail, s.g.ws, s.fill(attack.line));
      assert(!await attack.succeeded(s, outcome), `The attempt succeeded: ${outcome.stdout}`);
      assert(!outcome.stderr.startsWith("Error:"), outcome.stderr);
    },
  });
}
