import type { Stop } from "../../agent/mod.ts";
import type { Config } from "../../config/mod.ts";
import {
  clausesOf,
  detailFields,
  type LocalizedMessage,
  message,
  type NewEventOf,
  newNotice,
  textOf,
  usageError,
} from "../../core/mod.ts";
import { isFile } from "../../path/probe.ts";
import {
  loadUserCommand,
  type RunContext,
  type UserCommandResult,
  type Verification,
} from "../../run/mod.ts";
import {
  filesFor,
  type VerifyCommand,
  verifyCommands,
  type VerifyResult,
  VerifyTrust,
} from "./verify_commands.ts";
import { attempt } from "../../util/lazy.ts";

interface RelatedInput {
  readonly rest: string;
  /** Changed files that ask for the command and are there, from the working directory. */
  readonly files: readonly string[];
  readonly cwd: string;
}

interface Runner {
  /** Matches the beginning of its command line; the rest must be options. */
  readonly begins: RegExp;
  /** The part of the tests that the files can break, as a command line; undefined: unknown. */
  readonly narrow: (input: RelatedInput) => string | undefined;
}

/** The rest of a line that neither selects tests nor does anything else. */
const OPTIONS_ALONE = /^(?:\s+-{1,2}[\w-]+(?:=[\w./,:@-]+)?)*\s*$/;

const RUNNERS: readonly Runner[] = [
  { begins: /^deno test/, narrow: (input) => withFiles("deno test", input, nearTests(input, DENO_TESTS)) },
  { begins: /^(?:python3? -m )?pytest/, narrow: pytest },
  { begins: /^(?:npx )?vitest(?: run)?/, narrow: ({ files }) => listed("npx vitest related --run", files) },
  {
    begins: /^(?:npx )?jest/,
    narrow: ({ files }) => listed("npx jest --passWithNoTests --findRelatedTests", files),
  },
  { begins: /^cargo test/, narrow: cargo },
  { begins: /^go test \.\/\.\.\./, narrow: ({ files, rest }) => goPackages("go test", files, rest) },
  { begins: /^go vet \.\/\.\.\./, narrow: ({ files, rest }) => goPackages("go vet", files, rest) },
];

/** Managers of packages only pass on what a script says. */
const SCRIPT_TEXT = /^(?:deno task \w+|(?:npm|pnpm|yarn|bun) (?:run )?\w+)$/;

/**
 * The command line that tests only what these files could have broken, where the runner allows that; it is
 * never the whole.
 */
export function relatedCommand(
  { line, defined }: Pick<VerifyCommand, "line" | "defined">,
  files: readonly string[],
  cwd: string,
): string | undefined {
  const text = defined && SCRIPT_TEXT.test(line) ? defined.text : line;
  const there = files.filter((file) => !file.startsWith("/") && isPlain(file) && isFile(`${cwd}/${file}`));
  if (there.length === 0) return undefined;
  for (const { begins, narrow } of RUNNERS) {
    const start = begins.exec(text)?.[0];
    if (start === undefined || !OPTIONS_ALONE.test(text.slice(start.length))) continue;
    const narrowed = narrow({ rest: text.slice(start.length).trimEnd(), files: there, cwd });
    return narrowed === text ? undefined : narrowed;
  }
  return undefined;
}

/** Empty for files in the working directory itself. */
function directoryOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Names that no shell and no runner takes for something else. */
function isPlain(path: string): boolean {
  return /^[\w.@+][\w./@+-]*$/.test(path);
}

function listed(start: string, files: readonly string[]): string | undefined {
  return files.length === 0 ? undefined : `${start} ${files.join(" ")}`;
}

function withFiles(start: string, { rest }: RelatedInput, files: readonly string[]): string | undefined {
  return listed(`${start}${rest}`, files);
}

interface TestNames {
  readonly isTest: RegExp;
  readonly names: (stem: string, ending: string) => readonly string[];
}

const DENO_TESTS: TestNames = {
  isTest: /[_.]test\.\w+$/,
  names: (stem, ending) => [`${stem}_test${ending}`, `${stem}.test${ending}`],
};

