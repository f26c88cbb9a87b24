import type { FinishReason, ToolSchema } from "../../core/mod.ts";
import { safeText } from "../../util/json.ts";
import { type Ending, fenceForm, findForm, type Form, partialMark, trainedMark } from "./forms.ts";
import type { TextCall } from "./syntax.ts";

export interface ScannerOptions {
  readonly tools: ReadonlyMap<string, ToolSchema>;
  /**
   * The model was told to write calls as text: a mark at the beginning of a line is meant as one, so that
   * what cannot be read is a call that fails. Otherwise a reply has calls only when from the first mark on it
   * has nothing else.
   */
  readonly taught: boolean;
  /** Gets the name of a tool when its call begins. */
  readonly onCall?: ((tool: string) => void) | undefined;
}

/** The end of a reply. */
export interface ReplyEnd {
  /** The text that was still held back. */
  readonly text: string;
  readonly calls: readonly TextCall[];
  /** The whole reply as the model wrote it, without results that it made up. */
  readonly raw: string;
  /** True when the end of the reply does not count. */
  readonly shortened: boolean;
}

/** Calls that were read, with the blanks before them: until the reply ends they may turn out to be text. */
interface Taken {
  readonly space: string;
  readonly raw: string;
  readonly calls: readonly TextCall[];
  readonly trust: Form["trust"];
  readonly blocks: boolean;
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
/** Longer calls are read again only when they have grown by a share, so that reading stays cheap. */
const LONG_CALL = 500;
const SHARE = 1 / 16;
/** Deeper is code in Markdown. */
const DEEPEST_INDENT = 3;

/**
 * Tells the calls that a model writes as text from its answer, wherever the stream is cut. Text is given as
 * soon as it cannot be part of a call any more; a call is read when its block ends.
 *
 * Contract: nothing in code fences, quotes or indented code is a call, unless the whole reply is a fence
 * around calls; a call is executed only when it is closed and, but for the taught form, of a declared tool.
 */
export class CallScanner {
  readonly #options: ScannerOptions;
  #raw = "";
  /** The undecided text; with a form it begins at the mark of the form. */
  #held = "";
  #form: Form | undefined;
  /** Length of what is held from which on the call is read again. */
  #readFrom = 0;
  #announced = false;
  #taken: Taken[] = [];
  /** Blanks that are shown once text follows. */
  #space = "";
  /** True once text other than blanks has been shown. */
  #prose = false;
  /** The form began its line. */
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
    this.#raw += piece;
    this.#held += piece;
    return this.#form && this.#held.length < this.#readFrom ? "" : this.#run("open");
  }

  /** Text that is held back and no call so far, for a reply that breaks off. */
  get rest(): string {
    return this.#form === undefined && !this.#over ? this.#space + this.#held : "";
  }

