import type { ModelInfo } from "../../provider.ts";

/** What models of one generation take on this wire. */
export interface Generation {
  /** Calls without the signature of a thought are refused. */
  readonly signsCalls: boolean;
  /** Results of functions may hold images. */
  readonly resultImages: boolean;
  /** How it is told how much to think: by a word, by a number of tokens, or not at all. */
  readonly thinking: "level" | "budget" | "none";
  /** It thinks unless it is told not to. */
  readonly thinksUnasked: boolean;
}

/**
 * The generation of a model by its name, else by what is known of its thinking. What nothing is known of
 * counts as one of the newest.
 */
export function generationOf({ id, reasoning }: Pick<ModelInfo, "id" | "reasoning">): Generation {
  const number = numberOf(id, reasoning);
  const thinks = reasoning?.thinks ?? number >= 2.5;
  return {
    signsCalls: number >= 3,
    resultImages: number >= 3,
    thinking: !thinks ? "none" : number >= 3 ? "level" : "budget",
    thinksUnasked: thinks && !(number < 3 && id.includes("lite")),
  };
}

function numberOf(id: string, reasoning: ModelInfo["reasoning"]): number {
  const named = /gemini-(\d+(?:\.\d+)?)/.exec(id)?.[1];
  if (named !== undefined) return Number(named);
  if (reasoning?.thinks === false || /(?:^|\/)(?:gemma|learnlm)/.test(id)) return 2;
  return reasoning?.budget ? 2.5 : 3;
}
