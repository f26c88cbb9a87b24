/**
 * Puts the chunks of a split bundle into one file in which a chunk is a function. Nothing of a chunk is
 * evaluated, and none of the runtime's own modules it names is loaded, before somebody imports it. A plain
 * one-file bundle has neither property: it declares the functions of all modules at its top and imports every
 * `node:` module at once.
 */
import ts from "typescript";

/** A chunk as a function body, and what it imports before it runs. */
export interface Chunk {
  readonly id: string;
  readonly imports: readonly string[];
  readonly body: string;
}

/**
 * Turns an ES module into the body of `async function (exports, require) {}`. Lazy imports become calls of
 * `load`.
 */
export function chunkOf(id: string, code: string): Chunk {
  const tree = ts.createSourceFile(id, code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const imports = new Set<string>();
  for (const statement of tree.statements) {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) continue;
    const specifier = statement.moduleSpecifier;
    if (specifier !== undefined && ts.isStringLiteral(specifier)) imports.add(specifier.text);
  }
  const { outputText } = ts.transpileModule(lazyCalls(tree, code), {
    fileName: id,
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ESNext,
      removeComments: true,
    },
  });
  return { id, imports: [...imports].map(chunkId), body: outputText };
}

/** "./chunk-A.js" → "chunk-A.js"; other specifiers stay. */
function chunkId(specifier: string): string {
  return specifier.replace(/^\.\//, "");
}

/** Replaces the keyword of each `import(…)` by the packed file's own loader. */
function lazyCalls(tree: ts.SourceFile, code: string): string {
  const places: number[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.ImportKeyword && ts.isCallExpression(node.parent)) {
      places.push(node.getStart(tree));
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  let result = code;
  for (const place of places.reverse()) {
    result = `${result.slice(0, place)}load${result.slice(place + "import".length)}`;
  }
  return result;
}

const LOADER = `
const started = new Map();
const ready = new Map();
const require = (id) => ready.get(id.replace(/^\\.\\//, ""));
async function start(id) {
  const chunk = chunks[id];
  if (chunk === undefined) {
    const found = await import(/^reasonix\\./.test(id) ? beside(id) : id);
    ready.set(id, found);
    return found;
  }
  const exports = {};
  for (const needed of chunk[0]) await load(needed);
  ready.set(id, exports);
  await chunk[1](exports, require);
  return exports;
}
/* A newer program behind the same address must not get what the runtime keeps for an older one. */
function beside(id) {
  const url = new URL(id, import.meta.url);
  if (/^https?:$/.test(url.protocol)) url.search = build;
  return url.href;
}
function load(specifier) {
  const id = specifier.replace(/^\\.\\//, "");
  let loading = started.get(id);
  if (loading === undefined) started.set(id, loading = start(id));
  return loading;
}
`;

/** The packed program; `build` tells the files beside one build from those of another. */
export function pack(chunks: readonly Chunk[], entry: string, build = ""): string {
  refuseCircles(chunks);
  const list = chunks.map(({ id, imports, body }) =>
    `${JSON.stringify(id)}: [${JSON.stringify(imports)}, async function (exports, require) {\n${body}\n}]`
  );
  const head = `const build = ${JSON.stringify(build)};\nconst chunks = {\n${list.join(",\n")}\n};\n`;
  return `${head}${LOADER}\nawait load(${JSON.stringify(entry)});\n`;
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
