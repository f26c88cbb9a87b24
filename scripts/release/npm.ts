/**
 * Writes the npm package to dist/npm and packs it next to that: `deno task npm [--publishable]`. The package
 * has the bundle and depends on the runtime, so that npm installs both. Without a name in cli/identity.ts it
 * gets one that only serves on this machine; then `--publishable` stops, and npm refuses to publish it.
 */
import { decided, NPM_NAME, PUBLIC_KEY, REPOSITORY } from "../../cli/identity.ts";
import { MARKER } from "../../cli/release/channel.ts";
import { shellCommand } from "../../cli/terminal/shell_command.ts";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { bundle } from "../bundle.ts";
import { installedFiles } from "../bundle/parts.ts";
import { mustRun, say } from "../process.ts";

/** The runtime that the package brings, and with which the program is tested. */
export const RUNTIME_VERSION = "2.9.6";

/** The name of a package that is made before there is one. */
export const LOCAL_NAME = "reasonix-local";

const ROOT = new URL("../../", import.meta.url).pathname;
const TEMPLATES = new URL("./npm/", import.meta.url).pathname;
const UNDECIDED = "Set NPM_NAME in cli/identity.ts to the name of the package on npm";

const SYSTEMS = ["linux", "darwin", "win32"];
const PROCESSORS = ["x64", "arm64"];

interface Package {
  /** Directory of the bundle. */
  readonly from: string;
  /** Directory of the package, which is emptied before. */
  readonly to: string;
  /** Name on npm; default: that of cli/identity.ts. */
  readonly name?: string | undefined;
}

/** Writes the files of the package; returns its name and version. */
export async function writePackage(
  { from, to, name = decided(NPM_NAME) }: Package,
): Promise<{ readonly name: string; readonly version: string }> {
  const { version, license } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const used = name ?? LOCAL_NAME;
  await Deno.remove(to, { recursive: true }).catch(() => {});
  for (const directory of ["bin", "lib"]) await Deno.mkdir(`${to}/${directory}`, { recursive: true });
  const sizes: Record<string, number> = {};
  for (const file of installedFiles()) {
    // A program without a name takes the one of its package.
    await copyProgramFile(
      `${from}/${file}`,
      `${to}/lib/${file}`,
      (code) => code.replaceAll("@unset-npm-name", used),
    );
    sizes[`lib/${file}`] = (await Deno.stat(`${to}/lib/${file}`)).size;
  }
  await Deno.writeTextFile(`${to}/lib/${MARKER}`, `${JSON.stringify({ channel: "npm" })}\n`);
  await Deno.copyFile(`${TEMPLATES}launcher.cjs`, `${to}/bin/reasonix`);
  await Deno.chmod(`${to}/bin/reasonix`, 0o755);
  for (const file of ["package.cjs", "scripts.cjs"]) await Deno.copyFile(TEMPLATES + file, `${to}/${file}`);
  await Deno.copyFile(`${ROOT}LICENSE`, `${to}/LICENSE`);
  await Deno.copyFile(`${from}/THIRD_PARTY_LICENSES`, `${to}/THIRD_PARTY_LICENSES`).catch(notThere);
  await Deno.writeTextFile(`${to}/command.sh`, commandTemplate(used));
  await Deno.writeTextFile(`${to}/README.md`, readme(used, version));
  const text = JSON.stringify({ ...manifest({ name, version, license }), sizes }, undefined, 2);
  await Deno.writeTextFile(`${to}/package.json`, `${text}\n`);
  return { name: used, version };
}

/** Copies a file of the program; its code is changed on the way. */
export async function copyProgramFile(
  from: string,
  to: string,
  change: (code: string) => string,
): Promise<void> {
  if (from.endsWith(".bin")) await Deno.writeFile(to, await Deno.readFile(from));
  else await Deno.writeTextFile(to, change(await Deno.readTextFile(from)));
}

