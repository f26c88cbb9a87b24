import { command, flag, type FlagsOf, JSON_FLAG, option, setting } from "../command.ts";
import { outputWidth } from "../terminal/display.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { usageError } from "../../src/core/mod.ts";
import { loadStatsReports } from "../../src/reports/mod.ts";
import { type CacheReset, loadIndex, projectDir } from "../../src/session/mod.ts";

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
  else {
    const { cacheText, statsText } = await loadStatsReports();
    this.process.stdout.write(
      resets === undefined ? statsText(rows, flags.by) : cacheText(rows, resets, outputWidth()),
    );
  }
}

/** A session that begins has nothing cached to lose. */
function isStart({ kind, reason }: CacheReset): boolean {
  return kind === "prefix" && reason === "start";
}

function day(text: string): string {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  if (date && !isNaN(date.getTime()) && date.toISOString().startsWith(text)) return text;
  throw usageError(`Cannot use "${text}" for --since: give a day such as 2026-01-31`);
}

export const statsCommand = command({ flags: FLAGS, run: stats });
