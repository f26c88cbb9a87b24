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
});
