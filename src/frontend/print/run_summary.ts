/** The closing lines of a run: what was changed, what it took and what it cost. */
import { relativeTo } from "../../path/lexical.ts";
import type { EventOf } from "../../core/mod.ts";
import { moneyFigure, tokenFigures } from "../../view/mod.ts";
import type { RunResult } from "../result.ts";

type Spent = Pick<RunResult, "steps" | "usage" | "cost" | "partialCost" | "durationMs">;

/** Tokens, money and time of a run, for people. */
export function tokenLine({ steps, usage, cost, partialCost, durationMs }: Spent): string {
  const spent = cost ? { costs: { [cost.currency]: cost.amount }, unpriced: 0 } : partialCost;
  const tokens = tokenFigures(usage);
  return [
    ...(steps === 0 ? [] : [`${steps} ${steps === 1 ? "step" : "steps"}`]),
    ...(tokens.length > 0 ? tokens : ["tokens unknown"]),
    (spent && moneyFigure(spent)) ?? "cost unknown",
    `${(durationMs / 1000).toFixed(1)} s`,
  ].join(" · ");
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
