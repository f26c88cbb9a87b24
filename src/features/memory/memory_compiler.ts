import { appendIfChanged, type Recorder } from "../../control/mod.ts";
import { saveFile } from "../../util/atomic_write.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";

export interface CommandOutcome {
  readonly command: string;
  readonly exitCode: number;
}

/** A command that failed in some turns, and has not succeeded since. */
interface Failure {
  readonly command: string;
  readonly exitCode: number;
  readonly turns: number;
  /** Milliseconds since the epoch. */
  readonly last: number;
  /** The command of the same turn that succeeded after it. */
  readonly instead?: string;
}

const MAX_FAILURES = 50;
const MAX_COMMAND = 200;
const MAX_LINES = 5;
const MAX_AGE_MS = 30 * 24 * 60 * 60 * 1000;
/** Failures in one turn are part of the work; those of several turns are worth a line. */
const MIN_TURNS = 2;
/** Exit code 1 of these means "no match" or "different". */
const COMPARES = /^(?:(?:e|f|rg|rip|z)?grep|rg|ag|ack|diff|cmp|test|\[|git (?:diff|grep))(?:\s|$)/;

/**
 * The memory compiler: keeps the commands that failed in a project, and makes of those that fail turn after
 * turn a short list for the next turn. It is a message behind the conversation, so that the cached prefix
 * stays as it is.
 *
 * Contract: a file that cannot be read is no file; one that cannot be written is not written. Never rejects.
 */
export class MemoryCompiler {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** Takes the commands of a turn that is over, in their order. */
  async learn(outcomes: readonly CommandOutcome[]): Promise<void> {
    const before = this.#read();
    const failures = new Map(before.map((failure) => [failure.command, failure]));
    const failed = new Map<string, CommandOutcome>();
    for (const outcome of outcomes) {
      const { command, exitCode } = outcome;
      if (!isShort(command)) continue;
      if (exitCode === 0) {
        failed.delete(command);
        failures.delete(command);
      } else if (exitCode > 1 || !COMPARES.test(command)) failed.set(command, outcome);
    }
    for (const { command, exitCode } of failed.values()) {
      const { turns = 0, instead } = failures.get(command) ?? {};
      const worked = alternativeTo(command, outcomes) ?? instead;
      failures.delete(command);
      failures.set(command, {
        command,
        exitCode,
        turns: turns + 1,
        last: Date.now(),
        ...(worked === undefined ? {} : { instead: worked }),
      });
    }
    const kept = [...failures.values()].slice(-MAX_FAILURES);
    if (kept.length === 0 && before.length === 0) return;
    const text = `${JSON.stringify({ version: 1, failures: kept }, undefined, 1)}\n`;
    await saveFile(this.#file, text, { mode: 0o600 }).catch(() => {});
  }

  /** Informs the model which commands to avoid, unless its last message about them is the same. */
  async notify(recorder: Recorder): Promise<void> {
    const lines = this.#read().filter(({ turns }) => turns >= MIN_TURNS).slice(-MAX_LINES).map(lineOf);
    if (lines.length === 0) return;
    await appendIfChanged(
      recorder,
      "<earlier_failures>\nThese commands failed in earlier turns of this project and have not succeeded since. " +
        `Do not repeat one unchanged: fix the cause first, or use what succeeded.\n${lines.join("\n")}\n` +
        "</earlier_failures>",
    );
  }

  /** The oldest first. */
  #read(): Failure[] {
    const data = parseJson(attempt(() => Deno.readTextFileSync(this.#file)) ?? "");
    const list = isRecord(data) && data.version === 1 && Array.isArray(data.failures) ? data.failures : [];
    const oldest = Date.now() - MAX_AGE_MS;
    return list.filter(isFailure).filter(({ last }) => last > oldest);
  }
}

/** The command of the same program that succeeded after the last failure of a command. */
function alternativeTo(command: string, outcomes: readonly CommandOutcome[]): string | undefined {
  const [program] = command.split(" ", 1);
  const at = outcomes.findLastIndex((outcome) => outcome.command === command);
  return outcomes.slice(at + 1).find((other) =>
    other.exitCode === 0 && other.command.split(" ", 1)[0] === program && isShort(other.command)
  )?.command;
}

function isShort(command: string): boolean {
  return command.length <= MAX_COMMAND && !command.includes("\n");
}

function lineOf({ command, exitCode, turns, instead }: Failure): string {
  const worked = instead === undefined ? "" : `; ${JSON.stringify(instead)} succeeded afterwards`;
  return `- ${JSON.stringify(command)}: exit code ${exitCode} in ${turns} turns${worked}`;
}

function isFailure(value: unknown): value is Failure {
  return isRecord(value) && typeof value.command === "string" && typeof value.exitCode === "number" &&
    typeof value.turns === "number" && typeof value.last === "number" &&
    (value.instead === undefined || typeof value.instead === "string");
}
