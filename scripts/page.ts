/**
 * Builds the web page: `deno task page` writes it to dist/page.json, from which a program that runs from its
 * sources serves it; `scripts/bundle.ts` puts it into the program. The files have names by their content and
 * are compressed. Nothing in them depends on the machine, the directory or the time.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import type { BuiltPage } from "../src/frontend/web/page_files.ts";
import { mustRun, say } from "./process.ts";

const ROOT = new URL("..", import.meta.url);
const OUTPUT = new URL("dist/page.json", ROOT);
/** Entries of code, by the names that index.html has for them. */
const ENTRIES = ["main", "stream"];
/** Other files that decide the code of the page. */
const INPUTS = ["page/index.html", "page/style.css", "page/deno.json", "deno.lock", "scripts/page.ts"];

/** Packages are in a directory with the name of the registry. */
const PACKAGE = /^.*?\/npm\/[^/]+\//;

/** A built page, with what it was made from. */
interface MadePage extends BuiltPage {
  /** Its modules: paths from the root of the project, or `npm:` and a path in a package. */
  readonly modules: readonly string[];
}

interface KeptPage extends MadePage {
  /** The SHA-256 of each file by its path. */
  readonly inputs: Readonly<Record<string, string>>;
}

interface Script {
  readonly code: string;
  /** The files of the build that it imports at its start. */
  readonly imports: readonly string[];
}

/** Returns the page of these sources: the one in dist, else a new one, which is written there. */
export async function builtPage(): Promise<MadePage> {
  const kept = await Deno.readTextFile(OUTPUT).then((text) => JSON.parse(text) as KeptPage, () => undefined);
  if (kept && Object.entries(kept.inputs).every(([path, sum]) => sumOf(path) === sum)) return pageOf(kept);
  const page = await buildPage();
  const draft = new URL(`page.${crypto.randomUUID()}.json`, OUTPUT);
  await Deno.mkdir(new URL(".", OUTPUT), { recursive: true });
  await Deno.writeTextFile(draft, JSON.stringify(page));
  await Deno.rename(draft, OUTPUT);
  return pageOf(page);
}

function pageOf({ build, files, modules }: KeptPage): MadePage {
  return { build, files, modules };
}

/** Returns the name of a module, on every machine the same. */
export function moduleName({ href, pathname }: URL): string {
  return href.startsWith(ROOT.href)
    ? decodeURI(href.slice(ROOT.href.length - 1))
    : decodeURI(pathname).replace(PACKAGE, "npm:/");
}

/** Builds the page. */
async function buildPage(): Promise<KeptPage> {
  const scripts = new Map<string, Script>();
  const modules = new Set<string>();
  // Separate bundles: the worker shares no file with the page, which would wait for one more.
  for (const entry of ENTRIES) await bundleInto(scripts, modules, entry);
  const style = await Deno.readTextFile(new URL("page/style.css", ROOT));
  const names = new Map([["style.css", hashed("style.css", style)]]);
  const files: Record<string, string> = { [names.get("style.css") ?? ""]: packed(style) };
  for (const name of scripts.keys()) nameScript(name, scripts, names, files);
  const address = (name: string) => `/assets/${names.get(name)}`;
  const preloads = [...importedFrom("main.js", scripts)].map((name) =>
    `<link rel="modulepreload" href="${address(name)}">`
  );
  const build = sum([...names.values()].sort().join()).slice(0, 16);
  const html = (await Deno.readTextFile(new URL("page/index.html", ROOT)))
    .replace("<!-- preloads -->", preloads.join(""))
    .replaceAll(/\.\/([\w.]+\.(?:js|css))/g, (_, name) => address(name))
    .replaceAll("{build}", build);
  files["index.html"] = packed(html);
  return {
    build,
    files: Object.fromEntries(Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1)),
    modules: [...new Set([...modules, ...await importedPackages(modules)])].sort(),
    inputs: Object.fromEntries(
      [...INPUTS, ...[...modules].filter((name) => name.startsWith("/")).map((name) => name.slice(1))].sort()
        .map((path) => [path, sumOf(path)]),
    ),
  };
}

