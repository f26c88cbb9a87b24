/** Questions and lists that own the keyboard while they are open. */
export const texts = {
  hints: {
    move: "↑↓",
    mark: "space marks",
    choose: "enter chooses",
    scroll: "PgUp/PgDn scroll",
    leave: "esc leaves",
    stop: "esc denies and stops",
    leaveReading: "q or esc leaves",
    send: "enter sends",
    back: "esc goes back",
  },
  lines: (first: number, last: number, all: number) => `… lines ${first}–${last} of ${all}`,
  filter: "type to filter",
  moreLines: (count: number) => `… ${count} more lines`,
  noText: "There is no text to compare",
  yes: "Yes",
  no: "No",

  approval: {
    allow: (tool: string) => `Allow ${tool}?`,
    run: "Run this command?",
    destructive: "Destructive. Run it?",
    escape: "Run it once more, without the jail?",
    escapeWhy: (evidence: string) =>
      `The jail seems to have stopped it: ${evidence}. That is a guess from its output, which the command ` +
      "itself may have made up.",
    escapeMeans:
      "Without the jail it reads, writes and connects to whatever you can; it runs from its beginning.",
    files: (count: string, more: boolean) => more ? `at least ${count} files` : `${count} files`,
    moreTargets: (count: number) => `and ${count} more`,
    leftOut: (shown: string, all: string) =>
      `Only the first ${shown} of ${all} characters are shown. Nobody has checked the rest`,
    looking: "Looking at what this would do …",
    changes: {
      created: "created",
      updated: "updated",
      unchanged: "unchanged",
      deleted: "deleted",
      moved: "moved",
    },
    wouldFail: (problem: string) => `As it is, this call would fail: ${problem}`,
    once: "Yes, once",
    session: (scope: string) => `Yes, and for the rest of this session: ${scope}`,
    sessionCall: "Yes, and exactly this call for the rest of this session",
    sessionEdits: "Yes, and all file changes in the workspace for the rest of this session",
    project: (rule: string) => `Yes, always in this project: ${rule}`,
    always: (rule: string) => `Yes, always everywhere: ${rule}`,
    editRule: "Yes, always everywhere by a rule of your own words",
    unreadableRule: (message: string, remedy: string) => `${message}; ${remedy}`,
    ruleElsewhere: (rule: string) => `${rule} does not allow this call: write one that does`,
    widerRule: (rule: string, widest: string) =>
      `${rule} allows more than an answer may; the widest is ${widest}, others are added with /permissions`,
    keptOutside: "kept for you alone, outside of it",
    savedIn: (file: string) => `saved in ${file}`,
    alwaysTool: (tool: string) => `Yes, always believe ${tool}`,
    deny: "No",
    note: "No, and tell the model why",
    unconfined: "Yes, once without the jail",
  },

  ask: {
    of: (at: number, all: number) => `Question ${at} of ${all}`,
    ownWords: "Something else, in your own words",
    writeIt: "Write it",
  },

  plan: {
    title: "Carry out this plan?",
    isAbove: "It is above in full",
    readTitle: "The plan",
    yes: "Yes; nothing is asked until this turn is over",
    edits: "Yes, and file changes are not asked about afterwards either",
    asking: "Yes, but ask me as before",
    change: "Yes, with changes of mine",
    look: "Read it here",
    note: "No, change it: tell the model how",
    revise: "Say what to change",
    empty: "The plan is empty",
    leave: "Not yet; stay in plan mode",
  },

  sessions: {
    title: (count: number) => `Go on with which session? ${count} of this directory`,
    titleAll: (count: number) => `Go on with which session? ${count} of all directories`,
    everywhere: "Show the sessions of all directories",
    onlyHere: "Show only the sessions of this directory",
    untitled: "(no title)",
    turns: (count: number) => count === 1 ? "1 turn" : `${count} turns`,
    first: "First:",
    last: "Last:",
  },

  turns: {
    title: "Go back to which moment?",
    after: (turn: number, prompt: string) => `After turn ${turn}: ${prompt}`,
    before: "Before the first turn",
    what: "Bring back what?",
    both: "Files and conversation",
    code: "Files only",
    conversation: "Conversation only",
    leaves: (count: number) =>
      count === 0
        ? "Leaves no turn behind"
        : count === 1
        ? "Leaves 1 turn behind"
        : `Leaves ${count} turns behind`,
    noFiles: "No file has changed since",
    files: (count: number) => count === 1 ? "1 file to bring back" : `${count} files to bring back`,
    moreFiles: (count: number) => `  and ${count} more`,
    actions: { create: "create", update: "update", delete: "delete" },
  },

  settings: {
    title: "Settings\nWhat you choose is saved in your own file; its comments stay.",
    unset: "not set",
    automatic: "as the system says",
    change: (key: string, value: string) => `${key}\nNow: ${value}`,
  },

  rules: {
    title: "Permission rules",
    add: "Add a rule",
    thisSession: "this session",
    thisProject: "this project alone",
    waiting: "not in force until trusted",
    elsewhere: (place: string) => `This rule stands in ${place}; change it there.`,
    remove: (rule: string) => `Remove the rule ${rule}?`,
    which: "What shall the rule do?",
    allowSession: "Allow without a question, until this session ends",
    allowProject: "Allow without a question, always in this project",
    allow: "Allow without a question, always",
    ask: "Ask each time",
    deny: "Refuse",
    write: "Which calls?",
    example: "For example Bash(go test:*), Edit(docs/**) or Read(secrets/**)",
  },

  trust: {
    title: "Use what this project brings?",
    all: "Yes, trust it as it is now",
    later: "Not now; go on without it",
    details: "Show it in full",
    detailsTitle: "What this project brings",
    shell: (program: string) => `every command would be run by ${program}`,
    entry: (kind: string, name: string, reason: string) => `${kind} ${name}: ${reason}`,
    allow: (rule: string) => `without a question would be allowed: ${rule}`,
    write: (directory: string) => `commands and tools could write in ${directory}`,
    connect: (host: string) => `commands could connect to ${host}`,
  },
};
