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
