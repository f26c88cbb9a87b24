/** What `reasonix run --tasks` says on standard error. */
export const texts = {
  goesOn: (finished: number, all: number) => `${finished} of ${all} tasks were finished before`,
  /** One task has ended. */
  ended: (place: string, id: string, how: string) => `${place} ${id}: ${how}`,
  done: "done",
  reasons: {
    check: "a check failed",
    failed: "failed",
    usage: "cannot run",
    blocked: "blocked",
    limit: "limit reached",
    provider: "the provider failed",
    config: "the configuration cannot be used",
    interrupt: "interrupted",
    terminated: "ended before its time",
  },
  bar: (ended: number, all: number, failed: number, running: number) =>
    `${ended}/${all}${failed > 0 ? ` · ${failed} failed` : ""}${running > 0 ? ` · ${running} running` : ""}`,
  summary: (done: number, all: number, failed: number) =>
    `${done} of ${all} tasks done${failed > 0 ? `, ${failed} not` : ""}`,
  open: (count: number) => `${count} not finished; to continue, run the same command again`,
  costLimit: (limit: number) =>
    `the cost limit of ${limit} for all tasks is reached; continue with a higher --max-cost`,
};
