/**
 * Builds the program: `deno task bundle [output]`, default dist/reasonix.js, with its parts next to it. The
 * file can be run, installed from an http URL, and is what `deno task compile` embeds. Next to it comes the
 * library, `mod.js`, with its types, and what a release says about the packages in these files:
 * THIRD_PARTY_LICENSES, which is in the program, too, and sbom.cdx.json.
 *
 * Four steps for the program: a split bundle, its chunks packed into few files, those minified, and the
 * functions of the start path marked for the code cache. Against a plain one-file bundle this halves the
 * time to the first request and to the version.
 */
import { compileEagerly } from "./bundle/eager.ts";
import { type Chunk, chunkOf, pack, packLibrary, packPart, type Parts } from "./bundle/pack.ts";
import { LICENSES, PAGES, partsOf, withoutDisplay, WORKER } from "./bundle/parts.ts";
import { executedByWorker, Tracer } from "./bundle/trace.ts";
import { writeTypes } from "./bundle/types.ts";
import { bundledPackages, noticesText, runtimePackage } from "./release/notices.ts";
import { releaseDate } from "./release/date.ts";
import { sbomText } from "./release/sbom.ts";
import { sourcePages } from "../cli/terminal/pages.ts";
import { START_FLAGS } from "../cli/terminal/start_flags.ts";
import { VERSION } from "../src/util/version.ts";
import { mustRun, say } from "./process.ts";

const ROOT = new URL("..", import.meta.url);
const ENTRY = "cli/main.ts";
const DEFAULT_OUTPUT = "dist/reasonix.js";
/** The name of the program while it is being built. */
const MAIN = "reasonix.js";
/** Entry of the file of worker processes, which execute a tenth of the program. */
const WORKER_ENTRY = "src/run/tools/worker_entry.ts";
/** The chunk of {@linkcode ENTRY}. */
const ENTRY_CHUNK = "main.js";

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
  const path = new URL(output, ROOT).pathname;
  await Deno.mkdir(new URL(".", new URL(output, ROOT)), { recursive: true });
  const directory = await Deno.makeTempDir({ prefix: "reasonix-build-" });
  try {
    const to = path.replace(/[^/]*$/, "");
    const build = await buildName();
    const files = await programFiles(directory, build);
    const text = `${SHEBANG}\n${headOf(build)}${files.get(MAIN)}`;
    await Deno.writeTextFile(path, text);
    if (Deno.build.os !== "windows") await Deno.chmod(path, 0o755);
    for (const [name, code] of files) if (name !== MAIN) await Deno.writeTextFile(to + name, code);
    await Deno.writeTextFile(to + WORKER, headOf(build) + await workerFile(directory, build));
    return { path, bytes: new TextEncoder().encode(text).length, build };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The line by which a program knows the file of worker processes that is of its build. */
function headOf(build: string): string {
  return `// Reasonix ${build}, MIT license\n`;
}

/** Returns the modules that an entry leads to, in the chunks of a split bundle. */
async function chunksFrom(entry: string, directory: string): Promise<readonly Chunk[]> {
  const config = `${ROOT.pathname}deno.json`;
  const flags = ["--code-splitting", "--minify", "--sourcemap=external", "--config", config];
  await denoBundle([...flags, "--outdir", directory, entry]);
  const names = [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) =>
    name.endsWith(".js")
  );
  return await Promise.all(
    names.sort().map(async (name) => {
      const { sources } = JSON.parse(await Deno.readTextFile(`${directory}/${name}.map`));
      const modules = sources.map((source: string) => new URL(source, `file://${directory}/`).pathname);
      return chunkOf(name, await Deno.readTextFile(`${directory}/${name}`), modules);
    }),
  );
}

/** Writes packed code to a file of the directory, minified; returns it. */
async function minified(code: string, directory: string, name: string): Promise<string> {
  await Deno.writeTextFile(`${directory}/packed.js`, code);
  await denoBundle(["--minify", "-o", `${directory}/${name}`, `${directory}/packed.js`]);
  return await Deno.readTextFile(`${directory}/${name}`);
}

/**
 * Returns the code that worker processes execute. The program contains it as well: a program loaded from an
 * address may load nothing else from there in a worker.
 */
async function workerFile(directory: string, name: string): Promise<string> {
  const chunks = withoutDisplay(await chunksFrom(WORKER_ENTRY, `${directory}/worker_chunks`));
  const packed = pack(chunks, "worker_entry.js", name);
  const code = await minified(packed, directory, WORKER);
  return ascii(compileEagerly(code, await executedByWorker(directory, WORKER)));
}

