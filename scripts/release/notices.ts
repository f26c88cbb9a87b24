/**
 * The packages in the bundle, by its list of modules, and the text with all of their licenses. A package
 * that the makers of another one have compiled into theirs is known from the source map; the imports of
 * deno.json name it as `NAME@VERSION`, so that its license is on this machine.
 */
import { fileURLToPath } from "node:url";
import { mustRun } from "../process.ts";

/** A package whose code is in the bundle, or the runtime. */
export interface Package {
  readonly name: string;
  readonly version: string;
  /** SPDX identifier or expression. */
  readonly license: string;
  /** Its license and notice files, or the text of the license. */
  readonly text: string;
}

/** Files with another license than the package they are in, and where their source is. */
const FILES: Readonly<
  Record<string, { readonly file: string; readonly license: string; readonly source: string }>
> = {
  "@mozilla/readability": {
    file: "JSDOMParser.js",
    license: "MPL-2.0",
    source: "https://github.com/mozilla/readability/blob/0.6.0/JSDOMParser.js",
  },
};

interface Manifest {
  readonly license?: string;
  readonly author?: string | { readonly name?: string; readonly email?: string };
}

const NAME = "((?:@[^/]+/)?[^/@]+)";
/** A module of a package in the cache of the runtime, below the directories of its registry. */
const CACHED = new RegExp(`^(?:[^/]+/)*?${NAME}/(\\d+\\.\\d+\\.\\d+[^/_]*)(?:_\\d+)?/`);
/** A module that was compiled into a package, by the directories of pnpm. */
const EMBEDDED = /node_modules\/\.pnpm\/((?:@[^/+]+\+)?[^/@]+)@([^/_(]+)/;
const NOTICE = /^(?:licen[cs]e|copying|notice|third[-_ ]?party)/i;

/**
 * A source at GitHub, by its path below the host: the source maps of some packages name theirs so. Its
 * repository has the name of the package; the version is one of those in deno.lock.
 */
const AT_GITHUB = /^\/[^/]+\/([^/]+)\/[0-9a-f]{40}\//;

/** Modules of the project, from its root. */
const OURS = /^\/(?:cli|src|page|plugins)\/|^\/(?:mod\.ts|deno\.json)$/;

/**
 * Returns the packages of modules, by name and version. A module is a path in the cache, or `npm:/` and the
 * path below the registry; those of the project are not packages.
 */
export async function bundledPackages(modules: readonly string[]): Promise<readonly Package[]> {
  const cache = await npmCache();
  const found = new Set<string>();
  const without: string[] = [];
  for (const module of modules.map(slashed)) {
    const root = ["npm:/", ...cache.roots].find((start) => module.startsWith(start));
    if (root === undefined && OURS.test(module)) continue;
    const locked = root === undefined ? await lockedVersions(AT_GITHUB.exec(module)?.[1]) : [];
    for (const key of locked) found.add(key);
    if (locked.length > 0) continue;
    if (root === undefined) {
      throw new Error(`Cannot find the package of ${module}: it is not in the npm cache`);
    }
    const path = module.slice(root.length);
    const [, name, version] = EMBEDDED.exec(path) ?? CACHED.exec(path) ?? [];
    if (name !== undefined && version !== undefined) found.add(`${name.replace("+", "/")}@${version}`);
    else without.push(path);
  }
  const names = [...found].map((key) => key.slice(0, key.lastIndexOf("@")));
  // Other sources of a package, which its own modules were made from.
  const isKnown = (path: string) =>
    !path.includes("node_modules/") && names.some((name) => `/${path}`.includes(`/${name}/`));
  const unknown = without.find((path) => !isKnown(path));
  if (unknown !== undefined) {
    throw new Error(`Cannot list the packages of the bundle: ${unknown} names no version`);
  }
  const packages = await Promise.all([...found].map((key) => readPackage(key, cache.registries)));
  const key = ({ name, version }: Package) => `${name} ${version}`;
  return packages.sort((a, b) => key(a) < key(b) ? -1 : 1);
}

async function lockedVersions(name: string | undefined): Promise<string[]> {
  if (name === undefined) return [];
  const lock = JSON.parse(await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)));
  return Object.keys(lock.npm).map((key) => key.replace(/(@[^@_]+)_.*$/, "$1")).filter((key) =>
    key.startsWith(`${name}@`)
  );
}

/** The runtime, which executables contain and the npm package depends on. */
export async function runtimePackage(): Promise<Package> {
  const text = await standardText("MIT", "2018-2026 the Deno authors");
  return { name: "deno", version: Deno.version.deno, license: "MIT", text };
}

