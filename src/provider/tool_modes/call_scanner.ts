import type { FinishReason, ToolSchema } from "../../core/mod.ts";
import { isRecord, parseJson, safeText } from "../../util/json.ts";
import { plainArguments } from "../tool_calls.ts";
import { jsonEnd, readTaughtCall, type TextCall } from "./taught_form.ts";

export interface ScannerOptions {
  readonly tools: ReadonlyMap<string, ToolSchema>;
  /**
   * True: the system prompt teaches the form of calls, so a mark at the beginning of a line is meant as one,
   * and a call that cannot be read is a call that fails. False: a reply has calls only when nothing but calls
   * follows the first mark.
   */
  readonly taught: boolean;
}

interface ReplyEnd {
  readonly text: string;
  readonly calls: readonly TextCall[];
  /** The reply as the model wrote it, without results that it made up. */
  readonly raw: string;
  /** True when the model made up results: the reply ends before them. */
  readonly shortened: boolean;
}

/** Calls of one block, with the blanks before them: until the reply ends they may turn out to be text. */
interface CallBlock {
  readonly space: string;
  readonly raw: string;
  readonly calls: readonly TextCall[];
  /** Executed although text follows. */
  readonly isCertain: boolean;
  /** Holds texts in blocks, which may have closed it too early. */
  readonly hasTexts: boolean;
}

/** A call as one form reads it; `bad` is the tool of one that is meant as a call but not readable. */
type CallRead =
  | { readonly length: number; readonly calls: readonly TextCall[]; readonly hasTexts?: boolean }
  | { readonly length: number; readonly bad: string };

/** Longer gaps are no part of a call, so that a reply full of blanks stays cheap. */
const LONGEST_GAP = 200;
/** The part of a line that decides whether a call begins there. */
const LINE_BEGIN = 300;
/** Limit of closing tags that are tried: the text of an argument may be full of them. */
const MOST_TRIES = 50;

const FENCE = /^(`{3,}(?!`)|~{3,}(?!~))([^\n]*)\n/;
const STRAY_END = /^%%END%%[ \t\r]*(?:\n|$)/i;
/** Marks by which a model makes up the result of a call that it has just written. */
const MADE_UP_RESULT = /^(?:%%RESULT%%|<tool_response>|<function_results>|\[TOOL_RESULTS\])/i;

/** Marks of trained forms, valid anywhere in a line: Qwen and Hermes, Mistral, Llama. */
const TRAINED = ["<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>"] as const;
const TRAINED_MARK = /<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>/;
const LONGEST_TRAINED = Math.max(...TRAINED.map((mark) => mark.length));
const INVOKE = /^<(?:\w{1,12}:)?(?:function_calls>|invoke\s)/;

/** First keys of a JSON object that is a call. */
const KEYS = new Set(["name", "arguments", "parameters", "function", "type", "id"]);
const FIRST_KEY = /^\[?\s*\{\s*"([^"\\]{0,40})"/;

/**
 * Separates calls that a model writes as text from its answer. Text is returned as it arrives up to the first
 * mark of a call; what follows the mark is read when the reply has ended.
 *
 * Contract: nothing in code fences, quotes or indented code is a call, unless the whole reply is a fence
 * around calls; a call is executed only when it is closed and, but for the taught form, of a declared tool.
 */
export class CallScanner {
  readonly #options: ScannerOptions;
  #raw = "";
  #held = "";
  /** Text of the current line that was read, without calls. */
  #line = "";
  #isLineStart = true;
  /** The line is a citation or code: a mark in it is text. */
  #isLiteral = false;
  #fence = "";
  /** Text that was not returned yet, and blanks that belong to it if text follows. */
  #text = "";
  #space = "";
  #hasProse = false;
  #blocks: CallBlock[] = [];
  /** The beginning of a call was found: nothing is read until the reply ends. */
  #waits = false;
  /** The reply did not end on its own: its last call may lack more than a closing tag. */
  #isCut = false;

