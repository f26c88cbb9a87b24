import { isRecord } from "../../util/json.ts";

/** What the pages of model servers say. Everything in them may be missing or of another form. */

type Json = Readonly<Record<string, unknown>>;

/** Field names of model lists (vLLM, OpenRouter, Groq, LM Studio, Mistral and others), surest first. */
const LIST_FIELDS = [
  "max_model_len",
  "loaded_context_length",
  "context_window",
  "context_length",
  "max_context_length",
  "max_input_tokens",
];

/** A model as a server describes it; what it does not say is undefined. */
export interface ServedModel {
  readonly id: string;
  /** Tokens. */
  readonly window?: number | undefined;
  readonly vision?: boolean | undefined;
  readonly tools?: boolean | undefined;
  /** False for models that only embed or rank texts. */
  readonly chat?: boolean | undefined;
}

/** The models of `GET …/models` or of LM Studio's `/api/v0/models`; undefined when it is no such list. */
export function readModelList(body: unknown): readonly ServedModel[] | undefined {
  const list = Array.isArray(body) ? body : record(body).data ?? record(body).models;
  if (!Array.isArray(list)) return undefined;
  return list.map(record).flatMap((row): ServedModel[] => {
    const id = [row.id, row.name, row.model].find((each) => typeof each === "string" && each !== "");
    if (typeof id !== "string") return [];
    const { type } = row;
    const abilities = words(row.capabilities);
    return [{
      id,
      window: windowOf(row),
      ...(type === "vlm" ? { vision: true } : type === "llm" ? { vision: false } : {}),
      ...(type === "embeddings" || type === "embedding" ? { chat: false } : {}),
      ...(abilities ? { tools: abilities.includes("tool_use") || abilities.includes("tools") } : {}),
    }];
  });
}

function windowOf(row: Json): number | undefined {
  const places = [row, record(row.top_provider), record(row.limits)];
  for (const field of LIST_FIELDS) {
    for (const place of places) {
      const tokens = positive(place[field]);
      if (tokens !== undefined) return tokens;
    }
  }
  return undefined;
}

/**
 * llama.cpp's `/props`: the window that one slot was started with (the model's training length says nothing
 * about that), and what the loaded model can do.
 */
export function readProps(body: unknown): Omit<ServedModel, "id"> {
  const props = record(body);
  const { vision } = record(props.modalities);
  const { supports_tools: tools } = record(props.chat_template_caps);
  return {
    window: positive(record(props.default_generation_settings).n_ctx) ?? positive(props.n_ctx),
    ...(typeof vision === "boolean" ? { vision } : {}),
    ...(typeof tools === "boolean" ? { tools } : {}),
  };
}

/** Ollama's `/api/ps`: the window that a model was loaded with; undefined when it is not loaded. */
export function readLoadedWindow(body: unknown, model: string): number | undefined {
  const running = record(body).models;
  if (!Array.isArray(running)) return undefined;
  const mine = running.map(record).find((row) => [row.name, row.model].includes(model));
  return positive(mine?.context_length);
}

/** Ollama's `/api/show`: the window that is set for a model or that it was made for, and what it can do. */
export function readShown(body: unknown): Omit<ServedModel, "id"> {
  const shown = record(body);
  const set = /^num_ctx\s+(\d+)/m.exec(typeof shown.parameters === "string" ? shown.parameters : "");
  const length = Object.entries(record(shown.model_info)).find(([key]) => key.endsWith(".context_length"));
  const abilities = words(shown.capabilities);
  return {
    window: set ? positive(Number(set[1])) : positive(length?.[1]),
    ...(abilities
      ? {
        vision: abilities.includes("vision"),
        tools: abilities.includes("tools"),
        chat: abilities.includes("completion") || abilities.length === 0,
      }
      : {}),
  };
}

function words(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function record(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : undefined;
}
