import type { Translate } from "../../translate.ts";

/** Texts of `reasonix run --tasks` on standard error. */
export const texts = (t: Translate) => ({
  continues: (finished: number, all: number) => t`${finished} of ${all} tasks were finished before`,
  /** One task has ended. */
  ended: (place: string, id: string, how: string) => t`${place} ${id}: ${how}`,
  done: t`done`,
  reasons: {
    check: t`a check failed`,
    repository: t`the repository cannot be fetched`,
    setup: t`the setup failed`,
    failed: t`failed`,
    usage: t`cannot run`,
    blocked: t`blocked`,
    limit: t`limit reached`,
    provider: t`the provider failed`,
    config: t`the configuration cannot be used`,
    findings: t`findings`,
    interrupt: t`interrupted`,
    terminated: t`ended before its time`,
  },
  inContainer: (mark: string, why: string) =>
    t`The container that this runs in (${mark}) confines commands, without a jail (${why})`,
  imagesIgnored: (count: number) =>
    count === 1
      ? t`1 task names a container image, which a run on this machine does not use`
      : t`${count} tasks name a container image, which a run on this machine does not use`,
  bar: (ended: number, all: number, failed: number, running: number) =>
    [`${ended}/${all}`, failed > 0 ? t`${failed} failed` : "", running > 0 ? t`${running} running` : ""]
      .filter((part) => part !== "").join(" · "),
  summary: (done: number, all: number, failed: number) =>
    failed > 0 ? t`${done} of ${all} tasks done, ${failed} not` : t`${done} of ${all} tasks done`,
  open: (count: number) => t`${count} not finished; to continue, run the same command again`,
  indexFrom: (index: string, file: string, variable: string) =>
    t`Task ${index} of ${file}, as ${variable} says`,
  otherWasFirst: (id: string) =>
    t`${id}: another runner was first; its result counts, and this one is dropped`,
  attempted: (count: number) => t`${count} open after an attempt`,
  missing: (count: number, ids: string) => t`${count} without a result: ${ids}`,
  running: (count: number, tasks: string) => t`${count} running: ${tasks}`,
  silent: (count: number, tasks: string) =>
    t`${count} begun, whose runner gave no sign for minutes: ${tasks}`,
  begun: (id: string, minutes: number, host: string) => t`${id} (started ${minutes} min ago on ${host})`,
  secretsIn: (file: string, names: string) =>
    t`"env" in ${file} has secrets, which are not written here and which each reader of the file has: ${names}`,
  andMore: (list: string, count: number) => t`${list} and ${count} more`,
  span: (from: string, to: string) => t`from ${from} to ${to}`,
  countsAsMissing: (problem: string) => t`${problem}; it counts as missing`,
  costLimit: (limit: number) =>
    t`the cost limit of ${limit} for all tasks is reached; continue with a higher --max-cost`,
});
