import type { AssistantMessage, Message, Prefix } from "../core/mod.ts";
import { roughTokens } from "./rough_tokens.ts";

export interface TokenCounterOptions {
  /** Reports whether the reasoning of a reply is sent back and so counts; absent: of none. */
  readonly sendsReasoning?: ((message: AssistantMessage) => boolean) | undefined;
  /** The prefix as it is sent, where that differs. */
  readonly sentPrefix?: ((prefix: Prefix) => Prefix) | undefined;
}

/** The count of the server for one request, and what it was counted for. */
interface Observation {
  readonly prefix: Prefix;
  readonly messages: readonly Message[];
  readonly count: number;
  readonly reported: number;
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
  readonly #messages = new WeakMap<Message, ScriptTokens>();
  readonly #prefixes = new WeakMap<Prefix, number>();
  #sum: Sum = { of: [], count: 0, tokens: NONE };
  #last: Observation | undefined;
  readonly #slopes = new TokenSlopes();

  constructor(options: TokenCounterOptions = {}) {
    this.#options = options;
  }

  /** True once the server has reported a count. */
  get calibrated(): boolean {
    return this.#last !== undefined;
  }

  message(message: Message): number {
    return size(this.#parts(message));
  }

  #parts(message: Message): ScriptTokens {
    const known = this.#messages.get(message);
    if (known !== undefined) return known;
    const texts = this.#texts(message);
    const tokens = this.#overhead(message) + texts.reduce((sum, text) => sum + roughTokens(text), 0);
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
    const tokens = PER_MESSAGE + roughTokens(prefix.system) + this.tools(prefix);
    this.#prefixes.set(prefix, tokens);
    return tokens;
  }

  /** Tokens of the tools of a prefix, whether declared or described in the prompt. */
  tools(prefix: Prefix): number {
    const sent = this.#options.sentPrefix?.(prefix);
    if (sent) {
      return Math.max(0, roughTokens(sent.system) - roughTokens(prefix.system)) + this.#declared(sent);
    }
    return this.#declared(prefix);
  }

  #declared(prefix: Prefix): number {
    return prefix.tools.reduce((sum, tool) => sum + PER_TOOL + roughTokens(JSON.stringify(tool)), 0);
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

  /** Takes in what the server counted for a request with the first `count` of these messages. */
  observe(prefix: Prefix, messages: readonly Message[], count: number, reported: number): void {
    if (reported <= 0) return;
    const own = this.#own(messages, count);
    const before = this.#last;
    const now = { prefix, messages, count, reported, own };
    if (!before) return this.#begin(now);
    this.#last = now;
    if (before.messages !== messages || before.prefix !== prefix || count <= before.count) return;
    // Growth distinguishes the measure of messages from that of the prefix.
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

/** Tokens of texts by kind: those of ASCII, and those of other scripts, in which vocabularies differ most. */
interface ScriptTokens {
  readonly ascii: number;
  readonly other: number;
}

/** Tokens that the first guess is worth: above this many counted tokens each kind has its own slope. */
const GUESS = { ascii: 500, other: 60 };
/** Weight of earlier growth when the text grows again. */
const KEPT = 0.95;

/** Reported tokens for one of ours, by kind: a guess from the first report, then the growth that is seen. */
class TokenSlopes {
  #guess = 1;
  #aa = 0;
  #ab = 0;
  #bb = 0;
  #ra = 0;
  #rb = 0;
  #slopes: ScriptTokens = { ascii: 1, other: 1 };

  begin(own: number, reported: number): void {
    this.#guess = bounded(reported / Math.max(1, own));
    this.#aa =
      this.#ab =
      this.#bb =
      this.#ra =
      this.#rb =
        0;
    this.#slopes = { ascii: this.#guess, other: this.#guess };
  }

  of({ ascii, other }: ScriptTokens): number {
    return this.#slopes.ascii * ascii + this.#slopes.other * other;
  }

  /** Takes in by how much a request has grown: least squares, where errors grow with the size. */
  grow({ ascii, other }: ScriptTokens, reported: number): void {
    const size = ascii + other;
    if (size <= 0 || reported < 0) return;
    this.#aa = this.#aa * KEPT + ascii * ascii / size;
    this.#ab = this.#ab * KEPT + ascii * other / size;
    this.#bb = this.#bb * KEPT + other * other / size;
    this.#ra = this.#ra * KEPT + ascii * reported / size;
    this.#rb = this.#rb * KEPT + other * reported / size;
    const [aa, bb] = [this.#aa + GUESS.ascii, this.#bb + GUESS.other];
    const [ra, rb] = [this.#ra + GUESS.ascii * this.#guess, this.#rb + GUESS.other * this.#guess];
    const det = aa * bb - this.#ab * this.#ab;
    this.#slopes = {
      ascii: bounded((ra * bb - rb * this.#ab) / det),
      other: bounded((rb * aa - ra * this.#ab) / det),
    };
  }
}

/** Beyond this a report is about something else, such as a proxy that counts cached tokens apart. */
function bounded(slope: number): number {
  return Math.min(3, Math.max(0.3, slope));
}
