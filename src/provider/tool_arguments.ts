import { isRecord, parseJson } from "../util/json.ts";

const STRINGS =
  /"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|'(?:[^'"\\]|\\(?:["'\\/bfnrt]|u[0-9a-fA-F]{4}))*'/g;
const NUMBER_OR_WORD =
  /^(?:[\s{}[\],:]|""|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null|True|False|None)\b|[A-Za-z_$][\w$]*(?=\s*:))*$/;
const FENCE = /^```(?:json)?\s*([\s\S]*?)\s*```$/;

/**
 * The text when it is a JSON object as it stands, "{}" when it says nothing, or undefined when it needs
 * {@linkcode repairArguments}.
 */
export function plainArguments(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "null" || trimmed === "{}") return "{}";
  const value = parseJson(trimmed);
  if (isRecord(value)) return text;
  return typeof value === "string" && isRecord(parseJson(value)) ? value : undefined;
}

/**
 * Repairs malformed arguments when there is one way to read them: a trailing or missing comma, closing
 * brackets missing at the end, single quotes, bare keys, Python's constants, raw line breaks in strings, a
 * code fence.
 *
 * Contract: nothing is invented. An unfinished string or number, a key without a value, an unescaped quote or
 * an unknown escape can be read in several ways: then the text comes back as it was and is not valid JSON.
 */
export async function repairArguments(text: string): Promise<string> {
  const bare = text.trim().replace(FENCE, "$1");
  const outside = bare.replace(STRINGS, '""');
  if (!bare.startsWith("{") || !NUMBER_OR_WORD.test(outside)) return text;
  if (!/["}\]]$/.test(outside.trimEnd()) || /[:][\s]*[,}\]]|[,][\s]*,/.test(outside)) return text;
  const { jsonrepair } = await import("jsonrepair");
  let repaired: string;
  try {
    repaired = jsonrepair(bare);
  } catch {
    return text;
  }
  if (!isRecord(parseJson(repaired)) || nulls(repaired.replace(STRINGS, '""')) !== nulls(outside)) {
    return text;
  }
  return repaired;
}

function nulls(text: string): number {
  return text.match(/\b(?:null|None)\b/g)?.length ?? 0;
}
