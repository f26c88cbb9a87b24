/** The closing lines of a run: what was changed, what it took and what it cost. */
import { relativeTo } from "../../path/lexical.ts";
import type { Cost, EventOf, Usage } from "../../core/mod.ts";

/** Tokens, money and time of a run, for people. */
export function tokenLine(result: { steps: number; usage: Usage; cost?: Cost; durationMs: number }): string {
  const { usage } = result;
  const number = (value: number) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
  const hit = usage.inputTokens > 0 ? Math.round((100 * usage.cachedTokens) / usage.inputTokens) : 0;
  return [
    `${result.steps} ${result.steps === 1 ? "step" : "steps"}`,
    ...(usage.inputTokens + usage.outputTokens === 0 ? ["tokens unknown"] : [
      `in ${number(usage.inputTokens)} (${number(usage.cachedTokens)} cached, ${hit} %)`,
      `out ${number(usage.outputTokens)}`,
    ]),
    result.cost ? money(result.cost) : "cost unknown",
    `${(result.durationMs / 1000).toFixed(1)} s`,
  ].join(" · ");
}

function money({ amount, currency }: Cost): string {
  return amount > 0 && amount < 0.0001 ? `<0.0001 ${currency}` : `${amount.toFixed(4)} ${currency}`;
}

type Change = NonNullable<EventOf<"tool.end">["changes"]>[number];

const SHOWN = 6;

/** Adds up what the file tools changed, file by file. */
export class ChangedFiles {
  readonly #files = new Map<string, { added: number; removed: number }>();

  add(changes: readonly Change[] = []): void {
    for (const { path, change, written, added, removed } of changes) {
      if (change === "unchanged" || written === false) continue;
      const before = this.#files.get(path) ?? { added: 0, removed: 0 };
      this.#files.set(path, { added: before.added + added, removed: before.removed + removed });
    }
  }

  /** "a.txt +2 −0, b.txt +1 −1" with paths as seen from a directory, or nothing. */
  describe(cwd: string): string {
    const files = [...this.#files].map(([path, { added, removed }]) => {
      const shown = relativeTo(path, cwd) ?? path;
      return `${shown} +${added} −${removed}`;
    });
    const more = files.length - SHOWN;
    return files.slice(0, SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
  }
}
