import type { Config } from "../../config/mod.ts";
import { type EventOf, type LocalizedMessage, message } from "../../core/mod.ts";
import { detectLocale, loadTexts } from "../../i18n/mod.ts";
import { compileGlobs } from "../../path/glob.ts";
import { isFile, readSmallText } from "../../path/probe.ts";
import type { RunPaths } from "../../run/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import { type TrustItem, TrustStore } from "../../trust/mod.ts";
import { isRecord, recordOf } from "../../util/json.ts";

export interface VerifyCommand {
  readonly line: string;
  readonly kind: "lint" | "test";
  /** Globs of the changed files that ask for it; without a slash they mean the name in any directory. */
  readonly globs: readonly string[];
  /** Present: files of the project name it, which need no trust. */
  readonly defined?: Definition;
}

interface Definition {
  /** From the working directory. */
  readonly file: string;
  /** The text of the definition; the command itself where the file only names a tool. */
  readonly text: string;
  /** All of the file decides what runs. */
  readonly whole?: boolean;
}

export interface VerifyResult extends Pick<EventOf<"verification">, "outcome" | "exitCode"> {
  readonly line: string;
  /** The end of what it printed, or why it was not run. */
  readonly text: string;
  /** The reason for people, where it was not run. */
  readonly why?: LocalizedMessage;
  readonly durationMs: number;
}

type ByGlob = Readonly<Record<string, readonly string[]>>;

/** The commands of the settings, those that look before those that run; each once. */
export function configuredCommands(
  { lint_commands, verify_commands }: { readonly lint_commands: ByGlob; readonly verify_commands: ByGlob },
): VerifyCommand[] {
  return [...commandsOf("lint", lint_commands), ...commandsOf("test", verify_commands)];
}

function commandsOf(kind: VerifyCommand["kind"], table: ByGlob): VerifyCommand[] {
  const globs = new Map<string, string[]>();
  for (const [glob, lines] of Object.entries(table)) {
    for (const line of lines.map((each) => each.trim())) {
      if (line !== "") globs.set(line, [...globs.get(line) ?? [], glob]);
    }
  }
  return [...globs].map(([line, found]) => ({ line, kind, globs: found }));
}

/** Files that tests do not read by default. */
const NO_CODE = /\.(?:md|markdown|txt|rst|adoc)$/i;

