import type { Translate } from "../translate.ts";

/** The full-screen view of the chat. */
export const texts = (t: Translate) => ({
  panels: { chat: t`Chat`, files: t`Files`, log: t`Log` },
});
