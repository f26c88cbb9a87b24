import { assert, assertEquals } from "../../support/assert.ts";
import { bash, scene } from "../../unit/permission/scene.ts";
import { jailed } from "../../unit/sandbox/jail/jail_support.ts";
import { randomFrom, SEED, soakSize } from "../../support/seed.ts";
import { culprits, READER_ENV } from "./reader_jail.ts";
import { makeReaderLines } from "./reader_lines.ts";
import { removeTree } from "../../support/remove_tree.ts";

const COUNT = soakSize(5000, 400);
const WORKERS = 2;

/** Different lines that the gate classifies as read-only, in a tree at `tree`. */
async function readingLines(tree: string, count: number): Promise<string[]> {
  const home = `${tree}/home`;
  const { gate } = scene(`${tree}/ws`, {}, {
    permissionMode: "read-only",
    onAsk: "deny",
    home,
    env: () => ({ ...READER_ENV, HOME: home }),
  });
  const signal = new AbortController().signal;
  const found = new Set<string>();
  for (const line of makeReaderLines(randomFrom())) {
    if (found.size >= count) break;
    if (!found.has(line) && (await gate.check(bash(line), signal)).decision === "allow") found.add(line);
  }
  return [...found];
}

async function inDirectory<T>(work: (root: string) => Promise<T>): Promise<T> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    return await work(root);
  } finally {
    await removeTree(root);
  }
}

Deno.test({
  ...jailed(`none of ${COUNT} lines that are classified as reading changes anything (seed ${SEED})`),
  fn: () =>
    inDirectory(async (root) => {
      const lines = await readingLines(`${root}/tree`, COUNT);
      const share = (worker: number) => lines.filter((_, i) => i % WORKERS === worker);
      const runs = await Promise.all(
        Array.from({ length: WORKERS }, (_, worker) => culprits(`${root}/${worker}`, share(worker), 50)),
      );
      assertEquals(runs.flatMap((run) => run.wrong), []);
      const succeeded = runs.reduce((sum, run) => sum + run.succeeded, 0);
      assert(succeeded > COUNT / 3, `only ${succeeded} of ${COUNT} lines ended without an error`);
    }),
});

Deno.test({
  ...jailed("the recording jail names each line that changes the tree, and no other"),
  fn: () =>
    inDirectory(async (root) => {
      const writers = [
        "touch a.txt",
        "echo x > out",
        "rm victim",
        "chmod 600 b.txt",
        "cp a.txt ~/copy",
        "git tag new",
        "touch /tmp/new",
      ];
      const readers = [
        "ls",
        "cat a.txt",
        "git log",
        "exit 3",
        "cd src",
        "sleep 9",
        "cat",
        "git show",
      ];
      const lines = readers.flatMap((reader, i) => [reader, ...writers.slice(i, i + 1)]);
      const { wrong, succeeded } = await culprits(root, lines, 4);
      assertEquals(wrong.sort(), [...writers].sort());
      assertEquals(succeeded, lines.length - 2);
    }),
});
