import type { Translate } from "../translate.ts";

/** Texts of the web page. */
export const texts = (t: Translate) => ({
  close: t`Close`,
  none: t`Choose a session, or begin a new one.`,
  noAnswer: t`The server gives no answer`,
  regions: { label: t`Regions`, sessions: t`Sessions`, chat: t`Conversation`, panels: t`Details` },
  theme: { label: t`Colors`, system: t`System`, light: t`Light`, dark: t`Dark`, contrast: t`High contrast` },
  connection: {
    live: t`Connected`,
    connecting: t`Connecting…`,
    offline: t`The server gives no answer. Trying again…`,
  },
  notify: t`Notify me`,
  signOut: t`Sign out`,
  sessions: {
    search: t`Search`,
    new: t`New session`,
    none: t`There are no sessions`,
    older: t`Show older sessions`,
    untitled: t`(no title)`,
    elsewhere: t`open in another program`,
    states: {
      working: t`working`,
      waiting: t`waiting for you`,
      done: t`done`,
      failed: t`failed`,
      idle: t`idle`,
    },
    actions: (title: string) => t`Actions for ${title}`,
    rename: t`Rename`,
    copy: t`Continue in a copy`,
    close: t`Close the session`,
    delete: t`Delete`,
    deleted: t`The session and everything that is kept for it will be deleted.`,
    begin: t`Begin`,
    directory: t`Directory`,
    title: t`Title`,
  },
  device: {
    add: t`Add a device`,
    owner: t`It may do everything`,
    viewer: t`It may only look`,
    code: t`QR code of the link`,
    link: t`Link`,
    make: t`Make a link`,
    once: t`The link signs in one browser: the first that opens it.`,
  },
  setup: {
    title: t`No model is set up yet`,
    text:
      t`Reasonix needs a provider of models, and usually a key for it. The questions come one after the other.`,
    begin: t`Set up`,
  },
  outdated: t`This page is older than its server. Reload it.`,
  signIn: {
    token: t`Token, or the link from the terminal`,
    password: t`Password`,
    send: t`Sign in`,
    help: t`The terminal in which the server runs shows a link that signs in one browser.`,
  },
  /** Rows that only the page has. */
  rows: {
    goal: {
      active: (goal: string) => t`goal: ${goal}`,
      blocked: (why: string) => t`the goal is blocked: ${why}`,
      complete: (result: string) => t`the goal is reached: ${result}`,
      stopped: (why: string) => t`the goal is paused: ${why}`,
      limit: (why: string) => t`the goal is at its limit: ${why}`,
      cleared: (goal: string) => t`the goal is dropped: ${goal}`,
    },
    hook: (event: string, command: string, outcome: string) => t`hook ${event} (${outcome}): ${command}`,
    server: (name: string, state: string) => t`MCP server ${name}: ${state}`,
  },
});
