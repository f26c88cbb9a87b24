import type { Recorder } from "../../control/mod.ts";
import type { Saying } from "../../core/mod.ts";
import type { Gate } from "../../permission/mod.ts";
import { loadOwnCommand, type Modes, type OwnCommandEnd, type OwnCommandRunner } from "../../run/mod.ts";
import { relatedCommand } from "./related.ts";
import { filesFor, type VerifyCommand, type VerifyResult } from "./verify_command.ts";
import type { SkippedCommand } from "./verify_trust.ts";

export interface VerifyRoundParts {
  readonly recorder: Pick<Recorder, "record">;
  readonly gate: Gate;
  readonly modes: Modes;
  readonly cwd: string;
  /** Milliseconds; 0: no limit. */
  readonly timeoutMs: number;
  readonly runCommand: OwnCommandRunner;
}

/** One run of the commands that the changed files ask for. */
export interface VerifyRound {
  readonly round: number;
  readonly changed: readonly string[];
  /** What the turn could have broken is tested before the whole. */
  readonly narrow: boolean;
}

/** A shell says so of a program that it does not find. */
const NOT_FOUND = 127;
/** Characters of the end of an output that are kept. */
const TAIL = 6000;
/** Changed files that one event names. */
const MOST_FILES = 50;

/** Runs commands one after the other and records what became of each. Rejects only when the signal aborts. */
export class VerifyRunner {
  readonly #parts: VerifyRoundParts;

  constructor(parts: VerifyRoundParts) {
    this.#parts = parts;
  }

  async run(
    commands: readonly VerifyCommand[],
    round: VerifyRound,
    signal: AbortSignal,
  ): Promise<readonly VerifyResult[]> {
    const results: VerifyResult[] = [];
    const done = new Set<string>();
    for (const command of commands) {
      const files = filesFor(command, round.changed);
      const related = round.narrow ? relatedCommand(command, files, this.#parts.cwd) : undefined;
      for (const line of related === undefined ? [command.line] : [related, command.line]) {
        signal.throwIfAborted();
        if (done.has(line)) continue;
        done.add(line);
        const result = await this.#one(line, { ...round, changed: files }, signal);
        results.push(result);
        // The whole would only say it again.
        if (result.outcome !== "passed") break;
      }
    }
    return results;
  }

  /** Records a command that is not run. */
  async skip({ command, why, said }: SkippedCommand, round: VerifyRound): Promise<VerifyResult> {
    const files = filesFor(command, round.changed);
    const result: VerifyResult = { line: command.line, outcome: "skipped", text: why, said, durationMs: 0 };
    await this.#record(result, { ...round, changed: files });
    return result;
  }

  async #one(line: string, round: VerifyRound, signal: AbortSignal): Promise<VerifyResult> {
    await this.#parts.recorder.record({ type: "verification.start", round: round.round, command: line });
    const result = await this.#result(line, signal);
    await this.#record(result, round);
    return result;
  }

  async #result(line: string, signal: AbortSignal): Promise<VerifyResult> {
    const { runCommand, timeoutMs } = this.#parts;
    const { refusalOf } = await loadOwnCommand();
    const refusal = await refusalOf(line, this.#parts, signal);
    if (refusal !== undefined) {
      const said: Saying = ["verifyRefused", line, refusal];
      return { line, outcome: "skipped", text: `\`${line}\` may not run: ${refusal}`, said, durationMs: 0 };
    }
    return resultOf(line, await runCommand({ line, timeoutSeconds: timeoutMs / 1000 }, signal));
  }

  async #record({ line, outcome, exitCode, text, durationMs }: VerifyResult, round: VerifyRound) {
    await this.#parts.recorder.record({
      type: "verification",
      round: round.round,
      command: line,
      outcome,
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(text === "" ? {} : { text }),
      files: round.changed.slice(0, MOST_FILES),
      durationMs,
    });
  }
}

function resultOf(line: string, { outcome, exitCode, text, durationMs }: OwnCommandEnd): VerifyResult {
  const tail = tailOf(text);
  if (outcome === "failed" && (exitCode === undefined || exitCode === NOT_FOUND)) {
    const isMissing = exitCode === NOT_FOUND;
    const why = isMissing ? `\`${line}\` found no program of that name` : `\`${line}\` could not run`;
    const said: Saying = isMissing ? ["verifyMissing", line] : ["verifyUnrun", line, tail];
    return { line, outcome: "skipped", text: `${why}: ${tail}`, said, durationMs };
  }
  return { line, outcome, ...(exitCode === undefined ? {} : { exitCode }), text: tail, durationMs };
}

/** The last whole lines. */
function tailOf(text: string): string {
  if (text.length <= TAIL) return text.trim();
  const tail = text.slice(-TAIL);
  return `[…]\n${tail.slice(tail.indexOf("\n") + 1).trim()}`;
}
