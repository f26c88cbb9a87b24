/** Declarations of the library, so that programs which import the bundled file are checked. */
import ts from "typescript";
import { mustRun } from "../process.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

const OPTIONS: ts.CompilerOptions = {
  declaration: true,
  emitDeclarationOnly: true,
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
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
export async function writeTypes(directory: string, scratch: string): Promise<void> {
  const emitted = await declarations(scratch);
  const written = new Set<string>();
  const pending = ["/mod.d.ts"];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (written.has(path)) continue;
    written.add(path);
    const text = emitted.get(path);
    if (text === undefined) throw new Error(`Cannot find the declarations ${path}`);
    for (const { fileName } of ts.preProcessFile(text).importedFiles) {
      if (fileName.startsWith(".")) {
        pending.push(declarationFile(new URL(fileName, `file://${path}`).pathname));
      }
    }
    const file = `${directory}${path}`;
    await Deno.mkdir(file.replace(/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(file, await withSpecifiers(text));
  }
}

/** Declarations of every module, by path from the root of the project. */
async function declarations(scratch: string): Promise<Map<string, string>> {
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
  const emitted = new Map<string, string>();
  program.emit(undefined, (path, text) => void emitted.set(path, text));
  return emitted;
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
