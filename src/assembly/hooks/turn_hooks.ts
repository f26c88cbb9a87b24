import type { Stop } from "../../agent/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { hookNote, type HookVerdict } from "../../hook/mod.ts";
import { after } from "../../util/timer.ts";
import type { TurnInput } from "../context/turn_input.ts";
import type { TurnPart } from "../turns/turn_parts.ts";
import { notify } from "./asking.ts";
import type { RunHooks } from "./run_hooks.ts";

/** So often hooks can keep a turn from ending. */
const MOST_ENDS = 5;
/** Time without a new message after which the user seems to be elsewhere. */
const IDLE_MS = 60_000;

/** The hooks around turns: the start of the session, prompts, and ends that a hook does not let pass. */
export class TurnHooks implements TurnPart {
  readonly #hooks: RunHooks;
  /** Somebody is there to be told that the agent waits. */
  readonly #attended: boolean;
  #starting: Promise<HookVerdict | undefined> | undefined;
  /** What the hooks of the start said has reached the model. */
  #said = false;
  /** Ends that hooks did not let pass since the last prompt. */
  #kept = 0;
  #stopIdling = () => {};

  constructor(hooks: RunHooks, attended: boolean) {
    this.#hooks = hooks;
    this.#attended = attended;
  }

  /** The session is open. What its hooks say reaches the model with the first turn. */
  start(): void {
    const { agent, assembly: { controller: { recorder }, provider } } = this.#hooks;
    if (agent) {
      this.#starting ??= this.#hooks.fire("SubagentStart", { names: [agent.type] });
      return;
    }
    const source = recorder.state.turns.length > 0 ? "resume" : "startup";
    this.#starting ??= this.#hooks.fire("SessionStart", {
      names: [source],
      input: { source, model: provider.model.id },
    });
  }

  readonly before = async (input: TurnInput, signal: AbortSignal): Promise<TurnInput> => {
    this.#stopIdling();
    this.start();
    const started = await this.#starting;
    const why = refusalOf(started);
    if (why !== undefined) throw refusal(why);
    const notes: string[] = [];
    if (input.origin !== "continue" && !this.#hooks.agent) {
      this.#kept = 0;
      notes.push(...await this.#submit(input.text, signal));
    }
    // Said once: it is part of the conversation then.
    if (!this.#said) {
      notes.unshift(...(started?.contexts ?? []).map((text) => hookNote(this.#startEvent, text)));
    }
    this.#said = true;
    return notes.length === 0 ? input : { ...input, references: [...input.references ?? [], ...notes] };
  };

  /** Returns what hooks add to a prompt. */
  async #submit(prompt: string, signal: AbortSignal): Promise<string[]> {
    const verdict = await this.#hooks.fire("UserPromptSubmit", { signal, input: { prompt } });
    const why = refusalOf(verdict);
    if (why !== undefined) throw refusal(why);
    return (verdict?.contexts ?? []).map((text) => hookNote("UserPromptSubmit", text));
  }

  readonly reviewAnswer = async (answer: string, signal: AbortSignal): Promise<string | Stop | undefined> => {
    const { agent } = this.#hooks;
    const event = agent ? "SubagentStop" : "Stop";
    const verdict = await this.#hooks.fire(event, {
      ...(agent ? { names: [agent.type] } : {}),
      signal,
      input: { stop_hook_active: this.#kept > 0, last_assistant_message: answer },
    });
    if (!verdict || signal.aborted) return undefined;
    if (verdict.stop !== undefined) {
      return { reason: "blocked", detail: `Stopped by a hook: ${verdict.stop}` };
    }
    if (verdict.decision !== "deny") return undefined;
    const said = [verdict.reason ?? "", ...verdict.contexts];
    this.#kept += 1;
    if (this.#kept <= MOST_ENDS) return said.map((text) => hookNote(event, text)).join("\n\n");
    const times = String(MOST_ENDS);
    const text = `${event} hooks have kept this turn from ending ${times} times; it ends now`;
    await this.#hooks.record({
      type: "notice",
      level: "warning",
      code: "hook",
      text,
      said: [["hookKeptGoing", times]],
    });
    return undefined;
  };

  readonly after = (): Promise<undefined> => {
    this.#hooks.forgetCalls();
    if (this.#attended && this.#hooks.wants("Notification")) {
      this.#stopIdling = after(IDLE_MS, () => {
        notify(this.#hooks, "idle_prompt", "Reasonix is waiting for your input").catch(() => {});
      });
    }
    return Promise.resolve(undefined);
  };

  /** The session ends. */
  async end(): Promise<void> {
    this.#stopIdling();
    // A session that nobody opened has not begun either.
    if (!this.#starting) return;
    await this.#starting;
    if (!this.#hooks.agent) {
      await this.#hooks.fire("SessionEnd", { names: ["other"], input: { reason: "other" } });
    }
  }

  get #startEvent() {
    return this.#hooks.agent ? "SubagentStart" as const : "SessionStart" as const;
  }
}

function refusalOf(verdict: HookVerdict | undefined): string | undefined {
  return verdict?.stop ?? (verdict?.decision === "deny" ? verdict.reason : undefined);
}

function refusal(why: string): ReasonixError {
  return new ReasonixError(`A hook refused the prompt, and it was not sent to the model: ${why}`, {
    exit: "blocked",
    said: [["hookRefusedPrompt", why]],
  });
}
