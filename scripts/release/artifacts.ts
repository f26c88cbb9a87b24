/** The table of a release: the files of its directory, from which every package manager's file is made. */
import { sha256Of } from "../../cli/release/verify.ts";
import { executableName, type Target, TARGETS } from "../compile.ts";

export interface Artifact {
  readonly file: string;
  /** For an executable: the platform that starts it. */
  readonly target?: Target;
  /** In bytes. */
  readonly size: number;
  /** SHA-256 in hex. */
  readonly sha256: string;
}

/** Returns the table of a directory, in order of names. */
export async function artifactsOf(directory: string): Promise<readonly Artifact[]> {
  const files = [...Deno.readDirSync(directory)].filter(({ isFile }) => isFile).map(({ name }) => name)
    .sort();
  return await Promise.all(files.map(async (file): Promise<Artifact> => {
    const bytes = await Deno.readFile(`${directory}/${file}`);
    const target = TARGETS.find((known) => executableName(known) === file);
    return { file, ...(target ? { target } : {}), size: bytes.length, sha256: sha256Of(bytes) };
  }));
}

/** Returns one row of the table. `remedy` says how the file is made. */
export function artifactOf(artifacts: readonly Artifact[], file: string, remedy: string): Artifact {
  const found = artifacts.find((artifact) => artifact.file === file);
  if (found) return found;
  throw new Error(`Cannot find ${file} among the files of the release; make it with: ${remedy}`);
}

/** Returns the executable of a target. */
export function executableOf(artifacts: readonly Artifact[], target: Target): Artifact {
  return artifactOf(
    artifacts,
    executableName(target),
    `deno task compile ${target}, then deno task release files`,
  );
}
