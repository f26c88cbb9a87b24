import type { EnvLookup } from "../config/mod.ts";

/** Operating system and processor, as the model is told of them. */
export const PLATFORM = `${Deno.build.os} ${Deno.build.arch}`;

/** The place where a run works. All paths are absolute and real. */
export interface RunPaths {
  readonly cwd: string;
  /** Reasonix home. */
  readonly home: string;
  readonly env: EnvLookup;
}