  /** Reads what is left when the reply has ended. */
  end(finish: FinishReason): ReplyEnd {
    const cut = finish === "length" || finish === "content_filter";
    let text = this.#run(cut ? "cut" : "ended");
    if (cut) text += this.#revert("likely");
    if (finish === "content_filter") text += this.#revert("certain");
    if (this.#taken.length === 0) text += this.#space;
    const calls = this.#taken.flatMap((taken) => taken.calls);
    return { text, calls, raw: this.#raw, shortened: this.#over };
  }

  #run(ending: Ending): string {
    let shown = "";
    while (this.#held !== "" && !this.#over) {
      const text = this.#form ? this.#inForm(this.#form, ending) : this.#inText(ending);
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
    if (STRAY_END.test(rest)) this.#distrustBlocks();
    if (this.#fence !== "") return this.#closeFence(indent, open);
    this.#citing = indent > DEEPEST_INDENT || begin.slice(0, indent).includes("\t") || rest.startsWith(">");
    if (this.#citing) return PLAIN;
    if (this.#taken.length > 0 && OWN_RESULT.test(rest)) {
      this.#over = true;
      this.#raw = this.#raw.slice(0, this.#raw.length - this.#held.length);
      this.#held = "";
      return "";
    }
    if (/^(?:`{1,2}$|```|~{1,2}$|~~~)/.test(rest)) return this.#openFence(indent, open);
    const { tools, taught } = this.#options;
    const form = findForm(this.#held.slice(indent), { tools, ownLine: true, taught, alone: !this.#prose });
    if (form === "maybe" && open) return undefined;
    return form === undefined || form === "maybe" ? PLAIN : this.#open(form, indent);
  }

  #openFence(indent: number, open: boolean): Step | typeof PLAIN {
    const line = this.#held.slice(indent);
    const opened = FENCE.exec(line);
    if (!opened) {
      return open && line.length < LINE_BEGIN && !/\n|`[^`]+`/.test(line) ? undefined : PLAIN;
    }
    const [whole, mark = "", info = ""] = opened;
    if (info.includes("`")) return PLAIN;
    if (!this.#prose) {
      return this.#open(fenceForm(opened, (text) => readWhole(text, this.#options)), indent);
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

  #open(form: Form, at: number, ownLine = true): string {
    this.#space += this.#held.slice(0, at);
    this.#held = this.#held.slice(at);
    this.#form = form;
    this.#ownLine = ownLine;
    this.#announced = false;
    this.#readFrom = 0;
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
    const form = this.#code || /["'“‘«]/.test(this.#last) ? undefined : findForm(this.#held, search);
    if (form === "maybe" && ending === "open") return undefined;
    return form === undefined || form === "maybe" ? this.#say(1) : this.#open(form, 0, false);
  }

  #inForm(form: Form, ending: Ending): Step {
    const { tools, taught } = this.#options;
    const read = form.read(this.#held, ending);
    if (read.state === "text") return this.#giveUp(form, 1);
    if (read.state === "open") {
      this.#announce(read.name);
      return this.#wait();
    }
    const { length } = read;
    const rest = this.#held.slice(length, length + LINE_BEGIN);
    if (ending === "open" && rest.length < LINE_BEGIN && /^[ \t\r]*$/.test(rest)) return this.#wait();
    const lineEnds = this.#held[length - 1] === "\n" || /^[ \t\r]*(?:\n|$)/.test(rest);
    const certain = taught && this.#ownLine && form.trust === "certain" && lineEnds;
    if (read.state === "bad") {
      const meant = taught && this.#ownLine && ending !== "open" && tools.has(read.name);
      if (!certain && !meant) return this.#giveUp(form, length);
      const call = { name: read.name === "" ? "unknown" : read.name, arguments: this.#held.slice(0, length) };
      return this.#take(length, [call], "certain", false);
    }
    const { calls, blocks = false } = read;
    if (!certain && !calls.every(({ name }) => tools.has(name))) return this.#giveUp(form, length);
    this.#announce(calls[0]?.name);
    return this.#take(length, calls, certain ? "certain" : "likely", blocks);
  }

  #wait(): undefined {
    const { length } = this.#held;
    this.#readFrom = length > LONG_CALL ? length * (1 + SHARE) : 0;
  }

  #announce(tool: string | undefined): void {
    if (this.#announced || tool === undefined) return;
    this.#announced = true;
    if (this.#options.tools.has(tool)) this.#options.onCall?.(tool);
  }

  #take(length: number, calls: readonly TextCall[], trust: Form["trust"], blocks: boolean): string {
    // Behind a call that may turn out to be text, another one is no more certain.
    const doubt = this.#taken.some((before) => before.trust === "likely");
    const safe = calls.map((call) => ({ name: safeText(call.name), arguments: safeText(call.arguments) }));
    const raw = this.#held.slice(0, length);
    this.#taken.push({ space: this.#space, raw, calls: safe, trust: doubt ? "likely" : trust, blocks });
    this.#space = "";
    this.#held = this.#held.slice(length);
    this.#form = undefined;
    this.#last = "\n";
    // Behind a call on its line there may only be another one.
    this.#lineStart = this.#ownLine;
    this.#code = false;
    return "";
  }

  /** Takes a supposed call for text: `length` of it is shown without another look inside. */
  #giveUp({ fence }: Form, length: number): string {
    this.#form = undefined;
    this.#lineStart = false;
    if (!fence) return this.#say(length);
    this.#fence = fence[1] ?? "";
    return this.#say(fence[0].length);
  }

  /** Shows the first characters of what is held, but for blanks at their end. */
  #say(length: number): string {
    const text = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    this.#last = text.slice(-1);
    this.#lineStart = this.#last === "\n";
    if (this.#lineStart) this.#citing = false;
    const line = text.slice(text.lastIndexOf("\n") + 1);
    const odd = (line.split("`").length - 1) % 2 === 1;
    this.#code = !this.#lineStart && (line.length < text.length ? odd : this.#code !== odd);
    const kept = text.trimEnd().length;
    if (kept === 0) {
      this.#space += text;
      return "";
    }
    const shown = this.#revert("likely") + this.#space + text.slice(0, kept);
    this.#space = text.slice(kept);
    this.#prose = true;
    return shown;
  }

  /** Makes text of calls with this trust, and returns it. */
  #revert(trust: Form["trust"]): string {
    const texts = this.#taken.flatMap((taken) => taken.trust === trust ? [taken.space + taken.raw] : []);
    if (texts.length === 0) return "";
    this.#taken = this.#taken.filter((taken) => taken.trust !== trust);
    this.#prose = true;
    return texts.join("");
  }

  /**
   * An end that closes nothing: the texts of a call before may hold one, so that they ended too early. That
   * call and those behind it are not to be executed.
   */
  #distrustBlocks(): void {
    const first = this.#taken.findLastIndex(({ blocks }) => blocks);
    if (first < 0) return;
    this.#taken = this.#taken.map((taken, at) => {
      if (at < first) return taken;
      const calls = taken.calls.map(({ name }) => ({ name, arguments: taken.raw }));
      return { ...taken, calls, blocks: false };
    });
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
