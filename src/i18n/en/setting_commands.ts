/** What slash commands say that change how the agent works. */
export const texts = {
  current: "current",
  comma: ", ",
  whichModel: "Which model?",
  window: (tokens: string) => `${tokens} tokens`,
  /** Per million tokens, in and out. */
  price: (rates: string, day: string) =>
    day === "" ? `${rates} per million` : `${rates} per million (${day})`,
  listModels: (provider: string) => `List what ${provider} offers …`,
  keyFound: (key: string) => `not configured; ${key} is there`,
  whichListed: (provider: string, count: number) => `Which of the ${count} models of ${provider}?`,
  noModelList: (provider: string, reason: string) => `Cannot list the models of ${provider}: ${reason}`,
  emptyList: "it has no list",
  writeModel: (provider: string) => `write the model into the entry of ${provider} in the configuration`,
  useModel: (name: string) => `Use ${name}? It is not in the configuration.`,
  useHere: "For this chat",
  useAndSave: "For this chat, and write it to my configuration",
  modelSaved: (name: string, file: string) => `${name} is saved in ${file}`,
  sameModel: (name: string) => `${name} is the model already`,
  modelIs: (name: string) => `The model is now ${name}, for this chat; nothing of it is cached there yet`,
  whichEffort: "How much may the model think?",
  effortIs: (level: string) => `The effort is ${level}`,
  vendorsOwn: "the vendor's own",
  noLevel: (level: string) => `Cannot use "${level}" as an effort: there is no such level`,
  levels: (names: string) =>
    `use one of ${names}; a word of the vendor's own goes into the efforts of its provider entry`,

  whichMode: (now: string) => `How should the agent work? Now: ${now}`,
  objectiveOf: "The goal:",
  modes: {
    normal: "you and the agent take turns",
    goal: "the agent works until a goal is reached",
    ask: "files change and commands run after you were asked",
    auto: "files change and commands run without a question, unless a rule asks",
    yolo: "asks only before destructive commands; deny rules still apply",
    "read-only": "nothing changes: only what reads may run",
    plan: "nothing changes: the agent looks around and proposes a plan",
    write: "files of the workspace may change",
  },
  noMode: (name: string) => `Cannot switch to "${name}": there is no such mode`,
  modesAre: (names: string) => `use one of ${names}`,
  reallyYolo: "Approve everything that no rule denies, for the rest of this session?\n" +
    "Destructive commands still require approval, and commands stay in the jail.",

  goal: {
    none: "There is no goal; set one with `/goal OBJECTIVE`",
    states: {
      active: "active",
      blocked: "blocked, needs you: `/goal resume` or a message continues",
      complete: "reached",
      stopped: "paused; `/goal resume` or a message continues",
      limit: "a limit was reached; `/goal resume` or a message continues",
      cleared: "cleared",
    },
    turns: (turns: number) => `${turns} ${turns === 1 ? "turn" : "turns"}`,
    badFlag: (flag: string) => `Cannot use "${flag}" before a goal`,
    flags: 'it takes --research, --simple, and --check "COMMAND" as often as needed',
    words: { show: "the goal and its state", resume: "continue", clear: "drop it" },
  },

  largeInput: {
    question: (tokens: string) => `This message has about ${tokens} tokens with its attachments. Send it?`,
    send: "Yes, send it",
    keep: "No, keep it in the input",
  },
  firstTodos: ["Understand the task and the code", "Make the changes", "Check the result"],

  verify: {
    question: "May these commands test what the agent changes? They run in the jail after turns that " +
      "change files:",
    row: (line: string, file: string, text: string) =>
      `  ${line}  (${file}${text === "" || text === line ? "" : `: ${text}`})`,
    yes: "Yes, from now on",
    yesMeans: "until the file says something else",
    no: "Not in this session",
    noMeans: "the changes are not verified",
    outcomes: { passed: "passed", failed: "failed", timeout: "did not end in time", skipped: "not run" },
  },

  plan: {
    on: "Plan mode is on: nothing changes until you approve a plan. Say what to do",
    off: "Plan mode is off",
    wasOff: "Plan mode is off already",
    states: {
      proposed: "waits for you: `/plan approve`, `/plan` asks again, or write what to change",
      approved: "approved, and not finished",
      revised: "to be changed",
      rejected: "dropped",
      finished: "carried out",
    },
    shown: (state: string, file: string) => `Plan: ${state}${file === "" ? "" : `\n\nSaved in ${file}`}`,
    none: "Cannot show a plan: this session has none yet",
    noneToApprove: "Cannot approve a plan: none was proposed",
    proposeFirst: "say what to do in plan mode: /plan TASK",
    how: {
      edits: "accept file changes from now on",
      ask: "ask as before",
    },
    words: {
      show: "the latest plan and what became of it",
      off: "leave plan mode; a plan that waits is dropped",
      approve: "carry out the plan that waits, or the last answer as one",
    },
  },

  which: {
    allow: "add an allow rule",
    ask: "add an ask rule",
    deny: "add a deny rule",
    remove: "remove a rule",
  },
  noRuleCommand: (text: string) => `Cannot carry out "/permissions ${text}"`,
  ruleCommands: "write /permissions allow RULE, ask RULE, deny RULE or remove RULE, " +
    "with a rule such as Bash(go test:*)",
  ruleAdded: (list: string, rule: string, file: string) =>
    `\`${list} ${rule}\` is in force, saved in ${file}`,
  ruleRemoved: (rule: string, file: string) => `\`${rule}\` is no longer in ${file}`,
  noRule: (rule: string) => `Cannot remove "${rule}": there is no such rule`,
  rulesListed: "/permissions lists them as they are written",
  notYours: (rule: string, place: string) => `Cannot remove "${rule}": it is in ${place}`,
  changeThere: "change it there",

  settingsHint: "/settings KEY shows one, /settings KEY VALUE saves it in your own file; " +
    "`reasonix docs config` explains them",
  settingSaved: (key: string, value: string, file: string) => `\`${key} = ${value}\` is saved in ${file}`,
  whichLanguage: "Which language?",
  noLanguage: (name: string) => `Cannot speak "${name}"`,
  languagesAre: (names: string) => `use one of ${names}`,
  languageIs: (name: string) => `The language of the interface is ${name}; what is on the screen stays`,
  languageLater: (variable: string) =>
    `Saved; but the variable ${variable} is set and goes first. Unset it to use the setting`,
  whichTheme: "Theme",
  noTheme: (name: string) => `Cannot use "${name}": there is no such theme`,
  themesAre: (names: string) => `use one of ${names}`,
  themeIs: (name: string) => `The theme is ${name}`,

  reallyInit: "AGENTS.md is there already. Let the model bring it up to date?",
};
