import { safeText } from "../../util/json.ts";
import type { TextCall } from "./syntax.ts";
import { writeCall } from "./syntax.ts";
import type { Unit } from "./units.ts";

/**
 * How the text of a reply is put together again: a number takes that many UTF-16 units of what was shown, a
 * record the next call in its canonical form, a string stands for itself.
 */
export type Layout = readonly (number | string | { readonly call: number })[];

/** A whole reply, read. */
export interface ReplyRead {
  readonly calls: readonly TextCall[];
  /** Absent where there are no calls: then the reply is what was shown. */
  readonly layout?: Layout;
  /** True when the end of the reply does not count. */
  readonly shortened: boolean;
}

type Entry =
  | { readonly kind: "shown"; readonly length: number }
  | { readonly kind: "blank"; readonly raw: string }
  | {
    readonly kind: "calls";
    readonly raw: string;
    readonly calls: readonly TextCall[];
    readonly trust: Unit["trust"];
    readonly blocks: boolean;
  };

/** The parts of a reply in their order: what was shown, calls, and blanks around them. */
export class ReplyLog {
  #entries: Entry[] = [];
  /** Blanks that are shown once text follows. */
  space = "";
  /** True once text other than blanks has been shown. */
  prose = false;

  get called(): boolean {
    return this.#entries.some(({ kind }) => kind === "calls");
  }

  /** Takes blanks before a call. */
  blank(text: string): void {
    this.space += text;
  }

  /** Takes text and returns what of it can be shown. */
  say(text: string): string {
    const kept = text.trimEnd().length;
    if (kept === 0) {
      this.space += text;
      return "";
    }
    const before = this.prose && this.#entries.at(-1)?.kind === "shown" ? "" : this.revert("likely");
    const shown = this.space + text.slice(0, kept);
    this.space = text.slice(kept);
    this.#show(shown);
    this.prose = true;
    return before + shown;
  }

  calls(raw: string, calls: readonly TextCall[], how: Pick<Unit, "trust" | "blocks">): void {
    if (this.space !== "") this.#entries.push({ kind: "blank", raw: this.space });
    this.space = "";
    // Behind a call that may turn out to be text, another one is no more certain.
    const doubt = this.#entries.some((entry) => entry.kind === "calls" && entry.trust === "likely");
    const trust = doubt ? "likely" : how.trust;
    const safe = calls.map((call) => ({ name: safeText(call.name), arguments: safeText(call.arguments) }));
    this.#entries.push({ kind: "calls", raw, calls: safe, trust, blocks: how.blocks });
  }

  /** Makes text of calls with this trust, and returns it. */
  revert(trust: Unit["trust"]): string {
    let text = "";
    this.#entries = this.#entries.map((entry, at): Entry => {
      const next = this.#entries[at + 1];
      const call = entry.kind === "blank" ? next : entry;
      if (entry.kind === "shown" || call?.kind !== "calls" || call.trust !== trust) return entry;
      text += entry.raw;
      return { kind: "shown", length: entry.raw.length };
    });
    if (text !== "") this.prose = true;
    return text;
  }

  /**
   * An end that closes nothing: the texts of a call before may hold one, so that they ended too early. That
   * call and those behind it are not to be executed.
   */
  distrustBlocks(): void {
    const first = this.#entries.findLastIndex((entry) => entry.kind === "calls" && entry.blocks);
    if (first < 0) return;
    this.#entries = this.#entries.map((entry, at) => {
      if (at < first || entry.kind !== "calls") return entry;
      const calls = entry.calls.map(({ name }) => ({ name, arguments: entry.raw }));
      return { ...entry, calls, blocks: false };
    });
  }

  /** Returns blanks at the end that belong to the text. */
  close(): string {
    if (this.called) {
      if (this.space !== "") this.#entries.push({ kind: "blank", raw: this.space });
    } else if (this.space !== "") this.#show(this.space);
    const rest = this.called ? "" : this.space;
    this.space = "";
    return rest;
  }

  read(shortened: boolean): ReplyRead {
    const calls = this.#entries.flatMap((entry) => entry.kind === "calls" ? entry.calls : []);
    return { calls, ...(calls.length > 0 ? { layout: this.#layout() } : {}), shortened };
  }

  #show(text: string): void {
    const last = this.#entries.at(-1);
    if (last?.kind === "shown") {
      this.#entries[this.#entries.length - 1] = { kind: "shown", length: last.length + text.length };
    } else this.#entries.push({ kind: "shown", length: text.length });
  }

  #layout(): Layout {
    const layout: (number | string | { call: number })[] = [];
    let call = 0;
    const add = (raw: string) => {
      if (typeof layout.at(-1) === "string") layout[layout.length - 1] += raw;
      else if (raw !== "") layout.push(raw);
    };
    for (const entry of this.#entries) {
      if (entry.kind === "shown") layout.push(entry.length);
      else if (entry.kind === "blank") add(entry.raw);
      else {
        const [only, ...more] = entry.calls;
        if (only && more.length === 0 && writeCall(only) === entry.raw) layout.push({ call });
        else add(entry.raw);
        call += entry.calls.length;
      }
    }
    return layout;
  }
}
