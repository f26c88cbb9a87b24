/** `reasonix update`: the newest version, by the way in which this one was installed, and back. */
import { argument, command, flag, optional } from "../command.ts";
import { type Installation, installationOf, isProgramFile, managerOf } from "../release/channel.ts";
import {
  compareVersions,
  isVersion,
  latestVersion,
  openRelease,
  type Release,
  releaseBase,
  releaseDirectory,
} from "../release/download.ts";
import {
  cannotWrite,
  commandText,
  directoryOf,
  lockStore,
  nameIn,
  removeDirectory,
  savedVersion,
  type Store,
  storeOf,
  switchCommand,
  tryProgram,
  versionName,
  versionsOf,
} from "../release/store.ts";
import { installVersion, interrupted } from "../release/install_version.ts";
import { inLanguage, languageOf, textsFor } from "../terminal/language.ts";
import { type CliContext, onSignals } from "../terminal/process.ts";
import { reasonixHome } from "../../src/config/mod.ts";
import { message, ReasonixError, usageError } from "../../src/core/mod.ts";
import { loadTexts, type Texts } from "../../src/i18n/mod.ts";
import { exists, sortedEntries } from "../../src/path/probe.ts";
import { VERSION } from "../../src/util/version.ts";

const WINDOWS = Deno.build.os === "windows";

/** Exit code of `update --check` when a newer version exists (docs/exit-codes.md). */
const OUTDATED = 10;

export const updateCommand = command({
  description: "Installs the latest version, or the given one, as this one was installed. Files are used " +
    "after their checksums and signature are verified; programs that are running continue with the old ones.",
  flags: {
    check: flag("Only report whether a newer version exists (exit code 10)"),
    rollback: flag("Return to the version that the last update replaced"),
  },
  args: [optional(argument("Version to install (default: the latest)", "version"))],
  async run(flags, wanted?: string) {
    try {
      await execute(this, flags, wanted);
    } catch (error) {
      throw await inLanguage(error, languageOf(this).locale).catch(() => error);
    }
  },
});

interface UpdateFlags {
  readonly check?: boolean;
  readonly rollback?: boolean;
}

async function execute(
  context: CliContext,
  { check, rollback }: UpdateFlags,
  wanted?: string,
): Promise<void> {
  if (wanted !== undefined && !isVersion(wanted)) {
    throw usageError(
      message`Cannot install the version ${JSON.stringify(wanted)}: it is not of the form 1.2.3`,
    );
  }
  if ([check, rollback, wanted !== undefined].filter(Boolean).length > 1) {
    throw usageError(
      message`Cannot combine --check, --rollback and a version`,
      message`give one of them`,
    );
  }
  const work: Work = {
    context,
    // A program at an address may no longer get its other languages.
    texts: await textsFor("update", context).catch(() => loadTexts("update", "en")),
    installation: installationOf(),
  };
  if (rollback) await rollBack(work);
  else if (check) await checkLatest(work);
  else await update(work, wanted);
}

interface Work {
  readonly context: CliContext;
  readonly texts: Texts["update"];
  readonly installation: Installation;
}

async function checkLatest(work: Work): Promise<void> {
  const { texts, context } = work;
  const version = await offeredVersion(work);
  const isNewer = compareVersions(version, VERSION) > 0;
  context.process.stdout.write(`${isNewer ? texts.available(version, VERSION) : texts.latest(VERSION)}\n`);
  if (isNewer) context.process.exitCode = OUTDATED;
}

async function offeredVersion({ installation, context: { process: { env } } }: Work): Promise<string> {
  const { channel } = installation;
  if (channel === "npm") return await latestOnNpm(installation);
  if (channel === "address") return (await openRelease(serverOf(installation))).version;
  return await latestVersion(baseOf(installation, env));
}

/** Directory of a server with the files of one release. */
function serverOf({ from, program }: Installation): string {
  return (from ?? directoryOf(program)).replace(/\/+$/, "");
}

function baseOf({ from }: Installation, env: Work["context"]["process"]["env"]): string {
  const base = releaseBase(env.REASONIX_BASE_URL || from);
  if (base !== undefined) return base;
  throw new ReasonixError(
    message`Cannot determine the latest version: this build names no repository of releases`,
    {
      remedy: message`set REASONIX_BASE_URL to the address of a server with releases`,
    },
  );
}

async function update(work: Work, wanted: string | undefined): Promise<void> {
  const { installation, context: { process: { env, stdout } }, texts } = work;
  const { channel, program } = installation;
  if (channel === "script" || channel === "address") return await updateStore(work, wanted);
  if (channel === "clone") return printLine(work, texts.byHand, "git pull && deno task install");
  const version = wanted ?? await offeredVersion(work);
  if (version === VERSION) return stdout.write(`${texts.latest(VERSION)}\n`);
  if (wanted === undefined) refuseOlder(version);
  if (channel === "npm") return await updateNpm(work, version);
  if (channel === "executable") return await updateExecutable(work, version);
  const manager = managerOf(channel);
  if (manager) return printLine(work, texts.byManager(manager.name), manager.update(version));
  const name = channel === "file" ? "install.js" : WINDOWS ? "install.ps1" : "install.sh";
  const address = `${releaseDirectory(baseOf(installation, env), version)}/${name}`;
  stdout.write(`${texts.replace(directoryOf(program), address)}\n`);
}