interface NpmCache {
  /** The directory of the cache, also by its real path, with a slash at the end. */
  readonly roots: readonly string[];
  /** Directories with the packages of a registry, whose address may have a path. */
  readonly registries: readonly string[];
}

async function npmCache(): Promise<NpmCache> {
  const { npmCache } = JSON.parse(await mustRun(Deno.execPath(), { args: ["info", "--json"] }));
  const here = fileURLToPath(import.meta.resolve("spdx-license-list/package.json"));
  const hosts = [...Deno.readDirSync(npmCache)].map(({ name }) => `${npmCache}/${name}`);
  const paths = [npmCache, await Deno.realPath(npmCache)].map((path) => `${slashed(path)}/`);
  const project = slashed(fileURLToPath(new URL("../../", import.meta.url)));
  return {
    // A cache in the project has the form of its modules.
    roots: [
      ...paths,
      ...paths.filter((path) => path.startsWith(project)).map((path) => path.slice(project.length - 1)),
    ],
    registries: [here.replace(/[\\/]spdx-license-list[\\/][^]*$/, ""), ...hosts],
  };
}

function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}

async function readPackage(key: string, registries: readonly string[]): Promise<Package> {
  const [name, version] = [key.slice(0, key.lastIndexOf("@")), key.slice(key.lastIndexOf("@") + 1)];
  for (const registry of registries) {
    const directory = `${registry}/${name}/${version}`;
    const manifest = await Deno.readTextFile(`${directory}/package.json`).catch(() => undefined);
    if (manifest === undefined) continue;
    const { license, author }: Manifest = JSON.parse(manifest);
    if (typeof license !== "string") throw new Error(`Cannot find the license of ${key} in its package.json`);
    const files = [...Deno.readDirSync(directory)].filter(({ name, isFile }) => isFile && NOTICE.test(name));
    const texts = files.map((file) => file.name).sort().map((file) =>
      Deno.readTextFile(`${directory}/${file}`)
    );
    const text = files.length > 0
      ? (await Promise.all(texts)).map(tidy).join("\n\n").replace(HOLDER, () => holderOf(author, key))
      : await standardText(license, holderOf(author, key));
    const other = FILES[name];
    if (!other) return { name, version, license, text };
    const { file, source } = other;
    const owner = `the authors of ${file}, whose source is ${source}`;
    return {
      name,
      version,
      license: `${license} AND ${other.license}`,
      text: `${text}\n\n${file} in it:\n\n${await standardText(other.license, owner)}`,
    };
  }
  throw new Error(
    `Cannot find the license of ${key}, which is in the bundle: add "${key}": "npm:${key}" to the imports of ` +
      "deno.json",
  );
}

function holderOf(author: Manifest["author"], key: string): string {
  const { name = "", email } = typeof author === "object" ? author : { name: author };
  if (name !== "") return email === undefined ? name : `${name} <${email}>`;
  throw new Error(
    `Cannot find the license of ${key}: it has no file with it, and package.json names no author`,
  );
}

/** The place of the owner in the text of a license, which some packages leave as it is. */
const HOLDER = /<year> <copyright holders>|\[yyyy\] \[name of copyright owner\]/;

/** Returns the text of a license from the list of SPDX, with its owner. */
async function standardText(license: string, holder: string): Promise<string> {
  const url = import.meta.resolve(`spdx-license-list/licenses/${license}.json`);
  const { default: { licenseText } } = await import(url, { with: { type: "json" } });
  const text = tidy(licenseText);
  const filled = text.replace(HOLDER, holder);
  return filled === text ? `Copyright (c) ${holder}\n\n${text}` : filled;
}

/** Without carriage returns, spaces at ends of lines, and empty lines around the text. */
function tidy(text: string): string {
  return text.replace(/^\ufeff/, "").replaceAll(/[ \t\r]+$/gm, "").replace(/^\n+|\n+$/g, "");
}

/** Returns the text of THIRD_PARTY_LICENSES. Packages with the same text share it. */
export function noticesText(packages: readonly Package[], version: string): string {
  const title = ({ name, version }: Package) => `${name} ${version}`;
  const width = Math.max(...packages.map((each) => title(each).length));
  const groups = Map.groupBy(packages, ({ text }) => text);
  const rule = "=".repeat(80);
  return `Third-party licenses of Reasonix ${version}

Reasonix is under the MIT license. It contains the packages of this list, and
deno runs it. Their licenses follow.

${packages.map((each) => `  ${title(each).padEnd(width)}  ${each.license}\n`).join("")}
${
    [...groups].map(([text, members]) =>
      `${rule}\n${members.map((each) => `${title(each)} (${each.license})\n`).join("")}${rule}\n\n${text}\n`
    ).join("\n")
  }`;
}
