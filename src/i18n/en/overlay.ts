/** Questions and lists that own the keyboard while they are open. */
export const texts = {
  hints: {
    move: "↑↓",
    mark: "space marks",
    choose: "enter chooses",
    scroll: "PgUp/PgDn scroll",
    leave: "esc leaves",
    send: "enter sends",
    back: "esc goes back",
  },
  lines: (first: number, last: number, all: number) => `… lines ${first}–${last} of ${all}`,
  filter: "type to filter",
  yes: "Yes",
  no: "No",

  approval: {
    allow: (tool: string) => `Allow ${tool}?`,
    run: "Run this command?",
    destructive: "This command destroys something. Run it?",
    escape: "Run it once more, without the jail?",
    escapeWhy: (evidence: string) =>
      `The jail seems to have stopped it: ${evidence}. That is a guess from its output, which the command ` +
      "itself may have made up.",
    escapeMeans:
      "Without the jail it reads, writes and connects to whatever you can; it runs from its beginning.",
    files: (count: string, more: boolean) => more ? `at least ${count} files` : `${count} files`,
    moreTargets: (count: number) => `and ${count} more`,
    wouldFail: (problem: string) => `As it is, this call would fail: ${problem}`,
    once: "Yes, once",
    session: (scope: string) => `Yes, and for the rest of this session: ${scope}`,
    sessionCall: "Yes, and exactly this call for the rest of this session",
    sessionEdits: "Yes, and all file changes in the workspace for the rest of this session",
    always: (rule: string) => `Yes, always: ${rule}`,
    savedIn: (file: string) => `saved in ${file}`,
    alwaysTool: (tool: string) => `Yes, always believe ${tool}`,
    deny: "No",
    note: "No, and tell the model why",
    unconfined: "Yes, once without the jail",
  },

  ask: {
    of: (at: number, all: number) => `Question ${at} of ${all}`,
    ownWords: "Something else, in your own words",
  },

  trust: {
    title: "Use what this project brings?",
    all: "Yes, trust it as it is now",
    later: "Not now; go on without it",
    details: "Show it in full",
    detailsTitle: "What this project brings",
  },
};
