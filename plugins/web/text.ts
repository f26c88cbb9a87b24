/** The converter `text`: JSON, XML and other text. Runs in a bounded worker, as all conversions. */
import { cleanText } from "../common/material.ts";
import { decodePage } from "./page/charset.ts";
import type { PageInput } from "./page/convert.ts";

export interface TextResult {
  readonly markdown: string;
  readonly part: "json" | "xml" | "text";
  readonly notes: readonly string[];
}

/** Lines longer than this are broken where the format allows it. */
const LONG_LINE = 2000;

export function convert({ bytes, contentType = "" }: PageInput): Promise<TextResult> {
  const { text, charset, guessed, replaced } = decodePage(bytes, contentType);
  const notes = [
    ...(guessed ? [`read as ${charset}, which is a guess`] : []),
    ...(replaced > 0 ? [`${replaced} characters are not readable as ${charset}`] : []),
  ];
  const isXml = /xml|svg/i.test(contentType) || /^\s*<\?xml/.test(text);
  const part = /json/i.test(contentType) ? "json" : isXml ? "xml" : "text";
  const isLong = text.split("\n", 1000).some((line) => line.length > LONG_LINE);
  return Promise.resolve({ part, notes, markdown: cleanText(isLong ? broken(text, part) : text) });
}

function broken(text: string, part: "json" | "xml" | "text"): string {
  if (part === "xml") return text.replace(/>\s*(?=<)/g, ">\n");
  if (part === "text") return text;
  try {
    return JSON.stringify(JSON.parse(text, exact), undefined, 2);
  } catch {
    return text;
  }
}

/** Numbers stay as they are written: those with many digits would change. */
function exact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const raw = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON;
  const isExact = typeof value !== "number" || context?.source === undefined ||
    String(value) === context.source;
  return isExact || !raw ? value : raw(context.source);
}