/** Returns a module for each package that these modules import: the source map of a package may name none. */
async function importedPackages(modules: ReadonlySet<string>): Promise<readonly string[]> {
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const texts = [...modules].filter((name) => name.startsWith("/page/")).map((name) =>
    Deno.readTextFileSync(new URL(`.${name}`, ROOT))
  );
  return [...texts.join("\n").matchAll(/from "([@\w/-]+)"/g)].flatMap(([, specifier = ""]) => {
    const [, name, version] = /^npm:\/?(.+)@([\d.]+)/.exec(imports[specifier] ?? "") ?? [];
    return name === undefined ? [] : [`npm:/${name}/${version}/package.json`];
  });
}

/** Bundles an entry; adds its files by their names without those of chunks, which contain paths. */
async function bundleInto(scripts: Map<string, Script>, modules: Set<string>, entry: string): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "reasonix-page-" });
  try {
    // The Markdown of terminals, which the page never loads.
    const flags = [
      "--quiet",
      "--platform=browser",
      "--minify",
      "--code-splitting",
      "--sourcemap=external",
      "--external=@earendil-works/pi-tui",
    ];
    await mustRun(Deno.execPath(), {
      args: ["bundle", ...flags, "--outdir", directory, `page/${entry}.ts`],
      cwd: fileURLToPath(ROOT),
      env: { NO_COLOR: "1" },
    });
    const base = pathToFileURL(`${directory}/`);
    const names = [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) =>
      name.endsWith(".js")
    );
    const made = await Promise.all(names.map(async (name) => {
      const code = await Deno.readTextFile(new URL(name, base));
      const { sources } = JSON.parse(await Deno.readTextFile(new URL(`${name}.map`, base)));
      const paths: string[] = sources.map((source: string) => moduleName(new URL(source, base))).sort();
      paths.forEach((path) => modules.add(path));
      return { name, code, key: `${paths[0] ?? "~"} ${code.length}` };
    }));
    made.sort((a, b) => a.key < b.key ? -1 : 1);
    const plain = new Map(made.map(({ name }, index) => [
      name,
      name === `${entry}.js` ? name : `${/^[a-z]+/.exec(name)?.[0] ?? "part"}${scripts.size + index}.js`,
    ]));
    for (const { name, code } of made) {
      const text = code.replaceAll(/\.\/([\w.-]+\.js)/g, (all, file) => {
        const known = plain.get(file);
        return known === undefined ? all : `./${known}`;
      });
      const imports = [...text.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)].map(([, file = ""]) => file);
      scripts.set(plain.get(name) ?? name, { code: text, imports });
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Names a script by its content, which has the names of what it imports: those are made first. */
function nameScript(
  name: string,
  scripts: ReadonlyMap<string, Script>,
  names: Map<string, string>,
  files: Record<string, string>,
): string {
  const known = names.get(name);
  if (known === "") throw new Error(`Cannot name ${name}: it imports itself in a circle`);
  if (known !== undefined) return known;
  names.set(name, "");
  const code = scripts.get(name)?.code.replaceAll(
    /"\.\/([\w.-]+\.js)"/g,
    (all, file) => scripts.has(file) ? `"./${nameScript(file, scripts, names, files)}"` : all,
  ) ?? "";
  const made = hashed(name, code);
  names.set(name, made);
  files[made] = packed(code);
  return made;
}

/** Returns the files that a script needs before it runs. */
function importedFrom(
  name: string,
  scripts: ReadonlyMap<string, Script>,
  found: Set<string> = new Set(),
): ReadonlySet<string> {
  for (const file of scripts.get(name)?.imports ?? []) {
    if (!found.has(file)) importedFrom(file, scripts, found.add(file));
  }
  return found;
}

function hashed(name: string, content: string): string {
  return name.replace(/\d*(\.\w+)$/, `-${sum(content).slice(0, 10)}$1`);
}

function packed(content: string): string {
  const bytes = gzipSync(content, { level: 9 });
  // The system that compressed is in the header.
  bytes[9] = 255;
  return bytes.toString("base64");
}

function sum(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function sumOf(path: string): string {
  try {
    return sum(Deno.readFileSync(new URL(path, ROOT)));
  } catch {
    return "";
  }
}

if (import.meta.main) {
  const { files, build } = await builtPage();
  for (const [name, content] of Object.entries(files)) {
    say(`${(Buffer.byteLength(content, "base64") / 1000).toFixed(1).padStart(7)} kB  ${name}`);
  }
  say(`  build ${build}`);
}
