import type { RunPaths } from "../../src/assembly/mod.ts";
import { type EnvLookup, reasonixHome } from "../../src/config/mod.ts";
import { errorMessage, ReasonixError } from "../../src/core/mod.ts";
import { isAbsolute } from "../../src/path/lexical.ts";
import type { CliContext } from "./process.ts";

/** The working directory (or `dir` instead) and the Reasonix home. */
export function runPaths(context: CliContext, dir?: string): RunPaths {
  ensureHome();
  const env: EnvLookup = (name) => context.process.env[name];
  const cwd = realDirectory(
    dir ?? ".",
    dir === undefined ? "work in the current directory" : `work in ${dir}`,
  );
  return { cwd, home: reasonixHome(env, cwd), env };
}

/** The real path of a directory. Throws ReasonixError (usage), saying what could not be done with it. */
export function realDirectory(path: string, purpose: string): string {
  try {
    const real = Deno.realPathSync(path);
    if (Deno.statSync(real).isDirectory) return real;
  } catch (error) {
    const missing = error instanceof Deno.errors.NotFound;
    throw unusableDirectory(purpose, missing ? "there is no such directory" : errorMessage(error));
  }
  throw unusableDirectory(purpose, "it is not a directory");
}

function unusableDirectory(purpose: string, reason: string): ReasonixError {
  return new ReasonixError(`Cannot ${purpose}: ${reason}`, {
    exit: "usage",
    remedy: "name an existing directory",
  });
}

/**
 * Services and containers start programs without HOME. Shells then take `~` from the system's list of users;
 * so does this program, in its whole environment, because rules and confinement have to mean the directory
 * that commands mean. A relative HOME would be another directory wherever the program is started, one in the
 * project among them; it counts as none.
 */
function ensureHome(): void {
  const given = Deno.env.get("HOME") || Deno.env.get("USERPROFILE");
  if (given && isAbsolute(given)) return;
  if (given) Deno.env.delete("HOME");
  const home = process.getBuiltinModule("node:os").homedir();
  if (home) Deno.env.set("HOME", home);
}
