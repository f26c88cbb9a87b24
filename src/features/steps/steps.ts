import { message, textFields } from "../../core/mod.ts";
import type { TurnOutcome } from "../../agent/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import type { RunContext, TurnExtension, TurnInput } from "../../run/mod.ts";

const MARK = "%%(?:DONE|COMPLETED|COMPLETE)%%";
/** On a separate line, or at the end: an answer may also mention the mark. */
const SAID = new RegExp(`^[ \\t*_\`]*${MARK}[ \\t*_\`.!]*$|${MARK}[ \\t*_\`.!]*$(?![\\s\\S])`, "m");

/** Reports whether an answer says that the whole task is finished. */
export function saysDone(answer: string): boolean {
  return SAID.test(answer.trimEnd());
}

/** A mark with the blanks before it, and what sets it off in Markdown. */
const WRITTEN = new RegExp(`(?<![ \\t])[ \\t]*([*]{1,2}|_{1,2}|\`)?${MARK}\\1`, "g");

/** The answer without its marks. */
export function withoutMarks(answer: string): string {
  return answer.replace(WRITTEN, "").replace(/^\n+/, "").replace(/\n{3,}/g, "\n\n").trimEnd();
}

const GO_ON = "Go on with the task.";
/** Code of the notice between two turns. */
const FURTHER_TURN = "turn";

/** Gives the model several turns for each task, without a person in between. */
export function attach({ modes, recorder, extensions, options: { steps = 1, loaded } }: RunContext): void {
  const { status } = loaded.config.agent_mode;
  extensions.add(new Turns({ most: steps, status, waits: () => modes.planWaits }, recorder));
}

interface TurnsOptions {
  readonly most: number;
  readonly status: boolean;
  /** A decision of the user is pending. */
  readonly waits: () => boolean;
}

class Turns implements TurnExtension {
  readonly #most: number;
  readonly #showsStatus: boolean;
  readonly #waits: TurnsOptions["waits"];
  readonly #recorder: Recorder;
  #turn = 0;

  constructor({ most, status, waits }: TurnsOptions, recorder: Recorder) {
    this.#waits = waits;
    this.#most = most;
    this.#showsStatus = status;
    this.#recorder = recorder;
  }

  before(input: TurnInput): Promise<TurnInput> {
    this.#turn = input.origin === "continue" ? this.#turn + 1 : 1;
    const { status } = this;
    return Promise.resolve(status === undefined ? input : { ...input, reminder: status });
  }

  /**
   * The status after the message of a turn; undefined where other extensions caused more turns than planned.
   */
  get status(): string | undefined {
    return this.#turn > this.#most || !this.#showsStatus
      ? undefined
      : `<status>Turn ${this.#turn} of ${this.#most}</status>`;
  }

  async after({ reason, answer }: TurnOutcome, signal: AbortSignal): Promise<TurnInput | undefined> {
    if (reason !== "done" || signal.aborted || saysDone(answer) || this.#waits()) return undefined;
    const [turn, most] = [String(this.#turn + 1), String(this.#most)];
    if (this.#turn >= this.#most) {
      await this.#recorder.record({
        type: "notice",
        level: "warning",
        code: "turns",
        ...textFields(
          message`All ${most} turns are used up, and the model has not said that it has finished`,
        ),
      });
      return undefined;
    }
    const said = [["turnOf", turn, most]] as const;
    const text = `Turn ${turn} of ${most}`;
    await this.#recorder.record({ type: "notice", level: "info", code: FURTHER_TURN, text, said });
    return { text: GO_ON, origin: "continue", literal: true };
  }
}
