import type { Translate } from "../translate.ts";

/** Texts of slash commands that only report. */
export const texts = (t: Translate) => ({
  groups: {
    first: t`Most used`,
    session: t`Session`,
    work: t`Work`,
    reports: t`Reports`,
    extensions: t`Extensions`,
    settings: t`Settings`,
  },
  allHelp: t`/help all explains all of them, /help NAME one.`,
  moreHelp: t`/help NAME explains a command and what can follow it.`,
  ownCommands: t`Your commands`,
  skills: t`Skills`,
  serverPrompts: t`Prompts of MCP servers`,
  otherLines:
    t`A line of its own: @path gives the model a file, !command runs a shell line, # fact remembers something.`,
  keysAre: t`/help keys lists the keys.`,
  alsoCalled: (names: string) => t`Also: ${names}`,
  from: (origin: string) => t`From ${origin}`,
  noHelp: (name: string) => t`Cannot explain "${name}": there is no such command`,
  meant: (names: string) => t`did you mean ${names}?`,
  helpListsAll: t`/help lists all of them`,

  noTodos: t`The agent has no list of things to do`,

  nothingSpent: t`Nothing was spent yet`,
  model: t`model`,
  modes: t`modes`,
  sandbox: t`sandbox`,
  sandboxOn: t`commands run in the sandbox; /sandbox shows its limits`,
  sandboxOff: t`off: commands can do what you can; /sandbox says why`,
  turns: t`turns`,
  tokensIn: t`tokens in`,
  tokensOut: t`tokens out`,
  cachedPart: (tokens: string, cached: string, share: string) => t`${tokens} (${cached} cached, ${share})`,
  thoughtPart: (tokens: string, thought: string) => t`${tokens} (${thought} thinking)`,
  cost: t`cost`,
  prices: t`prices`,
  ratesOf: (input: string, cached: string, written: string, output: string) =>
    t`${input} in, ${cached} cached, ${written} written, ${output} out`,
  perMillion: (rates: string, currency: string) => t`${rates}, ${currency} per million tokens`,
  longCostMore: (tokens: string) => t`more where the input is above ${tokens} tokens`,
  lastTurn: t`last turn`,
  unknown: t`unknown`,
  time: t`time`,
  seconds: (seconds: string) => t`${seconds} s`,

  agents: {
    skill: t`skill`,
    readOnly: t`read-only`,
    model: (name: string) => t`model ${name}`,
    worktree: t`separate worktree`,
    untrusted: t`not trusted (reasonix trust)`,
  },
  hooks: {
    none: t`No hooks here; \`reasonix docs hooks\` says how to write one`,
    states: { on: t`on`, untrusted: t`not trusted`, broken: t`broken` },
    closed: t`refuses when it fails`,
    noLimit: t`no time limit`,
    confined: t`in the jail`,
  },
  skillList: {
    untrusted: t`scripts not trusted (reasonix trust)`,
    shadowed: (file: string, name: string) => t`not used: ${file} (another skill named ${name} comes first)`,
    none: (roots: string, configured: string) =>
      configured === ""
        ? t`No skills here. Looked in ${roots} from this directory up to the repository root, in your home directory`
        : t`No skills here. Looked in ${roots} from this directory up to the repository root, in your home directory, in ${configured}`,
    unusedDirectory:
      t`The directory skills/ is used with: reasonix config set --local skills.paths '["skills"]'`,
  },
  scopes: { project: t`project`, global: t`everywhere`, user: t`yours`, configured: t`configured` },
  noMemory: t`Nothing is remembered here. A line that begins with # and a space remembers a fact`,
  memoryHint: t`\`/memory NAME\` shows one, \`/memory forget NAME\` takes it out of use`,
  memoryOff: t`Cannot use the memory: this session has none`,
  archiveHint: (count: number) =>
    count === 1
      ? t`1 forgotten fact is kept: \`/memory archive\``
      : t`${count} forgotten facts are kept: \`/memory archive\``,
  archiveEmpty: t`No forgotten fact is kept`,
  archivedOn: (day: string) => t`forgotten on ${day}`,
  notArchived: (name: string) => t`Cannot show "${name}": it is not among the forgotten facts`,
  archiveRemedy: t`use /memory archive to list them`,
  forgotten: (name: string, archived: string) => t`Forgotten: ${name}; it is kept in ${archived}`,

  changedFiles: (count: number) =>
    count === 1 ? t`This session changed 1 file` : t`This session changed ${count} files`,
  noChanges: t`This session has changed no file`,
  notChanged: (path: string) => t`Cannot show "${path}": this session did not change it`,
  changedAre: (names: string) => t`it changed ${names}`,
  actions: { create: t`created`, update: t`changed`, delete: t`deleted` },
  noText: t`no text to compare`,
  askFor: (path: string) => t`shown by \`/diff ${path}\``,
  restOf: (lines: number, path: string) => t`… ${lines} more lines: \`/diff ${path}\``,

  bugHint: t`Nothing was sent. \`/bug FILE\` writes this to a file; read it before you attach it to an issue`,
  bugWritten: (file: string) =>
    t`The report is in ${file}. Nothing was sent; read it before you attach it to an issue`,
  cannotWrite: (file: string, reason: string) => t`Cannot write ${file}: ${reason}`,
  exists: t`it exists already`,
  otherName: t`choose another name`,

  session: t`session`,
  directory: t`directory`,
  effort: t`effort`,
  context: t`context`,
  ofWindow: (tokens: string, window: string) => t`${tokens} of ${window} tokens`,
  cacheHit: t`cache hit`,
  instructions: t`instructions`,
  configuration: t`configuration`,
  problem: t`problem`,
  mcpServers: t`MCP servers`,
  notUsed: t`Not used`,
  builtinWins: (file: string, name: string) =>
    t`${file}: \`/${name}\` is a command of the program, which comes first`,

  contextReport: {
    windowUnknown: t`window unknown`,
    share: (percent: string, window: string) => t`${percent} % of ${window}`,
    total: {
      reported: (model: string, tokens: string, share: string) =>
        t`${model}: ${tokens} tokens by the server's count, ${share}`,
      estimated: (model: string, tokens: string, share: string) =>
        t`${model}: about ${tokens} tokens, ${share}`,
    },
    compactsAt: (tokens: string) => t`compacts at ${tokens} tokens`,
    categories: {
      "system prompt": t`system prompt`,
      "instructions": t`instructions`,
      "skills": t`skills`,
      "tools": t`tools`,
      "environment and notes": t`environment and notes`,
      "user": t`user`,
      "summaries": t`summaries`,
      "assistant": t`assistant`,
      "tool results": t`tool results`,
    },
    kinds: {
      "supplemental prompt": t`supplemental prompt of`,
      "instructions": t`instructions`,
      "late instructions": t`late instructions`,
      "skill": t`skill`,
      "active skill": t`active skill`,
      "MCP server": t`MCP server`,
      "MCP index": t`MCP index`,
    },
    shadowed: (path: string, by: string) => t`not used: ${path} (${by} comes first)`,
  },
});
