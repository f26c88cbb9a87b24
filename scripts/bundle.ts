/**
 * Builds the program: `deno task bundle [output] [--no-library | --no-types]`, default dist/reasonix.js, with
 * its parts next to it. The file can be run, installed from an http URL, and is what `deno task compile`
 * embeds. Next to it comes the library, `mod.js`, with its types, and what a release says about the packages
 * in these files: THIRD_PARTY_LICENSES, which is in the program, too, and sbom.cdx.json.
 *
 * Three steps for the program: a split and minified bundle, its chunks made into functions, of which those
 * that usual runs execute are marked for the code cache, and these packed into few files. Against a plain
 * one-file bundle this halves the time to the first request and to the version. Nothing in the files depends
 * on the machine, the directory or the time: two builds of one commit are equal.
 */
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Chunk, chunkOf, type SplitFile } from "./bundle/chunk.ts";
import { type FunctionList, readExecuted } from "./bundle/executed.ts";
import { grammarFile } from "./bundle/grammars.ts";
import { pack, packAlone, packLibrary, packPart } from "./bundle/pack.ts";
import {
  ALONE_FILE,
  GRAMMARS,
  INSTALLER,
  LICENSES,
  PAGE,
  PAGES,
  partsOf,
  pluginPartsOf,
  PLUGINS_FILE,
  withoutDisplay,
  WORKER,
} from "./bundle/parts.ts";
import { writeTypes } from "./bundle/types.ts";
import { builtPage, moduleName } from "./page.ts";
import { bundledPackages, noticesText, runtimePackage } from "./release/notices.ts";
import { releaseDate } from "./release/date.ts";
import { sbomText } from "./release/sbom.ts";
import { sourcePages } from "../cli/terminal/pages.ts";
import { isProgramFile } from "../cli/release/channel.ts";
import { sha256Of } from "../cli/release/verify.ts";
import { START_FLAGS } from "../cli/terminal/start_flags.ts";
import { PLUGINS } from "../plugins/plugins.ts";
import { VERSION } from "../src/util/version.ts";
import { mustRun, say } from "./process.ts";

const ROOT = new URL("..", import.meta.url);
const ROOT_PATH = fileURLToPath(ROOT);
const ENTRY = "cli/main.ts";
const DEFAULT_OUTPUT = "dist/reasonix.js";
/** Flags that leave out the library, or only its types, which take as long as the rest. */
const [NO_LIBRARY, NO_TYPES] = ["--no-library", "--no-types"] as const;
/** Chooses the part of the MCP SDK without `node:process` and Ajv, which take 5 MB and 15 ms of a start. */
const FOR_PLUGINS = { DENO_CONDITIONS: "browser" };
/** The name of the program while it is being built. */
const MAIN = "reasonix.js";
/** Entry of the file of worker processes, which execute a tenth of the program. */
const WORKER_ENTRY = "src/run/tools/worker_entry.ts";
/** The file with the licenses of the packages in the program. */
const NOTICES = "THIRD_PARTY_LICENSES";

/** Lets the file be started by name on Unix. */
const SHEBANG = `#!/usr/bin/env -S deno run ${START_FLAGS.join(" ")} --no-config`;

interface Bundle {
  readonly path: string;
  readonly bytes: number;
  readonly build: string;
}

/** Bundles the program; `output` is absolute or relative to the project's root. */
export async function bundle(output: string = DEFAULT_OUTPUT): Promise<Bundle> {
  const path = fileURLToPath(new URL(output, ROOT));
  const to = path.replace(/[^/]*$/, "");
  await Deno.mkdir(to, { recursive: true });
  const build = await buildName();
  const grammars = await grammarFile();
  const plugins = await pluginFiles(build);
  const others = [...plugins.modules, ...grammars.modules];
  const { files, alone, notices } = await programFiles(build, others);
  const head = `${SHEBANG}\n${headOf(build)}`;
  const text = `${head}${files.get(MAIN)}`;
  for (const [name, code] of [[path, text], [to + ALONE_FILE, `${head}${alone}`]] as const) {
    await Deno.writeTextFile(name, code);
    if (Deno.build.os !== "windows") await Deno.chmod(name, 0o755);
  }
  for (const [name, code] of [...files, ...notices]) {
    if (name !== MAIN) await Deno.writeTextFile(to + name, code);
  }
  const { code } = await workerFile(build);
  await Deno.writeTextFile(to + WORKER, headOf(build) + code);
  for (const [name, code] of plugins.files) await Deno.writeTextFile(to + name, headOf(build) + code);
  await Deno.writeFile(to + GRAMMARS, grammars.bytes);
  await writeInstaller(to);
  return { path, bytes: text.length, build };
}

/** The line by which a program knows the file of worker processes that is of its build. */
function headOf(build: string): string {
  return `// Reasonix ${build}, MIT license\n`;
}

