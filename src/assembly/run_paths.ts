import type { EnvLookup } from "../config/mod.ts";

/** The place where a run works. All paths are absolute and real. */
export interface RunPaths {
  readonly cwd: string;
  /** Reasonix home. */
  readonly home: string;
  readonly env: EnvLookup;
}