function printLine(
  { context: { process: { stdout, stderr } } }: Work,
  explanation: string,
  line: string,
): void {
  stderr.write(`${explanation}\n`);
  stdout.write(`${line}\n`);
}

function refuseOlder(version: string): void {
  if (compareVersions(version, VERSION) >= 0) return;
  throw new ReasonixError(
    message`Cannot update: the server offers version ${version}, which is older than this one, ${VERSION}`,
    { remedy: message`to install it nevertheless: reasonix update ${version}` },
  );
}

async function updateExecutable(work: Work, version: string): Promise<void> {
  const { installation, context: { process: { env, stdout, stderr } }, texts } = work;
  const release = await openRelease(releaseDirectory(baseOf(installation, env), version), version);
  if (!release.isSigned) stderr.write(`${texts.unsigned}\n`);
  stderr.write(`${texts.downloading(version, release.directory)}\n`);
  const { replaceExecutable } = await import("../release/executable.ts");
  await interruptible((signal) => replaceExecutable(installation.program, release, signal));
  stdout.write(`${texts.updated(VERSION, version)}\n${texts.undo}\n`);
}

/** Does work that the first signal ends with its reason, and the second one at once. */
async function interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const control = new AbortController();
  const removeListeners = onSignals({
    stop: (reason) => control.abort(interrupted(reason)),
    exit: (code) => Deno.exit(code),
  });
  await work(control.signal).finally(removeListeners);
}

/** Puts a release into the store, and makes the command start it. */
async function updateStore(work: Work, wanted: string | undefined): Promise<void> {
  const { installation, context: { process: { env, stdout, stderr } }, texts } = work;
  const { channel } = installation;
  const store = ownStore(installation, env);
  using _lock = lockStore(store);
  const release = await chosenRelease(work, wanted);
  const name = versionName(release.version, release.sums);
  const isSame = release.version === VERSION &&
    (release.isSigned || nameIn(installation.program) === name);
  if (isSame) return stdout.write(`${texts.latest(VERSION)}\n`);
  if (wanted === undefined) refuseOlder(release.version);
  if (!release.isSigned) stderr.write(`${texts.unsigned}\n`);
  const { from } = installation;
  const mirror = channel === "address" ? release.directory : env.REASONIX_BASE_URL || from;
  const onDownload = () => stderr.write(`${texts.downloading(release.version, release.directory)}\n`);
  const options = { channel, onDownload, ...(mirror ? { mirror } : {}) };
  await interruptible((signal) => installVersion(store, release, { ...options, signal }));
  stdout.write(`${texts.updated(VERSION, release.version)}\n${texts.undo}\n`);
}

/** The store with the command that starts this program. */
function ownStore({ channel, program }: Installation, env: Work["context"]["process"]["env"]): Store {
  const store = storeOf(env, channel);
  const text = commandText(store);
  const name = nameIn(program);
  if (name === undefined ? text?.includes(program) : nameIn(text ?? "") === name) return store;
  throw new ReasonixError(
    message`Cannot find the command that starts this program: ${store.command} does not`,
    {
      remedy: message`update the program by the command reasonix, or install it again`,
    },
  );
}

async function chosenRelease(work: Work, wanted: string | undefined): Promise<Release> {
  const { installation, context: { process: { env } } } = work;
  if (installation.channel === "address") {
    const release = await openRelease(serverOf(installation));
    if (wanted === undefined || release.version === wanted) return release;
    throw new ReasonixError(
      message`Cannot install version ${wanted}: ${release.directory} has version ${release.version}`,
      { remedy: message`install it from another server` },
    );
  }
  const base = baseOf(installation, env);
  const version = wanted ?? await latestVersion(base);
  return await openRelease(releaseDirectory(base, version), version);
}

async function rollBack(work: Work): Promise<void> {
  const { installation, context: { process: { env, stdout } }, texts } = work;
  const { channel } = installation;
  if (channel === "npm") return await rollBackNpm(work);
  if (channel === "executable") {
    const { restoreExecutable } = await import("../release/executable.ts");
    const restored = restoreExecutable(installation.program);
    if (restored === undefined) throw nothingKept();
    return stdout.write(`${texts.rolledBack(restored)}\n`);
  }
  const manager = managerOf(channel);
  if (manager) {
    throw usageError(
      message`Cannot go back: ${manager.name} keeps no earlier version for this program`,
      message`install the wanted version with it`,
    );
  }
  const store = ownStore(installation, env);
  using _lock = lockStore(store);
  const saved = savedVersion(store);
  const isThere = saved !== undefined && isStartable(store, saved.command);
  if (!isThere) throw nothingKept();
  await switchCommand(store, saved.command);
  stdout.write(`${texts.rolledBack(shownVersion(saved.name) ?? texts.before)}\n`);
}

