import type { ToolSchema } from "../../core/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { plainArguments } from "../tool_calls.ts";
import type { TextCall } from "./syntax.ts";
import { jsonEnd, readTaughtCall } from "./taught_call.ts";

/** The end of a reply: not yet, complete, or cut at the output limit. */
export type Ending = "open" | "ended" | "cut";

export type FormRead =
  /** More text is needed; the name of the tool, as soon as it can be told. */
  | { readonly state: "open"; readonly name?: string | undefined }
  /** No call after all. */
  | { readonly state: "text" }
  /** `blocks`: texts stand in the call as they are. */
  | {
    readonly state: "read";
    readonly length: number;
    readonly calls: readonly TextCall[];
    readonly blocks?: boolean;
  }
  /** Meant as a call without doubt, but not readable. */
  | { readonly state: "bad"; readonly length: number; readonly name: string };

/** A form of writing calls. */
export interface Form {
  /**
   * - "certain": its mark means nothing else and its end cannot be mistaken.
   * - "likely": a call only when nothing but calls follows.
   */
  readonly trust: "certain" | "likely";
  /** The opening line of a code fence, when that is the form. */
  readonly fence?: RegExpExecArray;
  /**
   * Reads the call that `held` begins with, the mark included. Contract: what is not "open" stays the same
   * for any longer text.
   */
  readonly read: (held: string, ending: Ending) => FormRead;
}

interface FormSearch {
  readonly tools: ReadonlyMap<string, ToolSchema>;
  /** The place is the beginning of a line. */
  readonly ownLine: boolean;
  /** The model was taught the form in blocks. */
  readonly taught: boolean;
  /** Nothing but calls has come before. */
  readonly alone: boolean;
}

const OPEN: FormRead = { state: "open" };
const TEXT: FormRead = { state: "text" };
/** Longer gaps are no part of a call, so that a reply that runs away in blanks costs little. */
const LONGEST_GAP = 200;
/** Ends that turn out to be none; a text may be full of them. */
const MOST_TRIES = 50;
/** First keys of an object that is a call. */
const KEYS = new Set(["name", "arguments", "parameters", "function", "type", "id"]);
const FIRST_KEY = /^\[?\s*\{\s*"([^"\\]{0,40})"/;
const MAY_HAVE_KEY = /^\[?\s*(?:\{\s*(?:"[^"\\]{0,40})?)?$/;
const NAME_IN_JSON = /"name"\s*:\s*"([^"\\]{1,100})"/;

/** Marks that models were trained on, anywhere in a line: Qwen and Hermes, Mistral, Llama. */
const TRAINED = ["<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>"] as const;
const LONGEST_TRAINED = Math.max(...TRAINED.map((mark) => mark.length));
const TRAINED_MARK = /<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>/;
const INVOKE = /^<(?:\w{1,12}:)?(?:function_calls>|invoke\s)/;
const MAY_INVOKE = /^<(?:\w{1,12}:)?\w{0,14}$/;

const NAMED_JSON = jsonForm(
  "likely",
  /^\[TOOL_CALLS\]\s*(?:([\w.-]{1,100})(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{))?/,
  { unfinished: /^\[TOOL_CALLS\]\s*[\w.[\]-]{0,120}\s*$/ },
);
const PYTHON_TAG = jsonForm("likely", /^<\|python_tag\|>\s*/);
const TOOL_CALL = jsonForm("certain", /^<tool_call>\s*/, { tail: "</tool_call>" });
const BARE_JSON = jsonForm("likely", /^\s*/);
const FUNCTION_TAGS = tagForm(
  /^(?:<tool_call>\s*)?<function=([\w.-]{1,100})>/,
  /<\/function>/g,
  "</tool_call>",
);
const INVOKE_HEAD = /^<(?:(?:\w+:)?function_calls>\s*<)?(?:\w+:)?invoke\s+name="([^"\n]{1,100})"\s*>/;
const INVOKE_LIST = tagForm(INVOKE_HEAD, /<\/(?:\w+:)?function_calls>/g);
const ONE_INVOKE = tagForm(INVOKE_HEAD, /<\/(?:\w+:)?invoke>/g);

