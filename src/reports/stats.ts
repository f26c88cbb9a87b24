import { mergeSpending, NO_SPENDING, type Spending } from "../core/mod.ts";
import type { CacheReset, StatsOptions, StatsRow } from "../session/mod.ts";
import { cacheShare, grouped, moneyFigure } from "../view/mod.ts";
import { table } from "./table.ts";

export function statsText(rows: readonly StatsRow[], by: StatsOptions["by"]): string {
  const all = rows.length > 1 ? [{ ...total(rows), key: "total" }] : [];
  return table(
    [by.toUpperCase(), "SESSIONS", "REQUESTS", "INPUT", "CACHED", "HIT", "OUTPUT", "COST"],
    [...rows, ...all].map((row) => [
      row.key || "(unknown)",
      // A session that spans days is counted in each of them, so there is no honest sum.
      row.key === "total" && by !== "session" ? "" : grouped(row.sessions),
      grouped(row.requests),
      grouped(row.usage.inputTokens),
      grouped(row.usage.cachedTokens),
      cacheShare(row.usage),
      grouped(row.usage.outputTokens),
      money(row),
    ]),
    { right: ["SESSIONS", "REQUESTS", "INPUT", "CACHED", "HIT", "OUTPUT"] },
  ) + (rows.some(({ costs }) => Object.keys(costs).length > 0) ? PRICED : "");
}

const PRICED =
  "Each request costs what was known of prices on its day; reasonix models show MODEL has today's\n";

function total(rows: readonly StatsRow[]): StatsRow {
  const sum = (pick: (row: StatsRow) => number) => rows.reduce((all, row) => all + pick(row), 0);
  return {
    key: "",
    sessions: sum((row) => row.sessions),
    requests: sum((row) => row.requests),
    ...rows.reduce<Spending>(mergeSpending, NO_SPENDING),
  };
}

/** Cache hits, and the places where the cached prefix was rebuilt. */
export function cacheText(
  rows: readonly StatsRow[],
  resets: readonly CacheReset[],
  width: number | undefined,
): string {
  const { usage, requests } = total(rows);
  const list = table(
    ["TIME", "SESSION", "EVENT", "KIND", "REASON"],
    resets.map(({ time, session, seq, kind, reason }) => [
      time.slice(0, 19).replace("T", " "),
      session,
      String(seq),
      kind,
      reason,
    ]),
    { right: ["EVENT"], width },
  );
  return `${grouped(usage.cachedTokens)} of ${grouped(usage.inputTokens)} input tokens came from the cache ` +
    `(${cacheShare(usage)}) in ${grouped(requests)} requests\n` +
    (resets.length === 0
      ? "The cached prefix was never rebuilt (session starts not counted)\n"
      : `The cached prefix was rebuilt ${resets.length === 1 ? "once" : `${grouped(resets.length)} times`} ` +
        `(session starts not counted):\n\n${list}`);
}

function money(row: StatsRow): string {
  return moneyFigure(row) ?? (row.unpriced > 0 ? "unknown" : "");
}
