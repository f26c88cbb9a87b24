import type { Translate } from "../translate.ts";

/** The full-screen view of the chat. */
export const texts = (t: Translate) => ({
  panels: { side: t`Session`, chat: t`Chat`, files: t`Files`, log: t`Log` },
  hints: {
    panels: t`Tab panels`,
    commands: t`Ctrl+P commands`,
    keys: t`? keys`,
    back: t`Esc message`,
    matches: t`n/N matches`,
    mouse: t`/settings ui.mouse false: select with the mouse`,
  },
  follow: t`End follows`,
  newLines: (count: string) => count === "1" ? t`1 new line` : t`${count} new lines`,
  notFound: t`not found`,
  keysTitle: t`Keys of the full-screen view`,
  keys: {
    panels: t`next or previous panel, when the message is empty or a panel has the focus`,
    back: t`back to the message; there it stops the turn`,
    palette: t`commands, sessions, models and files`,
    search: t`search in the panel`,
    matches: t`next or previous match`,
    move: t`one row up or down`,
    page: t`one page up or down; of the conversation while the message has the focus`,
    ends: t`to the beginning or the end; the end of the conversation follows it again`,
    open: t`open or close the entry under the cursor`,
    copy: t`copy the entry under the cursor`,
    side: t`show or hide the side bar`,
    mode: t`next approval mode; Shift+Tab while the message has text`,
    redraw: t`draw everything again`,
    help: t`these keys`,
    answers: t`answer a question: yes, no, allow more; destructive calls need y and Enter`,
  },
});