const PYTHON_TESTS: TestNames = {
  isTest: /(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/,
  names: (stem, ending) => [`test_${stem}${ending}`, `${stem}_test${ending}`],
};

/** Tests among the files, and those that lie where people put the tests of the others. */
function nearTests({ files, cwd }: RelatedInput, { isTest, names }: TestNames): string[] {
  const found = new Set<string>();
  for (const file of files) {
    if (isTest.test(file)) found.add(file);
    for (const candidate of isTest.test(file) ? [] : candidates(file, names)) {
      if (isFile(`${cwd}/${candidate}`)) found.add(candidate);
    }
  }
  return [...found].sort();
}

function candidates(file: string, names: TestNames["names"]): string[] {
  const slash = file.lastIndexOf("/");
  const directory = file.slice(0, slash + 1);
  const [, stem = "", ending = ""] = /^(.*?)(\.\w+)$/.exec(file.slice(slash + 1)) ?? [];
  const inner = directory.replace(/^(?:src|lib|app)\//, "");
  const locations = [directory, `${directory}__tests__/`, `${directory}tests/`];
  for (const root of ["tests/", "test/", "tests/unit/"]) locations.push(root + inner, root + directory, root);
  return [...new Set(locations)].flatMap((location) => names(stem, ending).map((name) => location + name));
}

function pytest(input: RelatedInput): string | undefined {
  return withFiles("pytest", input, nearTests(input, PYTHON_TESTS));
}

/** The packages of a workspace that the files belong to, unless the root is one of them. */
function cargo({ files, rest, cwd }: RelatedInput): string | undefined {
  const names = new Set<string>();
  for (const file of files) {
    const name = crateOf(file, cwd);
    if (name === undefined) return undefined;
    names.add(name);
  }
  return `cargo test ${[...names].sort().map((name) => `-p ${name}`).join(" ")}${rest}`;
}

function crateOf(file: string, cwd: string): string | undefined {
  for (let directory = directoryOf(file); directory !== ""; directory = directoryOf(directory)) {
    const text = attempt(() => Deno.readTextFileSync(`${cwd}/${directory}/Cargo.toml`));
    if (text !== undefined) return /^\[package\][^[]*?^name\s*=\s*"([\w-]+)"/ms.exec(text)?.[1];
  }
  return undefined;
}

function goPackages(start: string, files: readonly string[], rest: string): string | undefined {
  if (!files.every((file) => file.endsWith(".go"))) return undefined;
  const directories = new Set(files.map((file) => file.includes("/") ? `./${directoryOf(file)}` : "."));
  return `${start}${rest} ${[...directories].sort().join(" ")}`;
}

const NAMED = 20;
/** A shell says so of a program that it does not find. */
const NOT_FOUND = 127;
/** Characters of the end of an output that are recorded. */
const TAIL = 6000;
/** Changed files that one event names. */
const MOST_FILES = 50;

/** Tests the changes of a turn, and reports failures to the model. */
export class Verifier implements Verification {
  readonly #run: RunContext;
  readonly #workflow: Config["workflow"];
  readonly #trust: VerifyTrust;
  #round = 0;

  constructor(run: RunContext) {
    const { options: { asker, trustProject, ignoreUntrusted }, loaded, paths } = run;
    const { workflow, language } = loaded.config;
    this.#run = run;
    this.#workflow = workflow;
    this.#trust = new VerifyTrust({ paths, language, asker, trustProject, ignoreUntrusted });
    run.extensions.add({
      onEvent: ({ type }) => {
        if (type === "turn.start") this.#round = 0;
        return undefined;
      },
    });
  }

  /** A turn begins; what the project says is looked at where all of it is trusted unseen. */
  async begin(): Promise<void> {
    await this.#trust.remember();
  }

  /** Returns the message to the model, or how the turn ends; undefined: the answer is accepted. */
  async review(signal: AbortSignal): Promise<string | Stop | undefined> {
    try {
      const commands = await verifyCommands(this.#workflow, this.#run.paths.cwd);
      if (commands.length === 0) return undefined;
      const changed = await this.#run.checkpointer.changed();
      const asked = commands.filter((command) => filesFor(command, changed).length > 0);
      if (asked.length === 0) return undefined;
      this.#round += 1;
      return await this.#judge(await this.#runAll(asked, { changed, narrow: true }, signal), changed);
    } catch (error) {
      // The loop says how a turn ends that was stopped.
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  /**
   * Runs every command there is, as the user asks for it. Throws a ReasonixError (usage) where there is none.
   */
  async byHand(signal: AbortSignal): Promise<readonly VerifyResult[]> {
    const commands = await verifyCommands(this.#workflow, this.#run.paths.cwd);
    if (commands.length === 0) {
      throw usageError(
        message`There is nothing to verify with: no command is configured or was found`,
        message`set [workflow] verify_commands; see docs/verification.md`,
      );
    }
    this.#round += 1;
    return await this.#runAll(commands, { changed: [], narrow: false }, signal);
  }

  /** Runs commands in order and records the result of each. Rejects only when the signal aborts. */
  async #runAll(
    commands: readonly VerifyCommand[],
    { changed, narrow }: { readonly changed: readonly string[]; readonly narrow: boolean },
    signal: AbortSignal,
  ): Promise<readonly VerifyResult[]> {
    const { trusted, skipped } = await this.#trust.sort(commands, changed, signal);
    const results: VerifyResult[] = [];
    for (const { command, why } of skipped) {
      const result = skippedResult(command.line, why);
      await this.#record(result, filesFor(command, changed));
      results.push(result);
    }
    const done = new Set<string>();
    for (const command of trusted) {
      const files = filesFor(command, changed);
      const related = narrow ? relatedCommand(command, files, this.#run.paths.cwd) : undefined;
      for (const line of related === undefined ? [command.line] : [related, command.line]) {
        signal.throwIfAborted();
        if (done.has(line)) continue;
        done.add(line);
        await this.#run.recorder.record({ type: "verification.start", round: this.#round, command: line });
        const result = await this.#result(line, signal);
        await this.#record(result, files);
        results.push(result);
        // The whole would only say it again.
        if (result.outcome !== "passed") break;
      }
    }
    return results;
  }

  async #result(line: string, signal: AbortSignal): Promise<VerifyResult> {
    const { refusalOf } = await loadUserCommand();
    const refusal = await refusalOf(line, this.#run, signal);
    if (refusal !== undefined) return skippedResult(line, message`\`${line}\` may not run: ${refusal}`);
    const timeoutSeconds = this.#workflow.test_timeout_ms / 1000;
    return resultOf(line, await this.#run.tools.runCommand({ line, timeoutSeconds }, signal));
  }

  async #record({ line, outcome, exitCode, text, durationMs }: VerifyResult, files: readonly string[]) {
    await this.#run.recorder.record({
      type: "verification",
      round: this.#round,
      command: line,
      outcome,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(text === "" ? {} : { text }),
      files: files.slice(0, MOST_FILES),
      durationMs,
    });
  }

  async #judge(results: readonly VerifyResult[], changed: readonly string[]) {
    const failed = results.filter(({ outcome }) => outcome === "failed" || outcome === "timeout");
    const [first] = failed;
    if (first) return await this.#failed(first, failed, changed);
    const skipped = results.filter(({ outcome }) => outcome === "skipped");
    if (skipped.length > 0) {
      const why = clausesOf(skipped.map(({ text, why }) => why ?? text));
      await this.#notify("warning", message`Not verified: ${why}`);
      return undefined;
    }
    await this.#notify("info", message`Verified: ${results.map(({ line }) => line)}`);
    return undefined;
  }

  async #failed(
    first: VerifyResult,
    failed: readonly VerifyResult[],
    changed: readonly string[],
  ): Promise<string | Stop | undefined> {
    const { max_rounds: most } = this.#workflow;
    const how = howEnded(first, this.#workflow.test_timeout_ms);
    if (this.#round <= most) {
      await this.#notify(
        "info",
        message`Verification ${this.#round} of ${most}: \`${first.line}\` failed (${how}); the model is notified`,
      );
      return this.#report(failed, changed);
    }
    const text = message`Not verified: \`${first.line}\` still fails (${how})`;
    // A goal continues with the failure in its next turn.
    if (this.#run.modes.collaboration === "goal") {
      await this.#notify("warning", text);
      return undefined;
    }
    return { reason: "failed", ...detailFields(text) };
  }

  #report(failed: readonly VerifyResult[], changed: readonly string[]): string {
    const more = changed.length > NAMED ? ` and ${changed.length - NAMED} more` : "";
    const deps = failed.map((result) =>
      `$ ${result.line}\n[${textOf(howEnded(result, this.#workflow.test_timeout_ms))}]\n${result.text}`
    );
    return [
      "<verification>",
      `These commands test the files of this turn (${changed.slice(0, NAMED).join(", ")}${more}) and failed:`,
      ...deps,
      "Fix what your changes broke, then answer again; the commands will run again. Do not weaken " +
      "tests or commands to get them passed. If a failure has another cause, say so in your answer.",
      "</verification>",
    ].join("\n\n");
  }

  async #notify(level: NewEventOf<"notice">["level"], text: LocalizedMessage): Promise<void> {
    await this.#run.recorder.record(newNotice(level, "verification", text));
  }
}

function howEnded({ outcome, exitCode }: VerifyResult, timeoutMs: number): LocalizedMessage {
  return outcome === "timeout"
    ? message`no end after ${timeoutMs / 1000} s`
    : message`exit code ${exitCode ?? "unknown"}`;
}

function skippedResult(line: string, why: LocalizedMessage): VerifyResult {
  return { line, outcome: "skipped", text: why.text, why, durationMs: 0 };
}

function resultOf(line: string, { outcome, exitCode, text, durationMs }: UserCommandResult): VerifyResult {
  const tail = tailOf(text);
  if (outcome === "failed" && (exitCode === undefined || exitCode === NOT_FOUND)) {
    const why = exitCode === NOT_FOUND
      ? message`\`${line}\` found no program of that name: ${tail}`
      : message`\`${line}\` could not run: ${tail}`;
    return { ...skippedResult(line, why), durationMs };
  }
  return { line, outcome, ...(exitCode === undefined ? {} : { exitCode }), text: tail, durationMs };
}

function tailOf(text: string): string {
  if (text.length <= TAIL) return text.trim();
  const tail = text.slice(-TAIL);
  return `[…]\n${tail.slice(tail.indexOf("\n") + 1).trim()}`;
}
