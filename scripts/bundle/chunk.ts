/**
 * Turns a chunk of a split, minified bundle into the body of a function, with one parse of its code. The body
 * holds the code as it was minified, so that the chunk's source map names its functions.
 */
import ts from "typescript";
import { type FunctionList, hasMost, listed } from "./executed.ts";
import { type FunctionNames, functionNames, type SourceMap } from "./names.ts";

/** A chunk as a function body, and what it imports before it runs. */
export interface Chunk {
  /** A number, or the name by which code loads it. */
  readonly id: string;
  /** Modules in it: paths from the root of the project, or `npm:` and a path in a package. */
  readonly modules: readonly string[];
  readonly imports: readonly string[];
  /** Chunks and modules that it imports when it needs them. */
  readonly lazy: readonly string[];
  /** The body of `async function ($need) {}`: it ends by returning the exports. */
  readonly body: string;
  /** Names of the exports. */
  readonly names: readonly string[];
  /** Exports that functions assign to, by name, with where the first one does. */
  readonly changing: ReadonlyMap<string, string>;
  /** Names that it takes from chunks when it begins: `ID NAME`. */
  readonly taken: readonly string[];
  /** Says that the code of this chunk executes in usual runs. */
  readonly executes: boolean;
  /** The functions in the body, by the offset of their end. */
  readonly functions: ReadonlyMap<number, string>;
}

/** A file of a split bundle. */
export interface SplitFile {
  readonly name: string;
  readonly code: string;
  readonly modules: readonly string[];
  readonly map?: SourceMap;
}

const NOTHING: FunctionList = new Map();

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Returns the chunk of a file. `idOf` gives the chunks that other files become. Functions that execute are
 * compiled with the file: see {@linkcode Body}.
 */
