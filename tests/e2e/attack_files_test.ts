import { assertEquals } from "../support/assert.ts";
import { jailed } from "../unit/sandbox/jail/jail_support.ts";
import { FILE_ATTACKS, PROTECTED_ATTACKS } from "../conformance/sandbox/attacks.ts";
import { playAll, through } from "./attack_lab.ts";

Deno.test({
  ...jailed("no attempt at the file tools gets through the program"),
  fn: async () => {
    const runs = await playAll(FILE_ATTACKS);
    assertEquals(through(runs), []);
    assertEquals(runs.flatMap((run) => run.played).length, FILE_ATTACKS.length);
    for (const { done } of runs) assertEquals([done.code, done.stdout], [0, "done\n"], done.stderr);
  },
});

Deno.test({
  ...jailed("allowed edits write no file that other programs execute"),
  fn: async () => {
    const runs = await playAll(PROTECTED_ATTACKS, {
      args: ["--permission-mode", "workspace-write", "--allowed-tools", "Bash,Edit,Read"],
    });
    assertEquals(through(runs), []);
    assertEquals(runs.flatMap((run) => run.played).length, PROTECTED_ATTACKS.length);
  },
});
