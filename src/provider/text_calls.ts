import { plainArguments } from "./tool_arguments.ts";
import { parseJson } from "../util/json.ts";

/**
 * Marks by which models that know calls only as text begin one, wherever in the reply: Qwen and Hermes,
 * Mistral, Llama.
 */
const MARKS = ["<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>"];
/** A reply that is nothing but one JSON object, perhaps in a fence. */
const OBJECT = /^\s*(?:```[a-z_]*\s*)?\{/;
const MAY_BECOME_OBJECT = /^\s*(?:`{0,2}|```[a-z_]*\s*)$/;
// None looks for blanks at the end of what is inside: in a reply that runs away in blanks that would take
// minutes.
const FENCED = /^```[a-z_]*([\s\S]*)```$/;
const BLOCK = /^<tool_call>([\s\S]*?)<\/tool_call>\s*/;
const FUNCTION = /^<function=([\w.-]+)>([\s\S]*?)<\/function>\s*(?:<\/tool_call>\s*)?/;
const PARAMETER = /^<parameter=([\w.-]+)>\n?([\s\S]*?)\n?<\/parameter>\s*/;

/** A call that came as text. */
export interface TextCall {
  readonly name: string;
  /** A JSON object. */
  readonly arguments: string;
}

/** Holds back what may be a call written as text, until the end of the reply tells whether it is one. */
export class TextCalls {
  readonly #tools: ReadonlySet<string>;
  #held = "";
  #state: "start" | "text" | "held" = "start";

  constructor(tools: ReadonlySet<string>) {
    this.#tools = tools;
  }

  /** Returns what of the reply so far is text for certain. */
  push(piece: string): string {
    this.#held += piece;
    if (this.#state === "held") return "";
    if (this.#state === "start") {
      if (MAY_BECOME_OBJECT.test(this.#held)) return "";
      this.#state = OBJECT.test(this.#held) ? "held" : "text";
      if (this.#state === "held") return "";
    }
    const mark = firstMark(this.#held);
    if (mark >= 0) this.#state = "held";
    return this.#take(mark >= 0 ? mark : this.#held.length - partialMark(this.#held));
  }

  /** The text that is held back. */
  get rest(): string {
    return this.#held;
  }

  /** The calls that what is held back consists of; none when it is text. */
  calls(): readonly TextCall[] {
    return readTextCalls(this.#held, this.#tools);
  }

  #take(length: number): string {
    const taken = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return taken;
  }
}

/**
 * The calls a text consists of from its first mark on.
 *
 * Contract: all or nothing. Any other word behind the mark, a tool that was not offered, arguments that are
 * no object, or a call that is not closed make all of it text.
 */
export function readTextCalls(text: string, tools: ReadonlySet<string>): readonly TextCall[] {
  const start = OBJECT.test(text) ? 0 : firstMark(text);
  const calls = start < 0 ? undefined : readCalls(text.slice(start).trim());
  return calls?.every((call) => tools.has(call.name)) ? calls : [];
}

function readCalls(text: string): TextCall[] | undefined {
  if (text.startsWith("[TOOL_CALLS]")) return fromJson(text.slice("[TOOL_CALLS]".length));
  if (text.startsWith("<|python_tag|>")) return fromJson(text.slice("<|python_tag|>".length));
  if (!text.startsWith("<")) return fromJson(FENCED.exec(text)?.[1] ?? text);
  const calls: TextCall[] = [];
  for (let rest = text; rest !== "";) {
    const inner = rest.replace(/^<tool_call>\s*(?=<function=)/, "");
    const called = FUNCTION.exec(inner);
    const block = called ? undefined : BLOCK.exec(rest);
    const found = called
      ? fromParameters(called[1] ?? "", (called[2] ?? "").trim())
      : fromJson(block?.[1] ?? "");
    if (found === undefined) return undefined;
    calls.push(...found);
    rest = called ? inner.slice(called[0].length) : rest.slice(block?.[0].length);
  }
  return calls;
}

function fromJson(text: string): TextCall[] | undefined {
  const value = parseJson(text);
  if (value === undefined) return undefined;
  const calls: TextCall[] = [];
  for (const item of Array.isArray(value) ? value : [value]) {
    const { name, arguments: args, parameters, ...other } = Object(item) as Record<string, unknown>;
    const given = args ?? parameters;
    // An object that says more, such as an entry of a package list, is no call.
    if (typeof name !== "string" || given === undefined || Object.keys(other).some((key) => key !== "id")) {
      return undefined;
    }
    const whole = plainArguments(typeof given === "string" ? given : JSON.stringify(given));
    if (whole === undefined) return undefined;
    calls.push({ name, arguments: whole });
  }
  return calls;
}

function fromParameters(name: string, text: string): TextCall[] | undefined {
  const given: [string, string][] = [];
  for (let rest = text; rest !== "";) {
    const found = PARAMETER.exec(rest);
    if (!found) return undefined;
    given.push([found[1] ?? "", found[2] ?? ""]);
    rest = rest.slice(found[0].length);
  }
  return [{ name, arguments: JSON.stringify(Object.fromEntries(given)) }];
}

function firstMark(text: string): number {
  const places = MARKS.map((mark) => text.indexOf(mark)).filter((at) => at >= 0);
  return places.length === 0 ? -1 : Math.min(...places);
}

/** Length of the tail that may be the beginning of a mark. */
function partialMark(text: string): number {
  const longest = Math.max(...MARKS.map((mark) => mark.length)) - 1;
  for (let length = Math.min(longest, text.length); length > 0; length--) {
    if (MARKS.some((mark) => mark.startsWith(text.slice(-length)))) return length;
  }
  return 0;
}
