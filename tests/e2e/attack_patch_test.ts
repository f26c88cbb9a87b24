/** No form of a patch reaches a file that a rule, a protected path or a mode denies. */
import { assertEquals } from "../support/assert.ts";
import type { Attempt } from "../conformance/sandbox/attacks.ts";
import { Random, SEED, someOf } from "../support/seed.ts";
import { playAll, through, UNJAILED } from "./attack_lab.ts";
import { editAttempts, protectedAttempts, readAttempts } from "./attack_patch.ts";

const ignore = Deno.build.os === "windows";
const DENIED = '[permissions]\ndeny = ["Edit(docs/**)", "Read(private/**)"]\n';
const OPEN = '[permissions]\nmode = "allow"\nallow = ["Edit", "Read"]\n';

const EDITS = editAttempts("docs");
const PROTECTED = protectedAttempts();
const READS = readAttempts("private");
const ALL: readonly Attempt[] = [...EDITS, ...PROTECTED, ...READS];

async function passed(attempts: readonly Attempt[], settings: string, ...args: string[]): Promise<string[]> {
  const runs = await playAll(attempts, { config: (s) => settings + UNJAILED(s), args, each: 150 });
  assertEquals(runs.flatMap((run) => run.played).length, attempts.length, runs[0]?.done.stderr);
  return through(runs);
}

/** Attempts of a mode that asks nothing about names; the rules have all, and `deno task soak` too. */
const random = new Random(SEED);
const some = () => someOf([...EDITS, ...PROTECTED], 80, random);

const MODES: readonly [name: string, attempts: readonly Attempt[], settings: string, args: string[]][] = [
  ["Edit and Read rules headless", ALL, DENIED, ["--permission-mode", "workspace-write"]],
  ["read-only mode", some(), OPEN, ["--permission-mode", "read-only"]],
  ["plan mode", some(), OPEN, ["--permission-mode", "plan"]],
  ["--on-ask deny", some(), "", ["--on-ask", "deny"]],
];

for (const [name, attempts, settings, args] of MODES) {
  Deno.test({
    name: `no form of a patch bypasses ${name}`,
    ignore,
    fn: async () => assertEquals(await passed(attempts, settings, ...args), []),
  });
}

Deno.test({
  name: "every form of a patch works where it is allowed, except on protected paths",
  ignore,
  fn: async () => {
    const found = await passed(EDITS, OPEN, "--permission-mode", "workspace-write");
    const names = found.map((text) => text.split(": ", 1)[0]);
    assertEquals(EDITS.map(({ name }) => name).filter((name) => !names.includes(name)), []);
    assertEquals(await passed(PROTECTED, OPEN, "--permission-mode", "workspace-write"), []);
  },
});
