import type { Config, LoadedConfig, ModelChoice } from "../config/mod.ts";
import { type Recorder, recordPrefix } from "../control/mod.ts";
import {
  clausesOf,
  errorMessage,
  message,
  newNotice,
  type ProviderError,
  type ProviderErrorKind,
} from "../core/mod.ts";
import { optionalMembers, type Provider } from "../provider/mod.ts";
import type { ToolRegistry } from "../tool/mod.ts";
import type { PromptInputs } from "./context/prompt_inputs.ts";
import { recordOtherVendorParts } from "./session/session.ts";

/** Failures that another model may not have; a stop by the user and a request that is wrong are none. */
const TAKEN: ReadonlySet<ProviderErrorKind> = new Set<ProviderErrorKind>([
  "auth",
  "not_found",
  "rate_limit",
  "server",
  "connection",
  "timeout",
  "protocol",
  "context_length",
]);
/** Failures that a retry cannot fix: the model is not used again in this run. */
const LASTING: ReadonlySet<ProviderErrorKind> = new Set<ProviderErrorKind>([
  "auth",
  "not_found",
  "context_length",
]);
/** Vendors keep what they cache about as long: after that the way back costs no more than staying. */
const STAYS_MS = 5 * 60_000;

export interface FallbackOptions {
  readonly loaded: LoadedConfig;
  readonly first: Provider;
  /** The models that answer in its place, in order. */
  readonly chain: readonly ModelChoice[];
  readonly create: (choice: ModelChoice) => Promise<Provider>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export interface FallbackDeps {
  readonly recorder: Recorder;
  readonly inputs: Pick<PromptInputs, "systemOf">;
  readonly registry: Pick<ToolRegistry, "schemas">;
}

/**
 * A model with others that answer when it fails. `provider` is the one that answers now, for everybody who
 * asks what a model costs, how much it takes in, or what it can.
 */
export class Fallback {
  readonly provider: Provider;
  readonly #options: FallbackOptions;
  #current: Provider;
  #next = 0;
  /** When the first model is asked again; absent: it answers now. */
  #back: number | undefined;

  constructor(options: FallbackOptions) {
    const { first } = options;
    this.#options = options;
    this.#current = first;
    const current = () => this.#current;
    this.provider = {
      get name() {
        return current().name;
      },
      get model() {
        return current().model;
      },
      ...optionalMembers(first),
      get remoteMode() {
        return current().remoteMode;
      },
      stream: (request, signal) => current().stream(request, signal),
      sentPrefix: (prefix) => current().sentPrefix?.(prefix) ?? prefix,
    };
  }

  /** Lets the next model that can answer in place of one that said nothing; false when there is none. */
  async onFailure(error: ProviderError, failed: Provider, deps: FallbackDeps): Promise<boolean> {
    if (failed !== this.provider || !TAKEN.has(error.kind)) return false;
    const next = await this.#takeNext(error, deps);
    if (!next) {
      // No one is left: the next turn begins with the first one again.
      if (this.#back !== undefined) this.#back = 0;
      return false;
    }
    const until = LASTING.has(error.kind) ? Infinity : this.#now() + STAYS_MS;
    this.#back ??= until;
    const [from, to] = [nameOf(this.#current), nameOf(next)];
    const text = clausesOf([error.localized ?? error.message, message`${to} answers instead of ${from}`]);
    await deps.recorder.record(newNotice("warning", "fallback", text));
    await this.#change(next, deps);
    return true;
  }

  /** Goes back to the first model once it is worth a try. */
  async beforeTurn(deps: FallbackDeps): Promise<void> {
    if (this.#back === undefined || this.#now() < this.#back) return;
    const { first } = this.#options;
    this.#back = undefined;
    this.#next = 0;
    await this.#change(first, deps);
    const name = nameOf(first);
    const text = message`${name} is used again`;
    await deps.recorder.record(newNotice("info", "fallback", text));
  }

  async #takeNext(error: ProviderError, deps: FallbackDeps): Promise<Provider | undefined> {
    const { chain, create } = this.#options;
    for (let choice = chain[this.#next]; choice; choice = chain[this.#next]) {
      this.#next += 1;
      const name = `${choice.entry.name}/${choice.model}`;
      try {
        const provider = await create(choice);
        const problem = this.#problem(provider, error, deps);
        if (problem === undefined) return provider;
        await passOver(deps, name, problem);
      } catch (cause) {
        await passOver(deps, name, errorMessage(cause));
      }
    }
    return undefined;
  }

  #problem({ model }: Provider, error: ProviderError, { recorder }: FallbackDeps): string | undefined {
    const { contextWindow: window = 0, price } = model;
    const { contextWindow: refused = 0, price: own } = this.#current.model;
    const { lastUsage } = recorder.state;
    const needed = lastUsage ? lastUsage.inputTokens + lastUsage.outputTokens : 0;
    if (error.kind === "context_length" && (refused === 0 || window <= refused)) {
      return "its context window is not known to be larger";
    }
    if (window > 0 && needed > window) return "its context window is too small for the conversation";
    if (!limitsCost(this.#options.loaded.config)) return undefined;
    if (price === undefined) return "its price is unknown, so agent.max_cost could not be kept";
    return own && own.currency !== price.currency
      ? "its price is in another currency, so agent.max_cost could not be kept"
      : undefined;
  }

  /** Declares the prefix that the model gets, and whose reasoning it does not get. */
  async #change(next: Provider, { recorder, inputs, registry }: FallbackDeps): Promise<void> {
    const { model } = next;
    const detail = `${nameOf(this.#current)} → ${nameOf(next)}`;
    this.#current = next;
    await recordPrefix(recorder, {
      reason: "fallback",
      detail,
      system: inputs.systemOf(model),
      tools: model.toolMode === "none" ? [] : registry.schemas(),
      model: model.id,
      provider: model.provider,
      toolMode: model.toolMode,
    });
    await recordOtherVendorParts(recorder, next);
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }
}

function limitsCost({ agent }: Config): boolean {
  return agent.max_cost > 0;
}

function nameOf({ model }: Provider): string {
  return `${model.provider}/${model.id}`;
}

async function passOver({ recorder }: FallbackDeps, name: string, why: string): Promise<void> {
  const text = message`${name} cannot answer instead: ${why}`;
  await recorder.record(newNotice("warning", "fallback", text));
}
