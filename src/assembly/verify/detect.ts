import { isFile, readSmallText } from "../../path/probe.ts";
import { isRecord } from "../../util/json.ts";
import type { VerifyCommand } from "./verify_command.ts";

const SCRIPT_GLOBS = ["*.{ts,tsx,mts,cts,js,jsx,mjs,cjs,json,jsonc}"];
const WEB_GLOBS = [...SCRIPT_GLOBS, "*.{vue,svelte,css,scss,less,html}"];
const PYTHON_GLOBS = ["*.{py,pyi,toml,cfg,ini}"];

interface Found {
  readonly file: string;
  readonly text: string;
}

/** Reads how the project's own files say it is tested; what cannot be read says nothing. */
export async function detectCommands(cwd: string): Promise<VerifyCommand[]> {
  const script = await firstOf([() => denoCommands(cwd), () => packageCommands(cwd)]);
  const found = [...script, ...cargoCommands(cwd), ...goCommands(cwd), ...pythonCommands(cwd)];
  const all = found.length > 0 ? found : makeCommands(cwd);
  return [...all.filter(({ kind }) => kind === "lint"), ...all.filter(({ kind }) => kind === "test")];
}

async function firstOf(finders: readonly (() => Promise<VerifyCommand[]>)[]): Promise<VerifyCommand[]> {
  for (const find of finders) {
    const found = await find();
    if (found.length > 0) return found;
  }
  return [];
}

function read(cwd: string, ...names: readonly string[]): Found | undefined {
  for (const file of names) {
    const text = readSmallText(`${cwd}/${file}`);
    if (text !== undefined) return { file, text };
  }
  return undefined;
}

async function objectIn({ text }: Found): Promise<Record<string, unknown>> {
  const { parse } = await import("jsonc-parser");
  const value: unknown = parse(text.replace(/^\uFEFF/, ""), [], { allowTrailingComma: true });
  return isRecord(value) ? value : {};
}

async function denoCommands(cwd: string): Promise<VerifyCommand[]> {
  const found = read(cwd, "deno.json", "deno.jsonc");
  const { tasks } = found ? await objectIn(found) : {};
  if (!found || !isRecord(tasks)) return [];
  return (["lint", "check", "test"] as const).flatMap((name): VerifyCommand[] => {
    const task = tasks[name];
    const text = typeof task === "string" ? task : isRecord(task) ? JSON.stringify(task) : "";
    const defined = { file: found.file, text };
    return text === "" ? [] : [{
      line: `deno task ${name}`,
      kind: name === "test" ? "test" : "lint",
      globs: SCRIPT_GLOBS,
      defined,
    }];
  });
}

const LOCKFILES = [
  ["pnpm", ["pnpm-lock.yaml"]],
  ["yarn", ["yarn.lock"]],
  ["bun", ["bun.lock", "bun.lockb"]],
] as const;

async function packageCommands(cwd: string): Promise<VerifyCommand[]> {
  const found = read(cwd, "package.json");
  const { scripts } = found ? await objectIn(found) : {};
  if (!found || !isRecord(scripts)) return [];
  const manager = LOCKFILES.find(([, files]) => files.some((file) => isFile(`${cwd}/${file}`)))?.[0] ?? "npm";
  return (["lint", "typecheck", "test"] as const).flatMap((name): VerifyCommand[] => {
    const script = scripts[name];
    // What `npm init` writes tests nothing.
    if (typeof script !== "string" || script.trim() === "" || script.includes("no test specified")) return [];
    // Managers run these around it.
    const around = ["pre", "post"].map((prefix) => scripts[prefix + name]).filter((text) =>
      typeof text === "string"
    );
    // Else it would wait for changes for ever.
    const once = /\breact-scripts test\b/.test(script) ? " -- --watchAll=false" : "";
    const line = `${manager} ${name === "test" && manager === "npm" ? "test" : `run ${name}`}${once}`;
    const text = [script, ...around].join("\n");
    const kind = name === "test" ? "test" : "lint";
    return [{ line, kind, globs: WEB_GLOBS, defined: { file: found.file, text } }];
  });
}

function cargoCommands(cwd: string): VerifyCommand[] {
  if (!isFile(`${cwd}/Cargo.toml`)) return [];
  const defined = { file: "Cargo.toml", text: "cargo test" };
  return [{ line: "cargo test", kind: "test", globs: ["*.rs", "Cargo.toml", "Cargo.lock"], defined }];
}

function goCommands(cwd: string): VerifyCommand[] {
  if (!isFile(`${cwd}/go.mod`)) return [];
  const globs = ["*.go", "go.mod", "go.sum"];
  return ([["lint", "go vet ./..."], ["test", "go test ./..."]] as const).map(([kind, line]) => ({
    line,
    kind,
    globs,
    defined: { file: "go.mod", text: line },
  }));
}

function pythonCommands(cwd: string): VerifyCommand[] {
  const found = read(cwd, "pyproject.toml");
  if (!found) return [];
  const rows = [["lint", "ruff", "ruff check ."], ["test", "pytest", "pytest"]] as const;
  return rows.flatMap(([kind, tool, line]): VerifyCommand[] =>
    new RegExp(`^[ \\t]*\\[tool\\.${tool}[.\\]]`, "m").test(found.text)
      ? [{ line, kind, globs: PYTHON_GLOBS, defined: { file: found.file, text: line } }]
      : []
  );
}

function makeCommands(cwd: string): VerifyCommand[] {
  const found = read(cwd, "GNUmakefile", "makefile", "Makefile");
  if (!found) return [];
  return (["lint", "test"] as const).flatMap((target): VerifyCommand[] =>
    new RegExp(`^${target}[ \\t]*:(?!=)`, "m").test(found.text)
      ? [{
        line: `make ${target}`,
        kind: target,
        globs: ["*"],
        // A recipe can lead to any other.
        defined: { file: found.file, text: `make ${target}`, whole: true },
      }]
      : []
  );
}
