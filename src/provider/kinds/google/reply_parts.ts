import type { Chunk } from "../../../core/mod.ts";
import { isRecord, safeText } from "../../../util/json.ts";
import { ToolCallCollector } from "../../tool_calls.ts";
import type { Channel } from "../../wire/delta_template.ts";
import { nameOfTexts } from "../../wire/fingerprint.ts";
import { SpokenText } from "../../wire/spoken_text.ts";
import type { LayoutPart, ReplyLayout } from "./reply_layout.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Fields by which a part is told to be something that only the server understands. */
const SILENT = new Set(["text", "thought", "thoughtSignature", "functionCall", "partMetadata"]);

/** Collects the parts of one reply; what can be shown at once comes out of {@linkcode take}. */
export class ReplyParts {
  readonly calls = new ToolCallCollector();
  readonly #spoken = new SpokenText();
  readonly #onCall: (tool: string) => void;
  readonly #toolNamed: (name: string) => string;
  readonly #said = { text: "", reasoning: "" };
  readonly #layout: LayoutPart[] = [];

  /** `toolNamed` gives the tool that a function's name stands for. */
  constructor(toolNamed: (name: string) => string, onCall: ((tool: string) => void) | undefined) {
    this.#toolNamed = toolNamed;
    this.#onCall = onCall ?? (() => {});
  }

  /** True when nothing has come that makes a reply. */
  get empty(): boolean {
    return this.#said.text === "" && this.#said.reasoning === "" && this.calls.size === 0;
  }

  add(part: Fields): void {
    const signature = typeof part.thoughtSignature === "string" && part.thoughtSignature !== ""
      ? { signature: part.thoughtSignature }
      : {};
    if (isRecord(part.functionCall)) this.#call(part.functionCall, signature);
    else if (typeof part.text === "string" || signature.signature !== undefined) {
      const text = typeof part.text === "string" ? part.text : "";
      this.#text(part.thought === true ? "reasoning" : "text", text, signature);
    } else if (Object.keys(part).some((key) => !SILENT.has(key))) this.#layout.push({ type: "other", part });
  }

  say(channel: Channel, text: string): void {
    this.#text(channel, text, {});
  }

  take(): readonly Chunk[] {
    return this.#spoken.take();
  }

  end(): readonly Chunk[] {
    return this.#spoken.end();
  }

  /**
   * What the next request has to say of this reply beyond its text and calls; undefined where that is
   * nothing. `calls` is how many there are.
   */
  layout(calls: number): ReplyLayout | undefined {
    const parts = this.#layout;
    const plain = parts.every((part) =>
      part.type !== "other" && part.signature === undefined && (part.type !== "call" || part.id === undefined)
    );
    if (plain) return undefined;
    const of = nameOfTexts(safeText(this.#said.text), safeText(this.#said.reasoning));
    return { of, calls, parts };
  }

  #call({ id, name, args }: Fields, signature: { readonly signature?: string }): void {
    const call = this.calls.size;
    const tool = typeof name === "string" ? this.#toolNamed(name) : "";
    this.calls.add({ index: call, id, function: { name: tool, arguments: isRecord(args) ? args : {} } });
    const given = typeof id === "string" && id !== "" ? { id } : {};
    this.#layout.push({ type: "call", call, ...given, ...signature });
    if (tool !== "") this.#onCall(tool);
  }

  /** Texts in a row are one part, but for those with a signature: these go back as they came. */
  #text(channel: Channel, text: string, signature: { readonly signature?: string }): void {
    const type = channel === "text" ? "text" : "thought";
    const start = this.#said[channel].length;
    this.#said[channel] += text;
    this.#spoken.append(channel, text);
    const last = this.#layout.at(-1);
    const goesOn = last?.type === type && last.signature === undefined && signature.signature === undefined;
    if (goesOn) this.#layout[this.#layout.length - 1] = { type, at: [last.at[0], start + text.length] };
    else if (text !== "" || signature.signature !== undefined) {
      this.#layout.push({ type, at: [start, start + text.length], ...signature });
    }
  }
}
