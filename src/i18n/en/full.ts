import type { Translate } from "../translate.ts";

/** The full-screen view of the chat. */
export const texts = (t: Translate) => ({
  nothing: t`No entries`,
  noFiles: t`The session has read or changed no file.`,
  levels: { warning: t`warnings and errors`, error: t`errors` },
  newEntries: (count: number) => t`${count} new`,
  more: t`… Enter shows all`,
  moreOf: (count: number) => t`… ${count} more`,
  changes: {
    created: t`new`,
    updated: t`changed`,
    unchanged: t`unchanged`,
    deleted: t`deleted`,
    moved: t`moved`,
    read: t`read`,
  },
  keys: {
    move: t`↑↓`,
    open: t`enter opens`,
    scroll: t`PgUp/PgDn scroll`,
    back: t`esc goes back`,
    copy: t`y copies`,
    level: t`l level`,
    source: t`s source`,
    content: t`c diff or content`,
  },
  bar: {
    untitled: t`New session`,
    effort: (level: string) => t`effort ${level}`,
    ways: { plan: t`plan mode`, goal: t`goal mode` },
    used: (tokens: string, window: string) => t`${tokens} of ${window} tokens`,
    tokens: (prompt: string, completion: string, thinking: string) =>
      t`${prompt} in, ${completion} out, ${thinking} thinking`,
    todo: (done: number, all: number) => t`todo · ${done} of ${all} done`,
    files: (count: number) => count === 1 ? t`1 changed file` : t`${count} changed files`,
  },
  palette: {
    title: t`Commands, sessions, models, files`,
    kinds: { session: t`session`, model: t`model`, file: t`file` },
  },
});
