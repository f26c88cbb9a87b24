import { type Chunk, type Message, type ProviderError, ReasonixError } from "../../../core/mod.ts";
import { type Cassette, type Exchange, readCassette } from "../../cassette/format.ts";
import { normaliser, Template } from "../../cassette/template.ts";
import type { KindOptions, ProviderKind } from "../../kind.ts";
import type { ModelRequest, Provider } from "../../provider.ts";
import { abortedError } from "../../retry.ts";
import { divergence, type Matcher } from "./match.ts";

/** Plays a cassette: replies come from a file, and requests must be those that were recorded. */
export const replay: ProviderKind = {
  hasCalls: true,
  create: async (options): Promise<Provider> => {
    const file = options.entry.cassette;
    if (file === undefined) {
      throw new ReasonixError(`Provider "${options.entry.name}" of kind "replay" names no cassette`, {
        exit: "config",
        remedy: "set cassette to a file made with --record",
      });
    }
    const player = new Player(await readCassette(file), options);
    return {
      name: options.entry.name,
      model: options.model,
      stream: (request, signal) => player.stream(request, signal),
    };
  },
};

/** The exchanges of one conversation, or those that serve any. */
interface Lane {
  readonly exchanges: readonly Exchange[];
  /** Number of each exchange in the file, from 1. */
  readonly numbers: readonly number[];
  next: number;
}

type Found = { readonly exchange: Exchange } | { readonly mismatch: string };

class Player {
  readonly #cassette: Cassette;
  readonly #options: KindOptions;
  readonly #matcher: Matcher;
  readonly #lanes = new Map<number | undefined, Lane>();
  readonly #bound = new WeakMap<readonly Message[], Lane>();
  #requests = 0;

  constructor(cassette: Cassette, options: KindOptions) {
    this.#cassette = cassette;
    this.#options = options;
    const { header } = cassette;
    const missing = header.values?.filter((name) => options.values[name] === undefined) ?? [];
    if (missing.length > 0) {
      throw new ReasonixError(`The cassette ${cassette.file} needs values for ${missing.join(", ")}`, {
        exit: "config",
        remedy: "hand in the values it was recorded with, or record it again",
      });
    }
    this.#matcher = {
      template: new Template(options.values),
      normalise: normaliser(header.ignore),
      loose: new Set(header.loose),
    };
    const groups = Map.groupBy(cassette.exchanges.entries(), ([, exchange]) => exchange.conversation);
    for (const [conversation, entries] of groups) {
      const exchanges = entries.map(([, exchange]) => exchange);
      this.#lanes.set(conversation, { exchanges, numbers: entries.map(([at]) => at + 1), next: 0 });
    }
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<Chunk, void> {
    if (signal.aborted) return yield { type: "error", error: abortedError() };
    this.#requests++;
    const found = this.#find(request);
    if ("mismatch" in found) return yield { type: "error", error: this.#mismatch(found.mismatch) };
    const { reply, hang } = found.exchange;
    for (const recorded of reply) {
      if (recorded.delay) await this.#options.deps.clock.sleep(recorded.delay, signal);
      if (signal.aborted) return yield { type: "error", error: abortedError() };
      yield this.#matcher.template.showChunk(recorded);
    }
    const last = reply.at(-1)?.type;
    if (last === "done" || last === "error") return;
    if (!hang) return yield { type: "done", reason: last === "tool_call" ? "tool_calls" : "stop" };
    await new Promise((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener("abort", resolve, { once: true });
    });
    yield { type: "error", error: abortedError() };
  }

  #find(request: ModelRequest): Found {
    const lane = this.#bound.get(request.messages) ?? this.#lanes.get(undefined);
    if (lane !== undefined) return this.#take(lane, request);
    const fresh = [...this.#lanes.values()].filter((lane) => lane.next === 0);
    for (const lane of fresh) {
      const found = this.#take(lane, request);
      if ("exchange" in found) {
        this.#bound.set(request.messages, lane);
        return found;
      }
    }
    const [first] = fresh;
    return first ? this.#take(first, request) : { mismatch: this.#exhausted() };
  }

  /** The lane's next exchange, used up when the request is the recorded one. */
  #take(lane: Lane, request: ModelRequest): Found {
    const exchange = lane.exchanges[lane.next];
    if (exchange === undefined) return { mismatch: this.#exhausted() };
    const found = exchange.request && divergence(exchange.request, request, this.#matcher);
    if (found) return { mismatch: `exchange ${lane.numbers[lane.next]}: ${found}` };
    lane.next++;
    return { exchange };
  }

  #exhausted(): string {
    return `it holds ${this.#cassette.exchanges.length} exchanges and none is left for request ${this.#requests}`;
  }

  #mismatch(what: string): ProviderError {
    const message =
      `The cassette ${this.#cassette.file} does not match: ${what}; record it again with --record`;
    return { kind: "mismatch", message };
  }
}
