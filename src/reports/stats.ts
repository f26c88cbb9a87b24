import { mergeSpending, NO_SPENDING, type Spending, tokenKinds } from "../core/mod.ts";
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

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

/**
 * Counters over sessions for the textfile collector of Prometheus, from rows by project and model and rows by
 * project. A family is named as its samples, with `_total`: in the text format 0.0.4, the only one that the
 * collector reads, it has no type otherwise. OpenMetrics 2 wants the same; Prometheus reads it as 1.0, too.
 */
export function openMetricsText(
  rows: readonly StatsRow[],
  projects: readonly StatsRow[],
  perProject: boolean,
): string {
  const place = (project: string): Labels => perProject ? { project } : {};
  const requests = rows.map((row) => {
    const [project = "", model = ""] = JSON.parse(row.key) as string[];
    return { ...row, labels: { ...place(project), model: model || "unknown" } };
  });
  const each = (count: (row: StatsRow) => number) => requests.map((row): Sample => [row.labels, count(row)]);
  const tokens = requests.flatMap(({ labels, usage }) =>
    Object.entries(tokenKinds(usage)).map(([kind, count]): Sample => [{ ...labels, kind }, count])
  );
  const costs = requests.flatMap(({ labels, costs }) =>
    Object.entries(costs).map(([currency, amount]): Sample => [{ ...labels, currency }, amount])
  );
  const sessions = projects.map(({ key, sessions }): Sample => [place(key), sessions]);
  return [
    counter("tokens", "Tokens as the servers counted them", tokens),
    counter("cost", "Cost of the requests with a known price", costs),
    counter("requests", "Requests to models; those of an agent count as one", each((row) => row.requests)),
    counter("unpriced_requests", "Requests without a known price", each((row) => row.unpriced)),
    counter("sessions", "Sessions with a request", sessions),
    "# EOF\n",
  ].join("");
}

/** The samples of a counter; those with the same labels are added up. */
function counter(name: string, help: string, samples: readonly Sample[]): string {
  const family = `reasonix_${name}_total`;
  const sums = new Map<string, number>();
  for (const [labels, value] of samples) {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${labelValue(text)}"`);
    const series = pairs.length === 0 ? family : `${family}{${pairs.join(",")}}`;
    sums.set(series, (sums.get(series) ?? 0) + value);
  }
  const lines = [...sums].map(([series, sum]) => `${series} ${sum}\n`);
  return `# HELP ${family} ${help}\n# TYPE ${family} counter\n${lines.join("")}`;
}

function labelValue(text: string): string {
  return text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
}