export function chunkOf(
  file: SplitFile,
  idOf: (specifier: string) => string = chunkId,
  executing: FunctionList = NOTHING,
): Chunk {
  const tree = ts.createSourceFile(file.name, file.code, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const executes = hasMost(executing, file.modules);
  const names = functionNames(tree, file.map, file.modules);
  const body = new Body(tree, idOf, names, executes ? executing : NOTHING);
  const { text, functions } = body.write();
  const { lazy, exported, changing, taken } = body;
  const imports = [...new Set(body.imported)];
  return {
    id: idOf(file.name),
    modules: file.modules,
    imports,
    lazy,
    names: exported,
    changing,
    taken,
    body: text,
    executes,
    functions,
  };
}

/** "./chunk-A.js" → "chunk-A.js"; other specifiers stay. */
function chunkId(specifier: string): string {
  return specifier.replace(/^\.\//, "");
}

/**
 * The code of a chunk with its changes. Imports become variables, the export list the returned object, and
 * each `import(…)` a call of the packed file's loader.
 *
 * V8 compiles a function in parentheses when it compiles the file, and Deno's code cache, which is written at
 * that moment, holds it; any other is compiled when it is first called, in every process again. So functions
 * that execute get parentheses. Declared ones become variables at the beginning, where declarations take
 * effect too.
 */
class Body {
  readonly imported: string[] = [];
  readonly lazy: string[] = [];
  readonly exported: string[] = [];
  readonly changing = new Map<string, string>();
  readonly taken: string[] = [];
  readonly #tree: ts.SourceFile;
  readonly #code: string;
  readonly #idOf: (specifier: string) => string;
  readonly #names: FunctionNames;
  readonly #executing: FunctionList;
  readonly #edits: Edit[] = [];
  readonly #heads: string[] = [];
  readonly #hoisted: ts.FunctionDeclaration[] = [];
  /** Parts of the code that are not written where they are. */
  readonly #moved: { readonly start: number; readonly end: number }[] = [];
  /** Variables that are exported, by the names in the chunk. */
  readonly #variables = new Map<string, string>();

  constructor(
    tree: ts.SourceFile,
    idOf: (specifier: string) => string,
    names: FunctionNames,
    executing: FunctionList,
  ) {
    [this.#tree, this.#code, this.#idOf, this.#names, this.#executing] = [
      tree,
      tree.text,
      idOf,
      names,
      executing,
    ];
    for (const statement of tree.statements) this.#statement(statement);
    this.#visit(tree);
    // A single other character would double the memory of the whole source and the time to read it.
    // deno-lint-ignore no-control-regex
    for (const { index, 0: unit } of tree.text.matchAll(/[^\x00-\x7f]/g)) {
      this.#edit(index, index + 1, `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    }
    // A parenthesis that closes comes before one that opens at the same offset.
    this.#edits.sort((a, b) => a.start - b.start || Number(a.text === "(") - Number(b.text === "("));
    this.#moved.sort((a, b) => a.start - b.start);
  }

  write(): { readonly text: string; readonly functions: ReadonlyMap<number, string> } {
    const out = new Output(this.#code, this.#edits);
    out.add(this.#heads.join(""));
    for (const [at, item] of this.#hoisted.entries()) {
      const name = item.name ?? item;
      out.add(`${at === 0 ? "var " : ","}${name.getText(this.#tree)}=(`);
      out.copy(item.getStart(this.#tree), name.getStart(this.#tree));
      out.copy(name.end, item.end);
      out.add(")");
    }
    if (this.#hoisted.length > 0) out.add(";");
    let done = 0;
    for (const { start, end } of this.#moved) {
      out.copy(done, start);
      done = end;
    }
    // Comments on licenses come last.
    out.copy(done, Math.max(done, this.#tree.statements.at(-1)?.end ?? 0));
    const list = [...this.#variables].map(([local, name]) =>
      this.changing.has(name) ? `get ${name}(){return ${local}}` : name === local ? name : `${name}:${local}`
    );
    out.add(`\nreturn{${list.join(",")}}`);
    const functions = new Map<number, string>();
    for (const [node, name] of this.#names) {
      if (this.#isMarkable(node)) functions.set(out.offsetOf(node.end), name);
    }
    return { text: out.text, functions };
  }

  #statement(statement: ts.Statement): void {
    if (ts.isImportDeclaration(statement)) {
      this.#move(statement);
      const require = requireOf(statement);
      if (require !== undefined) return void this.#heads.push(`const ${require}=$lateRequire;`);
      const id = this.#idOf(textOf(statement.moduleSpecifier));
      this.imported.push(id);
      const needed = `$need(${JSON.stringify(id)})`;
      const { name, namedBindings: names } = statement.importClause ?? {};
      if (name !== undefined) this.taken.push(`${id} default`);
      if (name !== undefined) this.#heads.push(`const{default:${name.text}}=${needed};`);
      if (names !== undefined && ts.isNamespaceImport(names)) {
        this.#heads.push(`const ${names.name.text}=${needed};`);
      } else if (names !== undefined) {
        const list = names.elements.map(({ propertyName, name }) =>
          propertyName === undefined ? name.text : `${propertyName.getText(this.#tree)}:${name.text}`
        );
        this.#heads.push(`const{${list.join(",")}}=${needed};`);
        this.taken.push(...names.elements.map((each) => `${id} ${(each.propertyName ?? each.name).text}`));
      }
    } else if (ts.isExportDeclaration(statement)) {
      const { exportClause: clause, moduleSpecifier } = statement;
      if (moduleSpecifier !== undefined || clause === undefined || !ts.isNamedExports(clause)) {
        throw new Error(`Cannot pack ${this.#tree.fileName}: it exports names of another file`);
      }
      this.#move(statement);
      for (const { propertyName, name } of clause.elements) {
        this.#variables.set((propertyName ?? name).text, name.text);
        this.exported.push(name.text);
      }
    } else if (ts.isExportAssignment(statement)) {
      // The whole of a CommonJS package.
      const { expression } = statement;
      this.#edit(statement.getStart(this.#tree), expression.getStart(this.#tree), "const $default=");
      this.#variables.set("$default", "default");
      this.exported.push("default");
    } else if (ts.canHaveModifiers(statement) && statement.modifiers?.some(isExport)) {
      throw new Error(`Cannot pack ${this.#tree.fileName}: it exports without a list`);
    }
  }

  #move(statement: ts.Node): void {
    this.#moved.push({ start: statement.getStart(this.#tree), end: statement.end });
  }

  #edit(start: number, end: number, text: string): void {
    this.#edits.push({ start, end, text });
  }

  /** Long chains of operators in minified code are too deep for recursion. */
  #visit(root: ts.Node): void {
    const waiting: [node: ts.Node, inFunction: boolean][] = [[root, false]];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [node, inFunction] = next;
      if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
        this.#lazyImport(node);
      }
      if (inFunction) this.#noteAssignment(node);
      const isFunction = ts.isFunctionLike(node);
      if (isFunction) this.#mark(node);
      const children: typeof waiting = [];
      ts.forEachChild(node, (child) => void children.push([child, inFunction || isFunction]));
      waiting.push(...children.reverse());
    }
  }

  #lazyImport({ expression, arguments: [specifier] }: ts.CallExpression): void {
    this.#edit(expression.getStart(this.#tree), expression.end, "$load");
    if (specifier === undefined || !ts.isStringLiteral(specifier)) return;
    const id = this.#idOf(specifier.text);
    this.lazy.push(id);
    this.#edit(specifier.getStart(this.#tree), specifier.end, JSON.stringify(id));
  }

  /** Such an export is read when it is used. */
  #noteAssignment(node: ts.Node): void {
    for (const { text } of assignedBy(node)) {
      const name = this.#variables.get(text);
      if (name === undefined || this.changing.has(name)) continue;
      const { line, character } = this.#tree.getLineAndCharacterOfPosition(node.pos);
      this.changing.set(name, `${this.#tree.fileName}:${line + 1}:${character + 1}`);
    }
  }

  /** Methods cannot be compiled ahead, nor can declarations within functions. */
  #isMarkable(node: ts.Node): boolean {
    const isDeclared = ts.isFunctionDeclaration(node) && node.parent === this.#tree &&
      node.name !== undefined;
    return isDeclared || ts.isFunctionExpression(node) || ts.isArrowFunction(node);
  }

  #mark(node: ts.SignatureDeclaration): void {
    const [module = "", path = ""] = this.#names.get(node)?.split(" ") ?? [];
    if (!this.#isMarkable(node) || !this.#executing.get(listed(module))?.has(path)) return;
    if (ts.isFunctionDeclaration(node)) {
      this.#hoisted.push(node);
      this.#move(node);
    } else if (!ts.isParenthesizedExpression(node.parent)) {
      this.#edit(node.getStart(this.#tree), node.getStart(this.#tree), "(");
      this.#edit(node.end, node.end, ")");
    }
  }
}

/** Code that is written in pieces of other code, with its changes. */
class Output {
  readonly #code: string;
  readonly #edits: readonly Edit[];
  readonly #parts: string[] = [];
  readonly #copied: { readonly start: number; readonly end: number; readonly at: number }[] = [];
  #length = 0;

  constructor(code: string, edits: readonly Edit[]) {
    [this.#code, this.#edits] = [code, edits];
  }

  get text(): string {
    return this.#parts.join("");
  }

  add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
  }

  copy(start: number, end: number): void {
    let done = start;
    for (let index = firstFrom(this.#edits, start); index < this.#edits.length; index++) {
      const edit = this.#edits[index];
      if (edit === undefined || edit.start > end) break;
      // At its edges a piece has the parenthesis that closes at its end, and the one that opens at its start.
      if (edit.start === end && edit.text !== ")" || edit.start === start && edit.text === ")") continue;
      this.#copy(done, edit.start);
      this.add(edit.text);
      done = edit.end;
    }
    this.#copy(done, end);
  }

  #copy(start: number, end: number): void {
    if (start >= end) return;
    this.#copied.push({ start, end, at: this.#length });
    this.add(this.#code.slice(start, end));
  }

  /** Returns where the code is that ends at an offset of the original. */
  offsetOf(end: number): number {
    this.#copied.sort((a, b) => a.start - b.start);
    const piece = this.#copied[firstFrom(this.#copied, end) - 1];
    return piece === undefined || end > piece.end ? -1 : piece.at + end - piece.start;
  }
}

/** Index of the first item that starts at an offset or after it. */
function firstFrom(items: readonly { readonly start: number }[], offset: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.start ?? Infinity) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

function textOf(specifier: ts.Expression): string {
  return ts.isStringLiteral(specifier) ? specifier.text : "";
}

/** The name of `createRequire` where a statement imports nothing else. */
function requireOf({ moduleSpecifier, importClause }: ts.ImportDeclaration): string | undefined {
  const names = importClause?.namedBindings;
  if (textOf(moduleSpecifier) !== "node:module" || importClause?.name || !names) return undefined;
  const [first, ...others] = ts.isNamedImports(names) ? names.elements : [];
  const isRequire = (first?.propertyName ?? first?.name)?.text === "createRequire";
  return isRequire && others.length === 0 ? first?.name.text : undefined;
}

function isExport({ kind }: ts.ModifierLike): boolean {
  return kind === ts.SyntaxKind.ExportKeyword;
}

/** Returns the variables to which an expression or statement assigns. */
function assignedBy(node: ts.Node): readonly ts.Identifier[] {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    const assigns = kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
    return assigns ? targetsOf(node.left) : [];
  }
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const counts = node.operator === ts.SyntaxKind.PlusPlusToken ||
      node.operator === ts.SyntaxKind.MinusMinusToken;
    return counts ? targetsOf(node.operand) : [];
  }
  const isLoop = ts.isForOfStatement(node) || ts.isForInStatement(node);
  return isLoop && !ts.isVariableDeclarationList(node.initializer) ? targetsOf(node.initializer) : [];
}

function targetsOf(node: ts.Node): readonly ts.Identifier[] {
  if (ts.isIdentifier(node)) return [node];
  const isPattern = ts.isArrayLiteralExpression(node) || ts.isObjectLiteralExpression(node);
  if (ts.isPropertyAssignment(node)) return targetsOf(node.initializer);
  if (ts.isShorthandPropertyAssignment(node)) return [node.name];
  if (ts.isParenthesizedExpression(node) || ts.isSpreadElement(node) || ts.isSpreadAssignment(node)) {
    return targetsOf(node.expression);
  }
  if (ts.isBinaryExpression(node)) return targetsOf(node.left);
  return isPattern ? node.getChildren().flatMap((list) => list.getChildren()).flatMap(targetsOf) : [];
}
