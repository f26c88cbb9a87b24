import type { DatabaseSync } from "node:sqlite";
import type { Usage } from "../../core/mod.ts";

export interface StatsOptions {
  readonly by: "day" | "model" | "project" | "session";
  readonly project?: string;
  /** First day, YYYY-MM-DD (UTC). */
  readonly since?: string;
}

export interface StatsRow {
  /** The day, model, working directory or session id. */
  readonly key: string;
  readonly sessions: number;
  readonly requests: number;
  readonly usage: Usage;
  /** Money by currency; requests without a known price are not in it. */
  readonly costs: Readonly<Record<string, number>>;
  readonly unpriced: number;
}

const KEYS: Readonly<Record<StatsOptions["by"], string>> = {
  day: "p.day",
  model: "p.model",
  project: "s.cwd",
  session: "s.session",
};

/**
 * Usage as the servers reported it, grouped. A copied session repeats its parent's requests under their
 * numbers and times; they are counted once, where they were made.
 */
export function statsRows(database: DatabaseSync, options: StatsOptions): StatsRow[] {
  const conditions = [
    "(s.parent IS NULL OR NOT EXISTS (SELECT 1 FROM sessions o JOIN spending q ON q.session = o.id " +
    "WHERE o.session = s.parent AND q.seq = p.seq AND q.day = p.day AND q.input = p.input AND q.output = p.output))",
  ];
  const values: string[] = [];
  if (options.project !== undefined) {
    conditions.push("s.project = ?");
    values.push(options.project);
  }
  if (options.since !== undefined) {
    conditions.push("p.day >= ?");
    values.push(options.since);
  }
  const from = `FROM spending p JOIN sessions s ON s.id = p.session WHERE ${conditions.join(" AND ")}`;
  const key = KEYS[options.by];
  const costs = new Map<string, Record<string, number>>();
  const money = database.prepare(
    `SELECT ${key} AS key, p.currency, SUM(p.amount) AS amount ${from} AND p.currency IS NOT NULL GROUP BY 1, 2`,
  );
  for (const row of money.all(...values)) {
    const known = costs.get(String(row.key)) ?? {};
    costs.set(String(row.key), { ...known, [String(row.currency)]: Number(row.amount) });
  }
  const rows = database.prepare(
    `SELECT ${key} AS key, COUNT(DISTINCT s.id) AS sessions, COUNT(*) AS requests, SUM(p.input) AS input,
       SUM(p.cached) AS cached, SUM(p.output) AS output, SUM(p.reasoning) AS reasoning,
       SUM(p.written) AS written,
       SUM(p.currency IS NULL) AS unpriced ${from} GROUP BY 1 ORDER BY 1`,
  );
  return rows.all(...values).map((row) => ({
    key: String(row.key),
    sessions: Number(row.sessions),
    requests: Number(row.requests),
    usage: {
      inputTokens: Number(row.input),
      cachedTokens: Number(row.cached),
      outputTokens: Number(row.output),
      reasoningTokens: Number(row.reasoning),
      ...(Number(row.written) > 0 ? { cacheWriteTokens: Number(row.written) } : {}),
    },
    costs: costs.get(String(row.key)) ?? {},
    unpriced: Number(row.unpriced),
  }));
}

/** A place where a request did not begin with the one before it. */
export interface CacheReset {
  readonly session: string;
  readonly seq: number;
  readonly time: string;
  /** "prefix": system prompt, tools or model; "fold" and "prune": a compaction. */
  readonly kind: string;
  readonly reason: string;
}

export function cacheResets(
  database: DatabaseSync,
  options: { readonly project?: string; readonly session?: string },
): CacheReset[] {
  const { project = null, session = null } = options;
  const rows = database.prepare(
    `SELECT s.session, r.seq, r.time, r.kind, r.reason FROM resets r JOIN sessions s ON s.id = r.session
     WHERE (?1 IS NULL OR s.project = ?1) AND (?2 IS NULL OR s.session = ?2) ORDER BY r.time, r.seq`,
  ).all(project, session);
  return rows.map((row) => ({
    session: String(row.session),
    seq: Number(row.seq),
    time: String(row.time),
    kind: String(row.kind),
    reason: String(row.reason),
  }));
}
