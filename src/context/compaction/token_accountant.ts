import {
  clausesOf,
  errorMessage,
  type LocalizedMessage,
  type Message,
  message,
  type NewEventOf,
  type Text,
  textFields,
} from "../../core/mod.ts";
import { TokenCounter } from "../tokens.ts";
import type { CompactionMethod, CompactionOptions, CompactionReport } from "./options.ts";
import { type CompactionPlan, type Plannable, plannable, type PrunePlan } from "./compaction_plan.ts";

export type Reason = "pressure" | "overflow" | "manual";

/** The outcome of a compaction, besides what it removes. */
export interface CompactionResult {
  readonly summary: string;
  readonly archive?: string;
}

/** The conversation with its token count, and the events that shorten it. */
export class TokenAccountant {
  readonly counter: TokenCounter;
  readonly #options: CompactionOptions;
  #seenUsage: unknown;

  constructor(options: CompactionOptions) {
    this.#options = options;
    this.counter = new TokenCounter({
      sendsReasoning: options.sendsReasoning,
      sentPrefix: options.provider.sentPrefix,
    });
  }

  /** Tokens of the next request. */
  estimate(): number {
    const { conversation } = this.#options;
    const { state } = conversation;
    if (state.lastUsage && state.lastUsage !== this.#seenUsage) {
      this.#seenUsage = state.lastUsage;
      const reply = state.messages.findLastIndex((message) => message.role === "assistant");
      if (reply >= 0) {
        this.counter.observe(conversation.prefix, state.messages, reply, state.lastUsage.inputTokens);
      }
    }
    return this.counter.estimate(conversation.prefix, state.messages);
  }

  get view(): Plannable {
    return plannable(this.#options.conversation.state, (message) => this.counter.calibratedMessage(message));
  }

  async prune(reason: Reason, plans: readonly PrunePlan[]): Promise<void> {
    for (const { freed, ...plan } of plans) {
      const before = this.estimate();
      await this.#options.conversation.record({
        type: "compaction",
        reason,
        action: "prune",
        ...plan,
        tokensBefore: before,
        tokensAfter: Math.max(0, Math.round(before - freed)),
      });
    }
  }

  async compact(reason: Reason, plan: CompactionPlan, result: CompactionResult): Promise<void> {
    const before = this.estimate();
    const message: Message = { role: "user", content: result.summary };
    const added = result.summary === "" ? 0 : this.counter.calibratedMessage(message);
    const event: NewEventOf<"compaction"> = {
      type: "compaction",
      reason,
      from: plan.from,
      to: plan.to,
      digest: result.summary,
      keepBelow: plan.keepBelow,
      ...(plan.summaries ? { digests: true } : {}),
      ...(result.archive === undefined ? {} : { archive: result.archive }),
      tokensBefore: before,
      tokensAfter: Math.max(0, Math.round(before - plan.freed + added)),
    };
    await this.#options.conversation.record(event);
  }

  /** Keeps the originals; a failure is told and nothing more, because the session file has them as well. */
  async archive(messages: readonly Message[]): Promise<{ archive?: string }> {
    const { archive } = this.#options;
    if (!archive) return {};
    try {
      return { archive: await archive(messages) };
    } catch (error) {
      const problem = errorMessage(error);
      await this.notice(
        "warning",
        message`The compacted messages could not be archived: ${problem}; the session file still has them`,
      );
      return {};
    }
  }

  report(method: CompactionMethod, tokensBefore: number): CompactionReport {
    return { method, tokensBefore, tokensAfter: this.estimate() };
  }

  async tell(report: CompactionReport): Promise<void> {
    const { method, tokensBefore, tokensAfter, problem, archive } = report;
    const before = tokensBefore.toLocaleString("en");
    const after = tokensAfter.toLocaleString("en");
    const text = clausesOf([
      message`Context compacted (${methodText(method)}): ${before} → ${after} tokens`,
      ...(problem === undefined ? [] : [problem]),
      ...(archive === undefined ? [] : [message`the session keeps the originals`]),
    ]);
    const level = method === "extract" || problem !== undefined ? "warning" : "info";
    await this.notice(level, text);
  }

  async notice(level: "info" | "warning", text: LocalizedMessage): Promise<void> {
    await this.#options.conversation.record({
      type: "notice",
      level,
      code: "compaction",
      ...textFields(text),
    });
  }
}

/** Names a method for people. */
function methodText(method: CompactionMethod): Text {
  switch (method) {
    case "prune":
      return message`prune`;
    case "summary":
      return message`summary`;
    case "summary of shortened outputs":
      return message`summary of shortened outputs`;
    case "summary in parts":
      return message`summary in parts`;
    case "extract":
      return message`extract`;
    case "drop":
      return message`drop`;
    default:
      return method;
  }
}
