import type { AssistantMessage, ImagePart, Message, ProviderPart } from "../../core/mod.ts";
import type { ProviderEntry } from "../../config/mod.ts";
import { isRecord, parseJson, safeText } from "../../util/json.ts";
import type { ModelInfo, ModelRequest } from "../provider.ts";

export type Fields = Readonly<Record<string, unknown>>;

export function extraFields({ extra_body, extra }: ProviderEntry): Record<string, unknown> {
  return { ...extra_body, ...extra };
}

/** The beginning of a body whose last field is this list. */
export function bodyHead(fields: Fields, list: string): string {
  const text = JSON.stringify(fields);
  return `${text === "{}" ? "{" : `${text.slice(0, -1)},`}"${list}":[`;
}

/** The fields behind the list, with their leading comma. */
export function bodyTail(fields: Fields): string {
  const text = JSON.stringify(fields);
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

/** The choice of tools on OpenAI's wires: a request that forbids calls wins over the fields of the user. */
export function toolChoice({ prefix, toolChoice }: ModelRequest, entry: ProviderEntry): unknown {
  const asked = prefix.tools.length > 0 && entry.compat.tool_choice ? toolChoice : undefined;
  return asked === "none" ? asked : extraFields(entry).tool_choice ?? asked;
}

/** Kind of the part with the text of a reply whose calls were read from it. */
export const TEXT_CALLS = "text_calls";

/** Text before images of tools that a wire takes from the user only. */
export const IMAGES_ABOVE = "Images from the tool results above:";

export function dataUrl({ mime, data }: ImagePart): string {
  return `data:${mime};base64,${data}`;
}

/** The text of a message, with a note in place of images when the model cannot see. */
export function visibleText(
  message: { readonly content: string; readonly images?: readonly ImagePart[] },
  vision: boolean,
): string {
  const { content, images } = message;
  const safe = safeText(content);
  if (vision || !images?.length) return safe;
  const what = images.length === 1 ? "1 image" : `${images.length} images`;
  return `${safe}${safe === "" ? "" : "\n"}[${what} left out: this model takes no images]`;
}

/** Servers refuse a history whose function names they would not have allowed. */
export function wireName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_") || "_";
}

/** Servers refuse arguments that are no object, so unreadable text is wrapped into one. */
export function wireArguments(text: string): string {
  return isRecord(parseJson(text)) ? text : JSON.stringify({ invalid_json: safeText(text) });
}

/** The parts of a message from this kind and model; servers refuse all others. */
export function partsFor(
  { parts }: AssistantMessage,
  kind: string,
  model: Pick<ModelInfo, "provider" | "id">,
): readonly ProviderPart[] {
  return parts?.filter((part) => part.kind === kind && isFrom(part, model)) ?? [];
}

export function isFieldsList(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.every(isRecord);
}

/** Reports whether a text consists of these pieces in this order, with nothing but blanks between them. */
export function consistsOf(text: string, pieces: readonly string[]): boolean {
  let at = 0;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found < 0 || text.slice(at, found).trim() !== "") return false;
    at = found + piece.length;
  }
  return text.slice(at).trim() === "";
}

/** Sources of the parts in a conversation that a model cannot take, each named once as provider/model. */
export function otherVendorSources(
  messages: readonly Message[],
  model: Pick<ModelInfo, "provider" | "id">,
): readonly string[] {
  const parts = messages.flatMap((message) => message.role === "assistant" ? message.parts ?? [] : []);
  const others = parts.filter((part) => part.kind !== TEXT_CALLS && !isFrom(part, model));
  return [...new Set(others.map((part) => `${part.provider}/${part.model}`))];
}

/** Kinds of parts with which no thought goes back. */
const WITHOUT_THOUGHTS: ReadonlySet<string> = new Set([TEXT_CALLS, "google"]);

/** Reports whether the reasoning of a reply is sent to a model, as a field or in signed parts. */
export function sendsReasoning(
  message: AssistantMessage,
  model: Pick<ModelInfo, "provider" | "id">,
  { reasoning_field: field, reasoning_scope: scope }: Partial<ProviderEntry["compat"]> = {},
): boolean {
  if (field !== undefined) return scope === "all" || (message.calls?.length ?? 0) > 0;
  return message.parts?.some((part) => !WITHOUT_THOUGHTS.has(part.kind) && isFrom(part, model)) ?? false;
}

function isFrom(part: ProviderPart, model: Pick<ModelInfo, "provider" | "id">): boolean {
  return part.provider === model.provider && part.model === model.id;
}
