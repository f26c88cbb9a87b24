/** Colors of code and marks of changed words, loaded when something on the screen has them. */
import { signal } from "@preact/signals";
import { type ComponentChildren, h } from "preact";
import { lazy } from "../src/util/lazy.ts";
import type { DiffMarks } from "../src/view/mod.ts";

type Marks = DiffMarks & { readonly syntax: NonNullable<DiffMarks["syntax"]> };
type Tokens = ReturnType<Marks["syntax"]>;
type Range = readonly [from: number, to: number];

/** Undefined until they are loaded; what shows code is drawn again then. */
export const marks = signal<Marks | undefined>(undefined);

/** Code is readable without colors: a failure leaves them out. */
export const loadMarks = lazy(async () => {
  const [{ diffWordsWithSpace: words }, { codeTokens: syntax }] = await Promise.all([
    import("diff"),
    import("../src/view/highlight.ts"),
  ]);
  marks.value = { words, syntax, highlight: undefined };
});

/** Code above this size has no colors. */
const MOST_CHARACTERS = 50_000;

/** The tokens of each line of code in a language; undefined where it is not known or not loaded. */
export function tokensOf(text: string, language: string): Tokens {
  if (language === "" || text.length > MOST_CHARACTERS) return undefined;
  if (!marks.value) void loadMarks().catch(() => {});
  return marks.value?.syntax(text, language);
}

/** A line of code in the colors of its tokens, with marks around some of its ranges. */
export function colored(
  text: string,
  tokens: Readonly<NonNullable<Tokens>[number]> | undefined,
  marked: readonly Range[] = [],
): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const { text: piece, meaning } of tokens ?? [{ text, meaning: undefined }]) {
    const cuts = marked.flat().filter((cut) => cut > at && cut < at + piece.length);
    for (const cut of [...cuts, at + piece.length]) {
      const isMarked = marked.some(([from, to]) => from <= at && at < to);
      const name = [meaning && `t-${meaning}`, isMarked && "word"].filter(Boolean).join(" ");
      const part = text.slice(at, cut);
      parts.push(name === "" ? part : h("span", { class: name }, part));
      at = cut;
    }
  }
  return parts;
}