  constructor(options: ScannerOptions) {
    this.#options = options;
  }

  push(piece: string): string {
    this.#raw += piece;
    this.#held += piece;
    if (!this.#waits) this.#readOpen();
    return this.#taken();
  }

  rest(): string {
    this.#isCut = true;
    this.#readAll();
    return this.#taken();
  }

  end(finish: FinishReason): ReplyEnd {
    this.#isCut = finish === "length" || finish === "content_filter";
    const length = this.#raw.length - this.#readAll();
    if (this.#isCut) this.#revert(false);
    if (finish === "content_filter") this.#revert(true);
    if (this.#blocks.length === 0) this.#text += this.#space;
    return {
      text: this.#taken(),
      calls: this.#blocks.flatMap(({ calls }) => calls),
      raw: this.#raw.slice(0, length),
      shortened: length < this.#raw.length,
    };
  }

  #taken(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  /** Reads what cannot change any more when the reply continues. */
  #readOpen(): void {
    while (this.#held !== "") {
      const newline = this.#held.indexOf("\n");
      const begin = this.#held.slice(0, LINE_BEGIN).trimStart();
      const isPart = newline < 0 && this.#held.length < LINE_BEGIN;
      // The end of a line with such a beginning decides about it.
      if (this.#isLineStart && isPart && /^(?:[%<[{`~]|$)/.test(begin)) return;
      if (this.#isLineStart && this.#mayBeCall(begin)) {
        // Of a fence the first word in it decides.
        this.#waits = !/^[`~][^\n]*\n\s*$/.test(begin);
        return;
      }
      if (this.#isLineStart) this.#beginLine();
      const line = newline < 0 ? this.#held : this.#held.slice(0, newline + 1);
      const mark = this.#isLiteral ? -1 : line.search(TRAINED_MARK);
      const partial = newline < 0 && !this.#isLiteral ? partialMark(line) : 0;
      if (mark !== 0) this.#say(mark > 0 ? mark : line.length - partial);
      this.#waits = mark >= 0;
      if (this.#waits || newline < 0) return;
    }
  }

  /** Reports whether a call may begin with a line; `begin` may hold the lines behind it, too. */
  #mayBeCall(begin: string): boolean {
    if (this.#fence !== "") return false;
    if (/^(?:```|~~~)/.test(begin)) return !this.#hasProse && /^[^\n]*\n\s*(?:[%<[{]|$)/.test(begin);
    return this.#options.taught && /^%%CMD%%/i.test(begin) || INVOKE.test(begin) ||
      TRAINED.some((mark) => begin.startsWith(mark)) ||
      !this.#hasProse && /^(?:\{|\[\s*(?:\{|$))/.test(begin);
  }

  /** Reads the whole reply; returns the length of its end that is ignored. */
  #readAll(): number {
    while (this.#held !== "") {
      if (this.#isLineStart && this.#beginLine() === "made up") return this.#held.length;
      if (!this.#isLineStart) this.#restOfLine();
    }
    return 0;
  }

  /** Reads what counts only at the beginning of a line. */
  #beginLine(): "made up" | undefined {
    const [line = ""] = this.#held.slice(0, LINE_BEGIN).split("\n", 1);
    const rest = line.trimStart();
    const indent = line.slice(0, line.length - rest.length);
    this.#isLineStart = false;
    if (rest === "") return undefined;
    if (STRAY_END.test(rest)) this.#distrustTexts();
    // Deeper is code in Markdown.
    this.#isLiteral = this.#fence !== "" || indent.length > 3 || indent.includes("\t") ||
      rest.startsWith(">");
    if (this.#fence !== "" && new RegExp(`^${this.#fence}+[ \\t\\r]*$`).test(rest)) this.#fence = "";
    else if (this.#isLiteral) return undefined;
    else if (this.#blocks.length > 0 && MADE_UP_RESULT.test(rest)) return "made up";
    else if (/^(?:```|~~~)/.test(rest)) this.#openFence(indent.length);
    else this.#readCall(indent.length, true);
    return undefined;
  }

  #openFence(indent: number): void {
    const held = this.#held.slice(indent);
    const [opened, mark = "", info = ""] = FENCE.exec(held) ?? [];
    if (opened === undefined || info.includes("`")) return;
    const read = this.#hasProse ? undefined : this.#readFence(held, opened.length, mark);
    if (read) return this.#take(indent, read, { isCertain: false, ownLine: true });
    this.#fence = mark;
    this.#isLiteral = true;
  }

  /** Reads a code fence that the reply begins with and that has nothing but calls in it. */
  #readFence(held: string, from: number, mark: string) {
    const close = new RegExp(`^ {0,3}${mark}+[ \\t\\r]*(?:\\n|$)`, "gm");
    close.lastIndex = from;
    const found = close.exec(held);
    const calls = found && readWhole(held.slice(from, found.index), this.#options);
    return calls && { length: found.index + found[0].trimEnd().length, calls };
  }

  /** Takes the line as text up to the first call in it. */
  #restOfLine(): void {
    const newline = this.#held.indexOf("\n");
    const line = newline < 0 ? this.#held : this.#held.slice(0, newline + 1);
    const mark = this.#isLiteral ? -1 : line.search(TRAINED_MARK);
    if (mark !== 0) return this.#say(mark < 0 ? line.length : mark);
    const isQuoted = this.#line.split("`").length % 2 === 0 || /["'“‘«]$/.test(this.#line);
    if (isQuoted || !this.#readCall(0, false)) this.#say(1);
  }

  /** Reads the call behind `indent` blanks; false where there is none. */
  #readCall(indent: number, ownLine: boolean): boolean {
    const { tools, taught } = this.#options;
    const held = this.#held.slice(indent);
    const isTaught = taught && ownLine && /^%%CMD%%/i.test(held);
    const read = isTaught
      ? readTaught(held, tools)
      : readTrained(held, this.#isCut) ?? (ownLine ? readOwnLine(held, !this.#hasProse) : undefined);
    if (!read) return false;
    const { length } = read;
    const isClosed = isTaught || /^<tool_call>\s*[^<\s]/.test(held);
    const rest = held.slice(length, length + LINE_BEGIN);
    const endsLine = held[length - 1] === "\n" || /^[ \t\r]*(?:\n|$)/.test(rest);
    const isCertain = taught && ownLine && isClosed && endsLine;
    if ("calls" in read) {
      const isCall = isCertain || read.calls.every(({ name }) => tools.has(name));
      if (isCall) this.#take(indent, read, { isCertain, ownLine });
      else this.#say(indent + length);
    } else if (isCertain || (taught && ownLine && tools.has(read.bad) && /^[ \t\r]*$/.test(rest))) {
      const call = { name: read.bad || "unknown", arguments: held.slice(0, length) };
      this.#take(indent, { length, calls: [call] }, { isCertain: true, ownLine });
    } else this.#say(indent + length);
    return true;
  }

  #take(
    indent: number,
    { length, calls, hasTexts = false }: Extract<CallRead, { readonly calls: unknown }>,
    { isCertain, ownLine }: { readonly isCertain: boolean; readonly ownLine: boolean },
  ): void {
    // A call behind one that may turn out to be text is no more certain.
    const isSure = isCertain && this.#blocks.every((before) => before.isCertain);
    this.#blocks.push({
      space: this.#space + this.#held.slice(0, indent),
      raw: this.#held.slice(indent, indent + length),
      calls: calls.map((call) => ({ name: safeText(call.name), arguments: safeText(call.arguments) })),
      isCertain: isSure,
      hasTexts,
    });
    this.#space = "";
    this.#line = "";
    this.#held = this.#held.slice(indent + length);
    this.#isLineStart = ownLine;
  }

  /** Takes the next characters as text; blanks at their end wait for more. */
  #say(length: number): void {
    const text = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    this.#isLineStart = text.endsWith("\n");
    this.#line = text.includes("\n") ? text.slice(text.lastIndexOf("\n") + 1) : this.#line + text;
    const shown = text.trimEnd();
    if (shown !== "") {
      this.#revert(false);
      this.#text += this.#space + shown;
      this.#space = "";
      this.#hasProse = true;
    }
    this.#space += text.slice(shown.length);
  }

  #revert(isCertain: boolean): void {
    const reverted = this.#blocks.filter((block) => block.isCertain === isCertain);
    if (reverted.length === 0) return;
    this.#text += reverted.map(({ space, raw }) => space + raw).join("");
    this.#blocks = this.#blocks.filter((block) => block.isCertain !== isCertain);
    this.#hasProse = true;
  }

  /** A stray end: a text of an earlier call may have ended too early, so no further call is executed. */
  #distrustTexts(): void {
    const first = this.#blocks.findLastIndex(({ hasTexts }) => hasTexts);
    if (first < 0) return;
    this.#blocks = this.#blocks.map((block, at) => {
      if (at < first) return block;
      const calls = block.calls.map(({ name }) => ({ name, arguments: block.raw }));
      return { ...block, calls, hasTexts: false };
    });
  }
}

/** Length of the tail that may be the beginning of a trained mark. */
function partialMark(text: string): number {
  for (let at = Math.max(0, text.length - LONGEST_TRAINED + 1); at < text.length; at++) {
    const tail = text.slice(at);
    if (TRAINED.some((mark) => mark.startsWith(tail))) return tail.length;
  }
  return 0;
}

/** Calls of a text that has nothing but calls in trained forms from its first mark on. */
export function readTextCalls(text: string, tools: ScannerOptions["tools"]): readonly TextCall[] {
  const scanner = new CallScanner({ tools, taught: false });
  scanner.push(text);
  return scanner.end("stop").calls;
}

/** Calls in a code fence that ends a text: they may be meant, or shown. */
export function fencedCalls(text: string, tools: ScannerOptions["tools"]): readonly TextCall[] {
  const lines = text.trimEnd().split("\n");
  const mark = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(lines.at(-1) ?? "")?.[1];
  if (mark === undefined) return [];
  const opened = lines.slice(0, -1).findLastIndex((line) => line.trimStart().startsWith(mark));
  return opened < 0 ? [] : readWhole(lines.slice(opened + 1, -1).join("\n"), { tools, taught: true }) ?? [];
}

/** Calls of declared tools that a text consists of; undefined when there is anything else in it. */
function readWhole(text: string, options: ScannerOptions): readonly TextCall[] | undefined {
  const scanner = new CallScanner(options);
  const shown = scanner.push(text);
  const { text: rest, calls } = scanner.end("stop");
  const isRead = calls.length > 0 &&
    calls.every((call) => options.tools.has(call.name) && call.arguments.startsWith("{"));
  return isRead && (shown + rest).trim() === "" ? calls : undefined;
}

/** `%%CMD%% … %%END%%`, the form that models are taught. */
function readTaught(held: string, tools: ScannerOptions["tools"]): CallRead | undefined {
  if (!/^%%CMD%%(?:\s+[A-Za-z_{]|\s*$)/i.test(held.slice(0, LONGEST_GAP))) return undefined;
  const firstBlock = held.search(/%%BLOCK:/i);
  let tries = 0;
  for (const { index } of held.matchAll(/%%END%%/gi)) {
    const line = held.slice(held.lastIndexOf("\n", index) + 1, index);
    const inBlock = firstBlock >= 0 && firstBlock < index;
    // In the middle of a line of content it closes nothing.
    if (inBlock && line.trim() !== "" && !/^[ \t]*%%(?:CMD|BLOCK)/i.test(line)) continue;
    if (++tries > MOST_TRIES) break;
    const found = readTaughtCall(held.slice(0, index + "%%END%%".length), tools);
    if (found.state === "bad") return { length: found.length, bad: found.name };
    if (found.state === "read") return { length: found.length, calls: [found.call], hasTexts: found.blocks };
  }
  const found = readTaughtCall(held, tools);
  if (found.state === "read") return { length: found.length, calls: [found.call], hasTexts: found.blocks };
  return { length: found.state === "bad" ? found.length : held.length, bad: found.name };
}

const NAMED_JSON = /^\[TOOL_CALLS\]\s*(?:([\w.-]{1,100})(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{))?/;
const FUNCTION_HEAD = /^(?:<tool_call>\s*)?<function=([\w.-]{1,100})>/;
const INVOKE_HEAD = /^<(?:(?:\w+:)?function_calls>\s*<)?(?:\w+:)?invoke\s+name="([^"\n]{1,100})"\s*>/;

function readTrained(held: string, isCut: boolean): CallRead | undefined {
  if (held.startsWith("[TOOL_CALLS]")) return readJson(held, NAMED_JSON);
  if (held.startsWith("<|python_tag|>")) return readJson(held, /^<\|python_tag\|>\s*/);
  const inner = held.slice("<tool_call>".length, "<tool_call>".length + LONGEST_GAP).trimStart();
  const isOuter = held.startsWith("<tool_call>");
  if (held.startsWith("<function=") || isOuter && inner.startsWith("<")) {
    return readTags(held, FUNCTION_HEAD, /<\/function>/g, "</tool_call>");
  }
  return isOuter && inner !== ""
    ? readJson(held, /^<tool_call>\s*/, { tail: "</tool_call>", isCut })
    : undefined;
}

/** Reads a form that counts at the beginning of a line; `alone`: nothing but calls has come before. */
function readOwnLine(held: string, alone: boolean): CallRead | undefined {
  if (INVOKE.test(held)) {
    const isList = held.slice(0, 40).includes("function_calls>");
    return readTags(held, INVOKE_HEAD, isList ? /<\/(?:\w+:)?function_calls>/g : /<\/(?:\w+:)?invoke>/g);
  }
  return alone && /^[{[]/.test(held) ? readJson(held, /^\s*/) : undefined;
}

/** Reads a JSON object or list behind a mark. If the mark names the tool, the JSON is only its arguments. */
function readJson(
  held: string,
  head: RegExp,
  { tail, isCut }: { readonly tail: string; readonly isCut: boolean } = { tail: "", isCut: false },
): CallRead | undefined {
  const [whole, tool] = head.exec(held.slice(0, LONGEST_GAP)) ?? [];
  if (whole === undefined) return undefined;
  const from = whole.length;
  const begin = held.slice(from, from + LONGEST_GAP);
  const fits = tool === undefined ? KEYS.has(FIRST_KEY.exec(begin)?.[1] ?? "") : begin.startsWith("{");
  if (!fits) return undefined;
  const bad = tool ?? /"name"\s*:\s*"([^"\\]{1,100})"/.exec(held.slice(from, from + 300))?.[1] ?? "";
  const end = jsonEnd(held, from);
  if (end < 0) return { length: held.length, bad };
  const rest = held.slice(end, end + LONGEST_GAP).trimStart();
  const text = held.slice(from, end);
  const calls = jsonCalls(tool === undefined ? text : `{"name":${JSON.stringify(tool)},"arguments":${text}}`);
  const close = held.indexOf(tail, end);
  if (calls && rest.startsWith(tail)) return { length: close + tail.length, calls };
  // Servers that stop at the closing tag leave it out.
  if (calls && rest === "" && !isCut) return { length: held.length, calls };
  return { length: close < 0 ? held.length : close + tail.length, bad };
}

/** Calls as one JSON object or a list of them; undefined when it is anything else. */
function jsonCalls(text: string): readonly TextCall[] | undefined {
  const value = parseJson(text);
  const calls = (Array.isArray(value) ? value : [value]).map((item) =>
    isRecord(item) ? jsonCall(item) : undefined
  );
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** An object with other keys, such as an entry of a package list, is no call. */
function jsonCall(item: Readonly<Record<string, unknown>>): TextCall | undefined {
  const { name, arguments: args, parameters, function: called, type, id: _id, ...other } = item;
  if (Object.keys(other).length > 0 || (type !== undefined && type !== "function")) return undefined;
  if (isRecord(called) && name === undefined) return jsonCall(called);
  const given = args ?? parameters;
  if (typeof name !== "string" || given === undefined || called !== undefined) return undefined;
  const whole = plainArguments(typeof given === "string" ? given : JSON.stringify(given));
  return whole === undefined ? undefined : { name, arguments: whole };
}

/** Reads arguments as texts between tags. The group of `head` names the tool. */
function readTags(held: string, head: RegExp, tail: RegExp, outer?: string): CallRead | undefined {
  const bad = head.exec(held.slice(0, LONGEST_GAP))?.[1];
  if (bad === undefined) return undefined;
  let tries = 0;
  for (const { 0: closing, index } of held.matchAll(tail)) {
    if (!held.slice(Math.max(0, index - LONGEST_GAP), index).trimEnd().endsWith(">")) continue;
    if (++tries > MOST_TRIES) break;
    const end = index + closing.length;
    const calls = tagCalls(held.slice(0, end));
    if (!calls) continue;
    const isOuter = outer !== undefined && held.slice(end, end + LONGEST_GAP).trimStart().startsWith(outer);
    return { length: isOuter ? held.indexOf(outer, end) + outer.length : end, calls };
  }
  return { length: held.length, bad };
}

const FUNCTION = /^\s*(?:<tool_call>)?\s*<function=([\w.-]+)>([\s\S]*)<\/function>\s*$/;
const PARAMETER = /^\s*<parameter=([\w.-]+)>\n?([\s\S]*?)\n?<\/parameter>\s*(?=<parameter=|$)/;
const ONE_OF_INVOKES = /^\s*<(?:\w+:)?invoke\s+name="([^"]+)"\s*>([\s\S]*?)<\/(?:\w+:)?invoke>\s*(?=<|$)/;
const NAMED =
  /^\s*<(?:\w+:)?parameter\s+name="([^"]+)"[^>]*>\n?([\s\S]*?)\n?<\/(?:\w+:)?parameter>\s*(?=<|$)/;

/** Calls as `<function=name><parameter=key>…`, or as `<invoke name="…"><parameter name="…">…`. */
function tagCalls(text: string): readonly TextCall[] | undefined {
  const [, name, inner = ""] = FUNCTION.exec(text) ?? [];
  if (name !== undefined) {
    const args = partsOf(inner, PARAMETER);
    return args && [{ name, arguments: JSON.stringify(Object.fromEntries(args)) }];
  }
  const list = text.replace(/^<(?:\w+:)?function_calls>|<\/(?:\w+:)?function_calls>$/g, "");
  const calls = partsOf(list, ONE_OF_INVOKES)?.map(([name, inner]) => {
    const args = partsOf(inner, NAMED);
    return args && { name, arguments: JSON.stringify(Object.fromEntries(args)) };
  });
  return calls?.length && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** The parts that a text consists of, each with name and inside; undefined when there is anything else. */
function partsOf(text: string, part: RegExp): readonly (readonly [string, string])[] | undefined {
  const parts: [string, string][] = [];
  for (let rest = text; rest.trim() !== "";) {
    const [whole, name = "", inner = ""] = part.exec(rest) ?? [];
    if (whole === undefined) return undefined;
    parts.push([name, inner]);
    rest = rest.slice(whole.length);
  }
  return parts;
}
