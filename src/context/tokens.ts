import { type AssistantMessage, errorMessage, type Message, type Prefix } from "../core/mod.ts";
import { encodingOf, loadTokenizer, roughTokens, type Tokenizer } from "./tokenizer.ts";
import { type ScriptTokens, TokenSlopes } from "./token_slopes.ts";

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
  readonly own: ScriptTokens;
}

const PER_MESSAGE = 4;
const PER_CALL = 8;
const PER_IMAGE = 1_000;
const PER_TOOL = 8;

/**
 * Counts tokens of a conversation. Each message is counted once; what the server reports corrects the count,
 * so that the next estimate is the last report plus what came since.
 */
export class TokenCounter {
  readonly #options: TokenCounterOptions;
  #tokenizer: Tokenizer | undefined;
  #loading: Promise<void> | undefined;
  #problem: string | undefined;
  #messages = new WeakMap<Message, ScriptTokens>();
  #prefixes = new WeakMap<Prefix, number>();
  /** Running sum over the conversation that was asked for last. */
  #sum: Sum = { of: [], count: 0, tokens: NONE };
  #last: Observation | undefined;
  /** Reported tokens for ours. */
  readonly #slopes = new TokenSlopes();

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
    this.#sum = { of: [], count: 0, tokens: NONE };
    const last = this.#last;
    if (last) this.#begin({ ...last, own: this.#own(last.messages, last.count) });
  }

  text(text: string): number {
    return this.#tokenizer ? this.#tokenizer(text) : roughTokens(text);
  }

  message(message: Message): number {
    return size(this.#parts(message));
  }

  #parts(message: Message): ScriptTokens {
    const known = this.#messages.get(message);
    if (known !== undefined) return known;
    const texts = this.#texts(message);
    const tokens = this.#overhead(message) + texts.reduce((sum, text) => sum + this.text(text), 0);
    const other = Math.round(tokens * otherShare(texts));
    const parts = { ascii: tokens - other, other };
    this.#messages.set(message, parts);
    return parts;
  }

  #overhead(message: Message): number {
    if (message.role === "assistant") return PER_MESSAGE + PER_CALL * (message.calls?.length ?? 0);
    return PER_MESSAGE + (message.images?.length ?? 0) * PER_IMAGE;
  }

  #texts(message: Message): string[] {
    if (message.role !== "assistant") return [message.content];
    const { content, calls = [], reasoning } = message;
    return [
      content,
      ...calls.flatMap((call) => [call.name, call.arguments]),
      ...(reasoning && this.#options.sendsReasoning?.(message) ? [reasoning] : []),
    ];
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
    return this.#slopes.of(this.#parts(message));
  }

  /** Tokens of a request with these messages, by the server's measure as far as it is known. */
  estimate(prefix: Prefix, messages: readonly Message[]): number {
    const own = this.#own(messages, messages.length);
    const last = this.#last;
    if (!last) return this.prefix(prefix) + size(own);
    const head = last.reported - this.#slopes.of(last.own) + this.prefix(prefix) - this.prefix(last.prefix);
    return Math.max(0, Math.round(head + this.#slopes.of(own)));
  }

  /** The part by which an estimate without a vocabulary may be off: the more, the less of it was counted. */
  doubt(estimate: number): number {
    const unreported = Math.max(0, estimate - (this.#last?.reported ?? 0));
    return 0.05 + 0.35 * Math.min(1, unreported / Math.max(1, estimate));
  }

  /** Takes in what the server counted for a request with the first `count` of these messages. */
  observe(prefix: Prefix, messages: readonly Message[], count: number, reported: number): void {
    if (reported <= 0) return;
    const own = this.#own(messages, count);
    const before = this.#last;
    const now = { prefix, messages, count, reported, own };
    if (!before) return this.#begin(now);
    this.#last = now;
    if (before.messages !== messages || before.prefix !== prefix || count <= before.count) return;
    // Growth tells the measure of messages apart from that of the head.
    const grown = { ascii: own.ascii - before.own.ascii, other: own.other - before.own.other };
    this.#slopes.grow(grown, reported - before.reported);
  }

  #begin(seen: Observation): void {
    this.#last = seen;
    this.#slopes.begin(this.prefix(seen.prefix) + size(seen.own), seen.reported);
  }

  #own(messages: readonly Message[], count: number): ScriptTokens {
    const sum = this.#sum;
    if (sum.of !== messages || sum.count > messages.length) {
      this.#sum = { of: messages, count: 0, tokens: NONE };
    }
    const at = this.#sum;
    let { ascii, other } = at.tokens;
    const add = (message: Message, sign: number) => {
      const parts = this.#parts(message);
      ascii += sign * parts.ascii;
      other += sign * parts.other;
    };
    for (; at.count < messages.length; at.count++) {
      const message = messages[at.count];
      if (message) add(message, 1);
    }
    at.tokens = { ascii, other };
    for (const message of messages.slice(count)) add(message, -1);
    return { ascii, other };
  }
}

/** Running sum over a conversation. */
interface Sum {
  readonly of: readonly Message[];
  count: number;
  tokens: ScriptTokens;
}

const NONE: ScriptTokens = { ascii: 0, other: 0 };

function size({ ascii, other }: ScriptTokens): number {
  return ascii + other;
}

const ASCII = /[\0-\x7f]+/g;

/** The part of the tokens of some texts that is for other characters than those of ASCII. */
function otherShare(texts: readonly string[]): number {
  let all = 0;
  let other = 0;
  for (const text of texts) {
    all += roughTokens(text);
    const rest = text.replace(ASCII, "");
    other += rest === "" ? 0 : roughTokens(rest);
  }
  return all === 0 ? 0 : Math.min(1, other / all);
}
