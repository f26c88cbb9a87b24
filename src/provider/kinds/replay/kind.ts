import { type Chunk, type Message, message, type ProviderError, ReasonixError } from "../../../core/mod.ts";
import {
  type Cassette,
  type Exchange,
  normalizer,
  readCassette,
  type RecordedMessage,
  type RecordedRequest,
  Template,
  toolPrints,
} from "../../cassette/format.ts";
import { abortedError } from "../../errors.ts";
import type { KindOptions, ProviderKind } from "../../kind.ts";
import type { ModelRequest, Provider } from "../../provider.ts";

/** Plays a cassette: replies come from a file, and requests must be those that were recorded. */
export const replay: ProviderKind = {
  hasCalls: true,
  create: async (options): Promise<Provider> => {
    const file = options.entry.cassette;
    if (file === undefined) {
      throw new ReasonixError(message`Provider "${options.entry.name}" of kind "replay" names no cassette`, {
        exit: "config",
        remedy: message`set cassette to a file made with --record`,
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

interface Lane {
  readonly exchanges: readonly Exchange[];
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
      throw new ReasonixError(message`The cassette ${cassette.file} needs values for ${missing.join(", ")}`, {
        exit: "config",
        remedy: message`hand in the values it was recorded with, or record it again`,
      });
    }
    this.#matcher = {
      template: new Template(options.values),
      normalize: normalizer(header.ignore),
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

const CONTEXT = 40;

interface Matcher {
  readonly template: Template;
  readonly normalize: (text: string) => string;
  readonly loose: ReadonlySet<string>;
}

/** Describes where a request departs from the recorded one, or undefined when it does not. */
function divergence(
  recorded: RecordedRequest,
  request: ModelRequest,
  { template, normalize, loose }: Matcher,
): string | undefined {
  if (!loose.has("system") && recorded.system !== undefined) {
    const found = difference(normalize(recorded.system), normalize(template.hide(request.prefix.system)));
    if (found) return `the system prompt differs ${found}`;
  }
  if (!loose.has("tools") && recorded.tools !== undefined) {
    const found = toolDifference(recorded.tools, toolPrints(request.prefix.tools));
    if (found) return found;
  }
  if (loose.has("messages")) return undefined;
  const incoming = request.messages.slice(recorded.from).map((message) => template.message(message));
  const count = Math.max(incoming.length, recorded.messages.length);
  for (let at = 0; at < count; at++) {
    const found = messageDifference(recorded.messages[at], incoming[at], normalize);
    if (found) return `message ${recorded.from + at} ${found}`;
  }
  return undefined;
}

function messageDifference(
  recorded: RecordedMessage | undefined,
  now: RecordedMessage | undefined,
  normalize: (text: string) => string,
): string | undefined {
  if (recorded === undefined) {
    return `(${now?.role}) is not in the recording: ${excerpt(now?.content ?? "", 0)}`;
  }
  if (now === undefined) {
    return `(${recorded.role}) of the recording is missing: ${excerpt(recorded.content, 0)}`;
  }
  const label = ({ role, name }: RecordedMessage) => name === undefined ? role : `${role} ${name}`;
  const before = label(recorded);
  if (before !== label(now)) return `is ${label(now)} where ${before} was recorded`;
  const content = difference(normalize(recorded.content), normalize(now.content));
  if (content) return `(${before}) differs ${content}`;
  const [images, others] = [recorded.images ?? 0, now.images ?? 0];
  if (images !== others) return `(${before}) has ${others} images where ${images} were recorded`;
  const callsOf = ({ calls = [] }: RecordedMessage) =>
    normalize(calls.map((call) => `${call.name}(${call.arguments})`).join(" "));
  const calls = difference(callsOf(recorded), callsOf(now));
  return calls ? `(${before}) differs in its calls ${calls}` : undefined;
}

function toolDifference(recorded: readonly string[], now: readonly string[]): string | undefined {
  if (recorded.join() === now.join()) return undefined;
  const nameIn = (print: string) => print.slice(0, print.lastIndexOf("#"));
  const gone = recorded.filter((tool) => !now.includes(tool)).map(nameIn);
  const added = now.filter((tool) => !recorded.includes(tool)).map(nameIn);
  const changed = gone.filter((name) => added.includes(name));
  const isUnchanged = (name: string) => !changed.includes(name);
  const lists = { changed, missing: gone.filter(isUnchanged), new: added.filter(isUnchanged) };
  const parts = Object.entries(lists).filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what}: ${names.join(", ")}`);
  return `the tools differ (${parts.join("; ") || "other order"})`;
}

function difference(recorded: string, now: string): string | undefined {
  if (recorded === now) return undefined;
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at++;
  return `at character ${at}: recorded ${excerpt(recorded, at)}, now ${excerpt(now, at)}`;
}

function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - CONTEXT / 2);
  const piece = text.slice(from, at + CONTEXT).toWellFormed();
  return JSON.stringify(`${from > 0 ? "…" : ""}${piece}${at + CONTEXT < text.length ? "…" : ""}`);
}
