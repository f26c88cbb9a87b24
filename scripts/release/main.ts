/**
 * Makes a release: `deno task release [STEP …] [option …]`. Without a step it does all of them in order;
 * `help` lists them. Files of a release are written to dist/release, files for package managers to
 * dist/channels.
 *
 * Published files name the repository, the package on npm and the key of cli/identity.ts. While one of them
 * is not decided, every step stops, unless `--dry-run` says that the files stay on this machine: they then
 * have local names, or those given with `--repository`, `--npm-name` and `--public-key`.
 */
import { parseArgs } from "node:util";
import { names } from "../../cli/release/channel.ts";
import { decided, NPM_NAME, PUBLIC_KEY, REPOSITORY } from "../../cli/identity.ts";
import { errorMessage } from "../../src/core/mod.ts";
import { VERSION } from "../../src/util/version.ts";
import { ALONE_FILE, installedFiles, INSTALLER } from "../bundle/parts.ts";
import { executableName, TARGETS } from "../compile.ts";
import { say } from "../process.ts";
import { tarGzip } from "./archive.ts";
import { artifactsOf } from "./artifacts.ts";
import { releaseDate } from "./date.ts";
import { ARCHITECTURES, debName, debPackage, runtimeOf } from "./deb.ts";
import { manPages } from "./man.ts";
import {
  acpRegistry,
  homebrew,
  image,
  type Manifests,
  type Release,
  scoop,
  SHARE,
  winget,
} from "./manifests.ts";
import { shareFiles } from "./share.ts";
import { copyProgramFile, LOCAL_NAME, packPackage, RUNTIME_VERSION, writePackage } from "./npm.ts";
import { decidedKey, writeSums } from "./sign.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** The names that the files of a release have. */
interface Identity {
  /** Undefined: a package that npm refuses to publish. */
  readonly npm: string | undefined;
  readonly repository: string;
  readonly publicKey: string | undefined;
}

interface Work {
  /** Directory with what `deno task bundle` and `deno task compile` made. */
  readonly from: string;
  /** Directory of the release. */
  readonly to: string;
  /** Directory of the files for package managers. */
  readonly channels: string;
  readonly identity: Identity;
  readonly dryRun: boolean;
  /** Files of the runtime by architecture, in place of the packages on npm. */
  readonly runtimes: ReadonlyMap<string, string>;
}

interface Step {
  readonly about: string;
  run(work: Work): void | Promise<void>;
}

const STEPS: Readonly<Record<string, Step>> = {
  identity: {
    about: "Stop unless the names in cli/identity.ts are decided",
    run: ({ dryRun }) => {
      if (!dryRun) decidedIdentity();
    },
  },
  files: { about: "Begin dist/release with the bundle and the executables", run: files },
  share: { about: "Add the completions and man pages in one archive", run: share },
  deb: { about: "Add the Debian packages", run: debs },
  npm: { about: "Add the npm package", run: npmPackage },
  sums: { about: "Add SHA256SUMS", run: ({ to }) => writeSums(to) },
  homebrew: { about: "Write the formula", run: (work) => manifests(work, "homebrew", homebrew) },
  scoop: { about: "Write the manifest for Scoop", run: (work) => manifests(work, "scoop", scoop) },
  winget: {
    about: "Write the manifests for winget",
    run: (work) =>
      manifests(work, "winget", (release) => winget(release, names(work.identity.repository).winget)),
  },
  acp: {
    about: "Write the entry for the registry of editors",
    run: (work) => manifests(work, "acp", (release) => acpRegistry(release, work.identity.npm ?? LOCAL_NAME)),
  },
  image: { about: "Write the Containerfile", run: (work) => manifests(work, "image", image) },
  table: { about: "Print the table of the files", run: table },
};

/** Throws unless everything that a published file names is decided. */
function decidedIdentity(): Identity {
  const publicKey = decidedKey({ NPM_NAME, REPOSITORY, PUBLIC_KEY });
  return { npm: NPM_NAME, repository: REPOSITORY, publicKey };
}

/** The text with the names of a release in place of those that are not decided. */
function stamped(text: string, { npm, repository, publicKey }: Identity): string {
  const values = { "npm-name": npm, repository, "public-key": publicKey };
  return Object.entries(values).reduce(
    (done, [name, value]) => value === undefined ? done : done.replaceAll(`@unset-${name}`, value),
    text,
  );
}

/** Copies what was built, with the names of the release. */
async function files({ from, to, identity, dryRun }: Work): Promise<void> {
  const program = [...installedFiles(), ALONE_FILE, INSTALLER];
  const texts = [...program, "THIRD_PARTY_LICENSES", "sbom.cdx.json"];
  const scripts = ["install.sh", "install.ps1"];
  const executables = TARGETS.map(executableName);
  await Deno.remove(to, { recursive: true }).catch(() => {});
  await Deno.mkdir(to, { recursive: true });
  for (const name of texts) {
    await copyProgramFile(`${from}/${name}`, `${to}/${name}`, (text) => stamped(text, identity))
      .catch(() => missing(name, "deno task bundle"));
  }
  for (const name of scripts) {
    const text = await Deno.readTextFile(new URL(name, import.meta.url));
    await Deno.writeTextFile(`${to}/${name}`, stamped(text, identity));
  }
  for (const name of executables) {
    await Deno.copyFile(`${from}/${name}`, `${to}/${name}`).catch(() => {
      if (!dryRun) missing(name, "deno task compile");
      say(`Left out: ${name} (made by deno task compile)`);
    });
  }
}

