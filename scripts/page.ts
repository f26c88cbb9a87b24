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
const INPUTS = [
  "page/index.html",
  "page/style.css",
  "page/deno.json",
  "deno.lock",
  "scripts/page.ts",
  "src/i18n/zh-CN.json",
];
/** Packages whose sentences the events of most sessions have: they are loaded with those of the page. */
const SPEAKERS = ["src/agent", "src/permission", "src/run", "src/tool"];

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
  const paths = [...Object.keys(kept?.inputs ?? {}), ...SPEAKERS.flatMap(codeBelow)];
  if (kept && paths.every((path) => sumOf(path) === kept.inputs[path])) return pageOf(kept);
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
  const code = [...modules].filter((name) => /^\/(?:page|src)\//.test(name)).map((name) => name.slice(1));
  const inputs = [...new Set([...INPUTS, ...code, ...SPEAKERS.flatMap(codeBelow)])].sort();
  const names = new Map<string, string>();
  const files: Record<string, string> = {};
  const plain = { "style.css": readText("page/style.css"), ...catalogues(inputs) };
  for (const [name, text] of Object.entries(plain)) {
    names.set(name, hashed(name, text));
    files[hashed(name, text)] = packed(text);
  }
  for (const name of scripts.keys()) nameScript(name, scripts, names, files);
  const address = (name: string) => `/assets/${names.get(name)}`;
  const preloads = [...importedFrom("main.js", scripts)].map((name) =>
    `<link rel="modulepreload" href="${address(name)}">`
  );
  const build = sum([...names.values()].sort().join()).slice(0, 16);
  const html = readText("page/index.html")
    .replace("<!-- preloads -->", preloads.join(""))
    .replaceAll(/\.\/([\w.]+\.(?:json|js|css))/g, (_, name) => address(name))
    .replaceAll("{build}", build);
  files["index.html"] = packed(html);
  return {
    build,
    files: Object.fromEntries(Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1)),
    modules: [...new Set([...modules, ...await importedPackages(modules)])].sort(),
    inputs: Object.fromEntries(inputs.map((path) => [path, sumOf(path)])),
  };
}

/** Divides the Chinese sentences into those that this code says, and the rest. */
function catalogues(code: readonly string[]): Record<"sentences.json" | "rest.json", string> {
  const text = code.filter((path) => path.endsWith(".ts")).map(readText).join("\n")
    .replace(
      /\\(?:u([\da-f]{4})|n|(.))/gi,
      (_, code, mark) => mark ?? (code ? String.fromCharCode(Number.parseInt(code, 16)) : "\n"),
    );
  const isSaid = (template: string) => {
    const parts = template.split("{}");
    return !/\w/.test(template) ||
      text.includes(`\`${parts[0]}`) && parts.every((part) => text.includes(part));
  };
  const all = Object.entries<string>(JSON.parse(readText("src/i18n/zh-CN.json")));
  const { true: said = [], false: rest = [] } = Object.groupBy(all, ([template]) => `${isSaid(template)}`);
  return {
    "sentences.json": JSON.stringify(Object.fromEntries(said)),
    "rest.json": JSON.stringify(Object.fromEntries(rest)),
  };
}

function codeBelow(directory: string): string[] {
  return [...Deno.readDirSync(new URL(directory, ROOT))].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return codeBelow(`${directory}/${name}`);
    return name.endsWith(".ts") ? [`${directory}/${name}`] : [];
  });
}

function readText(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
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
