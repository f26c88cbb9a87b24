import type { Message } from "../../core/mod.ts";

interface Entry<State> {
  readonly key: unknown;
  readonly state: State;
  count: number;
  last: Message | undefined;
}

/**
 * States of conversations, which are arrays that only grow. A state begins again when the `key` of its
 * conversation changes, and when the array was compacted: then its last known message has moved.
 */
export class ConversationStates<State> {
  readonly #entries = new WeakMap<readonly Message[], Entry<State>>();

  get(messages: readonly Message[]): State | undefined {
    return this.#entries.get(messages)?.state;
  }

  /** Returns the state of a conversation and the messages since the last call for it. */
  read(
    messages: readonly Message[],
    begin: () => State,
    key?: unknown,
  ): { readonly state: State; readonly added: readonly Message[] } {
    const known = this.#entries.get(messages);
    const continues = known?.key === key && known !== undefined && known.count <= messages.length &&
      (known.count === 0 || messages[known.count - 1] === known.last);
    const entry = continues ? known : { key, state: begin(), count: 0, last: undefined };
    this.#entries.set(messages, entry);
    const added = messages.slice(entry.count);
    entry.count = messages.length;
    entry.last = messages.at(-1);
    return { state: entry.state, added };
  }
}
