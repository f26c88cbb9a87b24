import { ReasonixError } from "../core/mod.ts";
import { findGit, gitEnvironment, type ProgramResult, runProgram } from "../util/process.ts";

/** Settings under which git does nothing but what it was asked for: no program of anybody's, no network. */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.safecrlf=false",
  "submodule.recurse=false",
  "protocol.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting]);

export interface GitOptions {
  readonly cwd: string;
  readonly input?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Git as this program uses it, without hooks, file system monitors or the variables of a surrounding git. */
export class Git {
  readonly #program: string;

  private constructor(program: string) {
    this.#program = program;
  }

  /** Throws a ReasonixError when there is none that does not come from the directory itself. */
  static find(cwd: string): Git {
    const program = findGit(cwd);
    if (program !== undefined) return new Git(program);
    throw new ReasonixError("Cannot find git, which work trees are made with", {
      remedy: "install git, or work without work trees of your own",
    });
  }

  /** Runs it to its end, however that is; only an abort throws. */
  async run(args: readonly string[], { cwd, input, env, signal }: GitOptions): Promise<ProgramResult> {
    signal?.throwIfAborted();
    const result = await runProgram([this.#program, ...SETTINGS, ...args], {
      cwd,
      env: { ...gitEnvironment(), ...env },
      input,
      signal,
    });
    signal?.throwIfAborted();
    return result;
  }

  /** What it prints. Throws a ReasonixError that begins with `purpose` ("Cannot …") when it fails. */
  async ask(purpose: string, args: readonly string[], options: GitOptions): Promise<string> {
    const { code, text, errors } = await this.run(args, options);
    if (code === 0) return text;
    throw new ReasonixError(`${purpose}: ${firstLine(errors) || `git ended with ${code}`}`);
  }
}

/** The line that says what is wrong, without git's own word for it. */
export function firstLine(errors: string): string {
  const lines = errors.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const line = lines.find((each) => /^(?:fatal|error):/.test(each)) ?? lines[0] ?? "";
  return line.replace(/^(?:fatal|error):\s*/, "");
}

/** Entries of a list that git separates by NUL. */
export function entries(text: string): string[] {
  return text.split("\0").filter((entry) => entry !== "");
}
