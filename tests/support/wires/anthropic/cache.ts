/** The vendor's prompt cache: entries written at marks and found by a lookback from them. */
import { createHash } from "node:crypto";
import type { MessagesRequest, WireBlock } from "./shapes.ts";

/** Counts of one request, as the vendor reports them. */
export interface InputCount {
  readonly fresh: number;
  readonly read: number;
  readonly written: number;
}

const LOOKBACK = 20;
const CHARACTERS_PER_TOKEN = 4;

interface Position {
  readonly hash: string;
  /** Tokens up to here. */
  readonly tokens: number;
  readonly marked: boolean;
}

const texts = new WeakMap<WireBlock, string>();

/** A block without its mark, as the cache sees it. */
export function unmarked(block: WireBlock): string {
  let text = texts.get(block);
  if (text === undefined) {
    const { cache_control: _, ...rest } = block;
    texts.set(block, text = JSON.stringify(rest));
  }
  return text;
}

export class PromptCache {
  readonly #entries = new Set<string>();
  readonly #minimum: number;

  constructor(minimum: number) {
    this.#minimum = minimum;
  }

  /** Clears the cache, as the server does after a while without requests. */
  clear(): void {
    this.#entries.clear();
  }

  count(request: MessagesRequest): InputCount {
    const positions = positionsOf(request);
    const all = positions.at(-1)?.tokens ?? 0;
    let read = 0;
    let last = 0;
    positions.forEach((position, at) => {
      if (!position.marked) return;
      if (position.tokens >= this.#minimum) last = position.tokens;
      const window = positions.slice(Math.max(0, at - LOOKBACK), at + 1);
      const found = window.findLast(({ hash }) => this.#entries.has(hash));
      read = Math.max(read, found?.tokens ?? 0);
    });
    for (const { marked, tokens, hash } of positions) {
      if (marked && tokens >= this.#minimum) this.#entries.add(hash);
    }
    const written = Math.max(0, last - read);
    return { fresh: all - read - written, read, written };
  }
}

/** Every block in the vendor's order, with the settings that change the answer. */
function positionsOf({ model, tools = [], system = [], messages, thinking, tool_choice }: MessagesRequest) {
  const positions: Position[] = [];
  const hash = createHash("sha256").update(model);
  let characters = 0;
  const add = (block: WireBlock, role: string) => {
    const text = unmarked(block);
    characters += text.length;
    hash.update(`\n${role} ${text}`);
    positions.push({
      hash: hash.copy().digest("base64"),
      tokens: Math.ceil(characters / CHARACTERS_PER_TOKEN),
      marked: block.cache_control !== undefined,
    });
  };
  for (const tool of tools) add(tool, "tool");
  for (const block of system) add(block, "system");
  hash.update(JSON.stringify([thinking, tool_choice]));
  for (const { role, content } of messages) for (const block of content) add(block, role);
  return positions;
}
