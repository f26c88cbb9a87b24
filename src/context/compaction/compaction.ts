import { type Message, message, ReasonixError } from "../../core/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { type CompactionOptions, type CompactionReport, triggerOf } from "./options.ts";

/**
 * Watches how full the context is, and loads the compactor only when it may be needed.
 *
 * Contract: no method rejects because nothing could be shortened; the turn always continues.
 */
export class Compaction {
  readonly #options: CompactionOptions;
  readonly #load = lazy(async () => new (await import("./compactor.ts")).Compactor(this.#options));
  readonly #sum: { of: readonly Message[]; count: number; chars: number } = { of: [], count: 0, chars: 0 };

  constructor(options: CompactionOptions) {
    this.#options = options;
  }

  /** For `AgentDeps.betweenSteps`. Far from the limit it costs a look at the newest messages. */
  async betweenSteps(signal: AbortSignal): Promise<void> {
    const { settings, window, provider } = this.#options;
    const tokens = window();
    if (!settings.auto || tokens <= 0) return;
    if (this.#atMost() < triggerOf(tokens, settings.ratio, provider.model.maxOutputTokens)) return;
    const compactor = await this.#load();
    if (!this.#options.hooks) return await compactor.betweenSteps(signal);
    if (signal.aborted || !compactor.pressure()) return;
    const refused = await this.#hooked("auto", { signal }, () => compactor.betweenSteps(signal));
    if (refused === undefined) return;
    compactor.wait();
    await compactor.accountant.notice("warning", message`Compaction waits: ${refused.why}`);
  }

  /** For `AgentDeps.onContextOverflow`: false when nothing is left to shorten. */
  async onContextOverflow(signal: AbortSignal): Promise<boolean> {
    const compactor = await this.#load();
    let made = false;
    // The server refuses the conversation, so hooks cannot refuse this.
    await this.#hooked("auto", { signal, must: true }, async () => {
      made = await compactor.onContextOverflow(signal);
    });
    return made;
  }

  /** `/compact [hint]`: only between turns. */
  async compact(hint: string | undefined, signal: AbortSignal): Promise<CompactionReport> {
    const compactor = await this.#load();
    let report: CompactionReport | undefined;
    const refused = await this.#hooked("manual", { signal, hint }, async () => {
      report = await compactor.compact(hint, signal);
    });
    if (refused) throw new ReasonixError(`A hook refuses to compact: ${refused.why}`, { exit: "blocked" });
    return report ?? compactor.accountant.report("none", compactor.accountant.estimate());
  }

  /** Does the work between the hooks; returns why it was not done where one refuses. */
  async #hooked(
    trigger: "auto" | "manual",
    { signal, hint, must = false }: {
      readonly signal: AbortSignal;
      readonly hint?: string | undefined;
      readonly must?: boolean;
    },
    work: () => Promise<void>,
  ): Promise<{ readonly why: string } | undefined> {
    const { hooks, conversation } = this.#options;
    const why = await hooks?.before(trigger, hint, signal);
    if (why !== undefined && !must) return { why };
    const before = conversation.state.messages;
    await work();
    // Only a compaction replaces the list of messages.
    if (conversation.state.messages !== before) await hooks?.after(trigger, signal);
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