/** The changed files that ask for a command. */
export function filesFor(
  { globs, defined }: Pick<VerifyCommand, "globs" | "defined">,
  changed: readonly string[],
): string[] {
  const paths = globs.filter((glob) => glob.includes("/")).map((glob) => glob.replace(/^\//, ""));
  const [asksByPath, asksByName] = [paths, globs].map((each) => compileGlobs(each, { dialect: "ignore" }));
  return changed.filter((path) =>
    !(defined && NO_CODE.test(path)) &&
    (asksByPath?.(path) || asksByName?.(path.slice(path.lastIndexOf("/") + 1)))
  );
}

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
  return recordOf(parse(text.replace(/^\uFEFF/, ""), [], { allowTrailingComma: true }));
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
    // Else it would wait for changes forever.
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

export interface SkippedCommand {
  readonly command: VerifyCommand;
  readonly why: LocalizedMessage;
}

interface SortedCommands {
  readonly trusted: readonly VerifyCommand[];
  readonly skipped: readonly SkippedCommand[];
}

interface VerifyTrustDeps {
  readonly paths: RunPaths;
  readonly language: string;
  /** Absent: no prompt is possible. */
  readonly asker?: Asker | undefined;
  readonly trustProject?: boolean | undefined;
  readonly ignoreUntrusted?: boolean | undefined;
}

/** The commands of the settings; without any those that the project's own files name. */
export async function verifyCommands(
  workflow: Config["workflow"],
  cwd: string,
): Promise<readonly VerifyCommand[]> {
  const { lint_commands, verify_commands, detect } = workflow;
  const isConfigured = Object.keys({ ...lint_commands, ...verify_commands }).length > 0;
  return isConfigured || !detect ? configuredCommands(workflow) : await detectCommands(cwd);
}

/** Makes the trust item of a command of the project: its line, and the text of its file that it runs. */
export function verifyItem({ line, defined }: VerifyCommand, cwd: string): TrustItem {
  const { file = "", text = "", whole } = defined ?? {};
  const runs = text === line ? [] : text.split("\n").map((each) => `runs: ${each}`);
  return {
    kind: "verify",
    name: line,
    definition: { line, text },
    ...(whole ? { files: [`${cwd}/${file}`] } : {}),
    place: { file },
    lines: ["after turns that change files, in the jail", ...runs],
  };
}

/**
 * Decides which commands of a project may run. A decision of the user counts for a command as its file
 * defines it; a command that the agent has changed is another one.
 */
export class VerifyTrust {
  readonly #deps: VerifyTrustDeps;
  /** Definitions that were declined in this session. */
  readonly #declined = new Set<string>();
  /** Definitions as the run found them, where all of the project is trusted as it was. */
  #found: ReadonlySet<string> | undefined;

  constructor(deps: VerifyTrustDeps) {
    this.#deps = deps;
  }

  /** Looks at what the project defines before anything can change it, where that is trusted unseen. */
  async remember(): Promise<void> {
    if (!this.#deps.trustProject || this.#found) return;
    const { cwd } = this.#deps.paths;
    this.#found = new Set((await detectCommands(cwd)).map((command) => keyOf(command, cwd)));
  }

  /** `changed`: paths that the turn has changed, from the working directory. */
  async sort(
    commands: readonly VerifyCommand[],
    changed: readonly string[],
    signal: AbortSignal,
  ): Promise<SortedCommands> {
    const { cwd } = this.#deps.paths;
    const trusted = new Set(commands.filter(({ defined }) => !defined));
    const waiting: VerifyCommand[] = [];
    const skipped: SkippedCommand[] = [];
    for (const command of commands) {
      if (!command.defined) continue;
      const { file } = command.defined;
      if (await this.#isTrusted(command)) trusted.add(command);
      else if (changed.includes(file)) skipped.push(changedNow(command, file));
      else if (this.#declined.has(keyOf(command, cwd))) skipped.push(untrusted(command));
      else waiting.push(command);
    }
    const agreed = waiting.length > 0 && await this.#ask(waiting, signal);
    for (const command of waiting) {
      if (agreed) trusted.add(command);
      else skipped.push(untrusted(command));
    }
    return { trusted: commands.filter((command) => trusted.has(command)), skipped };
  }

  async #isTrusted(command: VerifyCommand): Promise<boolean> {
    const { cwd } = this.#deps.paths;
    if (this.#found?.has(keyOf(command, cwd))) return true;
    return await this.#store.isTrusted(verifyItem(command, cwd));
  }

  /** Read again, since the user may decide in another terminal. */
  get #store(): TrustStore {
    const { home, cwd } = this.#deps.paths;
    return new TrustStore({ home, project: cwd });
  }

  /** Asks once about all; a no counts for the session. */
  async #ask(commands: readonly VerifyCommand[], signal: AbortSignal): Promise<boolean> {
    const { paths, language, asker, ignoreUntrusted } = this.#deps;
    if (!asker || ignoreUntrusted) return false;
    const { locale } = detectLocale({ env: paths.env, language });
    const { verify: texts } = await loadTexts("setting_commands", locale);
    const rows = commands.map(({ line, defined }) =>
      texts.row(line, defined?.file ?? "", defined?.text ?? "")
    );
    const answers = await asker.ask([{
      question: `${texts.question}\n${rows.join("\n")}`,
      options: [
        { label: texts.yes, description: texts.yesMeans },
        { label: texts.no, description: texts.noMeans },
      ],
      multiple: false,
    }], signal);
    signal.throwIfAborted();
    if (answers?.[0]?.[0] === texts.yes) {
      await this.#store.trust(commands.map((command) => verifyItem(command, paths.cwd)));
      return true;
    }
    for (const command of commands) this.#declined.add(keyOf(command, paths.cwd));
    return false;
  }
}

function keyOf({ line, defined }: VerifyCommand, cwd: string): string {
  let whole = "";
  try {
    if (defined?.whole) whole = Deno.readTextFileSync(`${cwd}/${defined.file}`);
  } catch {
    // It is gone, so that nothing of it is as it was.
  }
  return JSON.stringify([line, defined?.text, whole]);
}

function changedNow(command: VerifyCommand, file: string): SkippedCommand {
  const { line } = command;
  const why = message`what \`${line}\` runs was changed in this turn (${file}), so it is no longer trusted`;
  return { command, why };
}

function untrusted(command: VerifyCommand): SkippedCommand {
  const { line } = command;
  const why =
    message`\`${line}\` is not trusted yet: run \`reasonix trust\`, or name it in your own [workflow] verify_commands`;
  return { command, why };
}
