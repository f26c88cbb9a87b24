import type { Fixture } from "../conformance/sandbox/fixture.ts";
import { SHELL_ATTACKS } from "../conformance/sandbox/attacks.ts";
import { assertEquals } from "../support/assert.ts";
import { FILE_ATTACKS } from "../conformance/sandbox/attacks.ts";
import { type Attempt, bash } from "../conformance/sandbox/attacks.ts";
import { ALL_ALLOWED, playAll, type PlayOptions, UNJAILED } from "./attack_lab.ts";
import { PROGRAM_ATTACKS } from "../conformance/sandbox/attacks.ts";
import { DESTRUCTIVE_STOPS, POLICY_LETS_PASS, POLICY_PASSES_FILES } from "./attack_layers.ts";

const ignore = Deno.build.os !== "linux";

const LINES: readonly Attempt[] = [
  ...SHELL_ATTACKS.map(({ name, line }): Attempt => ({ name, calls: [bash(line)], succeeded: () => false })),
  ...PROGRAM_ATTACKS,
];

/** The deny rules of a careful user. */
const DENY_LIST = (s: Fixture): string => {
  const commands =
    "kill pkill mount umount nsenter chroot unshare mknod insmod dmesg date ps ln curl getent strace";
  const rules = [
    ...commands.split(" ").map((command) => `Bash(${command}:*)`),
    "Bash(git config:*)",
    "Bash(git push:*)",
    `Read(${s.vault}/**)`,
    `Read(${s.g.home}/**)`,
    "Read(/proc/**)",
    ...[s.g.outside, s.userHome, "/proc", "/dev"].map((directory) => `Edit(${directory}/**)`),
  ];
  return `[permissions]\ndeny = ${JSON.stringify(rules)}\n`;
};

/** A shell that executes nothing: attempts that pass the layers above it do no harm. */
const deafShell = (s: Fixture): Promise<void> =>
  Deno.writeTextFile(`${s.g.base}/bash`, "#!/bin/sh\necho RAN\n", { mode: 0o755 });
const settings = (s: Fixture): string => `${UNJAILED(s)}[tools.shell]\npath = "${s.g.base}/bash"\n`;

/**
 * Names of the attempts of which a call was refused by the gate, in words that begin so; the others were
 * executed.
 */
async function stopped(
  attempts: readonly Attempt[],
  { words = "blocked", ...options }: PlayOptions & { readonly words?: string },
): Promise<Set<string>> {
  const runs = await playAll(attempts, { ...options, each: 60 });
  const played = runs.flatMap((run) => run.played);
  assertEquals(played.length, attempts.length, runs.map((run) => run.done.stderr).join());
  return new Set(
    played.filter(({ results }) => results.some((text) => text.startsWith(words))).map(({ name }) => name),
  );
}

const names = (attempts: readonly Attempt[], keep: (name: string) => boolean): string[] =>
  attempts.map(({ name }) => name).filter(keep).sort();

Deno.test({
  name: "the destructive-command check alone stops the attempts of the table",
  ignore,
  fn: async () => {
    const words = "blocked: the destructive-command check";
    const found = await stopped(LINES, { args: ALL_ALLOWED, config: settings, prepare: deafShell, words });
    assertEquals(names(LINES, (name) => found.has(name)), [...DESTRUCTIVE_STOPS].sort());
  },
});

Deno.test({
  name: "a deny list alone stops all attempts except those of the table",
  ignore,
  fn: async () => {
    const config = (s: Fixture) => settings(s) + DENY_LIST(s);
    const policy = await stopped(LINES, { args: ALL_ALLOWED, config, prepare: deafShell });
    assertEquals(names(LINES, (name) => !policy.has(name)), [...POLICY_LETS_PASS].sort());
  },
});

Deno.test({
  name: "a deny list stops all file tools except the attempts of the table",
  ignore,
  fn: async () => {
    const config = (s: Fixture) => UNJAILED(s) + DENY_LIST(s);
    const policy = await stopped(FILE_ATTACKS, { args: ALL_ALLOWED, config });
    assertEquals(names(FILE_ATTACKS, (name) => !policy.has(name)), [...POLICY_PASSES_FILES].sort());
  },
});
