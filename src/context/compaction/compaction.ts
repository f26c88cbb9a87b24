import type { Message } from "../../core/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { type CompactionOptions, type CompactionReport, triggerOf } from "./options.ts";

/**
 * Watches how full the context is, and loads what makes room only when it may be needed.
 *
 * Contract: no method rejects because room could not be made; a turn always goes on.
 */
export class Compaction {
  readonly #options: CompactionOptions;
  readonly #load = lazy(async () => new (await import("./compactor.ts")).Compactor(this.#options));
  readonly #sum: { of: readonly Message[]; count: number; chars: number } = { of: [], count: 0, chars: 0 };

  constructor(options: CompactionOptions) {
    this.#options = options;
  }

  /** For `AgentParts.betweenSteps`. Far from the limit it costs a look at the newest messages. */
  async betweenSteps(signal: AbortSignal): Promise<void> {
    const { settings, window, provider } = this.#options;
    const tokens = window();
    if (!settings.auto || tokens <= 0) return;
    if (this.#atMost() < triggerOf(tokens, settings.ratio, provider.model.maxOutputTokens)) return;
    await (await this.#load()).betweenSteps(signal);
  }

  /** For `AgentParts.onContextOverflow`: false when nothing is left to shorten. */
  async onContextOverflow(signal: AbortSignal): Promise<boolean> {
    return await (await this.#load()).onContextOverflow(signal);
  }

  /** `/compact [hint]`: only between turns. */
  async compact(hint: string | undefined, signal: AbortSignal): Promise<CompactionReport> {
    return await (await this.#load()).compact(hint, signal);
  }

  /** Tokens of the next request as well as they are known. */
  async estimate(): Promise<number> {
    return (await this.#load()).accountant.estimate();
  }

  /** No text has more tokens than characters by much: an upper bound that needs no counting. */
  #atMost(): number {
    const { state, prefix } = this.#options.conversation;
    if (state.lastUsage) {
      const { inputTokens, outputTokens } = state.lastUsage;
      let chars = 0;
      for (let i = state.messages.length - 1; i >= 0 && state.messages[i]?.role !== "assistant"; i--) {
        chars += lengthOf(state.messages[i]);
      }
      return inputTokens + outputTokens + chars;
    }
    const sum = this.#sum;
    if (sum.of !== state.messages) Object.assign(sum, { of: state.messages, count: 0, chars: 0 });
    for (; sum.count < state.messages.length; sum.count++) sum.chars += lengthOf(state.messages[sum.count]);
    const tools = prefix.tools.reduce((total, tool) => total + JSON.stringify(tool).length, 0);
    return prefix.system.length + tools + sum.chars;
  }
}

const PER_MESSAGE = 8;
const PER_IMAGE = 2_000;

function lengthOf(message: Message | undefined): number {
  if (!message) return 0;
  const calls = message.role === "assistant" ? message.calls ?? [] : [];
  const images = message.role === "assistant" ? 0 : message.images?.length ?? 0;
  return calls.reduce((total, call) => total + call.name.length + call.arguments.length + PER_MESSAGE, 0) +
    message.content.length + images * PER_IMAGE + PER_MESSAGE;
}
