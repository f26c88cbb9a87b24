/**
 * Puts the chunks of a split bundle into one file in which a chunk is a function. Nothing of a chunk is
 * evaluated, and none of the runtime's own modules it names is loaded, before someone imports it. A plain
 * one-file bundle has neither property: it declares the functions of all modules at its top and imports every
 * `node:` module at once.
 */
import ts from "typescript";

/** A chunk as a function body, and what it imports before it runs. */
export interface Chunk {
  readonly id: string;
  /** Absolute paths of the modules in it. */
  readonly modules: readonly string[];
  readonly imports: readonly string[];
  /** Chunks and modules that it imports when it needs them. */
  readonly lazy: readonly string[];
  readonly body: string;
  /** The names that it exports in an export list. */
  readonly names: readonly string[];
}

/**
 * Turns an ES module into the body of `async function (exports, require) {}`. Lazy imports become calls of
 * `load`.
 */
export function chunkOf(id: string, code: string, modules: readonly string[] = []): Chunk {
  const tree = ts.createSourceFile(id, code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const imports = new Set<string>();
  const names: string[] = [];
  for (const statement of tree.statements) {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue;
    if (
      ts.isExportDeclaration(statement) && statement.exportClause && ts.isNamedExports(statement.exportClause)
    ) {
      names.push(...statement.exportClause.elements.map(({ name }) => name.text));
    }
    const specifier = statement.moduleSpecifier;
    if (specifier !== undefined && ts.isStringLiteral(specifier)) imports.add(specifier.text);
  }
  const lazy = lazyCalls(tree, code);
  const { outputText } = ts.transpileModule(lazy.code, {
    fileName: id,
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ESNext,
      removeComments: true,
    },
  });
  return {
    id,
    modules,
    imports: [...imports].map(chunkId),
    lazy: lazy.specifiers.map(chunkId),
    body: outputText,
    names,
  };
}

/** "./chunk-A.js" → "chunk-A.js"; other specifiers stay. */
function chunkId(specifier: string): string {
  return specifier.replace(/^\.\//, "");
}

/** Replaces the keyword of each `import(…)` by the packed file's own loader; reports what is imported so. */
function lazyCalls(tree: ts.SourceFile, code: string): { code: string; specifiers: readonly string[] } {
  const places: number[] = [];
  const specifiers: string[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.ImportKeyword && ts.isCallExpression(node.parent)) {
      places.push(node.getStart(tree));
      const [specifier] = node.parent.arguments;
      if (specifier && ts.isStringLiteral(specifier)) specifiers.push(specifier.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  let result = code;
  for (const place of places.reverse()) {
    result = `${result.slice(0, place)}load${result.slice(place + "import".length)}`;
  }
  return { code: result, specifiers };
}

const LOADER = `
const started = new Map();
const ready = new Map();
const require = (id) => ready.get(id.replace(/^\\.\\//, ""));
async function start(id) {
  if (elsewhere[id] !== undefined) await addPart(elsewhere[id]);
  const chunk = chunks[id];
  if (chunk === undefined) {
    const found = await import(id);
    ready.set(id, found);
    return found;
  }
  const exports = {};
  for (const needed of chunk[0]) await load(needed);
  ready.set(id, exports);
  await chunk[1](exports, require);
  return exports;
}
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
  part.use(load);
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
/* A file that is missing is no defect: one line says so, without a trace. */
function leave(error) {
  if (error?.name !== "IncompleteInstallation") throw error;
  console.error("error: " + error.message);
  Deno.exit(1);
}
function load(specifier) {
  const id = specifier.replace(/^\\.\\//, "");
  let loading = started.get(id);
  if (loading === undefined) started.set(id, loading = start(id));
  return loading;
}
`;

/** Chunks in separate files, by the name of the part (`reasonix.<name>.js`). */
export type Parts = ReadonlyMap<string, readonly Chunk[]>;

/** Returns the packed program. Chunks of a part are loaded from its file when they are imported first. */
export function pack(
  chunks: readonly Chunk[],
  entry: string,
  build = "",
  parts: Parts = new Map(),
): string {
  return `${loaderOf(chunks, build, parts)}\nawait load(${JSON.stringify(entry)}).catch(leave);\n`;
}

/** Returns the packed library: one file, which exports what its entry does. */
export function packLibrary(chunks: readonly Chunk[], entry: string): string {
  const names = chunks.find(({ id }) => id === entry)?.names ?? [];
  if (names.length === 0) throw new Error(`Cannot find what ${entry} exports`);
  const loader = loaderOf(chunks, "", new Map());
  return `${loader}\nexport const { ${names.join(", ")} } = await load(${JSON.stringify(entry)});\n`;
}

function loaderOf(chunks: readonly Chunk[], build: string, parts: Parts): string {
  refuseCircles(chunks);
  const apart = new Map([...parts].flatMap(([name, list]) => list.map(({ id }) => [id, name])));
  const here = chunks.filter(({ id }) => !apart.has(id));
  return `const build = ${JSON.stringify(build)};\nconst chunks = ${listOf(here)};\n` +
    `const elsewhere = ${JSON.stringify(Object.fromEntries(apart))};\n${LOADER}`;
}

/** Returns the file of a part. */
export function packPart(chunks: readonly Chunk[], build: string): string {
  const own = chunks.find(({ body }) => body.includes("import.meta"));
  if (own) throw new Error(`Cannot put the chunk ${own.id} into a part: it asks for its address`);
  return `export const build = ${JSON.stringify(build)};\nlet load;\n` +
    `export const use = (loader) => load = loader;\nexport const chunks = ${listOf(chunks)};\n`;
}

function listOf(chunks: readonly Chunk[]): string {
  const list = chunks.map(({ id, imports, body }) =>
    `${JSON.stringify(id)}: [${JSON.stringify(imports)}, async function (exports, require) {\n${body}\n}]`
  );
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
