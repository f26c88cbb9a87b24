import type { PermissionGate } from "../../../src/permission/mod.ts";
import { bash, scene } from "../../unit/permission/scene.ts";

/** A directory in which a real shell runs one line with a fake `zap` that records its start. */
export interface Harness {
  /** A headless gate in yolo that allows everything except `zap`. */
  readonly gate: PermissionGate;
  allows(line: string): Promise<boolean>;
  /** Returns whether the line started `zap`. */
  runs(line: string): Promise<boolean>;
}

/**
 * Each line has a separate directory, so that a background process of an earlier line does not count for a
 * later one.
 */
export async function harness(root: string, id: number): Promise<Harness> {
  const cwd = `${root}/${id}`;
  await Deno.mkdir(`${cwd}/bin`, { recursive: true });
  await Deno.writeTextFile(`${cwd}/bin/zap`, `#!/bin/sh\necho ran > ${cwd}/started\n`, { mode: 0o755 });
  const env = { BIN: `${cwd}/bin`, PATH: `${cwd}/bin:/usr/bin:/bin`, HOME: cwd, FUNCNEST: "40", LC_ALL: "C" };
  const { gate } = scene(cwd, { allow: ["Bash"], deny: ["Bash(zap:*)"] }, {
    approvalMode: "yolo",
    env: () => env,
  });
  return {
    gate,
    allows: async (line) => (await gate.check(bash(line), new AbortController().signal)).decision === "allow",
    runs: async (line) => {
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
    },
  };
}