function notThere(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

/**
 * Names npx, and its shell if that waits for the program, to the program: KILL and HUP end npx alone
 * (cli/terminal/launcher.ts). The second word of the file is the name of the process, the fourth its parent.
 */
const FOLLOW_NPX = `if [ "\${npm_command-}" = exec ] && [ -z "\${REASONIX_LAUNCHER-}" ]; then
  export REASONIX_LAUNCHER="npm:$PPID"
  { read -r a b c d e </proc/$PPID/stat; } 2>/dev/null && case $b in
  "(sh)" | "(bash)" | "(dash)" | "(ash)" | "(zsh)" | "(ksh)") REASONIX_LAUNCHER="npm:$PPID,$d" ;;
  esac
fi`;

/** The shell command, with words for the paths that are known when npm has installed the package. */
function commandTemplate(name: string): string {
  return shellCommand({
    words: ["@RUNTIME@", "run", ...START_FLAGS, "--no-config", "@PROGRAM@"],
    about: `Written when npm installed ${name}; \`npm rm -g ${name}\` removes it.`,
    checks: [{
      test: "[ -x @RUNTIME@ ] && [ -f @PROGRAM@ ]",
      error: `error: Cannot find the files of ${name}: they were moved or removed\n` +
        `       Install it again: npm install -g ${name}`,
      code: 1,
    }],
    lines: [FOLLOW_NPX],
  });
}

interface Named {
  readonly name: string | undefined;
  readonly version: string;
  readonly license: string;
}

function manifest({ name, version, license }: Named): Record<string, unknown> {
  const repository = decided(REPOSITORY);
  return {
    name: name ?? LOCAL_NAME,
    version,
    ...(name === undefined ? { private: true } : {}),
    description: "A coding agent for the terminal",
    keywords: ["agent", "coding", "cli", "llm"],
    license,
    ...(repository === undefined ? {} : {
      repository: { type: "git", url: `git+https://github.com/${repository}.git` },
      homepage: `https://github.com/${repository}#readme`,
      bugs: { url: `https://github.com/${repository}/issues` },
    }),
    bin: { reasonix: "bin/reasonix" },
    scripts: {
      // A file that the full disk left empty has no such function.
      preinstall: `node -e "require('./scripts.cjs').check()"`,
      postinstall: `node -e "require('./scripts.cjs').replaceLauncher()"`,
      ...(name === undefined ? { prepublishOnly: `echo "error: ${UNDECIDED}" >&2 && exit 1` } : {}),
    },
    dependencies: { deno: `=${RUNTIME_VERSION}` },
    engines: { node: ">=16" },
    // No `libc`: npm refuses a package that has one on every other system than Linux.
    os: SYSTEMS,
    cpu: PROCESSORS,
    preferUnplugged: true,
    startFlags: START_FLAGS,
  };
}

function readme(name: string, version: string): string {
  const repository = decided(REPOSITORY);
  const key = decided(PUBLIC_KEY);
  const pages = repository === undefined ? [] : [
    `Documentation, source and releases: https://github.com/${repository}`,
    ...(key === undefined ? [] : [`Releases are signed with the minisign key \`${key}\`.`]),
    "",
  ];
  return [
    "# Reasonix",
    "",
    "A coding agent for the terminal.",
    "",
    "```sh",
    `npm install -g ${name}`,
    "reasonix setup",
    'reasonix run "fix the failing test"',
    "```",
    "",
    `Without installing: \`npx -y ${name} run "…"\`. The package brings its runtime, Deno ${RUNTIME_VERSION}, for`,
    "Linux (glibc), macOS and Windows on x64 and arm64. To remove it: " + `\`npm rm -g ${name}\`.`,
    "",
    ...pages,
    `Version ${version}. MIT license; \`reasonix docs\` prints the documentation.`,
    "",
  ].join("\n");
}

/** Packs the package into a file of the directory, as npm does it; returns the path of the file. */
export async function packPackage(directory: string, to: string): Promise<string> {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", to];
  const text = await mustRun("npm", { args, cwd: directory, env: { NO_UPDATE_NOTIFIER: "1" } });
  const [{ filename }] = JSON.parse(text.slice(text.indexOf("[")));
  return `${to}/${filename}`;
}

if (import.meta.main) {
  if (Deno.args.includes("--publishable") && decided(NPM_NAME) === undefined) {
    throw new Error(`Cannot publish a package without a name. ${UNDECIDED}`);
  }
  const { path } = await bundle();
  const dist = path.replace(/\/[^/]*$/, "");
  const { name, version } = await writePackage({ from: dist, to: `${dist}/npm` });
  const file = await packPackage(`${dist}/npm`, dist);
  say(`${file}  ${((await Deno.stat(file)).size / 1e6).toFixed(1)} MB  ${name} ${version}`);
  if (decided(NPM_NAME) === undefined) {
    say(`The name serves on this machine only. To publish: ${UNDECIDED}`);
  }
  say(`Next: npm install -g ${file}`);
}
