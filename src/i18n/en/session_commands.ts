/** What slash commands about sessions say. */
export const texts = {
  began: "A new session has begun",
  beganAfter: (id: string) => `A new session has begun; to go back: \`/resume ${id}\``,
  nothingToClear: "There is nothing to clear: the session is empty",
  reallyClear: (turns: number) =>
    `Throw this session away for good, with its ${turns} ${turns === 1 ? "turn" : "turns"}?\n` +
    "Files stay as they are, but /undo will not reach them any more. /new keeps the session.",
  cleared: (id: string) => `Session ${id} is deleted; a new one has begun. What is remembered stays`,

  whichSession: "Go on with which session?",
  noTitle: "(no title)",
  forked: (id: string, from: string) => `You are now in ${id}, a copy of ${from}`,
  forkedHeadless: (id: string, from: string) =>
    `${id} is a copy of ${from}\nContinue with: reasonix run --resume ${id} "…"`,
  noNewTitle: "Cannot give the session an empty title",
  noNewTitleRemedy: "write it behind the command: /rename My title",
  renamed: (title: string) => `The session is now "${title}"`,

  /** Tokens before → after. */
  compacted: (messages: number, method: string, tokens: string) =>
    `Compacted ${messages} ${messages === 1 ? "message" : "messages"} (${method}): ${tokens} tokens`,
  nothingCompacted: (tokens: string) =>
    `Nothing was compacted: too little can be left out of ${tokens} tokens`,
  noBetterMethod: (problem: string) => `No better method worked: ${problem}`,
  archived: (figures: string, archive: string) => `${figures}; the originals are in ${archive}`,

  nothingToUndo: "There is no turn to take back",
  undone: (turn: number, prompt: string) =>
    `Turn ${turn} is taken back ("${prompt}"); \`/redo\` brings it back`,
  scopes: {
    both: "files and conversation",
    code: "files only",
    conversation: "conversation only",
  },
  rewound: (turn: number, what: string) =>
    `Back ${turn === 0 ? "before the first turn" : `at the end of turn ${turn}`} (${what}); ` +
    "`/redo` takes that back",
  redone: "Everything is as before the last undo or rewind",
  noTurn: (text: string) => `Cannot use "${text}" as a turn`,
  turnRemedy: "give its number; reasonix session show lists them",
  rewindRemedy: "give its number, then code or conversation if only that: /rewind 3 code",
  overwriteForeign: (paths: string) => `Changed by someone else since: ${paths}\nOverwrite that too?`,
  andMore: (paths: string, count: number) => `${paths} and ${count} more`,
  restored: { create: "created", update: "updated", delete: "deleted" },
  alsoByUser: " (had been changed by someone else since; /redo brings that back)",
  noFile: "No file had to be brought back",
  notRestored: (path: string, reason: string) => `cannot bring back \`${path}\`: ${reason}`,
  tooManyFiles:
    "Not covered: what commands changed, since the workspace has too many files; what tools wrote is",
  uncovered: (names: string) => `Not covered, ignored and too many files to keep: ${names}`,

  notSaved: (problem: string) => `The session is not on the disk: ${problem}`,
  saveFirst: "make room there or make it writable; the next turn saves all of it",
  reallyLose: (problem: string) => `Leave this session and lose it?\nIt is not on the disk: ${problem}`,
  otherName: "choose another name",
  exported: (file: string) => `The session is in ${file}`,
  noAnswer: "There is no answer to copy yet",
  noBlock: (text: string) => `Cannot copy code block "${text}" of the last answer`,
  blockCount: (count: number) => count === 0 ? "it has none" : `it has ${count}, counted from 1`,
  noClipboard: "Cannot reach a clipboard: there is neither a program for it nor a terminal to ask",
  noClipboardRemedy: "install wl-clipboard, xclip or xsel, or write the answer to a file: /export",
  copiedByTool: (characters: number, tool: string) => `Copied ${characters} characters with ${tool}`,
  copiedByTerminal: (characters: number) =>
    `Sent ${characters} characters to your terminal's clipboard (OSC 52); some terminals have that switched off`,
  copiedInPart: (sent: number, characters: number) =>
    `Sent the first ${sent} of ${characters} characters to your terminal's clipboard (OSC 52), ` +
    "which takes no more; /export writes all of it to a file",
};
