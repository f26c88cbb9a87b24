import type { Translate } from "../translate.ts";

/** Texts of slash commands that change how the agent works. */
export const texts = (t: Translate) => ({
  current: t`current`,
  comma: t`, `,
  whichModel: t`Which model?`,
  window: (tokens: string) => t`${tokens} tokens`,
  /** Per million tokens, in and out. */
  price: (rates: string, day: string) =>
    day === "" ? t`${rates} per million` : t`${rates} per million (${day})`,
  listModels: (provider: string) => t`List what ${provider} offers …`,
  keyFound: (key: string) => t`not configured; ${key} is there`,
  whichListed: (provider: string, count: number) => t`Which of the ${count} models of ${provider}?`,
  noModelList: (provider: string, reason: string) => t`Cannot list the models of ${provider}: ${reason}`,
  emptyList: t`it has no list`,
  writeModel: (provider: string) => t`write the model into the entry of ${provider} in the configuration`,
  useModel: (name: string) => t`Use ${name}? It is not in the configuration.`,
  useHere: t`For this chat`,
  useAndSave: t`For this chat, and write it to my configuration`,
  modelSaved: (name: string, file: string) => t`${name} is saved in ${file}`,
  setup: {
    notHere: t`Cannot set up a provider from here`,
    notHereRemedy: t`run \`reasonix setup\` in a terminal`,
    done: t`The model of this session stays; /model chooses another one`,
  },
  sameModel: (name: string) => t`${name} is the model already`,
  modelIs: (name: string) => t`The model is now ${name}, for this chat; nothing of it is cached there yet`,
  whichEffort: t`How much may the model think?`,
  effortIs: (level: string) => t`The effort is ${level}`,
  vendorsOwn: t`the vendor's own`,
  noLevel: (level: string) => t`Cannot use "${level}" as an effort: there is no such level`,
  levels: (names: string) =>
    t`use one of ${names}; a word of the vendor's own goes into the efforts of its provider entry`,

  whichMode: (now: string) => t`How should the agent work? Now: ${now}`,
  objectiveOf: t`The goal:`,
  modes: {
    normal: t`you and the agent take turns`,
    goal: t`the agent works until a goal is reached`,
    ask: t`files change and commands run after you were asked`,
    auto: t`files change and commands run without a question, unless a rule asks`,
    yolo: t`asks only before destructive commands; deny rules still apply`,
    "read-only": t`nothing changes: only what reads may run`,
    plan: t`nothing changes: the agent looks around and proposes a plan`,
    write: t`files of the workspace may change`,
  },
  /** Lists that a front end shows in menus. */
  settings: {
    mode: t`Mode`,
    approval: t`Approval`,
    collaboration: t`Way of working`,
    model: t`Model`,
    effort: t`Effort`,
    vendors: t`Default`,
    modes: {
      normal: t`Normal`,
      goal: t`Goal`,
      ask: t`Ask`,
      auto: t`Auto`,
      yolo: t`Yolo`,
      "full-access": t`Full access`,
      plan: t`Plan`,
      "read-only": t`Read-only`,
    },
    fullAccess: t`asks only before destructive commands; commands run without a jail`,
  },
  noMode: (name: string) => t`Cannot switch to "${name}": there is no such mode`,
  modesAre: (names: string) => t`use one of ${names}`,
  reallyYolo:
    t`Approve everything that no rule denies, for the rest of this session?\nDestructive commands still require approval, and commands stay in the jail.`,

  goal: {
    none: t`There is no goal; set one with \`/goal OBJECTIVE\``,
    states: {
      active: t`active`,
      blocked: t`blocked, needs you: \`/goal resume\` or a message continues`,
      complete: t`reached`,
      stopped: t`paused; \`/goal resume\` or a message continues`,
      limit: t`a limit was reached; \`/goal resume\` or a message continues`,
      cleared: t`cleared`,
    },
    turns: (turns: number) => turns === 1 ? t`1 turn` : t`${turns} turns`,
    badFlag: (flag: string) => t`Cannot use "${flag}" before a goal`,
    flags: t`it takes --research, --simple, and --check "COMMAND" as often as needed`,
    words: { show: t`the goal and its state`, resume: t`continue`, clear: t`drop it` },
  },

  largeInput: {
    question: (tokens: string) => t`This message has about ${tokens} tokens with its attachments. Send it?`,
    send: t`Yes, send it`,
    keep: t`No, keep it in the input`,
  },
  firstTodos: [t`Understand the task and the code`, t`Make the changes`, t`Check the result`],

  review: {
    words: {
      "--base": t`what came since a branch`,
      "--commit": t`one commit`,
      "--pr": t`a pull request, by its number`,
      "--uncommitted": t`everything that is not committed`,
      "--incremental": t`only what came since the last review`,
      "--whole": t`findings outside of the changed lines, too`,
    },
  },
  verify: {
    question:
      t`May these commands test what the agent changes? They run in the jail after turns that change files:`,
    row: (line: string, file: string, text: string) =>
      text === "" || text === line ? t`  ${line}  (${file})` : t`  ${line}  (${file}: ${text})`,
    yes: t`Yes, from now on`,
    yesMeans: t`until the file says something else`,
    no: t`Not in this session`,
    noMeans: t`the changes are not verified`,
    outcomes: { passed: t`passed`, failed: t`failed`, timeout: t`did not end in time`, skipped: t`not run` },
  },

  plan: {
    on: t`Plan mode is on: nothing changes until you approve a plan. Say what to do`,
    off: t`Plan mode is off`,
    wasOff: t`Plan mode is off already`,
    states: {
      proposed: t`waits for you: \`/plan approve\`, \`/plan\` asks again, or write what to change`,
      approved: t`approved, and not finished`,
      revised: t`to be changed`,
      rejected: t`dropped`,
      finished: t`carried out`,
    },
    shown: (state: string, file: string) =>
      file === "" ? t`Plan: ${state}` : t`Plan: ${state}\n\nSaved in ${file}`,
    none: t`Cannot show a plan: this session has none yet`,
    noneToApprove: t`Cannot approve a plan: none was proposed`,
    proposeFirst: t`say what to do in plan mode: /plan TASK`,
    how: {
      edits: t`accept file changes from now on`,
      ask: t`ask as before`,
    },
    words: {
      show: t`the latest plan and what became of it`,
      off: t`leave plan mode; a plan that waits is dropped`,
      approve: t`carry out the plan that waits, or the last answer as one`,
    },
  },

  which: {
    allow: t`add an allow rule`,
    ask: t`add an ask rule`,
    deny: t`add a deny rule`,
    remove: t`remove a rule`,
  },
  noRuleCommand: (text: string) => t`Cannot carry out "/permissions ${text}"`,
  ruleCommands:
    t`write /permissions allow RULE, ask RULE, deny RULE or remove RULE, with a rule such as Bash(go test:*)`,
  ruleAdded: (list: string, rule: string, file: string) =>
    t`\`${list} ${rule}\` is in force, saved in ${file}`,
  ruleRemoved: (rule: string, file: string) => t`\`${rule}\` is no longer in ${file}`,
  noRule: (rule: string) => t`Cannot remove "${rule}": there is no such rule`,
  rulesListed: t`/permissions lists them as they are written`,
  notYours: (rule: string, place: string) => t`Cannot remove "${rule}": it is in ${place}`,
  changeThere: t`change it there`,

  settingsHint:
    t`/settings KEY shows one, /settings KEY VALUE saves it in your own file; \`reasonix docs config\` explains them`,
  settingSaved: (key: string, value: string, file: string) => t`\`${key} = ${value}\` is saved in ${file}`,
  whichLanguage: t`Which language?`,
  noLanguage: (name: string) => t`Cannot speak "${name}"`,
  languagesAre: (names: string) => t`use one of ${names}`,
  languageIs: (name: string) => t`The language of the interface is ${name}; what is on the screen stays`,
  languageLater: (variable: string) =>
    t`Saved; but the variable ${variable} is set and goes first. Unset it to use the setting`,
  whichTheme: t`Theme`,
  noTheme: (name: string) => t`Cannot use "${name}": there is no such theme`,
  themesAre: (names: string) => t`use one of ${names}`,
  themeIs: (name: string) => t`The theme is ${name}`,

  reallyInit: t`AGENTS.md is there already. Let the model bring it up to date?`,
});
