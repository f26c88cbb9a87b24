/**
 * Puts the chunks of a split bundle into one file in which a chunk is a function. Nothing of a chunk is
 * evaluated, and none of the runtime's own modules it names is loaded, before someone imports it. A plain
 * one-file bundle has neither property: it declares the functions of all modules at its top and imports every
 * `node:` module at once.
 */
import { deflateRawSync } from "node:zlib";
import type { Chunk } from "./chunk.ts";

const LOADER = withoutIndents(`
const started = new Map();
const ready = new Map();
const $need = (id) => ready.get(id);
/* The modules of Node take 4 MB: they are loaded when a package asks for the first one. */
const $lateRequire = (url) => {
  let require;
  return (id) => (require ??= process.getBuiltinModule("node:module").createRequire(url))(id);
};
async function start(id) {
  if (elsewhere[id] !== undefined) await addPart(elsewhere[id]);
  const chunk = chunks[id];
  if (chunk === undefined) {
    const found = await import(id);
    ready.set(id, found);
    return found;
  }
  for (const needed of chunk[0]) await $load(needed);
  const exports = await chunk[1]($need);
  ready.set(id, exports);
  return exports;
}
function adopt(list) {
  for (const id in list) {
    chunks[id] = list[id];
    delete elsewhere[id];
  }
}
/* A file that is missing is no defect: one line says so, without a trace. */
function leave(error) {
  if (error?.name !== "IncompleteInstallation") throw error;
  console.error("error: " + error.message);
  Deno.exit(1);
}
function $load(id) {
  let loading = started.get(id);
  if (loading === undefined) started.set(id, loading = start(id));
  return loading;
}
`);

/** Loads parts from the files next to the program. */
const PARTS_IN_FILES = withoutIndents(`
async function addPart(name) {
  const file = "reasonix." + name + ".js";
  let part = await import(partUrl(file)).catch((cause) => ({ cause }));
  if (part.build !== build) part = await importKept(file).catch(() => part);
  if (part.build !== build) {
    const why = part.cause ? "it is not there" : "it is of another build";
    const remedy = part.cause && isRemote(partUrl(file))
      ? "it comes from there when it is first used: try again with a network, or install the program again"
      : "put it next to the program, or install it again";
    const error = new Error("Cannot load " + partUrl(file) + ": " + why + "; " + remedy, part);
    throw Object.assign(error, { name: "IncompleteInstallation" });
  }
  part.use($load, $lateRequire);
  for (const id in part.chunks) {
    chunks[id] = part.chunks[id];
    delete elsewhere[id];
  }
}
/* An update by npm replaces the files of a running program; reasonix update has kept those. */
async function importKept(file) {
  const { pathToFileURL } = await import("node:url");
  const home = Deno.env.get("REASONIX_HOME") ??
    (Deno.env.get("HOME") ?? Deno.env.get("USERPROFILE")) + "/.reasonix";
  return await import(pathToFileURL(home + "/kept/" + build.split(" ")[0] + "/" + file).href);
}
function isRemote(url) {
  return /^https?:/.test(url);
}
/* A newer program behind the same address must not get what the runtime keeps for an older one. */
function partUrl(id) {
  const url = new URL(id, import.meta.url);
  if (isRemote(url.href)) url.search = build;
  return url.href;
}
`);

/** Loads parts from the program: its variable `parts` has functions that return them, packed. */
const PARTS_INSIDE = withoutIndents(`
async function addPart(name) {
  const unpacked = new Blob([Uint8Array.fromBase64(parts[name]())]).stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const code = '"use strict";return' + await new Response(unpacked).text();
  adopt(new Function("$load", "$lateRequire", code)($load, $lateRequire));
}
`);

function withoutIndents(code: string): string {
  return code.replaceAll(/^ +|\/\*.*?\*\/\n/gm, "");
}

/** Chunks in separate files, by the name of the part (`reasonix.<name>.js`). */
export type Parts = ReadonlyMap<string, readonly Chunk[]>;

/** Returns the packed program. Chunks of a part are loaded from its file when they are imported first. */
export function pack(
  chunks: readonly Chunk[],
  entry: string,
  build = "",
  parts: Parts = new Map(),
): string {
  return `${loaderOf(chunks, build, parts)}\nawait $load(${JSON.stringify(entry)}).catch(leave);\n`;
}

/**
 * Returns the packed program in one file. Its parts are compressed within functions that return them: neither
 * is unpacked or kept in the code cache before it is used. A release gives the names of cli/identity.ts to
 * the built files, so that their chunk stays legible.
 */
