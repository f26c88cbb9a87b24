/** An automatic prompt cache, as of servers without cache marks. */

export interface CacheRules {
  /** Shortest prefix that is kept, in tokens. */
  readonly minimum: number;
  /** Prefixes count in steps of this number of tokens. */
  readonly step: number;
}

/** Characters that make a token. */
const TOKEN = 4;
/** Prompts that are remembered. */
const KEPT = 24;

export function tokensOf(text: string): number {
  return Math.ceil(text.length / TOKEN);
}

/** Stores prompts and returns the cached length of the next one. */
export class PromptCache {
  readonly #rules: CacheRules;
  readonly #seen: string[] = [];

  constructor(rules: CacheRules) {
    this.#rules = rules;
  }

  /** Tokens of a prompt that are read from the cache; it is in the cache afterwards. */
  read(prompt: string): number {
    const known = Math.max(0, ...this.#seen.map((seen) => knownTokens(seen, prompt)));
    this.#seen.unshift(prompt);
    this.#seen.length = Math.min(this.#seen.length, KEPT);
    const { minimum, step } = this.#rules;
    const tokens = Math.floor(known / step) * step;
    return tokens < minimum ? 0 : tokens;
  }

  clear(): void {
    this.#seen.length = 0;
  }
}

/** Tokens at the beginning of a prompt that an earlier one has too; all of it counts with its last token. */
function knownTokens(seen: string, prompt: string): number {
  const common = commonPrefix(seen, prompt);
  return common === seen.length ? tokensOf(seen) : Math.floor(common / TOKEN);
}

function commonPrefix(a: string, b: string): number {
  let [low, high] = [0, Math.min(a.length, b.length)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (a.slice(low, middle) === b.slice(low, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
