import { type Attempt, PROGRAM_ATTACKS, SHELL_ATTACKS } from "../conformance/sandbox/attacks.ts";
import { KEY, SECRET } from "../conformance/sandbox/fixture.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { playAll, type Run, through } from "./attack_lab.ts";

/** The compile cache is in the home of the fixture, where an attempt can access it. */
const OWN_CACHE = { DENO_DIR: "" };

/**
 * Checks that no secret, in any encoding, is in a request, on the screen or in a file.
 */
function assertNoLeak(runs: readonly Run[]): void {
  const shapes = [SECRET, KEY].flatMap((
    text,
  ) => [text, btoa(text).slice(0, 16), [...text].reverse().join("")]);
  for (const { sent, done, kept } of runs) {
    for (const text of [...sent, done.stdout, done.stderr, kept]) {
      for (const shape of shapes) assert(!text.includes(shape), `${shape} in ${text.slice(-2000)}`);
    }
  }
}

Deno.test({
  ...jailed("no shell attempt of the conformance table gets through the program with the jail on"),
  fn: async () => {
    const runs = await playAll(SHELL_ATTACKS, { env: OWN_CACHE, each: 60 });
    assertEquals(through(runs), []);
    assertEquals(runs.flatMap((run) => run.played).length, SHELL_ATTACKS.length);
    for (const { done } of runs) assertEquals([done.code, done.stdout], [0, "done\n"], done.stderr);
    assertNoLeak(runs);
  },
});

Deno.test({
  ...jailed("no further shell attempt gets through the program with the jail on"),
  fn: async () => {
    const runs = await playAll(PROGRAM_ATTACKS, { each: 60 });
    assertEquals(through(runs), []);
    assertEquals(runs.flatMap((run) => run.played).length, PROGRAM_ATTACKS.length);
    for (const { done } of runs) assertEquals([done.code, done.stdout], [0, "done\n"], done.stderr);
    assertNoLeak(runs);
  },
});

/** Programs that attempts use and that a machine may not have. */
const MISSING = ["python3", "perl", "zip", "unzip", "xxd", "curl", "patch", "nsenter"].filter((name) =>
  !(Deno.env.get("PATH") ?? "").split(":").some((directory) => {
    try {
      return Deno.statSync(`${directory}/${name}`).isFile;
    } catch {
      return false;
    }
  })
);

/** Returns the requirements of an attempt that this machine lacks. */
function missingFor({ calls }: Attempt): string | undefined {
  const lines = JSON.stringify(calls);
  return MISSING.find((name) => new RegExp(`\\b${name} `).test(lines));
}

const PROVABLE = PROGRAM_ATTACKS.filter((attempt) => attempt.unproven === undefined);

Deno.test({
  ...jailed("the further shell attempts get through without a jail"),
  fn: async () => {
    const real = PROVABLE.filter((attempt) => missingFor(attempt) === undefined);
    const runs = await playAll(real, { config: () => '[sandbox]\nbash = "off"\n' });
    const idle = runs.flatMap((run) => run.played).filter((one) => !one.through);
    assertEquals(idle.map((one) => `${one.name}: ${one.results.join(" | ")}`), []);
    assert(real.length >= (MISSING.length === 0 ? 45 : 25), String(real.length));
  },
});

for (const attempt of PROVABLE) {
  const missing = missingFor(attempt);
  if (missing === undefined) continue;
  const name = `without a jail "${attempt.name}" gets through [skipped: ${missing} is not installed]`;
  Deno.test({ name, ignore: true, fn: () => {} });
}
