import type { ToolSchema } from "../../core/mod.ts";
import { BlockUnit } from "./block_unit.ts";
import { JsonUnit, TagUnit, type Unit } from "./units.ts";

export interface UnitSearch {
  readonly tools: ReadonlyMap<string, ToolSchema>;
  /** The place is the beginning of a line. */
  readonly ownLine: boolean;
  /** The model was taught the form in blocks. */
  readonly taught: boolean;
  /** Nothing but calls has come before. */
  readonly alone: boolean;
}

/** Marks that models were trained on, wherever they stand: Qwen and Hermes, Mistral, Llama. */
const TRAINED = ["<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>"] as const;
const LONGEST_TRAINED = Math.max(...TRAINED.map((mark) => mark.length));
const TRAINED_MARK = /<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>/;
const INVOKE = /^<(?:\w{1,12}:)?(?:function_calls>|invoke\s)/;
const MAY_INVOKE = /^<(?:\w{1,12}:)?\w{0,14}$/;
const INVOKE_HEAD = /^<(?:(?:\w+:)?function_calls>\s*<)?(?:\w+:)?invoke\s+name="([^"\n]{1,100})"\s*>/;
const NAME_FORM = /^\[TOOL_CALLS\]\s*(?:([\w.-]{1,100})(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{))?/;
const NAME_BEGUN = /^\[TOOL_CALLS\]\s*[\w.[\]-]{0,120}\s*$/;

/** The call that a text may begin with; "maybe" when more of the text is needed to tell. */
export function findUnit(text: string, search: UnitSearch): Unit | "maybe" | undefined {
  const { ownLine, taught, alone, tools } = search;
  if (ownLine && taught) {
    const begin = text.slice(0, "%%CMD%%".length).toUpperCase();
    if (begin === "%%CMD%%") return new BlockUnit(tools);
    if ("%%CMD%%".startsWith(begin)) return "maybe";
  }
  for (const mark of TRAINED) {
    if (text.startsWith(mark)) return trainedUnit(mark, text);
    if (mark.startsWith(text)) return "maybe";
  }
  if (!ownLine) return undefined;
  if (INVOKE.test(text)) return invokes(text.slice(0, 40).includes("function_calls>"));
  if (MAY_INVOKE.test(text)) return "maybe";
  return alone && /^[{[]/.test(text) ? new JsonUnit({ head: /^\s*/ }, "likely") : undefined;
}

function trainedUnit(mark: typeof TRAINED[number], text: string): Unit | "maybe" | undefined {
  if (mark === "[TOOL_CALLS]") return new JsonUnit({ head: NAME_FORM, unfinished: NAME_BEGUN }, "likely");
  if (mark === "<|python_tag|>") return new JsonUnit({ head: /^<\|python_tag\|>\s*/ }, "likely");
  if (mark === "<function=") return functionTags();
  const rest = text.slice(mark.length, mark.length + 200).trimStart();
  if (rest === "") return text.length < mark.length + 200 ? "maybe" : undefined;
  if (rest.startsWith("<")) return functionTags();
  return new JsonUnit({ head: /^<tool_call>\s*/, tail: "</tool_call>" }, "certain");
}

function functionTags(): Unit {
  return new TagUnit({
    head: /^(?:<tool_call>\s*)?<function=([\w.-]{1,100})>/,
    tail: "</function>",
    outer: "</tool_call>",
  });
}

function invokes(wrapped: boolean): Unit {
  const tail = wrapped ? "</(?:\\w+:)?function_calls>" : "</(?:\\w+:)?invoke>";
  return new TagUnit({ head: INVOKE_HEAD, tail });
}

/** Index of the first mark that counts in the middle of a line, too; -1 when there is none. */
export function trainedMark(text: string): number {
  return text.search(TRAINED_MARK);
}

/** Length of the tail that may be the beginning of such a mark. */
export function partialMark(text: string): number {
  const from = Math.max(0, text.length - LONGEST_TRAINED + 1);
  for (let at = from; at < text.length; at++) {
    const tail = text.slice(at);
    if (TRAINED.some((mark) => mark.startsWith(tail))) return tail.length;
  }
  return 0;
}