/** Returns the program and its parts, by the names of their files. */
async function programFiles(directory: string, build: string): Promise<ReadonlyMap<string, string>> {
  const modules = await chunksFrom(ENTRY, `${directory}/chunks`);
  const notices = await noticeFiles(modules);
  const texts = [textChunk(PAGES, await sourcePages()), textChunk(LICENSES, notices.get(NOTICES))];
  const chunks = [...modules, ...texts];
  const whole = (await packed(chunks, new Map(), { directory, build })).get(MAIN) ?? "";
  await using starts = new Tracer(directory, [MAIN]);
  const parts = partsOf(chunks, whole, (await starts.start()).get(MAIN) ?? new Set());
  const files = await packed(chunks, parts, { directory, build });
  await using tracer = new Tracer(directory, [...files.keys()]);
  const executed = await tracer.everything();
  const marked = [...files].map(([name, code]) =>
    [name, ascii(compileEagerly(code, executed.get(name) ?? new Set()))] as const
  );
  return new Map([...marked, ...notices]);
}

/** Returns the files about the packages that these chunks hold. */
async function noticeFiles(chunks: readonly Chunk[]): Promise<ReadonlyMap<string, string>> {
  const packages = await bundledPackages(chunks.flatMap(({ modules }) => modules));
  const runtime = await runtimePackage();
  const [lock, date] = [await Deno.readTextFile(new URL("deno.lock", ROOT)), await releaseDate(VERSION)];
  return new Map([
    [NOTICES, noticesText([runtime, ...packages], VERSION)],
    ["sbom.cdx.json", sbomText({ version: VERSION, packages, runtime, lock, date })],
  ]);
}

/** Returns a chunk with texts, such as the pages of the documentation. */
function textChunk(id: string, value: unknown): Chunk {
  const body = `exports.default = ${JSON.stringify(value)};`;
  return { id, modules: [`/${id}`], imports: [], lazy: [], names: [], body };
}

/** The minified program and its parts, by the names of their files; written to the directory, too. */
async function packed(
  chunks: readonly Chunk[],
  parts: Parts,
  { directory, build }: { readonly directory: string; readonly build: string },
): Promise<ReadonlyMap<string, string>> {
  const files = new Map([[MAIN, pack(chunks, ENTRY_CHUNK, build, parts)]]);
  for (const [name, list] of parts) files.set(`reasonix.${name}.js`, packPart(list, build));
  for (const [name, code] of files) files.set(name, await minified(code, directory, name));
  return files;
}

/**
 * Bundles the library into `mod.js` of a directory, with its types. Started as a program it does the part of
 * an agent's work that a worker process is for.
 */
export async function bundleLibrary(directory: string): Promise<string> {
  const scratch = await Deno.makeTempDir({ prefix: "reasonix-library-" });
  try {
    const entry = `${scratch}/library.ts`;
    const mod = JSON.stringify(new URL("mod.ts", ROOT).href);
    await Deno.writeTextFile(
      entry,
      `export * from ${mod};\nimport { runWorker } from ${mod};\n` +
        "if (import.meta.main) await runWorker(Deno.args);\n",
    );
    const code = packLibrary(await chunksFrom(entry, `${scratch}/chunks`), "library.js");
    const head = `// @ts-self-types="./types/mod.d.ts"\n${headOf(await buildName())}`;
    const path = `${directory}/mod.js`;
    await Deno.mkdir(directory, { recursive: true });
    await Deno.writeTextFile(path, head + ascii(await minified(code, scratch, "mod.js")));
    await Deno.remove(`${directory}/types`, { recursive: true }).catch(() => {});
    await writeTypes(`${directory}/types`, scratch);
    return path;
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** A single other character would double the memory of the whole source and the time to read it. */
function ascii(code: string): string {
  // deno-lint-ignore no-control-regex
  return code.replaceAll(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

async function denoBundle(args: readonly string[]): Promise<void> {
  await mustRun(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform=deno", ...args],
    cwd: ROOT.pathname,
    env: { NO_COLOR: "1" },
  });
}

/** Version and commit; the commit is left out where there is no git history, as in a source archive. */
async function buildName(): Promise<string> {
  const manifest = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT))) as { version: string };
  const commit = await mustRun("git", {
    args: ["-C", ROOT.pathname, "describe", "--always", "--dirty"],
  }).catch(() => "");
  return commit === "" ? manifest.version : `${manifest.version} (${commit.trim()})`;
}

if (import.meta.main) {
  const made = await bundle(Deno.args[0]);
  say(`${made.path}  ${(made.bytes / 1024).toFixed(0)} KB  ${made.build}`);
  say(await bundleLibrary(made.path.replace(/\/[^/]*$/, "")));
}
