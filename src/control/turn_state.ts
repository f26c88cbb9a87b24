import type { EventBodies } from "../core/event_schema.ts";
import type { Event } from "../core/mod.ts";

/** What a session is doing. */
export type TurnState = EventBodies["turn.state"]["to"];

const RESTING = ["idle", "done", "failed", "stopped"] as const;
const WORKING = ["preparing", "generating", "running_tools", "compacting", "verifying"] as const;
const WAITING = ["awaiting_approval", "awaiting_answer"] as const;

/** Follows the events of a session and knows what it is doing. Nothing else decides about that. */
export class TurnStates {
  /**
   * The states that can follow each one. A turn begins with `preparing` and ends with `done`, `failed`
   * or `stopped`, from wherever it is: by an error, a limit, a time limit or an interrupt. Whatever
   * works may have to wait for a person, and goes on where it was.
   */
  static readonly transitions: Readonly<Record<TurnState, readonly TurnState[]>> = {
    idle: ["preparing", "compacting", ...WAITING],
    preparing: [
      "generating",
      "running_tools",
      "compacting",
      "verifying",
      ...WAITING,
      "done",
      "failed",
      "stopped",
    ],
    generating: [
      "preparing",
      "running_tools",
      "compacting",
      "verifying",
      ...WAITING,
      "done",
      "failed",
      "stopped",
    ],
    running_tools: [
      "preparing",
      "generating",
      "compacting",
      "verifying",
      ...WAITING,
      "done",
      "failed",
      "stopped",
    ],
    compacting: [
      "preparing",
      "generating",
      "running_tools",
      "verifying",
      "idle",
      ...WAITING,
      "done",
      "failed",
      "stopped",
    ],
    verifying: [
      "preparing",
      "generating",
      "running_tools",
      "compacting",
      ...WAITING,
      "done",
      "failed",
      "stopped",
    ],
    awaiting_approval: ["awaiting_answer", ...WORKING, ...RESTING],
    awaiting_answer: ["awaiting_approval", ...WORKING, ...RESTING],
    done: ["preparing", "compacting", "idle", ...WAITING],
    failed: ["preparing", "compacting", "idle", ...WAITING],
    stopped: ["preparing", "compacting", "idle", ...WAITING],
  };
  #shown: TurnState = "idle";
  /** What goes on, or has ended, apart from waiting for a person. */
  #work: TurnState = "idle";
  #inTurn = false;
  readonly #approvals = new Set<string>();
  #questions = 0;

  get state(): TurnState {
    return this.#shown;
  }

  /** Takes an event; returns the change that follows from it. */
  take(event: Event): EventBodies["turn.state"] | undefined {
    this.#apply(event);
    return this.#change();
  }

  /** Nothing is going on any more, whatever has been left open; returns the change to that. */
  settle(): EventBodies["turn.state"] | undefined {
    this.#approvals.clear();
    this.#questions = 0;
    if (!RESTING.some((state) => state === this.#work)) this.#work = "idle";
    this.#inTurn = false;
    return this.#change();
  }

  #change(): EventBodies["turn.state"] | undefined {
    const to = this.#approvals.size > 0
      ? "awaiting_approval"
      : this.#questions > 0
      ? "awaiting_answer"
      : this.#work;
    if (to === this.#shown) return undefined;
    const from = this.#shown;
    this.#shown = to;
    return { from, to };
  }

  #apply(event: Event): void {
    switch (event.type) {
      case "turn.start":
        this.#inTurn = true;
        this.#work = "preparing";
        break;
      case "message.start":
        this.#work = event.step === 0 ? "compacting" : "generating";
        break;
      case "tool.start":
        this.#work = "running_tools";
        break;
      case "verification.start":
        this.#work = "verifying";
        break;
      case "message.end":
      case "compaction":
        // A reply of the turn itself changes nothing: its calls or its end will.
        if (this.#work === "compacting") this.#work = this.#inTurn ? "preparing" : "idle";
        break;
      case "approval.request":
        this.#approvals.add(event.callId);
        break;
      case "approval.decision":
      case "tool.end":
        this.#approvals.delete(event.callId);
        break;
      case "plan.change":
        if (event.state === "proposed") this.#approvals.add("plan");
        else this.#approvals.delete("plan");
        break;
      case "question":
        this.#questions = Math.max(0, this.#questions + (event.state === "asked" ? 1 : -1));
        break;
      case "turn.end":
        this.#end(event.reason);
        break;
    }
  }

  #end(reason: EventBodies["turn.end"]["reason"]): void {
    // What a killed program left open is closed before the first turn of the next one.
    if (RESTING.some((state) => state === this.#work)) return;
    const stopped = reason === "interrupted" || reason === "terminated";
    this.#work = reason === "done" ? "done" : stopped ? "stopped" : "failed";
    this.#inTurn = false;
    this.#approvals.clear();
    this.#questions = 0;
  }
}
