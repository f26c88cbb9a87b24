/** Declarations of the library, so that programs which import the bundled file are checked. */
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { mustRun } from "../process.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const OPTIONS: ts.CompilerOptions = {
  declaration: true,
  emitDeclarationOnly: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  // The stage `check` finds type errors.
  noCheck: true,
  types: [],
  lib: ["lib.esnext.d.ts"],
  allowImportingTsExtensions: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  target: ts.ScriptTarget.ESNext,
  resolveJsonModule: true,
  rootDir: ROOT,
  outDir: "/",
};

/** Writes what the types of `mod.ts` need below `directory`; its root is `mod.d.ts` there. */
export async function writeTypes(directory: string): Promise<void> {
  const scratch = await Deno.makeTempDir({ prefix: "reasonix-types-" });
  try {
    await Deno.remove(directory, { recursive: true }).catch(() => {});
    const written = new Set<string>();
    const pending = ["/mod.d.ts"];
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      if (written.has(path)) continue;
      written.add(path);
      const source = path.slice(1).replace(/\.d\.ts$/, ".ts");
      const text = await declared(source) ?? (await compiler(scratch))(source);
      for (const { fileName } of ts.preProcessFile(text).importedFiles) {
        if (fileName.startsWith(".")) {
          pending.push(declarationFile(new URL(fileName, `file://${path}`).pathname));
        }
      }
      const file = `${directory}${path}`;
      await Deno.mkdir(file.replace(/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(file, await withSpecifiers(text));
    }
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/**
 * Returns the declarations of a module if its text has them all, as that of three in four does. The compiler
 * declares methods named by symbols twice there.
 */
async function declared(source: string): Promise<string | undefined> {
  const { diagnostics, outputText } = ts.transpileDeclaration(await Deno.readTextFile(ROOT + source), {
    fileName: ROOT + source,
    reportDiagnostics: true,
    compilerOptions: { ...OPTIONS, emitDeclarationOnly: false, isolatedDeclarations: true },
  });
  return diagnostics?.length || outputText.includes("[Symbol.") ? undefined : outputText;
}

type Declare = (source: string) => string;

let compiling: Promise<Declare> | undefined;

/** Returns a function that infers what the text of a module does not declare. */
function compiler(scratch: string): Promise<Declare> {
  return compiling ??= startCompiler(scratch);
}

async function startCompiler(scratch: string): Promise<Declare> {
  const runtime = `${scratch}/runtime.d.ts`;
  await Deno.writeTextFile(
    runtime,
    await mustRun(Deno.execPath(), { args: ["types"], env: { NO_COLOR: "1" } }),
  );
  const manifest = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  await Deno.writeTextFile(
    `${scratch}/deno.json`,
    JSON.stringify({ imports: manifest.imports, nodeModulesDir: "auto" }),
  );
  await Deno.copyFile(`${ROOT}deno.lock`, `${scratch}/deno.lock`);
  await mustRun(Deno.execPath(), { args: ["install", "--quiet"], cwd: scratch });
  const host = ts.createCompilerHost(OPTIONS);
  // Packages lie in the scratch directory: the project itself has no node_modules.
  host.resolveModuleNameLiterals = (names, from, _redirected, options) =>
    names.map(({ text }) =>
      ts.resolveModuleName(text, text.startsWith(".") ? from : `${scratch}/any.ts`, options, host)
    );
  const program = ts.createProgram([`${ROOT}mod.ts`, runtime], OPTIONS, host);
  return (source) => {
    let made: string | undefined;
    program.emit(program.getSourceFile(ROOT + source), (_path, text) => void (made = text));
    if (made === undefined) throw new Error(`Cannot find the declarations of ${source}`);
    return made;
  };
}

/** Names files as they were written, and packages with their versions: no import map is at hand there. */
async function withSpecifiers(text: string): Promise<string> {
  const { imports } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`)) as {
    readonly imports: Readonly<Record<string, string>>;
  };
  return text.replaceAll(
    /(from |import\()"([^"]+)"/g,
    (_, before, name) => `${before}"${name.startsWith(".") ? declarationFile(name) : imports[name] ?? name}"`,
  );
}

function declarationFile(path: string): string {
  return path.replace(/(?:\.d)?\.ts$/, ".d.ts");
}
