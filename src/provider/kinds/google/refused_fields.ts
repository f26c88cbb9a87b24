import type { Message } from "../../../core/mod.ts";
import type { ProviderFailure } from "../../failure.ts";
import type { ModelRequest } from "../../provider.ts";
import type { Adaptation } from "../../wire/streaming_provider.ts";

/** Words by which the server refuses to be told how to think, or to show thoughts. */
const THINKING = /thinking|include_?thoughts/i;
/** Signatures mean nothing at another project, region or gateway than the one they came from. */
const SIGNATURE = /thought[_ ]?signature/i;

/** What a server has refused so far, although the name of the model says that it should take it. */
export class RefusedFields {
  readonly #wantsEffort: boolean;
  readonly #unreadable = new WeakSet<Message>();
  /** It takes no `thinkingConfig`. */
  thinking = false;

  /** `wantsEffort`: the user said how much to think, and has to know when that is left out. */
  constructor(wantsEffort: boolean) {
    this.#wantsEffort = wantsEffort;
  }

  /** Reports whether the signatures of a reply were refused. */
  ofSignatures(message: Message): boolean {
    return this.#unreadable.has(message);
  }

  /** Learns from a failure; what comes back means that the next request is another one. */
  learn({ error }: ProviderFailure, { messages }: ModelRequest): Adaptation | undefined {
    if (error.status !== 400) return undefined;
    if (SIGNATURE.test(error.message)) {
      const signed = messages.filter((message) =>
        message.role === "assistant" && message.parts !== undefined && !this.#unreadable.has(message)
      );
      for (const message of signed) this.#unreadable.add(message);
      return signed.length > 0 ? { without: "thoughtSignature" } : undefined;
    }
    if (this.thinking || !THINKING.test(error.message)) return undefined;
    this.thinking = true;
    return this.#wantsEffort ? { without: "thinkingConfig" } : {};
  }
}
