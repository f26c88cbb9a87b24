import type { ProviderFailure } from "../../failure.ts";
import type { KindOptions } from "../../kind.ts";

/** Words by which servers refuse a field, or its value, that they or the model do not know. */
const REFUSED_FIELD =
  /(?:unsupported|unknown|unrecognized|invalid|unexpected) (?:parameter|value|field|request argument)[^'"`]{0,60}['"`]([\w.]+)['"`]/i;
const NOT_SUPPORTED = /['"`]([\w.]+)['"`](?: parameter)? is not (?:supported|allowed|permitted)/i;
/** OpenAI shows summaries only to organizations that have proved who they are. */
const UNVERIFIED = /verified to (?:generate|stream) reasoning summar/i;
/** Models that do not reason have nothing to encrypt. */
const NOTHING_SEALED = /encrypted content is not supported/i;

/** Fields that a request is as good without. */
const OPTIONAL = new Set([
  "temperature",
  "top_p",
  "text.verbosity",
  "reasoning.summary",
  "reasoning.effort",
  "reasoning",
  "prompt_cache_key",
  "include",
  "parallel_tool_calls",
  "store",
]);

const PREVIOUS_LOST = /previous[_ ]response/i;

const SEAL_REFUSED =
  /encrypted[_ ]content\b.{0,80}\b(?:verified|decrypted|parsed)|invalid_encrypted_content/i;
const ITEM_LOST = /item with id '?rs_\w+'? not found/i;

/**
 * Reports whether the server cannot read reasoning that went back to it: it is another one than that which
 * gave it, or the key belongs to somebody else now.
 */
export function isReasoningRefused({ error }: ProviderFailure): boolean {
  return (error.status === 400 || error.status === 404) &&
    (SEAL_REFUSED.test(error.message) || ITEM_LOST.test(error.message));
}

/** Reports whether the server does not know the reply that a request goes on from. */
export function isPreviousLost({ error }: ProviderFailure): boolean {
  return (error.status === 400 || error.status === 404) && PREVIOUS_LOST.test(error.message);
}

/** The optional field that a failure is about; undefined where there is none. */
export function refusedField({ error }: ProviderFailure): string | undefined {
  if (error.status !== 400 && error.status !== 422) return undefined;
  if (UNVERIFIED.test(error.message)) return "reasoning.summary";
  if (NOTHING_SEALED.test(error.message)) return "include";
  const name = (REFUSED_FIELD.exec(error.message) ?? NOT_SUPPORTED.exec(error.message))?.[1];
  if (name === undefined) return undefined;
  if (name === "verbosity" || name === "summary") {
    return name === "summary" ? "reasoning.summary" : "text.verbosity";
  }
  return OPTIONAL.has(name) ? name : undefined;
}

/** Reports whether the user asked for a field, who then has to know that it is left out. */
export function isAskedFor(field: string, { entry, effort }: Pick<KindOptions, "entry" | "effort">): boolean {
  switch (field) {
    case "temperature":
    case "top_p":
    case "store":
      return Boolean(entry[field]);
    case "text.verbosity":
      return entry.verbosity !== undefined;
    case "reasoning":
    case "reasoning.effort":
      return effort !== undefined;
    default:
      return false;
  }
}