/** The form that a text may begin with; "maybe" when more of the text is needed to tell. */
export function findForm(
  text: string,
  { ownLine, taught, alone, tools }: FormSearch,
): Form | "maybe" | undefined {
  if (ownLine && taught) {
    const begin = text.slice(0, "%%CMD%%".length).toUpperCase();
    if (begin === "%%CMD%%") {
      return {
        trust: "certain",
        read: (held, ending) => readTaught(held, ending, tools),
      };
    }
    if ("%%CMD%%".startsWith(begin)) return "maybe";
  }
  for (const mark of TRAINED) {
    if (text.startsWith(mark)) return trainedForm(mark, text);
    if (mark.startsWith(text)) return "maybe";
  }
  if (!ownLine) return undefined;
  if (INVOKE.test(text)) return text.slice(0, 40).includes("function_calls>") ? INVOKE_LIST : ONE_INVOKE;
  if (MAY_INVOKE.test(text)) return "maybe";
  return alone && /^[{[]/.test(text) ? BARE_JSON : undefined;
}

function trainedForm(mark: typeof TRAINED[number], text: string): Form | "maybe" | undefined {
  if (mark === "[TOOL_CALLS]") return NAMED_JSON;
  if (mark === "<|python_tag|>") return PYTHON_TAG;
  if (mark === "<function=") return FUNCTION_TAGS;
  const rest = text.slice(mark.length, mark.length + LONGEST_GAP).trimStart();
  if (rest === "") return text.length < mark.length + LONGEST_GAP ? "maybe" : undefined;
  return rest.startsWith("<") ? FUNCTION_TAGS : TOOL_CALL;
}

/** Index of the first mark that counts in the middle of a line, too; -1 when there is none. */
export function trainedMark(text: string): number {
  return text.search(TRAINED_MARK);
}

/** Length of the tail that may be the beginning of such a mark. */
export function partialMark(text: string): number {
  for (let at = Math.max(0, text.length - LONGEST_TRAINED + 1); at < text.length; at++) {
    const tail = text.slice(at);
    if (TRAINED.some((mark) => mark.startsWith(tail))) return tail.length;
  }
  return 0;
}

/** `%%CMD%% … %%END%%`, the form that models are taught. */
function readTaught(held: string, ending: Ending, tools: FormSearch["tools"]): FormRead {
  const begin = held.slice(0, LONGEST_GAP);
  if (!/^%%CMD%%(?:\s+[A-Za-z_{]|\s*$)/i.test(begin)) return TEXT;
  const name = /^%%CMD%%\s+name\s*=\s*"([^"\\\n]{1,100})"/i.exec(begin)?.[1];
  const firstBlock = held.search(/%%BLOCK:/i);
  let tries = 0;
  for (const { index } of held.matchAll(/%%END%%/gi)) {
    const line = held.slice(held.lastIndexOf("\n", index) + 1, index);
    const inBlock = firstBlock >= 0 && firstBlock < index;
    // In the middle of a line of content it closes nothing.
    if (inBlock && line.trim() !== "" && !/^[ \t]*%%(?:CMD|BLOCK)/i.test(line)) continue;
    if (++tries > MOST_TRIES) break;
    const found = readTaughtCall(held.slice(0, index + "%%END%%".length), tools);
    if (found.state === "bad") return found;
    if (found.state === "read") return { ...found, calls: [found.call] };
  }
  if (ending === "open") return { state: "open", name };
  const found = readTaughtCall(held, tools);
  if (found.state === "read") return { ...found, calls: [found.call] };
  return { state: "bad", length: found.state === "bad" ? found.length : held.length, name: found.name };
}

/**
 * A JSON object or a list of them behind a head, whose first group names the tool when the JSON is only its
 * arguments. `unfinished` matches a head whose end has not come.
 */
function jsonForm(
  trust: Form["trust"],
  head: RegExp,
  { tail, unfinished }: { readonly tail?: string; readonly unfinished?: RegExp } = {},
): Form {
  const read = (held: string, ending: Ending): FormRead => {
    const begin = held.slice(0, LONGEST_GAP);
    const mayGrow = ending === "open" && held.length < LONGEST_GAP;
    const [whole, tool] = head.exec(begin) ?? [];
    if (whole === undefined) return mayGrow ? OPEN : TEXT;
    const from = whole.length;
    const json = held.slice(from, from + LONGEST_GAP);
    const key = FIRST_KEY.exec(json)?.[1];
    const fits = tool === undefined ? key !== undefined && KEYS.has(key) : json.startsWith("{");
    if (!fits) return mayGrow && (MAY_HAVE_KEY.test(json) || unfinished?.test(begin)) ? OPEN : TEXT;
    const name = tool ?? NAME_IN_JSON.exec(held.slice(from, from + 300))?.[1];
    const bad = (length: number): FormRead => ({ state: "bad", length, name: name ?? "" });
    const end = jsonEnd(held, from);
    if (end < 0) return ending === "open" ? { state: "open", name } : bad(held.length);
    const length = tail === undefined ? end : tailEnd(held, end, tail, ending);
    if (length === "open") return { state: "open", name };
    const text = held.slice(from, end);
    const call = tool === undefined ? text : `{"name":${JSON.stringify(tool)},"arguments":${text}}`;
    const calls = length === "missing" ? undefined : readJsonCalls(call);
    if (calls && length !== "missing") return { state: "read", length, calls };
    const close = tail === undefined ? end : held.indexOf(tail, end);
    if (close >= 0) return bad(close + (tail?.length ?? 0));
    return ending === "open" ? { state: "open", name } : bad(held.length);
  };
  return { trust, read };
}

function tailEnd(held: string, end: number, tail: string, ending: Ending): number | "open" | "missing" {
  const rest = held.slice(end, end + LONGEST_GAP).trimStart();
  if (rest.startsWith(tail)) return held.indexOf(tail, end) + tail.length;
  // Servers that stop at the closing tag leave it out.
  if (rest === "" && ending === "ended") return held.length;
  return ending === "open" && tail.startsWith(rest) ? "open" : "missing";
}

/**
 * Arguments as texts between tags, which may hold such tags, too. The first group of the head names the tool;
 * the closing tag may be followed by an outer one, because the opening tag may stand in another.
 */
function tagForm(head: RegExp, tail: RegExp, outer?: string): Form {
  const read = (held: string, ending: Ending): FormRead => {
    const name = head.exec(held.slice(0, LONGEST_GAP))?.[1];
    if (name === undefined) return ending === "open" && held.length < LONGEST_GAP ? OPEN : TEXT;
    const found = closedTags(held, tail);
    if (!found) {
      return ending === "open" ? { state: "open", name } : { state: "bad", length: held.length, name };
    }
    const { end, calls } = found;
    const rest = outer === undefined ? "" : held.slice(end, end + LONGEST_GAP).trimStart();
    if (outer !== undefined && rest.startsWith(outer)) {
      return { state: "read", length: held.indexOf(outer, end) + outer.length, calls };
    }
    const waits = ending === "open" && outer?.startsWith(rest) && held.length < end + LONGEST_GAP;
    return waits ? { state: "open", name } : { state: "read", length: end, calls };
  };
  return { trust: "likely", read };
}

/** Looks for the closing tag behind which the text is a call; others belong to the arguments. */
function closedTags(held: string, tail: RegExp): { end: number; calls: readonly TextCall[] } | undefined {
  let tries = 0;
  for (const { 0: { length }, index } of held.matchAll(tail)) {
    if (!held.slice(Math.max(0, index - LONGEST_GAP), index).trimEnd().endsWith(">")) continue;
    if (++tries > MOST_TRIES) return undefined;
    const end = index + length;
    const text = held.slice(0, end);
    const calls = readFunctionTags(text.replace(/^<tool_call>/, "")) ??
      readInvokes(text.replace(/^<(?:\w+:)?function_calls>|<\/(?:\w+:)?function_calls>$/g, ""));
    if (calls) return { end, calls };
  }
  return undefined;
}

/** A code fence with nothing but calls in it; `opened` is its first line. */
export function fenceForm(
  opened: RegExpExecArray,
  readAll: (text: string) => readonly TextCall[] | undefined,
): Form {
  const from = opened[0].length;
  const read = (held: string, ending: Ending): FormRead => {
    const begin = held.slice(from, from + LONGEST_GAP).trimStart();
    const isText = begin === "" ? held.length > from + LONGEST_GAP : !mayBeginCalls(begin);
    if (isText) return TEXT;
    const close = new RegExp(`^ {0,3}${opened[1]}+[ \\t\\r]*(?:\\n|$)`, "gm");
    close.lastIndex = from;
    const found = close.exec(held);
    if (!found) return ending === "open" ? OPEN : TEXT;
    if (ending === "open" && !found[0].endsWith("\n")) return OPEN;
    const calls = readAll(held.slice(from, found.index));
    return calls ? { state: "read", length: found.index + found[0].trimEnd().length, calls } : TEXT;
  };
  return { trust: "likely", fence: opened, read };
}

function mayBeginCalls(text: string): boolean {
  if (text.startsWith("%") || text.startsWith("<") || text.startsWith("[T")) return true;
  const key = FIRST_KEY.exec(text)?.[1];
  return key === undefined ? MAY_HAVE_KEY.test(text) : KEYS.has(key);
}

const FUNCTION = /^\s*<function=([\w.-]+)>([\s\S]*)<\/function>\s*$/;
const PARAMETER = /^\s*<parameter=([\w.-]+)>\n?([\s\S]*?)\n?<\/parameter>\s*(?=<parameter=|$)/;
const ONE_OF_INVOKES = /^\s*<(?:\w+:)?invoke\s+name="([^"]+)"\s*>([\s\S]*?)<\/(?:\w+:)?invoke>\s*(?=<|$)/;
const NAMED =
  /^\s*<(?:\w+:)?parameter\s+name="([^"]+)"[^>]*>\n?([\s\S]*?)\n?<\/(?:\w+:)?parameter>\s*(?=<|$)/;

