import { command, flag, type FlagsOf, JSON_FLAG, option, setting } from "../command.ts";
import { outputWidth } from "../terminal/display.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { addUsage, NO_USAGE, ReasonixError } from "../../src/core/mod.ts";
import { table } from "../../src/reports/mod.ts";
import {
  type CacheReset,
  loadIndex,
  projectDir,
  type StatsOptions,
  type StatsRow,
} from "../../src/session/mod.ts";
import { cacheShare, grouped, moneyFigure } from "../../src/view/mod.ts";

const FLAGS = {
  by: setting("Group the sums", ["day", "model", "project", "session"], "day"),
  all: flag("Include the sessions of every directory"),
  since: option("Begin with this day, YYYY-MM-DD", "day"),
  cache: flag("Show where and why the prompt cache was lost"),
  json: JSON_FLAG,
};

async function stats(this: CliContext, flags: FlagsOf<typeof FLAGS>): Promise<void> {
  const { home, cwd } = runPaths(this);
  const since = flags.since === undefined ? {} : { since: day(flags.since) };
  const scope = flags.all || flags.by === "project" ? {} : { project: projectDir(home, cwd) };
  const { SessionIndex } = await loadIndex();
  using index = await SessionIndex.open(home);
  const rows = index.stats({ by: flags.by, ...scope, ...since });
  const resets = flags.cache
    ? index.cacheResets(scope).filter((reset) => reset.time >= (since.since ?? "") && !isStart(reset))
    : undefined;
  if (flags.json) {
    const value = resets === undefined ? rows : { rows, resets };
    this.process.stdout.json(value);
  } else if (rows.length === 0) this.process.stdout.write("No requests yet\n");
  else this.process.stdout.write(resets === undefined ? spending(rows, flags.by) : cache(rows, resets));
}

/** A session that begins has nothing cached to lose. */
function isStart({ kind, reason }: CacheReset): boolean {
  return kind === "prefix" && reason === "start";
}

function day(text: string): string {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  if (date && !isNaN(date.getTime()) && date.toISOString().startsWith(text)) return text;
  throw new ReasonixError(`Cannot use "${text}" for --since: give a day such as 2026-01-31`, {
    exit: "usage",
  });
}

function spending(rows: readonly StatsRow[], by: StatsOptions["by"]): string {
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
  const costs: Record<string, number> = {};
  for (const row of rows) {
    for (const [currency, amount] of Object.entries(row.costs)) {
      costs[currency] = (costs[currency] ?? 0) + amount;
    }
  }
  return {
    key: "",
    sessions: sum((row) => row.sessions),
    requests: sum((row) => row.requests),
    usage: rows.map(({ usage }) => usage).reduce(addUsage, NO_USAGE),
    costs,
    unpriced: sum((row) => row.unpriced),
  };
}

function cache(rows: readonly StatsRow[], resets: readonly CacheReset[]): string {
  const { usage, requests } = total(rows);
  const width = outputWidth();
  const list = table(
    ["TIME", "SESSION", "EVENT", "KIND", "REASON"],
    resets.map(({ time, session, seq, kind, reason }) => [
      time.slice(0, 19).replace("T", " "),
      session,
      String(seq),
      kind,
      reason,
    ]),
    { right: ["EVENT"], ...(width === undefined ? {} : { width }) },
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

export const statsCommand = command({ flags: FLAGS, run: stats });