/** The chunks of a program or library, and that of its entry. */
interface Chunks {
  readonly chunks: readonly Chunk[];
  readonly entry: string;
}

/**
 * Returns the modules that an entry leads to, in the chunks of a split bundle. A generated entry has a name
 * and its text.
 */
async function chunksFrom(
  entry: string,
  executing: FunctionList = new Map(),
  generated?: string,
): Promise<Chunks> {
  const directory = await Deno.makeTempDir({ prefix: "reasonix-build-" });
  try {
    const config = `${ROOT_PATH}deno.json`;
    const flags = ["--code-splitting", "--minify", "--sourcemap=external", "--config", config];
    const path = generated === undefined ? entry : `${directory}/${entry}`;
    if (generated !== undefined) await Deno.writeTextFile(path, generated);
    await denoBundle([...flags, "--outdir", directory, path], generated === undefined ? {} : FOR_PLUGINS);
    const files = inOrder(await readSplit(directory, executing.size > 0));
    // The names of files are made from paths.
    const ids = new Map(files.map(({ name }, index) => [`./${name}`, String(index)]));
    const idOf = (specifier: string) => ids.get(`./${specifier.replace("./", "")}`) ?? specifier;
    const chunks = files.map((file) => chunkOf(file, idOf, executing));
    return { chunks, entry: idOf(entry.replace(/^.*\//, "./").replace(/\.ts$/, ".js")) };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** `named`: with the source maps, by which a list names functions. */
async function readSplit(directory: string, named: boolean): Promise<SplitFile[]> {
  const base = pathToFileURL(`${directory}/`);
  const names = [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) =>
    name.endsWith(".js")
  );
  return await Promise.all(names.map(async (name) => {
    const [code, text] = await Promise.all(
      [name, `${name}.map`].map((file) => Deno.readTextFile(`${directory}/${file}`)),
    );
    const map = JSON.parse(text ?? "");
    // A generated entry is in the directory.
    const modules = map.sources.map((source: string) =>
      source.includes("/") ? moduleName(new URL(source, base)) : `/plugins/${source}`
    );
    return { name, code: code ?? "", modules, ...named ? { map } : {} };
  }));
}

/**
 * Sorts the files of a split bundle by their first modules; those without modules, which only export what
 * others do, come last, by the names that they export. Two that have the same can replace each other.
 */
function inOrder(files: readonly SplitFile[]): readonly SplitFile[] {
  const first = new Map(files.map(({ name, modules }) => [`./${name}`, [...modules].sort()[0] ?? ""]));
  const keyOf = ({ code, modules, name }: SplitFile) =>
    modules.length > 0
      ? `/${first.get(`./${name}`)}`
      : `~${code.replaceAll(/\.\/[\w.$@-]+\.js/g, (specifier) => first.get(specifier) ?? specifier)}`;
  const keys = new Map(files.map((file) => [file, keyOf(file)]));
  return files.toSorted((a, b) => (keys.get(a) ?? "") < (keys.get(b) ?? "") ? -1 : 1);
}

/** A packed file, with the chunks in it. */
export interface Packed {
  readonly code: string;
  readonly chunks: readonly Chunk[];
}

/**
 * Returns the code that worker processes execute. The program contains it as well: a program loaded from an
 * address may load nothing else from there in a worker.
 */
export async function workerFile(build: string): Promise<Packed> {
  const made = await chunksFrom(WORKER_ENTRY, (await readExecuted()).worker);
  const chunks = withoutDisplay(made.chunks);
  return { code: pack(chunks, made.entry, build), chunks };
}

/** The files of the processes of plugins, by name, and the modules in them. */
interface PluginFiles {
  readonly files: ReadonlyMap<string, string>;
  readonly modules: readonly string[];
}

/** Bundles the plugins of the list: what a start needs, their code, and packages that are loaded later. */
async function pluginFiles(build: string): Promise<PluginFiles> {
  const loads = PLUGINS.map(({ module }) => {
    const [key, url] = [module, new URL(`plugins/${module}`, ROOT).href].map((text) => JSON.stringify(text));
    return `  ${key}: () => import(${url}),\n`;
  });
  const entry = `import { runPlugin } from ${JSON.stringify(new URL("plugins/main.ts", ROOT).href)};\n` +
    `const modules = {\n${loads.join("")}};\n` +
    `const load = (module) => modules[module]();\n` +
    `await runPlugin({ load, entry: import.meta.url, version: () => ${JSON.stringify(VERSION)} });\n`;
  const made = await chunksFrom("entry.ts", undefined, entry);
  const parts = pluginPartsOf(made.chunks, made.entry, PLUGINS);
  const files = new Map([[PLUGINS_FILE, pack(made.chunks, made.entry, build, parts)]]);
  for (const [name, list] of parts) files.set(`reasonix.${name}.js`, packPart(list, build));
  return { files, modules: made.chunks.flatMap(({ modules }) => modules) };
}

/** The files of the program. */
interface Program {
  /** The program and its parts, by name. */
  readonly files: ReadonlyMap<string, string>;
  /** The program with its parts inside. */
  readonly alone: string;
  readonly chunks: readonly Chunk[];
  /** The files about the packages in it. */
  readonly notices: ReadonlyMap<string, string>;
}

/** `others` are modules in other files that are installed with the program. */
export async function programFiles(build: string, others: readonly string[] = []): Promise<Program> {
  const { start, program } = await readExecuted();
  const made = await chunksFrom(ENTRY, program);
  const { modules, ...page } = await builtPage();
  const notices = await noticeFiles([
    ...modules,
    ...others,
    ...made.chunks.flatMap(({ modules }) => modules),
  ]);
  const texts = [
    textChunk(PAGES, await sourcePages()),
    textChunk(PAGE, page),
    textChunk(LICENSES, notices.get(NOTICES)),
  ];
  const chunks = [...made.chunks, ...texts];
  const parts = partsOf(chunks, start);
  const files = new Map([[MAIN, pack(chunks, made.entry, build, parts)]]);
  for (const [name, list] of parts) files.set(`reasonix.${name}.js`, packPart(list, build));
  return { files, alone: packAlone(chunks, made.entry, build, parts), chunks, notices };
}

/** Returns the files about the packages of these modules. */
async function noticeFiles(modules: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const packages = await bundledPackages(modules);
  const runtime = await runtimePackage();
  const [lock, date] = [await Deno.readTextFile(new URL("deno.lock", ROOT)), await releaseDate(VERSION)];
  return new Map([
    [NOTICES, noticesText([runtime, ...packages], VERSION)],
    ["sbom.cdx.json", sbomText({ version: VERSION, packages, runtime, lock, date })],
  ]);
}

/** Writes the installer, and the sums that it checks, next to the program. */
async function writeInstaller(directory: string): Promise<void> {
  await denoBundle(["--minify", "-o", `${directory}${INSTALLER}`, "cli/release/install.ts"]);
  const names = [...Deno.readDirSync(directory)].map(({ name }) => name)
    .filter((name) => isProgramFile(name) || name === ALONE_FILE || name === INSTALLER).sort();
  const lines = names.map((name) => `${sha256Of(Deno.readFileSync(directory + name))}  ${name}\n`);
  await Deno.writeTextFile(`${directory}SHA256SUMS`, lines.join(""));
}

/** Returns a chunk with texts, such as the pages of the documentation. */
function textChunk(id: string, value: unknown): Chunk {
  const code = `var text=${JSON.stringify(value)};export{text as default};`;
  return chunkOf({ name: id, code, modules: [`/${id}`] }, (id) => id);
}

/**
 * Bundles the library into `mod.js` of a directory; its types are to be in `types` there. Started as a
 * program it does the part of an agent's work that a worker process is for.
 */
export async function bundleLibrary(directory: string): Promise<string> {
  const path = `${directory}/mod.js`;
  const { chunks, entry } = await chunksFrom("scripts/bundle/library.ts");
  const head = `// @ts-self-types="./types/mod.d.ts"\n${headOf(await buildName())}`;
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeTextFile(path, head + packLibrary(chunks, entry));
  return path;
}

async function denoBundle(args: readonly string[], env: Record<string, string> = {}): Promise<void> {
  await mustRun(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform=deno", ...args],
    cwd: ROOT_PATH,
    env: { NO_COLOR: "1", ...env },
  });
}

/**
 * Version and commit; the commit is left out where there is no git history, as in a source archive. Neither
 * the tags nor the number of objects of a clone change it.
 */
async function buildName(): Promise<string> {
  const manifest = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT))) as { version: string };
  const commit = await mustRun("git", {
    args: [
      ...["-c", "safe.directory=*", "-C", ROOT_PATH],
      ...["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
    ],
  }).catch(() => "");
  return commit === "" ? manifest.version : `${manifest.version} (${commit.trim()})`;
}

if (import.meta.main) {
  const flags = Deno.args.filter((word) => word.startsWith("--"));
  const unknown = flags.find((flag) => flag !== NO_LIBRARY && flag !== NO_TYPES);
  if (unknown !== undefined) throw new Error(`Unknown flag ${unknown}; flags are ${NO_LIBRARY}, ${NO_TYPES}`);
  const made = await bundle(Deno.args.find((word) => !flags.includes(word)));
  say(`${made.path}  ${(made.bytes / 1024).toFixed(0)} KB  ${made.build}`);
  const directory = made.path.replace(/\/[^/]*$/, "");
  if (!flags.includes(NO_LIBRARY)) say(await bundleLibrary(directory));
  if (flags.length === 0) await writeTypes(`${directory}/types`);
}
