/**
 * An executable that the user copied somewhere: the new version replaces it in one step, and the old one
 * stays next to it under the name of its version, for a rollback and for programs that are running.
 */
import { download, isVersion, type Release } from "./download.ts";
import { cannotStart, cannotWrite, directoryOf, tryProgram } from "./store.ts";
import { sortedEntries } from "../../src/path/probe.ts";
import { attempt } from "../../src/util/lazy.ts";
import { VERSION } from "../../src/util/version.ts";

const SUFFIX = Deno.build.os === "windows" ? ".exe" : "";
/** Versions that are kept: the one before, and one more for programs that are running. */
const MAX_KEPT = 2;

/** Path of a version that another one has replaced; src/tool/host/worker.ts starts workers from it. */
function keptPath(program: string, version: string): string {
  return `${program.slice(0, program.length - SUFFIX.length)}-${version}${SUFFIX}`;
}

/** Versions next to a program, the last one that was replaced first. */
function keptVersions(program: string): readonly string[] {
  const head = keptPath(program, "").slice(directoryOf(program).length + 1, -SUFFIX.length || undefined);
  const time = (version: string) => Deno.statSync(keptPath(program, version)).mtime?.getTime() ?? 0;
  return sortedEntries(directoryOf(program)).map(({ name }) => name)
    .filter((name) => name.startsWith(head) && name.endsWith(SUFFIX))
    .map((name) => name.slice(head.length, name.length - SUFFIX.length)).filter(isVersion)
    .sort((a, b) => time(b) - time(a));
}

/** Replaces a program by that of a release, if it starts. */
export async function replaceExecutable(
  program: string,
  release: Release,
  signal: AbortSignal,
): Promise<void> {
  const made = `${program}.new${SUFFIX}`;
  removeFile(made);
  try {
    await download(release, `reasonix-${Deno.build.target}${SUFFIX}`, made, { mode: 0o755, signal });
    await requireStart(made, release.version);
    switchTo(made, program);
  } catch (error) {
    throw cannotWrite(program, error);
  } finally {
    removeFile(made);
  }
  for (const version of keptVersions(program).slice(MAX_KEPT)) removeFile(keptPath(program, version));
}

async function requireStart(file: string, version: string): Promise<void> {
  const done = await tryProgram([file, "--version"]);
  if (done.code !== 0 || done.text !== `reasonix ${version}\n`) throw cannotStart(version, done);
}

/** Puts a file in the place of a program, which is kept. */
function switchTo(file: string, program: string): void {
  const kept = keptPath(program, VERSION);
  removeFile(kept);
  // Windows lets a program that runs be renamed, not replaced.
  if (SUFFIX === "") Deno.linkSync(program, kept);
  else Deno.renameSync(program, kept);
  const now = new Date();
  Deno.utimeSync(kept, now, now);
  Deno.utimeSync(file, now, now);
  Deno.renameSync(file, program);
}

/** Returns to the version that was replaced last; returns it, or undefined if none is kept. */
export function restoreExecutable(program: string): string | undefined {
  const version = keptVersions(program).find((kept) => kept !== VERSION);
  if (version === undefined) return undefined;
  const made = `${program}.new${SUFFIX}`;
  removeFile(made);
  try {
    Deno.copyFileSync(keptPath(program, version), made);
    switchTo(made, program);
  } catch (error) {
    throw cannotWrite(program, error);
  } finally {
    removeFile(made);
  }
  return version;
}

/** Removes a program with the versions that are kept next to it. */
export function removeExecutable(program: string): void {
  try {
    for (const version of keptVersions(program)) Deno.removeSync(keptPath(program, version));
    Deno.removeSync(program);
  } catch (error) {
    throw cannotWrite(program, error);
  }
}

function removeFile(path: string): void {
  attempt(() => Deno.removeSync(path));
}