/** A command that starts a program outside of the store is the user's, who may have removed that program. */
function isStartable(store: Store, text: string): boolean {
  const name = nameIn(text);
  if (name === undefined) return true;
  return sortedEntries(`${versionsOf(store)}/${name}`).some((entry) =>
    /^reasonix(?:\.exe|\.js)?$/.test(entry.name)
  );
}

/** The version in the name of a directory; undefined for a command from outside of the store. */
function shownVersion(name: string): string | undefined {
  const version = name.replace(/\+\w+$/, "");
  return isVersion(version) ? version : undefined;
}

/** Name, prefix and tree of the package on npm that holds a program. */
interface NpmPackage {
  readonly name: string;
  /** Absent where npm did not install it for the whole user or machine. */
  readonly prefix?: string;
}

function npmPackageOf({ program }: Installation): NpmPackage {
  const path = program.replaceAll("\\", "/");
  const [, tree = "", name = ""] = /^(.*\/node_modules)\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  const [, prefix] = (WINDOWS ? /^(.+)\/node_modules$/ : /^(.+)\/lib\/node_modules$/).exec(tree) ?? [];
  const isGlobal = prefix !== undefined && !/\/(?:_npx|\.pnpm|pnpm|\.bun|yarn)\//.test(path);
  return { name, ...(isGlobal ? { prefix } : {}) };
}

/** The words that start npm for a package: the npm of the same prefix, else that of PATH. */
function npmOf({ prefix }: NpmPackage): readonly string[] {
  const sibling = prefix === undefined ? "" : WINDOWS ? `${prefix}/npm.cmd` : `${prefix}/bin/npm`;
  const program = exists(sibling) ? sibling : WINDOWS ? "npm.cmd" : "npm";
  return WINDOWS ? ["cmd", "/d", "/c", program] : [program];
}

async function runNpm(pack: NpmPackage, args: readonly string[]): Promise<string> {
  const words = [...npmOf(pack), ...args];
  const done = await tryProgram(words);
  if (done.code === 0) return done.text.trim();
  const lines = done.errors.trim().split("\n").map((line) => line.replace(/^npm (?:ERR!|error) ?/i, ""));
  const reason = lines.find((line) => line !== "" && !/^code /.test(line)) ?? `exit code ${done.code}`;
  throw new ReasonixError(message`Cannot update with npm: ${reason}`, {
    remedy: message`execute it to see all: ${words.join(" ")}`,
  });
}

async function latestOnNpm(installation: Installation): Promise<string> {
  const pack = npmPackageOf(installation);
  const version = await runNpm(pack, ["view", pack.name, "version"]);
  if (isVersion(version)) return version;
  throw new ReasonixError(message`Cannot determine the latest version: npm names none for ${pack.name}`, {
    remedy: message`check the registry with: npm view ${pack.name}`,
  });
}

async function updateNpm(work: Work, version: string): Promise<void> {
  const { installation, context: { process: { stdout } }, texts } = work;
  const pack = npmPackageOf(installation);
  const spec = `${pack.name}@${version}`;
  if (pack.prefix === undefined) return printLine(work, texts.byHand, `npm install ${spec}`);
  keepFiles(installation, work);
  await runNpm(pack, ["install", "-g", "--prefix", pack.prefix, spec]);
  stdout.write(`${texts.updated(VERSION, version)}\n${texts.undo}\n`);
}

/** Versions whose files are kept: those that chats may still be running. */
const MAX_KEPT = 3;

/**
 * Copies the files of this version to where running programs look for them (src/tool/host/worker.ts and the
 * loader of the bundle) when npm has replaced those that they began with.
 */
function keepFiles({ program }: Installation, work: Work): void {
  const kept = keptDirectory(work);
  const directory = `${kept}/${VERSION}`;
  try {
    Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
    for (const { name } of sortedEntries(directoryOf(program))) {
      if (isProgramFile(name)) {
        Deno.copyFileSync(`${directoryOf(program)}/${name}`, `${directory}/${name}`);
      }
    }
    Deno.utimeSync(directory, new Date(), new Date());
  } catch (error) {
    throw cannotWrite(directory, error);
  }
  for (const name of keptVersions(kept).slice(MAX_KEPT)) removeDirectory(`${kept}/${name}`);
}

function keptDirectory({ context: { process: { env } } }: Work): string {
  return `${reasonixHome((name) => env[name], Deno.cwd())}/kept`;
}

/** The versions that updates by npm have replaced, the latest one first. */
function keptVersions(kept: string): readonly string[] {
  const time = (name: string) => Deno.statSync(`${kept}/${name}`).mtime?.getTime() ?? 0;
  return sortedEntries(kept).map(({ name }) => name).filter(isVersion).sort((a, b) => time(b) - time(a));
}

async function rollBackNpm(work: Work): Promise<void> {
  const before = keptVersions(keptDirectory(work)).find((name) => name !== VERSION);
  if (before === undefined) throw nothingKept();
  await updateNpm(work, before);
}

function nothingKept(): ReasonixError {
  return new ReasonixError(message`Cannot go back: no earlier version is kept`, {
    remedy: message`install one by its number: reasonix update VERSION`,
  });
}
