import type {
  AssistantMessage,
  ImagePart,
  Message,
  Prefix,
  ToolCall,
  ToolMessage,
  UserMessage,
} from "../../../core/mod.ts";
import { isRecord, safeText } from "../../../util/json.ts";
import type { ModelRequest } from "../../provider.ts";
import {
  consistsOf,
  type Fields,
  IMAGES_ABOVE,
  isFieldsList,
  partsFor,
  visibleText,
  wireArguments,
} from "../../wire/message_parts.ts";
import { digestOf } from "../../wire/fingerprint.ts";
import { oldGoogleParts } from "../../wire/old_parts.ts";
import type { MessageWriter } from "../../wire/request_buffer.ts";
import { type BodyOptions, functionName, head, tail } from "./generate_request.ts";

export const KIND = "google";

/** Stands where the server wants words of the user and the conversation has none. */
const GO_ON = textPart("Continue.");
const EMPTY = textPart("(empty message)");
/** The vendor's word for a call whose thought is not known, because another model made it. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** A call as the results that belong to it need it. */
interface WireCall {
  /** Place among the calls of its reply. */
  readonly place: number;
  /** Id that the server gave it; results repeat it. */
  readonly id: unknown;
}

interface Result {
  readonly place: number;
  readonly part: string;
}

/**
 * The messages of one conversation as `contents`. What follows each other from the user is one turn: results
 * of functions in the order of their calls, then images that results cannot hold, then what the user said.
 */
export class Contents implements MessageWriter {
  readonly head: string;
  readonly first: readonly string[] = [];
  readonly #options: BodyOptions;
  /** Calls of the last reply, by their ids in the conversation. */
  #calls = new Map<string, WireCall>();
  /** Parts of the user's turn that is still open. */
  #results: Result[] = [];
  #images: ImagePart[] = [];
  #others: string[] = [];

  constructor(options: BodyOptions, prefix: Prefix) {
    this.#options = options;
    this.head = head(options, prefix);
    const { entry: { compat } } = options;
    if (compat.system_role === "user" && prefix.system !== "") {
      this.#others.push(textPart(safeText(prefix.system)));
    }
  }

  write(message: Message): readonly string[] {
    if (message.role === "assistant") return this.#reply(message);
    if (message.role === "tool") this.#result(message);
    else this.#others.push(...userParts(message, this.#options.model.vision));
    return [];
  }

  flush(): readonly string[] {
    return [];
  }

  end(request: ModelRequest, started: boolean): string {
    return `${started ? "," : ""}${this.#openTurn()}]${tail(this.#options, request)}}`;
  }

  #reply(message: AssistantMessage): readonly string[] {
    const { model, refused } = this.#options;
    const whole = fittingParts(message, partsFor(message, KIND, model).at(-1)?.data) ?? plainParts(message);
    const own = refused.ofSignatures(message) ? whole.map(withoutSignature) : whole;
    const parts = this.#modelParts(message, own);
    if (parts.length === 0) return [];
    const turn = this.#openTurn();
    const called = own.flatMap(({ functionCall }) => isRecord(functionCall) ? [functionCall.id] : []);
    this.#calls = new Map(message.calls?.map(({ id }, place) => [id, { place, id: called[place] }]));
    this.#results = [];
    this.#images = [];
    this.#others = [];
    return [turn, `{"role":"model","parts":[${parts.join(",")}]}`];
  }

  #modelParts({ calls = [] }: AssistantMessage, parts: readonly Fields[]): readonly string[] {
    const first = parts.findIndex(isCall);
    const left = calls.values();
    return parts.flatMap((part, at) => {
      const { text, thought, functionCall, thoughtSignature } = part;
      if (typeof text === "string") return saidPart(text, thought === true, thoughtSignature);
      const call = isRecord(functionCall) ? left.next().value : undefined;
      if (!call || !isRecord(functionCall)) return [JSON.stringify(part)];
      const needed = at === first && this.#options.generation.signsCalls ? NO_SIGNATURE : undefined;
      return [callPart(call, functionCall.id, thoughtSignature ?? needed)];
    });
  }

  #result(message: ToolMessage): void {
    const { model: { vision }, generation } = this.#options;
    const { place, id } = this.#calls.get(message.callId) ?? { place: this.#results.length, id: undefined };
    const images = vision ? message.images ?? [] : [];
    const own = images.length > 0 && generation.resultImages;
    if (!own) this.#images.push(...images);
    const part = JSON.stringify({
      functionResponse: {
        id,
        name: functionName(message.name),
        response: { output: visibleText(message, vision) },
        ...(own ? { parts: images.map(inlineData) } : {}),
      },
    });
    this.#results.push({ place, part });
  }

  /** The turn of the user as far as it has come. */
  #openTurn(): string {
    const results = this.#results.toSorted((a, b) => a.place - b.place).map(({ part }) => part);
    const images = this.#images.length === 0
      ? []
      : [textPart(IMAGES_ABOVE), ...this.#images.map((image) => JSON.stringify(inlineData(image)))];
    const parts = [...results, ...images, ...this.#others];
    return `{"role":"user","parts":[${parts.length > 0 ? parts.join(",") : GO_ON}]}`;
  }
}

