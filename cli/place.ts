import { type EnvLookup, reasonixHome } from "../src/config/mod.ts";
import { ReasonixError } from "../src/core/mod.ts";
import type { CliContext } from "./context.ts";

/** Where a command works. All paths are absolute and real. */
export interface Place {
  readonly cwd: string;
  /** Reasonix home. */
  readonly home: string;
  readonly env: EnvLookup;
}

/** The working directory (or `dir` instead) and the Reasonix home. */
export function workingPlace(context: CliContext, dir?: string): Place {
  const env: EnvLookup = (name) => context.process.env[name];
  let cwd: string;
  try {
    cwd = Deno.realPathSync(dir ?? Deno.cwd());
    if (dir !== undefined && !Deno.statSync(cwd).isDirectory) throw new Deno.errors.NotADirectory();
  } catch (error) {
    throw new ReasonixError(`Cannot work in ${dir ?? "the current folder"}: ${(error as Error).message}`, {
      exit: "usage",
      remedy: "name an existing folder with --dir",
    });
  }
  return { cwd, home: reasonixHome(env, cwd), env };
}