export function packAlone(chunks: readonly Chunk[], entry: string, build: string, all: Parts): string {
  const parts = new Map(
    [...all].map(([name, list]) => [name, list.filter(({ body }) => !body.includes("@unset-"))]),
  );
  const own = [...parts.values()].flat().find(({ body }) => body.includes("import.meta"));
  if (own) throw new Error(`Cannot put the chunk ${own.id} into a part: it asks for its address`);
  const packed = [...parts].map(([name, list]) => {
    const bytes = new Uint8Array(deflateRawSync(listOf(list), { level: 9 }));
    return `${JSON.stringify(name)}:()=>"${bytes.toBase64()}"`;
  });
  const inside = `const parts={\n${packed.join(",\n")}\n};\n${PARTS_INSIDE}`;
  return `${loaderOf(chunks, build, parts, inside)}\nawait $load(${JSON.stringify(entry)}).catch(leave);\n`;
}

/** Returns the packed library: one file, which exports what its entry does. */
export function packLibrary(chunks: readonly Chunk[], entry: string): string {
  const { names, changing } = chunks.find(({ id }) => id === entry) ?? { names: [], changing: new Map() };
  if (names.length === 0) throw new Error(`Cannot find what ${entry} exports`);
  for (const location of changing.values()) throw changingError(location);
  const loader = loaderOf(chunks, "", new Map());
  return `${loader}\nexport const { ${names.join(", ")} } = await $load(${JSON.stringify(entry)});\n`;
}

function loaderOf(
  chunks: readonly Chunk[],
  build: string,
  parts: Parts,
  partLoader = PARTS_IN_FILES,
): string {
  refuseCircles(chunks);
  refuseChanging(chunks);
  const apart = new Map([...parts].flatMap(([name, list]) => list.map(({ id }) => [id, name])));
  const here = chunks.filter(({ id }) => !apart.has(id));
  return `const build = ${JSON.stringify(build)};\nconst chunks = ${listOf(here)};\n` +
    `const elsewhere = ${JSON.stringify(Object.fromEntries(apart))};\n${LOADER}${partLoader}`;
}

/** Returns the file of a part. */
export function packPart(chunks: readonly Chunk[], build: string): string {
  return `export const build = ${JSON.stringify(build)};\nlet $load, $lateRequire;\n` +
    `export const use = (...own) => [$load, $lateRequire] = own;\nexport const chunks = ${listOf(chunks)};\n`;
}

/** A chunk that executes is compiled with its file, as its functions are. */
function listOf(chunks: readonly Chunk[]): string {
  const list = chunks.map(({ id, imports, body, executes }) => {
    const code = `async function($need){\n${body}\n}`;
    return `${JSON.stringify(id)}:[${JSON.stringify(imports)},${executes ? `(${code})` : code}]`;
  });
  return `{\n${list.join(",\n")}\n}`;
}

/** Returns the chunks that these import, at once or later, and these. */
export function reachedFrom(
  starts: readonly string[],
  chunks: readonly Chunk[],
): ReadonlySet<string> {
  const byId = new Map(chunks.map((chunk) => [chunk.id, chunk]));
  const found = new Set<string>();
  const pending = [...starts];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const chunk = byId.get(id);
    if (!chunk || found.has(id)) continue;
    found.add(id);
    pending.push(...chunk.imports, ...chunk.lazy);
  }
  return found;
}

/** A chunk that takes a name from another one gets its value once: when that one has run. */
function refuseChanging(chunks: readonly Chunk[]): void {
  const taken = new Set(chunks.flatMap((chunk) => chunk.taken));
  for (const { id, changing } of chunks) {
    for (const [name, location] of changing) if (taken.has(`${id} ${name}`)) throw changingError(location);
  }
}

function changingError(location: string): Error {
  return new Error(`Cannot pack the bundle: a function assigns to an exported variable at ${location}`);
}

/** The loader waits for what a chunk imports, so that a circle of chunks would wait for itself. */
function refuseCircles(chunks: readonly Chunk[]): void {
  const byId = new Map(chunks.map((chunk) => [chunk.id, chunk]));
  const state = new Map<string, "open" | "closed">();
  const visit = (id: string): void => {
    if (state.get(id) === "open") {
      throw new Error(`Cannot pack the bundle: chunk ${id} imports itself in a circle`);
    }
    if (state.has(id)) return;
    state.set(id, "open");
    for (const needed of byId.get(id)?.imports ?? []) visit(needed);
    state.set(id, "closed");
  };
  for (const { id } of chunks) visit(id);
}
