import type { Message } from "../../../core/mod.ts";
import type { ModelInfo, ModelRequest } from "../../provider.ts";
import { Fingerprint } from "../../wire/fingerprint.ts";
import { replyPartOf, type StoredReply } from "./items.ts";

/** Where a request can go on: the id of a stored reply, and how many messages it stands for. */
export interface Continuation {
  readonly id: string;
  readonly messages: number;
}

/** What is known of one conversation. */
interface Known {
  readonly digest: Fingerprint;
  readonly callIds: Set<string>;
  count: number;
  last: Message | undefined;
  continuation: Continuation | undefined;
  /** Messages up to which the server has forgotten its replies. */
  forgotten: number;
}

/**
 * Replies that the server keeps, so that a request sends only what came after the last of them.
 *
 * A reply counts when the conversation before it is the one it was given in, message by message: not after a
 * compaction, but after a resume, in a fork, and when turns were taken back.
 */
export class StoredReplies {
  readonly #model: ModelInfo;
  readonly #conversations = new WeakMap<readonly Message[], Known>();

  constructor(model: ModelInfo) {
    this.#model = model;
  }

  /** The last stored reply of a conversation; undefined when all of it has to be sent. */
  last(request: ModelRequest): Continuation | undefined {
    return this.#read(request).continuation;
  }

  /** Digest of a conversation as it stands. */
  digest(request: ModelRequest): string {
    return this.#read(request).digest.value;
  }

  /** Ids of all calls in a conversation so far. */
  callIds(request: ModelRequest): ReadonlySet<string> {
    return this.#read(request).callIds;
  }

  /** The server does not have what the last request went on from; older replies are gone as well. */
  forget(request: ModelRequest): void {
    const known = this.#read(request);
    known.forgotten = known.count;
    known.continuation = undefined;
  }

  #read({ messages }: ModelRequest): Known {
    const found = this.#conversations.get(messages);
    const goesOn = found !== undefined && found.count <= messages.length &&
      (found.count === 0 || messages[found.count - 1] === found.last);
    const known: Known = goesOn ? found : {
      digest: new Fingerprint(),
      callIds: new Set(),
      count: 0,
      last: undefined,
      continuation: undefined,
      forgotten: 0,
    };
    if (!goesOn) this.#conversations.set(messages, known);
    for (; known.count < messages.length; known.count++) {
      const message = messages[known.count];
      if (message === undefined) break;
      const stored = known.count < known.forgotten ? undefined : this.#stored(message);
      if (stored?.after === known.digest.value) {
        known.continuation = { id: stored.id, messages: known.count + 1 };
      }
      if (message.role === "assistant") message.calls?.forEach(({ id }) => known.callIds.add(id));
      for (const text of textsOf(message)) known.digest.add(`${text}\0`);
      known.last = message;
    }
    return known;
  }

  #stored(message: Message): StoredReply | undefined {
    return message.role === "assistant" ? replyPartOf(message, this.#model)?.stored : undefined;
  }
}

/** What tells a message from another one. */
function textsOf(message: Message): readonly string[] {
  const { role, content } = message;
  if (role === "assistant") return [role, content, ...message.calls?.map((call) => call.id) ?? []];
  const images = message.images?.map(({ data }) => data) ?? [];
  return role === "tool" ? [role, message.callId, content, ...images] : [role, content, ...images];
}
