import type { FinishReason, ToolSchema } from "../../core/mod.ts";
import { findUnit, partialMark, trainedMark } from "./marks.ts";
import { ReplyLog, type ReplyRead } from "./reply_log.ts";
import type { TextCall } from "./syntax.ts";
import { type Ending, FenceUnit, type Unit } from "./units.ts";

export interface ScannerOptions {
  readonly tools: ReadonlyMap<string, ToolSchema>;
  /**
   * The model was told to write calls as text: a mark at the beginning of a line is meant as one, so that
   * what cannot be read is a call that fails. Otherwise a reply has calls only when from the first mark on it
   * has nothing else.
   */
  readonly taught: boolean;
  /** Told the name of a tool when its call begins. */
  readonly onCall?: ((tool: string) => void) | undefined;
}

/** The line is like any other. */
const PLAIN = Symbol("plain");
/** Text that is shown, perhaps none; undefined when more of the reply is needed. */
type Step = string | undefined;

const FENCE = /^(`{3,}(?!`)|~{3,}(?!~))([^\n]*)\n/;
const STRAY_END = /^%%END%%[ \t\r]*(?:\n|$)/i;
/** By these a model goes on with the result of a call that it has only written. */
const OWN_RESULT = /^(?:%%RESULT%%|<tool_response>|<function_results>|\[TOOL_RESULTS\])/i;
const SPECIAL = ["%%end%%", "%%result%%", "<tool_response>", "<function_results>", "[tool_results]"];
/** Lines are told apart by this much of their beginning. */
const LINE_BEGIN = 100;
/** Longer calls are not read whenever a piece of them comes. */
const LONG_CALL = 500;
/** Deeper is code in Markdown. */
const DEEPEST_INDENT = 3;

/**
 * Tells the calls that a model writes as text from its answer, wherever the stream is cut. Text is given as
 * soon as it cannot be part of a call any more.
 *
 * Contract: nothing in code fences, quotes or indented code is a call, unless the whole reply is a fence
 * around calls; a call is executed only when it is closed and, but for the taught form, of a declared tool.
 */
export class CallScanner {
  readonly #options: ScannerOptions;
  readonly #log = new ReplyLog();
  /** What has come and is not decided; with a unit it begins at the unit's mark. */
  #held = "";
  /** What has come since, and the end of it all. */
  #pending: string[] = [];
  #tail = "";
  #unit: Unit | undefined;
  /** The unit began its line. */
  #ownLine = false;
  #lineStart = true;
  /** The line is a citation or code of Markdown. */
  #citing = false;
  /** Inside `code` of the line. */
  #code = false;
  #last = "\n";
  /** Mark of the code fence that shown text is in. */
  #fence = "";
  /** The model writes results of its own: nothing from there on counts. */
  #over = false;

  constructor(options: ScannerOptions) {
    this.#options = options;
  }