function missing(name: string, task: string): never {
  throw new Error(`Cannot find ${name} among the built files; make it with: ${task}`);
}

/** The time of every file in an archive and on every page. */
async function releaseTime(): Promise<Date> {
  return await releaseDate(VERSION) ?? new Date(0);
}

async function share({ to }: Work): Promise<void> {
  const time = await releaseTime();
  const entries = [...await shareFiles(await manPages(time))].map(([path, bytes]) => ({ path, bytes }));
  await Deno.writeFile(`${to}/${SHARE}`, tarGzip(entries, time));
}

async function debs({ to, identity, runtimes }: Work): Promise<void> {
  const time = await releaseTime();
  const share = await shareFiles(await manPages(time));
  for (const architecture of ARCHITECTURES) {
    const file = runtimes.get(architecture);
    const bytes = await debPackage({
      version: VERSION,
      architecture,
      runtime: file === undefined
        ? await runtimeOf(architecture, RUNTIME_VERSION)
        : await Deno.readFile(file),
      from: to,
      share,
      repository: identity.repository,
      time,
    });
    await Deno.writeFile(`${to}/${debName(VERSION, architecture)}`, bytes);
  }
}

async function npmPackage({ to, identity }: Work): Promise<void> {
  const scratch = await Deno.makeTempDir({ prefix: "reasonix-npm-" });
  try {
    await writePackage({ from: to, to: scratch, name: identity.npm });
    await packPackage(scratch, to);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

async function manifests(
  { to, channels, identity }: Work,
  channel: string,
  make: (release: Release) => Manifests,
): Promise<void> {
  const directory = `${channels}/${channel}`;
  const made = make({ version: VERSION, repository: identity.repository, artifacts: await artifactsOf(to) });
  await Deno.remove(directory, { recursive: true }).catch(() => {});
  for (const [name, text] of Object.entries(made)) {
    await Deno.mkdir(`${directory}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${directory}/${name}`, text);
  }
}

async function table({ to }: Work): Promise<void> {
  for (const { file, target = "", size, sha256 } of await artifactsOf(to)) {
    say(`${sha256}  ${String(size).padStart(10)}  ${file}  ${target}`.trimEnd());
  }
}

function work(values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>): Work {
  const dryRun = values["dry-run"] === true;
  const given = (name: string) => typeof values[name] === "string" ? values[name] : undefined;
  const decidedNames = { repository: REPOSITORY, "npm-name": NPM_NAME, "public-key": PUBLIC_KEY };
  for (const [name, value] of Object.entries(decidedNames)) {
    if (given(name) === undefined) continue;
    if (!dryRun) throw new Error(`Cannot use --${name} without --dry-run; edit cli/identity.ts`);
    if (decided(value)) throw new Error(`Cannot use --${name}: the built program has the name ${value}`);
  }
  const runtimes = [values.runtime ?? []].flat() as string[];
  return {
    from: given("from") ?? `${ROOT}dist`,
    to: given("to") ?? `${ROOT}dist/release`,
    channels: given("channels") ?? `${ROOT}dist/channels`,
    dryRun,
    identity: dryRun
      ? {
        npm: given("npm-name") ?? decided(NPM_NAME),
        repository: given("repository") ?? decided(REPOSITORY) ?? "local/reasonix",
        publicKey: given("public-key") ?? decided(PUBLIC_KEY),
      }
      : decidedIdentity(),
    runtimes: new Map(runtimes.map((text) => {
      const [, architecture = "", file = ""] = /^(.*?)=(.+)$/.exec(text) ?? [];
      if (ARCHITECTURES.some((known) => known === architecture)) return [architecture, file];
      throw new Error(`Cannot use --runtime ${text}: give ${ARCHITECTURES.join(" or ")}=FILE`);
    })),
  };
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: {
      "dry-run": { type: "boolean" },
      from: text,
      to: text,
      channels: text,
      repository: text,
      "npm-name": text,
      "public-key": text,
      /** `amd64=FILE` */
      runtime: { ...text, multiple: true },
    },
  });
  if (positionals.includes("help")) {
    say("all        Do every step in this order");
    for (const [name, { about }] of Object.entries(STEPS)) say(`${name.padEnd(10)} ${about}`);
    return;
  }
  const chosen = positionals.length === 0 || positionals.includes("all") ? Object.keys(STEPS) : positionals;
  const unknown = chosen.find((name) => !Object.hasOwn(STEPS, name));
  if (unknown !== undefined) {
    throw new Error(`Cannot find the step ${unknown}; steps are all, ${Object.keys(STEPS).join(", ")}`);
  }
  const task = work(values);
  for (const name of chosen) await STEPS[name]?.run(task);
}

if (import.meta.main) {
  await main().catch((error) => {
    Deno.stderr.writeSync(new TextEncoder().encode(`error: ${errorMessage(error)}\n`));
    Deno.exitCode = 1;
  });
}
