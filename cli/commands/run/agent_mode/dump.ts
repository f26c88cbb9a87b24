import type { Assembly } from "../../../../src/assembly/mod.ts";
import type { Event, Message } from "../../../../src/core/mod.ts";
import type { Output } from "../../../../src/frontend/mod.ts";
import { terminalSafe } from "../../../../src/util/terminal_text.ts";

/**
 * Writes what the provider gets before each turn: the system prompt once, then the messages that were not
 * written yet. Answers that were shown already are only named.
 */
export class RequestDump {
  readonly #assembly: Assembly;
  readonly #err: Output;
  #system: string | undefined;
  #messages: readonly Message[] = [];
  #written = 0;

  constructor(assembly: Assembly, err: Output) {
    this.#assembly = assembly;
    this.#err = err;
  }

  event(event: Event): void | Promise<void> {
    if (event.type !== "message.start" || event.step !== 1) return;
    const { provider, controller: { recorder } } = this.#assembly;
    const { system } = provider.sentPrefix?.(recorder.prefix) ?? recorder.prefix;
    const parts = system === this.#system ? [] : [section("system", system)];
    this.#system = system;
    // A compaction makes another conversation.
    if (this.#messages !== recorder.messages || recorder.messages.length < this.#written) this.#written = 0;
    this.#messages = recorder.messages;
    parts.push(...this.#messages.slice(this.#written).map(described));
    this.#written = this.#messages.length;
    return this.#err.write(terminalSafe(`${parts.join("\n")}\n`));
  }
}

function section(title: string, text: string): string {
  return `--- ${title} ---\n${text.trimEnd()}`;
}

function described(message: Message): string {
  switch (message.role) {
    case "assistant": {
      const calls = message.calls ?? [];
      const lines = calls.map(({ name, arguments: args }) => `${name} ${args}`);
      return section(
        "assistant",
        [...(message.content === "" ? [] : ["(shown above)"]), ...lines].join("\n"),
      );
    }
    case "tool":
      return section(`result of ${message.callId}`, message.content);
    default:
      return section(message.role, message.content);
  }
}