  /** Returns what of the reply so far is text for certain and has not been returned yet. */
  push(piece: string): string {
    if (this.#over) return "";
    this.#pending.push(piece);
    if (this.#unit && this.#held.length > LONG_CALL) {
      // Joining what is held takes a copy of all of it.
      this.#tail = (this.#tail + piece).slice(-LONG_CALL - piece.length);
      if (!this.#unit.ends.test(this.#tail)) return "";
    }
    return this.#run("open");
  }

  /** Text that is held back and no call so far, for a reply that breaks off. */
  get rest(): string {
    return this.#unit === undefined && !this.#over ? this.#log.space + this.#held : "";
  }

  /** Reads what is left when the reply has ended. */
  end(finish: FinishReason): ReplyRead & { readonly text: string } {
    const cut = finish === "length" || finish === "content_filter";
    const text = this.#run(cut ? "cut" : "ended") + (cut ? this.#log.revert("likely") : "") +
      (finish === "content_filter" ? this.#log.revert("certain") : "") + this.#log.close();
    return { text, ...this.#log.read(this.#over) };
  }

  #run(ending: Ending): string {
    this.#held += this.#pending.join("");
    this.#pending = [];
    this.#tail = this.#held.slice(-LONG_CALL);
    let shown = "";
    while (this.#held !== "" && !this.#over) {
      const text = this.#unit ? this.#inUnit(this.#unit, ending) : this.#inText(ending);
      if (text === undefined) break;
      shown += text;
    }
    return shown;
  }

  #inText(ending: Ending): Step {
    if (this.#lineStart) {
      const begun = this.#beginLine(ending);
      if (begun !== PLAIN) return begun;
      this.#lineStart = false;
    }
    return this.#middleOfLine(ending);
  }

  #beginLine(ending: Ending): Step | typeof PLAIN {
    const open = ending === "open";
    const begin = this.#held.slice(0, LINE_BEGIN);
    const rest = begin.trimStart();
    const indent = begin.length - rest.length;
    if (rest === "" && open && begin.length < LINE_BEGIN && !begin.includes("\n")) return undefined;
    if (rest === "" || begin.slice(0, indent).includes("\n")) return PLAIN;
    if (open && mayBecomeSpecial(rest)) return undefined;
    if (STRAY_END.test(rest)) this.#log.distrustBlocks();
    if (this.#fence !== "") return this.#closeFence(indent, open);
    this.#citing = indent > DEEPEST_INDENT || begin.slice(0, indent).includes("\t") || rest.startsWith(">");
    if (this.#citing) return PLAIN;
    if (this.#log.called && OWN_RESULT.test(rest)) {
      this.#over = true;
      this.#held = "";
      return "";
    }
    if (/^(?:`{1,2}$|```|~{1,2}$|~~~)/.test(rest)) return this.#openFence(indent, open);
    const unit = findUnit(this.#held.slice(indent), {
      tools: this.#options.tools,
      ownLine: true,
      taught: this.#options.taught,
      alone: !this.#log.prose,
    });
    if (unit === "maybe" && open) return undefined;
    return unit === undefined || unit === "maybe" ? PLAIN : this.#open(unit, indent);
  }

  #openFence(indent: number, open: boolean): Step | typeof PLAIN {
    const line = this.#held.slice(indent);
    const opened = FENCE.exec(line);
    if (!opened) {
      return open && line.length < LINE_BEGIN && !/\n|`[^`]+`/.test(line) ? undefined : PLAIN;
    }
    const [whole, mark = "", info = ""] = opened;
    if (info.includes("`")) return PLAIN;
    if (!this.#log.prose) {
      const readAll = (text: string) => readWhole(text, this.#options);
      return this.#open(new FenceUnit(mark, whole.length, readAll), indent);
    }
    this.#fence = mark;
    return this.#say(indent + whole.length);
  }

  /** A line inside a code fence that text has opened. */
  #closeFence(indent: number, open: boolean): Step | typeof PLAIN {
    const line = this.#held.slice(indent);
    const close = new RegExp(`^${this.#fence}+[ \\t\\r]*(\\n|$)`).exec(line);
    if (open && (close?.[1] === "" || (line !== "" && this.#fence.startsWith(line)))) return undefined;
    if (!close) return PLAIN;
    this.#fence = "";
    return this.#say(indent + close[0].length);
  }

  #open(unit: Unit, at: number, ownLine = true): string {
    this.#log.blank(this.#held.slice(0, at));
    this.#held = this.#held.slice(at);
    this.#unit = unit;
    this.#ownLine = ownLine;
    return "";
  }

  /** Text up to the next mark or the end of the line. */
  #middleOfLine(ending: Ending): Step {
    const newline = this.#held.indexOf("\n");
    const line = newline < 0 ? this.#held : this.#held.slice(0, newline + 1);
    const literal = this.#citing || this.#fence !== "";
    const mark = literal ? -1 : trainedMark(line);
    if (mark < 0) {
      const kept = newline < 0 && ending === "open" && !literal ? partialMark(line) : 0;
      return line.length === kept ? undefined : this.#say(line.length - kept);
    }
    if (mark > 0) return this.#say(mark);
    const search = { tools: this.#options.tools, ownLine: false, taught: false, alone: false };
    const unit = this.#code || /["'“‘«]/.test(this.#last) ? undefined : findUnit(this.#held, search);
    if (unit === "maybe" && ending === "open") return undefined;
    return unit === undefined || unit === "maybe" ? this.#say(1) : this.#open(unit, 0, false);
  }

  #inUnit(unit: Unit, ending: Ending): Step {
    const known = unit.name;
    const read = unit.read(this.#held, ending);
    if (known !== unit.name) this.#begun(unit.name);
    if (read.state === "open") return undefined;
    if (read.state === "text") return this.#giveUp(unit, 1);
    const { tools, taught } = this.#options;
    const { length } = read;
    const rest = this.#held.slice(length, length + LINE_BEGIN);
    if (ending === "open" && rest.length < LINE_BEGIN && /^[ \t\r]*$/.test(rest)) return undefined;
    const lineEnds = this.#held[length - 1] === "\n" || /^[ \t\r]*(?:\n|$)/.test(rest);
    const certain = taught && this.#ownLine && unit.trust === "certain" && lineEnds;
    if (read.state === "bad") {
      const meant = taught && this.#ownLine && ending !== "open" && tools.has(read.name);
      if (!certain && !meant) return this.#giveUp(unit, length);
      const name = read.name === "" ? "unknown" : read.name;
      const call = { name, arguments: this.#held.slice(0, length) };
      return this.#take(length, [call], { trust: "certain", blocks: false });
    }
    const declared = read.calls.every(({ name }) => tools.has(name));
    if (!declared && !certain) return this.#giveUp(unit, length);
    return this.#take(length, read.calls, { trust: certain ? "certain" : "likely", blocks: unit.blocks });
  }

  #begun(tool: string | undefined): void {
    if (tool !== undefined && this.#options.tools.has(tool)) this.#options.onCall?.(tool);
  }

  #take(length: number, calls: readonly TextCall[], how: Pick<Unit, "trust" | "blocks">): string {
    this.#log.calls(this.#held.slice(0, length), calls, how);
    this.#held = this.#held.slice(length);
    this.#unit = undefined;
    this.#last = "\n";
    // Behind a call on its line there may only be another one.
    this.#lineStart = this.#ownLine;
    this.#code = false;
    return "";
  }

  /** What looked like a call is text: `length` of it without another look at what is inside. */
  #giveUp(unit: Unit, length: number): string {
    this.#unit = undefined;
    this.#lineStart = false;
    const opened = unit instanceof FenceUnit ? FENCE.exec(this.#held) : undefined;
    if (!opened) return this.#say(length);
    this.#fence = opened[1] ?? "";
    return this.#say(opened[0].length);
  }

  /** Shows the first characters of what is held. */
  #say(length: number): string {
    const text = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    this.#last = text.slice(-1);
    this.#lineStart = this.#last === "\n";
    if (this.#lineStart) this.#citing = false;
    const line = text.slice(text.lastIndexOf("\n") + 1);
    const odd = (line.split("`").length - 1) % 2 === 1;
    this.#code = !this.#lineStart && (line.length < text.length ? odd : this.#code !== odd);
    return this.#log.say(text);
  }
}

/**
 * Calls of a text that has nothing but calls from its first mark on; none for any other text. Of marks only
 * those count that models bring with them.
 */
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
function readWhole(text: string, { tools, taught }: ScannerOptions): readonly TextCall[] | undefined {
  const scanner = new CallScanner({ tools, taught });
  const shown = scanner.push(text);
  const { text: rest, calls } = scanner.end("stop");
  const read = calls.length > 0 &&
    calls.every((call) => tools.has(call.name) && call.arguments.startsWith("{"));
  return read && (shown + rest).trim() === "" ? calls : undefined;
}

/** Special lines that are no calls, as far as they have come. */
function mayBecomeSpecial(rest: string): boolean {
  if (/^%%END%%[ \t\r]*$/i.test(rest)) return true;
  return "%<[".includes(rest[0] ?? " ") && SPECIAL.some((mark) => mark.startsWith(rest.toLowerCase()));
}
