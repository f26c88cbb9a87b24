import { type AssistantMessage, errorMessage, type Message, type Prefix } from "../core/mod.ts";
import { encodingOf, loadTokenizer, roughTokens, type Tokenizer } from "./tokenizer.ts";

export interface TokenCounterOptions {
  /** Model whose vocabulary is used when one is loaded. */
  readonly model: string;
  /** Tells whether the reasoning of a reply is sent back and so takes room; absent: of none. */
  readonly sendsReasoning?: ((message: AssistantMessage) => boolean) | undefined;
  /** The head as it is sent, where that is another one. */
  readonly sentPrefix?: ((prefix: Prefix) => Prefix) | undefined;
}

/** The count of the server for one request, and what it was counted for. */
interface Observation {
  readonly prefix: Prefix;
  readonly messages: readonly Message[];
  /** Messages of the request. */
  readonly count: number;
  readonly reported: number;
  /** Own count of these messages. */
  readonly own: number;
}

const PER_MESSAGE = 4;
const PER_CALL = 8;
const PER_IMAGE = 1_000;
const PER_TOOL = 8;

/** Below this many tokens a difference says more about rounding than about the vocabulary. */
const TELLING = 100;

/**
 * Counts tokens of a conversation. Each message is counted once; what the server reports corrects the count,
 * so that the next estimate is the last report plus what came since.
 */
export class TokenCounter {
  readonly #options: TokenCounterOptions;
  #tokenizer: Tokenizer | undefined;
  #loading: Promise<void> | undefined;
  #problem: string | undefined;
  #messages = new WeakMap<Message, number>();
  #prefixes = new WeakMap<Prefix, number>();
  /** Running sum over the conversation that was asked for last. */
  #sum: { readonly of: readonly Message[]; count: number; tokens: number } = { of: [], count: 0, tokens: 0 };
  #last: Observation | undefined;
  #grownOwn = 0;
  #grownReported = 0;
  /** Reported tokens for one of ours. */
  #slope = 1;

  constructor(options: TokenCounterOptions) {
    this.#options = options;
  }

  /** True when a vocabulary is in use, false for the estimate by scripts. */
  get exact(): boolean {
    return this.#tokenizer !== undefined;
  }

  /** True once the server has reported a count. */
  get calibrated(): boolean {
    return this.#last !== undefined;
  }

  /** The reason why the vocabulary could not be loaded. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Puts the vocabulary in place. What cannot be loaded leaves the estimate in use, and is the `problem`. */
  async load(): Promise<void> {
    this.#loading ??= loadTokenizer(encodingOf(this.#options.model)).then(
      (tokenizer) => this.#use(tokenizer),
      (error) => void (this.#problem = errorMessage(error)),
    );
    await this.#loading;
  }

  #use(tokenizer: Tokenizer): void {
    this.#tokenizer = tokenizer;
    this.#messages = new WeakMap();
    this.#prefixes = new WeakMap();
    this.#sum = { of: [], count: 0, tokens: 0 };
    this.#grownOwn = this.#grownReported = 0;
    const last = this.#last;
    if (last) {
      this.#last = { ...last, own: this.#own(last.messages, last.count) };
      this.#slope = this.#wholeSlope(this.#last);
    }
  }

  text(text: string): number {
    return this.#tokenizer ? this.#tokenizer(text) : roughTokens(text);
  }

  message(message: Message): number {
    const known = this.#messages.get(message);
    if (known !== undefined) return known;
    const tokens = this.#count(message);
    this.#messages.set(message, tokens);
    return tokens;
  }

  #count(message: Message): number {
    let tokens = PER_MESSAGE + this.text(message.content);
    if (message.role === "assistant") {
      for (const call of message.calls ?? []) {
        tokens += PER_CALL + this.text(call.name) + this.text(call.arguments);
      }
      if (message.reasoning && this.#options.sendsReasoning?.(message)) {
        tokens += this.text(message.reasoning);
      }
    } else tokens += (message.images?.length ?? 0) * PER_IMAGE;
    return tokens;
  }

  prefix(prefix: Prefix): number {
    const known = this.#prefixes.get(prefix);
    if (known !== undefined) return known;
    const tokens = PER_MESSAGE + this.text(prefix.system) + this.tools(prefix);
    this.#prefixes.set(prefix, tokens);
    return tokens;
  }

  /** What the tools of a head cost, wherever they are told. */
  tools(prefix: Prefix): number {
    const sent = this.#options.sentPrefix?.(prefix);
    if (sent) return Math.max(0, this.text(sent.system) - this.text(prefix.system)) + this.#declared(sent);
    return this.#declared(prefix);
  }

  #declared(prefix: Prefix): number {
    return prefix.tools.reduce((sum, tool) => sum + PER_TOOL + this.text(JSON.stringify(tool)), 0);
  }

  /** Returns the tokens of a message by the server's measure. */
  calibratedMessage(message: Message): number {
    return this.message(message) * this.#slope;
  }

  /** Tokens of a request with these messages, by the server's measure as far as it is known. */
  estimate(prefix: Prefix, messages: readonly Message[]): number {
    const own = this.#own(messages, messages.length);
    const last = this.#last;
    if (!last) return this.prefix(prefix) + own;
    const head = last.reported - this.#slope * last.own + this.prefix(prefix) - this.prefix(last.prefix);
    return Math.max(0, Math.round(head + this.#slope * own));
  }

  /** Takes in what the server counted for a request with the first `count` of these messages. */
  observe(prefix: Prefix, messages: readonly Message[], count: number, reported: number): void {
    if (reported <= 0) return;
    const own = this.#own(messages, count);
    const before = this.#last;
    this.#last = { prefix, messages, count, reported, own };
    if (before && before.messages === messages && before.prefix === prefix && count > before.count) {
      this.#grow(own - before.own, reported - before.reported);
    } else if (!before) this.#slope = this.#wholeSlope(this.#last);
  }

  /** Growth tells the measure of messages apart from that of the head; the latest counts most. */
  #grow(own: number, reported: number): void {
    if (own <= 0 || reported < 0) return;
    this.#grownOwn = this.#grownOwn * 0.8 + own;
    this.#grownReported = this.#grownReported * 0.8 + reported;
    if (this.#grownOwn >= TELLING) this.#slope = bounded(this.#grownReported / this.#grownOwn);
  }

  #wholeSlope(seen: Observation): number {
    return bounded(seen.reported / Math.max(1, this.prefix(seen.prefix) + seen.own));
  }

  #own(messages: readonly Message[], count: number): number {
    const sum = this.#sum;
    if (sum.of !== messages || sum.count > messages.length) this.#sum = { of: messages, count: 0, tokens: 0 };
    const at = this.#sum;
    for (; at.count < messages.length; at.count++) {
      const message = messages[at.count];
      if (message) at.tokens += this.message(message);
    }
    let tokens = at.tokens;
    for (const message of messages.slice(count)) tokens -= this.message(message);
    return tokens;
  }
}

/** Beyond this a report is about something else, such as a proxy that counts cached tokens apart. */
function bounded(slope: number): number {
  return Math.min(3, Math.max(0.3, slope));
}
