/** Endless output of a command in the program: bounded on the disk, with beginning and end kept. */
import { assert, assertStringIncludes } from "../support/assert.ts";
import { bash } from "../conformance/sandbox/attacks.ts";
import { play, UNJAILED } from "./attack_lab.ts";

const MIB = 1024 * 1024;
const FLOOD = "echo begin; yes | head -c 160000000; echo; echo the end";
const posix = { ignore: Deno.build.os === "windows" };

/** Returns the bytes below a directory, and the path of the largest file. */
function sizeBelow(directory: string): { total: number; largest: string; size: number } {
  const sum = { total: 0, largest: "", size: 0 };
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    const path = `${directory}/${name}`;
    const one = isDirectory
      ? sizeBelow(path)
      : { total: Deno.statSync(path).size, largest: path, size: Deno.statSync(path).size };
    sum.total += one.total;
    if (one.size > sum.size) Object.assign(sum, { largest: one.largest, size: one.size });
  }
  return sum;
}

for (const background of [false, true]) {
  const kind = background ? "background" : "foreground";
  Deno.test({
    name: `a ${kind} command that floods its output keeps at most 64 MiB, with beginning and end`,
    ...posix,
    fn: async () => {
      const args = background ? { run_in_background: true } : {};
      const calls = [bash(FLOOD, args)];
      if (background) calls.push({ name: "job_output", args: { job_id: "job-1", wait_seconds: 30 } });
      const attempt = { name: kind, calls, succeeded: () => false };
      await play([attempt], {
        config: UNJAILED,
        after: async ({ g }, { played, done }) => {
          const { largest, size } = sizeBelow(g.home);
          assert(size > 16 * MIB && size <= 64 * MIB, `${largest}: ${size}; ${done.stderr}`);
          const kept = await Deno.readTextFile(largest);
          assert(kept.startsWith("begin\ny\n") && kept.endsWith("\nthe end\n"), kept.slice(-50));
          assertStringIncludes(kept, " bytes left out]\n");
          assertStringIncludes(played[0]?.results.at(-1) ?? "", "the end");
        },
      });
    },
  });
}
