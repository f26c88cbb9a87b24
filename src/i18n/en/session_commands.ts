import type { Translate } from "../translate.ts";

/** Texts of slash commands about sessions. */
export const texts = (t: Translate) => ({
  began: t`A new session has begun`,
  beganAfter: (id: string) => t`A new session has begun; to go back: \`/resume ${id}\``,
  nothingToClear: t`There is nothing to clear: the session is empty`,
  reallyClear: (turns: number) =>
    (turns === 1
      ? t`Delete this session with its 1 turn?`
      : t`Delete this session with its ${turns} turns?`) +
    "\n" + t`Files stay as they are, but /undo can no longer restore them. /new keeps the session.`,
  cleared: (id: string) => t`Session ${id} is deleted; a new one has begun. What is remembered stays`,

  web: {
    words: { share: t`a link that can only look`, off: t`close the page` },
    unknown: (argument: string) => t`Cannot run /web ${argument}: there is no such action`,
    unknownRemedy: t`use /web, /web share or /web off`,
    notHere: t`Cannot open the web page from here`,
    notHereRemedy: t`use the chat on a terminal, or run \`reasonix web\``,
  },

  view: {
    words: { full: t`the whole screen, with files and log`, scroll: t`below the scrollback of the terminal` },
    unknown: (argument: string) => t`Cannot run /view ${argument}: there is no such view`,
    unknownRemedy: t`use /view, /view full or /view scroll`,
    notHere: t`Cannot change the view here`,
    notHereRemedy: t`use the chat on a terminal`,
  },

  whichSession: t`Go on with which session?`,
  noTitle: t`(no title)`,
  forked: (id: string, from: string) => t`You are now in ${id}, a copy of ${from}`,
  forkedHeadless: (id: string, from: string) =>
    t`${id} is a copy of ${from}\nContinue with: reasonix run --resume ${id} "…"`,
  noNewTitle: t`Cannot give the session an empty title`,
  noNewTitleRemedy: t`write it behind the command: /rename My title`,
  renamed: (title: string) => t`The session is now "${title}"`,

  /** Tokens before → after. */
  compacted: (messages: number, method: string, tokens: string) =>
    messages === 1
      ? t`Compacted 1 message (${method}): ${tokens} tokens`
      : t`Compacted ${messages} messages (${method}): ${tokens} tokens`,
  nothingCompacted: (tokens: string) =>
    t`Nothing was compacted: too little can be left out of ${tokens} tokens`,
  noBetterMethod: (problem: string) => t`No better method worked: ${problem}`,
  archived: (figures: string, archive: string) => t`${figures}; the originals are in ${archive}`,

  nothingToUndo: t`There is no turn to take back`,
  undone: (turn: number, prompt: string) =>
    t`Turn ${turn} is taken back ("${prompt}"); \`/redo\` brings it back`,
  scopes: {
    both: t`files and conversation`,
    code: t`files only`,
    conversation: t`conversation only`,
  },
  rewound: (turn: number, what: string) =>
    turn === 0
      ? t`Back before the first turn (${what}); \`/redo\` takes that back`
      : t`Back at the end of turn ${turn} (${what}); \`/redo\` takes that back`,
  redone: t`Everything is as before the last undo or rewind`,
  noTurn: (text: string) => t`Cannot use "${text}" as a turn`,
  turnRemedy: t`give its number; reasonix session show lists them`,
  rewindRemedy: t`give its number, then code or conversation if only that: /rewind 3 code`,
  overwriteForeign: (paths: string) => t`Changed by someone else since: ${paths}\nOverwrite that too?`,
  andMore: (paths: string, count: number) => t`${paths} and ${count} more`,
  restored: { create: t`created`, update: t`updated`, delete: t`deleted` },
  alsoByUser: t` (had been changed by someone else since; /redo brings that back)`,
  noFile: t`No file had to be brought back`,
  notRestored: (path: string, reason: string) => t`cannot bring back \`${path}\`: ${reason}`,
  tooManyFiles:
    t`Not covered: what commands changed, since the workspace has too many files; what tools wrote is`,
  uncovered: (names: string) => t`Not covered, ignored and too many files to keep: ${names}`,

  notSaved: (problem: string) => t`The session is not on the disk: ${problem}`,
  saveFirst: t`make room there or make it writable; the next turn saves all of it`,
  reallyLose: (problem: string) => t`Leave this session and lose it?\nIt is not on the disk: ${problem}`,
  otherName: t`choose another name`,
  exported: (file: string) => t`The session is in ${file}`,
  noAnswer: t`There is no answer to copy yet`,
  noBlock: (text: string) => t`Cannot copy code block "${text}" of the last answer`,
  blockCount: (count: number) => count === 0 ? t`it has none` : t`it has ${count}, counted from 1`,
  noClipboard: t`Cannot reach a clipboard: there is neither a program for it nor a terminal to ask`,
  noClipboardRemedy: t`install wl-clipboard, xclip or xsel, or write the answer to a file: /export`,
  copiedByTool: (characters: number, tool: string) => t`Copied ${characters} characters with ${tool}`,
  copiedByTerminal: (characters: number) =>
    t`Sent ${characters} characters to your terminal's clipboard (OSC 52); some terminals have that switched off`,
  copiedInPart: (sent: number, characters: number) =>
    t`Sent the first ${sent} of ${characters} characters to your terminal's clipboard (OSC 52), which takes no more; /export writes all of it to a file`,
});
