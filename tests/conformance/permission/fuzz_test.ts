import { assert, assertEquals } from "../../support/assert.ts";
import { type Line, makeLines, randomFrom } from "./fuzz_lines.ts";
import { bash, scene } from "../../unit/permission/scene.ts";

const SEED = Number(Deno.env.get("FUZZ_SEED") ?? 20260101);
const COUNT = Number(Deno.env.get("FUZZ_COUNT") ?? 1000);
const WORKERS = 4;

/**
 * A folder in which a real shell runs one line with a fake `zap` that notes when it is started. Each line has its own, so
 * that what an earlier line left running is not taken for a later one's.
 */
async function harness(root: string, id: number) {
  const cwd = `${root}/${id}`;
  await Deno.mkdir(`${cwd}/bin`, { recursive: true });
  await Deno.writeTextFile(`${cwd}/bin/zap`, `#!/bin/sh\necho ran > ${cwd}/started\n`, { mode: 0o755 });
  const env = { BIN: `${cwd}/bin`, PATH: `${cwd}/bin:/usr/bin:/bin`, HOME: cwd, FUNCNEST: "40", LC_ALL: "C" };
  /** Whether the line started `zap`. */
  const runs = async (line: string): Promise<boolean> => {
    const child = new Deno.Command("timeout", {
      args: ["-s", "KILL", "10", "bash", "-c", line],
      cwd,
      env,
      clearEnv: true,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await child.status;
    return await Deno.stat(`${cwd}/started`).then(() => true, () => false);
  };
  return { cwd, env, runs };
}

interface Tally {
  ran: number;
  refusedLive: number;
  wrong: string[];
}

async function work(root: string, lines: readonly (readonly [number, Line])[], tally: Tally): Promise<void> {
  for (const [id, line] of lines) {
    const { cwd, env, runs } = await harness(root, id);
    const { gate } = scene(cwd, { allow: ["Bash"], deny: ["Bash(zap:*)"] }, { posture: "yolo", env });
    const allowed = (await gate.check(bash(line.text), new AbortController().signal)).decision === "allow";
    if (line.kind === "text" && !allowed) tally.wrong.push(`refused text: ${JSON.stringify(line.text)}`);
    // Of what was refused only every third is run, to see that most of it really was dangerous.
    if (!allowed && (line.kind !== "live" || line.text.length % 3 > 0)) continue;
    const ran = await runs(line.text);
    if (allowed && ran) tally.wrong.push(`allowed, and it ran: ${JSON.stringify(line.text)}`);
    if (!allowed) {
      tally.refusedLive++;
      if (ran) tally.ran++;
    }
  }
}

Deno.test({
  name: "the gate never allows a line that really runs a denied command, and lets its text pass",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const root = await Deno.realPath(await Deno.makeTempDir());
    const tally: Tally = { ran: 0, refusedLive: 0, wrong: [] };
    try {
      const lines = [...makeLines(COUNT, randomFrom(SEED)).entries()];
      const share = (worker: number) => lines.filter(([id]) => id % WORKERS === worker);
      await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(root, share(worker), tally)));
    } finally {
      await Deno.remove(root, { recursive: true });
    }
    assertEquals(tally.wrong, []);
    assert(
      tally.ran > tally.refusedLive / 2,
      `only ${tally.ran} of ${tally.refusedLive} refused lines were dangerous`,
    );
  },
});
