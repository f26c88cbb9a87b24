/**
 * The environment of a command outside of the workspace: sockets of the user's programs, caches, inherited
 * descriptors, directories of PATH.
 */
import type { Fixture } from "../conformance/sandbox/fixture.ts";
import { assertEquals } from "../support/assert.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { type Attempt, bash, exists, textOf } from "../conformance/sandbox/attacks.ts";
import { ALL_ALLOWED, JAILED, play, through, UNJAILED } from "./attack_lab.ts";

const PLACES = [
  ".cache/prompt.zsh",
  ".cache/editor/luac/init",
  ".cache/ms-playwright/chrome",
  ".npm/_npx/a/run",
  ".cargo/bin/tool",
  "go/pkg/mod/golang.org/toolchain@v0.0.1/bin/go",
  "tools/tool",
];
const SOCKETS = [".ssh/control", ".gnupg/S.scdaemon"];

async function furnish(s: Fixture): Promise<void> {
  for (const name of PLACES) {
    const path = `${s.userHome}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, "");
  }
  await Deno.mkdir(`${s.userHome}/.gnupg`, { recursive: true });
}

const poisons = (name: string): Attempt => ({
  name,
  calls: [bash(`echo pwned > {user}/${name}`)],
  prepare: furnish,
  succeeded: async (s) => (await textOf(`${s.userHome}/${name}`)).includes("pwned"),
});

const open: Deno.Listener[] = [];
const connects = (name: string): Attempt => ({
  name,
  calls: [bash(`[ -S {user}/${name} ] && echo SEEN`)],
  prepare: async (s) => {
    await furnish(s);
    if (!await exists(`${s.userHome}/${name}`)) {
      open.push(Deno.listen({ transport: "unix", path: `${s.userHome}/${name}` }));
    }
  },
  succeeded: (_s, { stdout }) => stdout.includes("SEEN"),
});

const ATTEMPTS: readonly Attempt[] = [
  ...PLACES.map(poisons),
  ...SOCKETS.map(connects),
];

async function attempt(config: (s: Fixture) => string): Promise<string[]> {
  try {
    const run = await play(ATTEMPTS, {
      config,
      prepare: furnish,
      args: ALL_ALLOWED,
    });
    assertEquals(run.played.length, ATTEMPTS.length, run.done.stderr);
    return through([run]).map((text) => text.split(":")[0] ?? "");
  } finally {
    for (const listener of open.splice(0)) listener.close();
  }
}

Deno.test({
  ...jailed("commands change no programs of the user and reach no service of the user"),
  fn: async () => assertEquals(await attempt(JAILED), []),
});

Deno.test({
  ...jailed("the same attempts get through without a jail"),
  fn: async () => assertEquals(await attempt(UNJAILED), ATTEMPTS.map(({ name }) => name)),
});
