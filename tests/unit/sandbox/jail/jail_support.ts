import { createJail, type Jail, type JailOptions } from "../../../../src/sandbox/mod.ts";
import { needs } from "../../../support/tools.ts";
import type { SandboxDirs } from "../support.ts";

/** The first bubblewrap in the standard locations. */
const BWRAP = ["/usr/bin/bwrap", "/usr/local/bin/bwrap"].find((path) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
});

/** Options of a test that needs the real jail. */
export function jailed(name: string): { name: string; ignore: boolean } {
  return needs("bwrap", Deno.build.os === "linux" && BWRAP !== undefined, name);
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A jail around the sandbox's workspace. */
export function sandboxJail(g: SandboxDirs, options: Partial<JailOptions> = {}): Promise<Jail> {
  return createJail({
    mode: "enforce",
    roots: [g.ws],
    home: g.home,
    userHome: `${g.base}/home`,
    network: "none",
    cacheDir: `${g.base}/cache`,
    ...options,
  });
}

/** Runs a shell line in a jail, after `between`, which happens once the jail is planned. */
export async function sh(
  jail: Pick<Jail, "wrap">,
  cwd: string,
  line: string,
  between: () => unknown = () => {},
): Promise<Outcome> {
  const plan = jail.wrap(["/bin/bash", "-c", line], { cwd });
  await between();
  const { code, stdout, stderr } = await new Deno.Command(plan.command, {
    args: [...plan.args],
    cwd,
    env: plan.env,
    clearEnv: true,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  // Bubblewrap begins again when a path that another program removed meanwhile was gone, and reports that.
  const errors = decoder.decode(stderr).replace(
    /^(?:bwrap: Can't (?:bind mount \/oldroot\/ on|mkdir parents for \S+\.sock:) .*\n)+/,
    "",
  );
  return { code, stdout: decoder.decode(stdout), stderr: errors };
}
