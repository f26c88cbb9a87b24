/** The closing lines of a run: what was changed, what it took and what it cost, and what went wrong. */
import { relativeTo } from "../../path/lexical.ts";
import { type EventOf, isWritten } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { cacheShare, type CallView, grouped, lineFigures, moneyFigure, wrapText } from "../../view/mod.ts";
import { terminalSafe } from "../../util/terminal_text.ts";
import type { RunResult } from "../result.ts";

type Spent = Pick<RunResult, "steps" | "usage" | "cost" | "partialCost" | "durationMs" | "priceDate">;

/** Tokens, money and time of a run, for people; the day of the prices with `verbose`. */
export function tokenLine(
  spent: Spent,
  texts: Texts["run"],
  { verbose }: { readonly verbose: boolean },
): string {
  const { steps, usage, durationMs } = spent;
  const { inputTokens, cachedTokens, outputTokens, scripted } = usage;
  const tokens = inputTokens + outputTokens === 0 ? [texts.tokensUnknown] : [
    texts.tokensIn(grouped(inputTokens), grouped(cachedTokens), cacheShare(usage)),
    texts.tokensOut(grouped(outputTokens)),
    ...(scripted ? [texts.tokensScripted] : []),
  ];
  return [
    ...(steps === 0 ? [] : [texts.steps(steps)]),
    ...tokens,
    moneyOf(spent, texts, verbose ? spent.priceDate : undefined),
    texts.seconds((durationMs / 1000).toFixed(1)),
  ].join(" · ");
}

function moneyOf({ cost, partialCost }: Spent, texts: Texts["run"], day: string | undefined): string {
  const { costs, unpriced } = cost
    ? { costs: { [cost.currency]: cost.amount }, unpriced: 0 }
    : partialCost ?? { costs: {}, unpriced: 0 };
  const known = moneyFigure({ costs, unpriced: 0 });
  if (known === undefined) return texts.costUnknown;
  const money = unpriced > 0 ? texts.someUnknown(known) : known;
  return day === undefined ? money : texts.pricesOf(money, day);
}

type Change = NonNullable<EventOf<"tool.end">["changes"]>[number];

const SHOWN = 6;

/** Adds up what the file tools changed, file by file. */
export class ChangedFiles {
  readonly #files = new Map<string, { added: number; removed: number }>();

  add(changes: readonly Change[] = []): void {
    for (const { path, added, removed } of changes.filter(isWritten)) {
      const before = this.#files.get(path) ?? { added: 0, removed: 0 };
      this.#files.set(path, { added: before.added + added, removed: before.removed + removed });
    }
  }

  /** "a.txt +2 −0, b.txt +1 −1" with paths as seen from a directory, or nothing. */
  describe(cwd: string, texts: Texts["run"]): string {
    const files = [...this.#files].map(([path, lines]) => {
      const shown = relativeTo(path, cwd) ?? path;
      return `${shown} ${lineFigures(lines)}`;
    });
    const more = files.length - SHOWN;
    const shown = files.slice(0, SHOWN).join(", ");
    return more > 0 ? texts.moreFiles(shown, more) : shown;
  }
}

type Failed = Pick<RunResult, "exit" | "detail" | "said" | "remedy">;

/** The error and its remedy, below each other after the word for it. */
export function failureText(
  { exit, detail = exit, said, remedy }: Failed,
  texts: Texts["run"],
  { palette, layout }: Pick<CallView, "palette" | "layout">,
): string {
  const word = texts.error;
  const indent = " ".repeat(columnsOf(word));
  const parts = [texts.written(said, detail), ...remedy ? [remedy] : []].map(terminalSafe);
  const lines = layout
    ? parts.flatMap((part) => wrapText(part, Math.max(20, layout.columns() - indent.length), layout.width))
    : parts;
  const label = word.trimEnd();
  return `${palette.bad(label)}${word.slice(label.length)}${lines.join(`\n${indent}`)}\n`;
}

/** Columns of a word, before the tables of wide characters are loaded. */
function columnsOf(word: string): number {
  return word.replace(/[\u2e80-\uffe6]/g, "  ").length;
}