function isCall({ functionCall }: Fields): boolean {
  return isRecord(functionCall);
}

function withoutSignature(part: Fields): Fields {
  if (typeof part.text !== "string" && !isCall(part)) return part;
  const { thoughtSignature: _, ...rest } = part;
  return rest;
}

/** The parts that a reply brought; undefined where they do not fit the message as it is now. */
function fittingParts(message: AssistantMessage, data: unknown): readonly Fields[] | undefined {
  const read = oldGoogleParts(message, data);
  if (!isRecord(read) || !isFieldsList(read.parts) || read.digest !== digestOf(read.parts)) return undefined;
  const { parts } = read;
  const texts = (thoughts: boolean) =>
    parts.flatMap(({ text, thought = false }) =>
      typeof text === "string" && thought === thoughts ? [text] : []
    );
  const fits = parts.filter(isCall).length === (message.calls?.length ?? 0) &&
    consistsOf(message.content, texts(false)) && consistsOf(message.reasoning ?? "", texts(true));
  return fits ? parts : undefined;
}

/** A reply of another model, or one that brought nothing but text and calls without ids. */
function plainParts({ content, calls = [] }: AssistantMessage): readonly Fields[] {
  return [{ text: safeText(content) }, ...calls.map(() => ({ functionCall: {} }))];
}

/** A text or a thought. A thought without a signature says nothing to the model. */
function saidPart(text: string, thought: boolean, thoughtSignature: unknown): readonly string[] {
  if (thoughtSignature === undefined && (thought || text === "")) return [];
  return [JSON.stringify({ text, ...(thought ? { thought } : {}), thoughtSignature })];
}

/** The arguments go back as the text that came, so that no number changes its form. */
function callPart(call: ToolCall, id: unknown, signature: unknown): string {
  const given = id === undefined ? "" : `"id":${JSON.stringify(id)},`;
  const name = JSON.stringify(functionName(call.name));
  const own = `{${given}"name":${name},"args":${wireArguments(call.arguments)}}`;
  return `{"functionCall":${own}${
    signature === undefined ? "" : `,"thoughtSignature":${JSON.stringify(signature)}`
  }}`;
}

function userParts(message: UserMessage, vision: boolean): readonly string[] {
  const text = visibleText(message, vision);
  const images = vision ? message.images ?? [] : [];
  const parts = [
    ...(text === "" ? [] : [textPart(text)]),
    ...images.map((image) => JSON.stringify(inlineData(image))),
  ];
  return parts.length > 0 ? parts : [EMPTY];
}

function textPart(text: string): string {
  return JSON.stringify({ text });
}

function inlineData({ mime, data }: ImagePart): unknown {
  return { inlineData: { mimeType: mime, data } };
}