/** Calls as one JSON object or a list of them; undefined when it is anything else. */
function readJsonCalls(text: string): readonly TextCall[] | undefined {
  const value = parseJson(text);
  const calls = (Array.isArray(value) ? value : [value]).map((item) =>
    isRecord(item) ? jsonCall(item) : undefined
  );
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** An object that says more, such as an entry of a package list, is no call. */
function jsonCall(item: Readonly<Record<string, unknown>>): TextCall | undefined {
  const { name, arguments: args, parameters, function: called, type, id: _id, ...other } = item;
  if (Object.keys(other).length > 0 || (type !== undefined && type !== "function")) return undefined;
  if (isRecord(called) && name === undefined) return jsonCall(called);
  const given = args ?? parameters;
  if (typeof name !== "string" || given === undefined || called !== undefined) return undefined;
  const whole = plainArguments(typeof given === "string" ? given : JSON.stringify(given));
  return whole === undefined ? undefined : { name, arguments: whole };
}

/** A call as `<function=name><parameter=key>…`. */
function readFunctionTags(text: string): readonly TextCall[] | undefined {
  const [, name, inner = ""] = FUNCTION.exec(text) ?? [];
  const args = name === undefined ? undefined : readParts(inner, PARAMETER);
  return args && name !== undefined
    ? [{ name, arguments: JSON.stringify(Object.fromEntries(args)) }]
    : undefined;
}

/** Calls as `<invoke name="…"><parameter name="…">…`. */
function readInvokes(text: string): readonly TextCall[] | undefined {
  const calls = readParts(text, ONE_OF_INVOKES)?.map(([name, inner]) => {
    const args = readParts(inner, NAMED);
    return args && { name, arguments: JSON.stringify(Object.fromEntries(args)) };
  });
  return calls?.length && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** The parts that a text consists of, each with name and inside; undefined when there is anything else. */
function readParts(text: string, part: RegExp): readonly (readonly [string, string])[] | undefined {
  const parts: [string, string][] = [];
  for (let rest = text; rest.trim() !== "";) {
    const [whole, name = "", inner = ""] = part.exec(rest) ?? [];
    if (whole === undefined) return undefined;
    parts.push([name, inner]);
    rest = rest.slice(whole.length);
  }
  return parts;
}
