import type { CallOpinion, Stop } from "../../agent/mod.ts";
import type { CompactionHooks } from "../../context/mod.ts";
import { message, type PreparedCall, ReasonixError, textFields } from "../../core/mod.ts";
import {
  formatHookProblem,
  hookNote,
  type HookOutcome,
  missingCommands,
  ownArguments,
} from "../../hook/mod.ts";
import type { ToolResult } from "../../tool/mod.ts";
import { after } from "../../util/timer.ts";
import type { TurnExtension, TurnInput } from "../../run/mod.ts";
import { occasion, type RunHooks } from "./run_hooks.ts";

/** So often hooks can keep a turn from ending. */
const MOST_ENDS = 5;
/** Time without a new message after which the user seems to be elsewhere. */
const IDLE_MS = 60_000;

/**
 * The hooks of a run: the start of the session, prompts, ends that a hook does not let pass, calls, whatever
 * the tool, and compactions.
 */
export class HookExtension implements TurnExtension {
  readonly compaction: CompactionHooks;
  readonly #hooks: RunHooks;
  /** Somebody is there to be told that the agent waits. */
  readonly #attended: boolean;
  #starting: Promise<HookOutcome | undefined> | undefined;
  /** What the hooks of the start said has reached the model. */
  #hasStarted = false;
  /** Ends that hooks did not let pass since the last prompt. */
  #kept = 0;
  #stopIdling = () => {};

  constructor(hooks: RunHooks, attended: boolean) {
    this.#hooks = hooks;
    this.#attended = attended;
    this.compaction = compactionHooks(hooks);
  }

  /** The session is open. What its hooks say reaches the model with the first turn. */
  readonly opened = (): void => {
    const { problems, ready, run: { recorder, paths } } = this.#hooks;
    for (const text of [...problems.map(formatHookProblem), ...missingCommands(ready, paths)]) {
      void recorder.record({ type: "notice", level: "warning", code: "hook", text });
    }
    this.#start();
  };

  #start(): void {
    const { agent, run: { recorder, provider } } = this.#hooks;
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
    this.#start();
    const started = await this.#starting;
    const why = refusalOf(started);
    if (why !== undefined) throw refusal(why);
    const notes: string[] = [];
    if (input.origin !== "continue" && !this.#hooks.agent) {
      this.#kept = 0;
      notes.push(...await this.#submit(input.text, signal));
    }
    // Said once: it is part of the conversation then.
    if (!this.#hasStarted) {
      notes.unshift(...(started?.contexts ?? []).map((text) => hookNote(this.#startEvent, text)));
    }
    this.#hasStarted = true;
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
    const notes = [verdict.reason ?? "", ...verdict.contexts];
    this.#kept += 1;
    if (this.#kept <= MOST_ENDS) return notes.map((text) => hookNote(event, text)).join("\n\n");
    await this.#hooks.record({
      type: "notice",
      level: "warning",
      code: "hook",
      ...textFields(
        message`${event} hooks have prevented the end of this turn ${MOST_ENDS} times; it ends now`,
      ),
    });
    return undefined;
  };

  readonly beforeCall = async (call: PreparedCall, signal: AbortSignal): Promise<CallOpinion | undefined> => {
    const hooks = this.#hooks;
    const { id } = call.call;
    if (hooks.wants("PermissionRequest")) hooks.calls.set(id, call);
    const verdict = await hooks.fire("PreToolUse", { ...occasion(call, hooks), signal });
    return verdict && await opinionOf(hooks, call, verdict);
  };

  readonly afterCall = async (
    call: PreparedCall,
    result: ToolResult,
    signal: AbortSignal,
  ): Promise<Pick<CallOpinion, "stop" | "notes"> | undefined> => {
    const hooks = this.#hooks;
    const { id } = call.call;
    hooks.calls.delete(id);
    if (signal.aborted) return undefined;
    const event = result.isError ? "PostToolUseFailure" : "PostToolUse";
    const { input, ...rest } = occasion(call, hooks);
    const verdict = await hooks.fire(event, {
      ...rest,
      signal,
      input: {
        ...input,
        ...(result.isError ? { error: result.content } : {}),
        tool_response: responseOf(call, result),
      },
    });
    if (!verdict) return undefined;
    const { decision, reason = "", contexts, stop } = verdict;
    const texts = [...(decision === "deny" ? [reason] : []), ...contexts];
    return {
      notes: texts.map((text) => hookNote(event, text)),
      ...(stop === undefined ? {} : { stop: `Stopped by a hook: ${stop}` }),
    };
  };

  readonly after = (): Promise<undefined> => {
    this.#hooks.forgetCalls();
    if (this.#attended && this.#hooks.wants("Notification")) {
      this.#stopIdling = after(IDLE_MS, () => {
        this.#hooks.notify("idle_prompt", "Reasonix is waiting for your input").catch(() => {});
      });
    }
    return Promise.resolve(undefined);
  };

