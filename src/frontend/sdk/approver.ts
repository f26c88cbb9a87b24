import { type ApprovalAnswer, textOf, type ToolCall } from "../../core/mod.ts";
import type { PlanAnswer, PlanProposal } from "../../run/mod.ts";
import { argumentsOf } from "../result.ts";
import type { ApprovalQuestion, QuestionPresenter, Questions } from "../session/questions.ts";
import type { ControlChannel } from "./channel.ts";
import { canonicalJson, isRecord, recordOf } from "../../util/json.ts";

interface ApproverOptions {
  readonly questions: Questions;
  /** The permission mode of the moment, by Claude Code's name. */
  readonly mode: () => string;
  /** Stops the turn, which a refusal can ask for. */
  readonly interrupt: () => void;
}

/**
 * Asks the SDK with `can_use_tool`: it allows a call, also with other arguments, or refuses it. Modes that
 * without prompts answer automatically, except where only a person may allow a call.
 */
export class RemoteApprover implements QuestionPresenter {
  readonly name = "sdk";
  readonly #channel: ControlChannel;
  readonly #questions: Questions;
  readonly #mode: ApproverOptions["mode"];
  readonly #interrupt: ApproverOptions["interrupt"];
  readonly #calls = new Map<string, ToolCall>();
  readonly #amended = new Map<string, string>();
  readonly #confirmed = new Set<string>();

  constructor(channel: ControlChannel, { questions, mode, interrupt }: ApproverOptions) {
    this.#channel = channel;
    this.#questions = questions;
    this.#mode = mode;
    this.#interrupt = interrupt;
    questions.attach(this);
  }

  readonly show: QuestionPresenter["show"] = ({ id, kind, question }, signal) => {
    if (kind === "approval") return this.#ask(id, question, signal);
    return kind === "plan" ? this.#review(question, signal) : undefined;
  };

  /** The reader has gone away: the run ends. */
  readonly failed = (): void => this.#interrupt();

  /** Notes a call that begins, so that it can require approval. */
  began(call: ToolCall): void {
    this.#calls.set(call.id, call);
  }

  /** The arguments that a call was allowed with instead of its own; returned once. */
  readonly amended = (callId: string): string | undefined => {
    const changed = this.#amended.get(callId);
    this.#amended.delete(callId);
    return changed;
  };

  /** Asks with Claude Code's name of the tool, whose SDKs show the plan of its input. */
  async #review({ plan, file }: PlanProposal, signal: AbortSignal): Promise<PlanAnswer | undefined> {
    const answer = await this.#channel.ask({
      subtype: "can_use_tool",
      tool_name: "ExitPlanMode",
      tool_use_id: this.#latest("exit_plan_mode"),
      input: { plan, ...(file === undefined ? {} : { planFilePath: file }) },
      permission_suggestions: [],
      description: "",
      decision_reason: "",
    }, signal);
    const given = recordOf(answer.response);
    if (given.behavior !== "allow") {
      if (given.interrupt === true) return undefined;
      return { approve: false, note: String(given.message ?? answer.error ?? "") };
    }
    const changed = isRecord(given.updatedInput) ? given.updatedInput.plan : undefined;
    const mode = modeOf(given.updatedPermissions);
    return {
      approve: true,
      // Later calls still require approval, unless the SDK says otherwise.
      window: mode === "bypassPermissions",
      ...(typeof changed === "string" && changed.trim() !== "" ? { plan: changed } : {}),
      ...(mode === "acceptEdits" ? { acceptEdits: true } : {}),
    };
  }

  #latest(tool: string): string {
    return [...this.#calls.values()].findLast(({ name }) => name === tool)?.id ?? crypto.randomUUID();
  }

  async #ask(id: string, question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer> {
    const { callId, tool, sent, subject, reason, agent, directory, personOnly } = question;
    // What a program answers about a tool is no word about directories.
    if (directory !== undefined) {
      return { allow: false, scope: "once", note: "only a person opens directories" };
    }
    // The rules judge changed arguments again; the SDK, which wrote them, has agreed.
    if (this.#confirmed.delete(callId)) return { allow: true, scope: "once" };
    const mode = this.#mode();
    if (mode === "bypassPermissions" && !personOnly) return { allow: true, scope: "once" };
    if (mode === "dontAsk") return { allow: false, scope: "once", note: "the permission mode asks nobody" };
    const call = this.#calls.get(callId);
    const input = call ? argumentsOf(call) : sent === undefined ? {} : argumentsOf({ arguments: sent });
    const answer = await this.#channel.ask({
      subtype: "can_use_tool",
      tool_name: tool,
      tool_use_id: callId,
      input,
      permission_suggestions: [],
      description: agent === undefined ? subject : `${agent}: ${subject}`,
      decision_reason: textOf(reason),
    }, signal);
    const given = recordOf(answer.response);
    if (given.behavior !== "allow") {
      const refusal = {
        allow: false,
        scope: "once",
        note: String(given.message ?? answer.error ?? ""),
      } as const;
      if (given.interrupt === true && !signal.aborted) {
        // The refusal is the answer: an interrupt alone withdraws the question.
        this.#questions.answer(id, refusal, this.name);
        this.#interrupt();
      }
      return refusal;
    }
    if (isRecord(given.updatedInput) && canonicalJson(given.updatedInput) !== canonicalJson(input)) {
      this.#amended.set(callId, JSON.stringify(given.updatedInput));
      this.#confirmed.add(callId);
    }
    return { allow: true, scope: "once" };
  }
}

/** The permission mode that an answer switches to. */
function modeOf(updates: unknown): unknown {
  const found: unknown = Array.isArray(updates)
    ? updates.find((update) => isRecord(update) && update.type === "setMode")
    : undefined;
  return isRecord(found) ? found.mode : undefined;
}
