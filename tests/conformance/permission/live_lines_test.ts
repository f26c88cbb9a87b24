import { assert, assertEquals } from "../../support/assert.ts";
import { harness } from "./harness.ts";
import { jailed } from "../../unit/sandbox/jail/jail_support.ts";
import { recordAll, RecordingJail } from "./recording_jail.ts";
import { readCorpus } from "../../support/corpus.ts";
import text from "./zap_lines.txt" with { type: "text" };
import { removeTree } from "../../support/remove_tree.ts";

/**
 * `LIVE` lines run `zap` (also `$BIN/zap`, `bin/zap`) in the shell of the harness, each in a separate way.
 * `TEXT` lines have `zap` only as a word, or harmless settings and options.
 */
const { "run it": LIVE = [], "only name it": TEXT = [] } = readCorpus(text);

/** Programs that may not be installed; a line that names one cannot run without it. */
const NEEDED =
  "cmake dash dpkg ed ex gcc git less make mawk node perl python3 python3.11 rbash ruby scp script sftp ssh vim"
    .split(" ");

async function inDirectory(work: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    await work(root);
  } finally {
    await removeTree(root);
  }
}

const posix = { ignore: Deno.build.os === "windows" };

Deno.test({
  name: "the gate denies every line that is known to run a denied command",
  ...posix,
  fn: () =>
    inDirectory(async (root) => {
      const { allows } = await harness(root, 0);
      const allowed: string[] = [];
      for (const line of LIVE) if (await allows(line)) allowed.push(line);
      assertEquals(allowed, []);
      assert(LIVE.length >= 150, String(LIVE.length));
      assertEquals(new Set(LIVE).size, LIVE.length);
    }),
});

Deno.test({
  name: "the gate allows every line in which a denied command is only a word",
  ...posix,
  fn: () =>
    inDirectory(async (root) => {
      const { allows } = await harness(root, 0);
      const refused: string[] = [];
      for (const line of TEXT) if (!await allows(line)) refused.push(line);
      assertEquals(refused, []);
    }),
});

Deno.test({
  ...jailed("every refused line really runs the command, so that refusing it is no accident"),
  fn: () =>
    inDirectory(async (root) => {
      const [seed, tree] = [`${root}/seed`, `${root}/tree`];
      await Deno.mkdir(`${seed}/bin`, { recursive: true });
      const zap = `#!/bin/sh\necho ran > ${tree}/started\n`;
      await Deno.writeTextFile(`${seed}/bin/zap`, zap, { mode: 0o755 });
      const git = new Deno.Command("bash", { args: ["-c", REPOSITORY], cwd: seed, env: { HOME: seed } });
      assertEquals((await git.output()).code, 0);
      const env = {
        BIN: `${tree}/bin`,
        PATH: `${tree}/bin:/usr/bin:/bin`,
        HOME: tree,
        FUNCNEST: "40",
        LC_ALL: "C",
      };
      const jail = await RecordingJail.create({ seed, tree, env }, `${root}/jail`);
      const recorded = await recordAll(jail, LIVE);
      const idle = LIVE.filter((line) => !recorded.get(line)?.changed.includes("started"));
      assertEquals(idle, LIVE.filter(missingFor));
      assert(idle.length < LIVE.length / 4, `${idle.length} of ${LIVE.length} lines cannot run here`);
    }),
});

for (const line of LIVE) {
  const missing = missingFor(line);
  if (missing === undefined) continue;
  const name = `the refused line ${JSON.stringify(line)} really runs the command`;
  Deno.test({ name: `${name} [skipped: ${missing} is not installed]`, ignore: true, fn: () => {} });
}

/** The program that a line needs and this machine lacks. */
function missingFor(line: string): string | undefined {
  return NEEDED.find((name) =>
    new RegExp(`(?<![\\w.])${name}(?![\\w.])`).test(line) && !isThere(`/usr/bin/${name}`)
  );
}

const REPOSITORY = "git init -q -b main . && for each in 1 2 3; do " +
  "git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m $each || exit 1; done";

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