  readonly close = async (): Promise<void> => {
    this.#stopIdling();
    // A session that nobody opened has not begun either.
    if (!this.#starting) return;
    await this.#starting;
    if (!this.#hooks.agent) {
      await this.#hooks.fire("SessionEnd", { names: ["other"], input: { reason: "other" } });
    }
  };

  get #startEvent() {
    return this.#hooks.agent ? "SubagentStart" as const : "SessionStart" as const;
  }
}

function refusalOf(verdict: HookOutcome | undefined): string | undefined {
  return verdict?.stop ?? (verdict?.decision === "deny" ? verdict.reason : undefined);
}

function refusal(why: string): ReasonixError {
  return new ReasonixError(message`A hook refused the prompt, and it was not sent to the model: ${why}`, {
    exit: "blocked",
  });
}

async function opinionOf(hooks: RunHooks, call: PreparedCall, verdict: HookOutcome): Promise<CallOpinion> {
  const { decision, reason = "", stop, updatedInput, contexts } = verdict;
  const notes = contexts.map((text) => hookNote("PreToolUse", text));
  if (stop !== undefined) {
    return { notes, stop: `Stopped by a hook: ${stop}`, ...await refuse(hooks, call, stop) };
  }
  if (decision === "deny") {
    return { notes, ...await refuse(hooks, call, `a hook refuses this call: ${reason}`) };
  }
  if (decision === "defer") {
    const why = `a hook leaves this call to the user: ${reason}`;
    return {
      notes,
      ...await refuse(hooks, call, `${why}; it was not executed`),
      stop: `Stopped, since ${why}`,
    };
  }
  return {
    notes,
    ...(updatedInput ? { arguments: ownArguments(call, updatedInput, hooks.run.paths.cwd) } : {}),
    ...(decision === undefined ? {} : { word: { word: decision, reason: askReason(reason) } }),
  };
}

async function refuse(hooks: RunHooks, call: PreparedCall, reason: string): Promise<{ deny: string }> {
  const { id } = call.call;
  hooks.calls.delete(id);
  await hooks.record({ type: "approval.decision", callId: id, decision: "deny", source: "hook", reason });
  return { deny: reason };
}

function askReason(reason: string): string {
  return reason === "" ? "a hook asks about it" : `a hook asks about it: ${reason}`;
}

/** Characters of a result that hooks get. */
const MAX_RESPONSE = 1 << 20;

/** The result in our words, and in those that hooks for commands and files expect. */
function responseOf({ family, writes = [] }: PreparedCall, result: ToolResult): Record<string, unknown> {
  const content = result.content.slice(0, MAX_RESPONSE).toWellFormed();
  const { exitCode } = result;
  return {
    content,
    is_error: result.isError === true,
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(family === "Bash" ? { stdout: content, stderr: "", interrupted: false } : {}),
    ...(family === "Edit"
      ? { filePath: result.changes?.[0]?.path ?? writes[0], success: !result.isError }
      : {}),
  };
}

/** The hooks around a compaction; what those at the start of a session say is said again after it. */
function compactionHooks(hooks: RunHooks): CompactionHooks {
  let guide: string | undefined;
  return {
    async before(trigger, hint, signal) {
      const verdict = await hooks.fire("PreCompact", {
        names: [trigger],
        signal,
        input: { trigger, custom_instructions: hint ?? "" },
      });
      guide = [verdict?.guide, ...verdict?.contexts ?? []].filter((text) => text).join("\n") || undefined;
      return verdict?.stop ?? (verdict?.decision === "deny" ? verdict.reason : undefined);
    },
    guide: () => guide,
    async after(trigger, signal) {
      guide = undefined;
      await hooks.fire("PostCompact", { names: [trigger], signal, input: { trigger } });
      if (hooks.agent) return;
      const input = { source: "compact" };
      const verdict = await hooks.fire("SessionStart", { names: ["compact"], signal, input });
      for (const text of verdict?.contexts ?? []) {
        await hooks.record({
          type: "message.user",
          content: hookNote("SessionStart", text),
          origin: "context",
        });
      }
    },
  };
}
