import { type AgentParts, runTurn, StopReason, type TurnOutcome } from "../agent/mod.ts";
import type { EventSink, Submission, UserInput } from "../core/mod.ts";
import { titleOf } from "../session/mod.ts";
import type { Recorder } from "./recorder.ts";

/** What the controller adds to the parts of an agent itself. */
export type ControlledParts = Omit<AgentParts, "conversation" | "takeSteering">;

/** Drives one conversation: submissions in, events out. */
export class Controller {
  readonly recorder: Recorder;
  readonly #parts: AgentParts;
  readonly #steering: string[] = [];
  #turn: AbortController | undefined;

  constructor(recorder: Recorder, parts: ControlledParts) {
    this.recorder = recorder;
    this.#parts = { ...parts, conversation: recorder, takeSteering: () => this.#steering.splice(0) };
  }

  /** Adds a reader of events; the returned function removes it. */
  subscribe(sink: EventSink): () => void {
    return this.recorder.subscribe(sink);
  }

  /** Takes a submission; a turn resolves when it has ended. */
  async submit(submission: Submission): Promise<TurnOutcome | undefined> {
    switch (submission.type) {
      case "turn":
        return await this.#run(submission.input);
      case "steer":
        this.#steering.push(submission.text);
        return;
      case "interrupt":
        this.#turn?.abort(
          new StopReason(
            submission.reason,
            submission.reason === "terminated" ? "Terminated" : "Interrupted",
          ),
        );
    }
  }

  /** A session is known by the first line of its first prompt, which references and piped input may stand before. */
  async #title({ text, references = [] }: UserInput): Promise<void> {
    const { turns, title } = this.recorder.state;
    const first = titleOf(text);
    if (references.length === 0 || turns.length > 0 || title !== undefined || first === "") return;
    await this.recorder.record({ type: "session.rename", title: first });
  }

  async #run(input: UserInput): Promise<TurnOutcome> {
    if (this.#turn) {
      throw new TypeError("Cannot start a turn while another one is running; steer or interrupt it");
    }
    const turn = new AbortController();
    this.#turn = turn;
    try {
      await this.#title(input);
      return await runTurn(this.#parts, input, turn.signal);
    } finally {
      this.#turn = undefined;
    }
  }
}
