/** Puts a release into the store, and has it write the command that starts it. */
import { type Channel, isProgramFile, MARKER } from "./channel.ts";
import { download, type Release } from "./download.ts";
import {
  cannotStart,
  cannotWrite,
  commandText,
  directoryOf,
  nameIn,
  pruneVersions,
  removeDirectory,
  stageVersion,
  type Store,
  tryProgram,
  versionName,
  versionsOf,
} from "./store.ts";
import { entriesOf, entryOf, sha256Of } from "./verify.ts";
import { START_FLAGS } from "../terminal/start_flags.ts";
import { message, ReasonixError } from "../../src/core/mod.ts";
import { exists, sortedEntries } from "../../src/path/probe.ts";
import { attempt } from "../../src/util/lazy.ts";

const WINDOWS = Deno.build.os === "windows";

interface InstallOptions {
  readonly channel: Channel;
  /** Server that later updates ask, if it is not the usual one. */
  readonly mirror?: string;
  readonly onDownload: () => void;
  /** Ends the download with its reason; nothing is changed then. */
  readonly signal: AbortSignal;
}

/** Downloads the files that are not there yet, and makes the command start them. The store is locked. */
export async function installVersion(
  store: Store,
  release: Release,
  options: InstallOptions,
): Promise<void> {
  const directory = `${versionsOf(store)}/${versionName(release.version, release.sums)}`;
  if (!holdsRelease(directory, release, options.channel)) {
    options.onDownload();
    await fetchVersion(release, store, directory, options);
  }
  await startInstall(store, directory, release.version);
  await pruneVersions(store);
}

/** The files of a version, by their names in the release and in the store. */
function filesOf({ sums }: Release, channel: string): ReadonlyMap<string, string> {
  const suffix = WINDOWS ? ".exe" : "";
  if (channel === "script") return new Map([[`reasonix-${Deno.build.target}${suffix}`, `reasonix${suffix}`]]);
  const names = [...entriesOf(sums).keys()].filter(isProgramFile);
  return new Map(names.map((name) => [name, name]));
}

/** Reports whether a directory has all files of a release, unchanged. */
function holdsRelease(directory: string, release: Release, channel: string): boolean {
  if (!exists(`${directory}/${MARKER}`)) return false;
  return [...filesOf(release, channel)].every(([file, name]) => {
    const content = attempt(() => Deno.readFileSync(`${directory}/${name}`));
    return content !== undefined && sha256Of(content) === entryOf(release.sums, file);
  });
}

/** Downloads a version into a new directory, which gets its name when it is complete. */
async function fetchVersion(
  release: Release,
  store: Store,
  directory: string,
  { channel, mirror, signal }: InstallOptions,
): Promise<void> {
  const staged = stageVersion(store);
  try {
    const files = filesOf(release, channel);
    if (files.size === 0) throw noFiles(release);
    for (const [file, name] of files) {
      await download(release, file, `${staged}/${name}`, { mode: 0o755, signal });
    }
    const marker = { channel, ...(mirror ? { from: mirror } : {}) };
    await Deno.writeTextFile(`${staged}/${MARKER}`, `${JSON.stringify(marker)}\n`);
    // Only something else than this version can have its name by now.
    removeDirectory(directory);
    await Deno.rename(staged, directory);
  } catch (error) {
    throw cannotWrite(directory, error);
  } finally {
    removeDirectory(staged);
  }
}

/** The reason of a signal that ends a download. */
export function interrupted(reason: "interrupted" | "terminated"): ReasonixError {
  const exit = reason === "interrupted" ? "interrupt" : "terminated";
  return new ReasonixError(message`The update was interrupted`, {
    exit,
    remedy: message`nothing was changed`,
  });
}

function noFiles({ directory }: Release): ReasonixError {
  return new ReasonixError(message`Cannot find the files of the program in SHA256SUMS of ${directory}`, {
    remedy: message`check the address`,
  });
}

/**
 * Has the new version write the command: it knows the flags that it needs. A version that does not start here
 * changes nothing.
 */
async function startInstall(store: Store, directory: string, version: string): Promise<void> {
  const program = sortedEntries(directory).map(({ name }) => name).find((name) =>
    /^reasonix(?:\.exe|\.js)?$/.test(name)
  );
  const path = `${directory}/${program}`;
  const words = path.endsWith(".js") ? [Deno.execPath(), "run", ...START_FLAGS, "--no-config", path] : [path];
  const environment = { ...Deno.env.toObject(), DENO_INSTALL_ROOT: directoryOf(directoryOf(store.command)) };
  const done = await tryProgram([...words, "install"], { env: environment });
  if (done.code === 0 && directory.endsWith(`/${nameIn(commandText(store) ?? "")}`)) return;
  removeDirectory(directory);
  throw cannotStart(version, done);
}
