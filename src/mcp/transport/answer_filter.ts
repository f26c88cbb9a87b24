import type { isSpecType, JSONRPCMessage } from "@modelcontextprotocol/client";
import { isRecord } from "../../util/json.ts";

/** Entries of lists that the SDK would refuse, each with the whole list. */
export type Refused = Readonly<Record<keyof typeof LISTS, readonly unknown[]>>;

const LISTS = {
  tools: "Tool",
  prompts: "Prompt",
  resources: "Resource",
  resourceTemplates: "ResourceTemplate",
} as const;

const MAX_SHOWN = 2_000;

/**
 * Keeps from the SDK what it would refuse a whole answer for: an entry of a list, which is set aside, and
 * content of a kind that is not known, which becomes text.
 */
export class AnswerFilter {
  readonly #isSpecType: typeof isSpecType;
  #refused = noneRefused();

  constructor(guards: typeof isSpecType) {
    this.#isSpecType = guards;
  }

  accept(message: JSONRPCMessage): JSONRPCMessage {
    if (!("result" in message) || !isRecord(message.result)) return message;
    let result: Record<string, unknown> = message.result;
    for (const key of Object.keys(LISTS) as (keyof typeof LISTS)[]) {
      const list = result[key];
      if (!Array.isArray(list)) continue;
      const refused = list.filter((entry) => !this.#isSpecType[LISTS[key]](entry));
      if (refused.length === 0) continue;
      this.#refused[key].push(...refused);
      result = { ...result, [key]: list.filter((entry) => !refused.includes(entry)) };
    }
    const { content } = result;
    if (Array.isArray(content) && !content.every((block) => this.#isSpecType.ContentBlock(block))) {
      result = { ...result, content: content.map((block) => this.#block(block)) };
    }
    return result === message.result ? message : { ...message, result };
  }

  /** The entries that were set aside since the last time. */
  take(): Refused {
    const refused = this.#refused;
    this.#refused = noneRefused();
    return refused;
  }

  #block(block: unknown): unknown {
    if (this.#isSpecType.ContentBlock(block)) return block;
    const json = JSON.stringify(block) ?? "";
    const shown = json.length > MAX_SHOWN ? `${json.slice(0, MAX_SHOWN).toWellFormed()}… [cut]` : json;
    return { type: "text", text: `[content of an unknown kind: ${shown}]` };
  }
}

function noneRefused(): Record<keyof typeof LISTS, unknown[]> {
  return { tools: [], prompts: [], resources: [], resourceTemplates: [] };
}
