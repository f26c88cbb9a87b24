import { type AgentDeps, runShellTurn, runTurn, StopReason, type TurnOutcome } from "../agent/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { CompactionReport } from "../context/mod.ts";
import { type EventSink, ReasonixError, type Submission, type UserInput } from "../core/mod.ts";
import { titleOf } from "../session/mod.ts";
import type { Recorder } from "./recorder.ts";

/** The parts of an agent without those that the controller adds itself. */
export interface ControlledDeps extends Omit<AgentDeps, "conversation" | "takeSteering"> {
  /** Makes room at the user's wish; absent where nothing can. */
  readonly compact?: (hint: string | undefined, signal: AbortSignal) => Promise<CompactionReport>;
}

/** Drives one conversation: submissions in, events out. */
export class Controller {
  readonly recorder: Recorder;
  readonly #deps: AgentDeps;
  readonly #compact: ControlledDeps["compact"];
  readonly #steering: string[] = [];
  readonly #interrupted = new Set<(reason: StopReason) => void>();
  #turn: AbortController | undefined;

  constructor(recorder: Recorder, { compact, ...deps }: ControlledDeps) {
    this.recorder = recorder;
    this.#compact = compact;
    this.#deps = { ...deps, conversation: recorder, takeSteering: () => this.takeSteering() };
  }

  /** Adds a reader of events; the returned function removes it. */
  subscribe(sink: EventSink): () => void {
    return this.recorder.subscribe(sink);
  }

  /** Takes back what was said to steer a turn and no step of it has taken. */
  takeSteering(): readonly string[] {
    return this.#steering.splice(0);
  }

  /**
   * Takes a submission; a turn resolves when it has ended.
   *
   * @param provider answers this turn in place of the conversation's own
   */
  async submit(submission: Submission, provider?: Provider): Promise<TurnOutcome | undefined> {
    switch (submission.type) {
      case "turn":
        return await this.#run(submission.input, provider);
      case "shell":
        return await this.#alone((signal) => runShellTurn(this.#deps, submission.command, signal));
      case "steer":
        this.#steering.push(submission.text);
        return;
      case "interrupt": {
        const { reason } = submission;
        const why = new StopReason(reason, reason === "terminated" ? "Terminated" : "Interrupted");
        this.#turn?.abort(why);
        for (const listener of this.#interrupted) listener(why);
      }
    }
  }

  /** Hears of interrupts, also between two turns; the returned function ends that. */
  onInterrupt(listener: (reason: StopReason) => void): () => void {
    this.#interrupted.add(listener);
    return () => this.#interrupted.delete(listener);
  }

  /**
   * A session is known by the first line of its first prompt, which references and piped input may stand
   * before.
   */
  async #title({ text, references = [] }: UserInput): Promise<void> {
    const { turns, title } = this.recorder.state;
    const first = titleOf(text);
    if (references.length === 0 || turns.length > 0 || title !== undefined || first === "") return;
    await this.recorder.record({ type: "session.rename", title: first });
  }

  /**
   * Compacts the conversation between two turns, keeping in particular what the hint names. Throws
   * ReasonixError (interrupt, terminated) when it was stopped.
   */
  async compact(hint?: string): Promise<CompactionReport> {
    const report = await this.#alone(async (signal) => {
      const made = await this.#compact?.(hint, signal);
      if (!signal.aborted) return made;
      const terminated = signal.reason instanceof StopReason && signal.reason.reason === "terminated";
      throw new ReasonixError("Stopped before anything was compacted", {
        exit: terminated ? "terminated" : "interrupt",
      });
    });
    await this.recorder.sync();
    return report ?? { method: "none", tokensBefore: 0, tokensAfter: 0 };
  }

  #run(input: UserInput, provider = this.#deps.provider): Promise<TurnOutcome> {
    return this.#alone(async (signal) => {
      await this.#title(input);
      return await runTurn({ ...this.#deps, provider }, input, signal);
    });
  }

  /** One thing at a time happens to a conversation, and an interrupt ends it. */
  async #alone<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#turn) {
      throw new TypeError("Cannot start a turn while another one is running; steer or interrupt it");
    }
    const turn = new AbortController();
    this.#turn = turn;
    try {
      return await work(turn.signal);
    } finally {
      this.#turn = undefined;
      await this.recorder.settle();
    }
  }
}
