/** What slash commands say that only report. */
export const texts = {
  groups: {
    first: "Most used",
    session: "Session",
    work: "Work",
    reports: "Reports",
    extensions: "Extensions",
    settings: "Settings",
  },
  allHelp: "/help all explains all of them, /help NAME one.",
  moreHelp: "/help NAME explains a command and what can follow it.",
  ownCommands: "Your commands",
  skills: "Skills",
  serverPrompts: "Prompts of MCP servers",
  otherLines:
    "A line of its own: @path gives the model a file, !command runs a shell line, # fact remembers something.",
  keysAre: "/help keys lists the keys.",
  alsoCalled: (names: string) => `Also: ${names}`,
  from: (origin: string) => `From ${origin}`,
  noHelp: (name: string) => `Cannot explain "${name}": there is no such command`,
  meant: (names: string) => `did you mean ${names}?`,
  helpListsAll: "/help lists all of them",

  noTodos: "The agent has no list of things to do",

  nothingSpent: "Nothing was spent yet",
  model: "model",
  modes: "modes",
  sandbox: "sandbox",
  sandboxOn: "commands run in the sandbox; /sandbox shows its limits",
  sandboxOff: "off: commands can do what you can; /sandbox says why",
  turns: "turns",
  tokensIn: "tokens in",
  tokensOut: "tokens out",
  cachedPart: (tokens: string, cached: string, share: string) => `${tokens} (${cached} cached, ${share})`,
  thoughtPart: (tokens: string, thought: string) => `${tokens} (${thought} thinking)`,
  cost: "cost",
  prices: "prices",
  ratesOf: (input: string, cached: string, written: string, output: string) =>
    `${input} in, ${cached} cached, ${written} written, ${output} out`,
  perMillion: (rates: string, currency: string) => `${rates}, ${currency} per million tokens`,
  longCostMore: (tokens: string) => `more where the input is above ${tokens} tokens`,
  lastTurn: "last turn",
  unknown: "unknown",
  time: "time",
  seconds: (seconds: string) => `${seconds} s`,

  agents: {
    skill: "skill",
    readOnly: "read-only",
    model: (name: string) => `model ${name}`,
    worktree: "separate worktree",
    untrusted: "not trusted (reasonix trust)",
  },
  hooks: {
    none: "No hooks here; `reasonix docs hooks` says how to write one",
    states: { on: "on", untrusted: "not trusted", broken: "broken" },
    closed: "refuses when it fails",
    noLimit: "no time limit",
    confined: "in the jail",
  },
  skillList: {
    untrusted: "scripts not trusted (reasonix trust)",
    shadowed: (file: string, name: string) => `not used: ${file} (another skill named ${name} comes first)`,
    none: (roots: string, configured: string) =>
      `No skills here. Looked in ${roots} from this directory up to the repository root, ` +
      `in your home directory${configured === "" ? "" : `, in ${configured}`}`,
    unusedDirectory:
      "The directory skills/ is used with: reasonix config set --local skills.paths '[\"skills\"]'",
  },
  scopes: { project: "project", global: "everywhere", user: "yours", configured: "configured" },
  noMemory: "Nothing is remembered here. A line that begins with # and a space remembers a fact",
  memoryHint: "`/memory NAME` shows one, `/memory forget NAME` takes it out of use",
  memoryOff: "Cannot use the memory: this session has none",
  archiveHint: (count: number) =>
    `${count === 1 ? "1 forgotten fact is" : `${count} forgotten facts are`} kept: \`/memory archive\``,
  archiveEmpty: "No forgotten fact is kept",
  archivedOn: (day: string) => `forgotten on ${day}`,
  notArchived: (name: string) => `Cannot show "${name}": it is not among the forgotten facts`,
  archiveRemedy: "use /memory archive to list them",
  forgotten: (name: string, archived: string) => `Forgotten: ${name}; it is kept in ${archived}`,

  changedFiles: (count: number) =>
    count === 1 ? "This session changed 1 file" : `This session changed ${count} files`,
  noChanges: "This session has changed no file",
  notChanged: (path: string) => `Cannot show "${path}": this session did not change it`,
  changedAre: (names: string) => `it changed ${names}`,
  actions: { create: "created", update: "changed", delete: "deleted" },
  noText: "no text to compare",
  askFor: (path: string) => `shown by \`/diff ${path}\``,
  restOf: (lines: number, path: string) => `… ${lines} more lines: \`/diff ${path}\``,

  bugHint: "Nothing was sent. `/bug FILE` writes this to a file; read it before you attach it to an issue",
  bugWritten: (file: string) =>
    `The report is in ${file}. Nothing was sent; read it before you attach it to an issue`,
  cannotWrite: (file: string, reason: string) => `Cannot write ${file}: ${reason}`,
  exists: "it exists already",
  otherName: "choose another name",

  session: "session",
  directory: "directory",
  effort: "effort",
  context: "context",
  ofWindow: (tokens: string, window: string) => `${tokens} of ${window} tokens`,
  cacheHit: "cache hit",
  instructions: "instructions",
  configuration: "configuration",
  problem: "problem",
  mcpServers: "MCP servers",
  notUsed: "Not used",
  builtinWins: (file: string, name: string) =>
    `${file}: \`/${name}\` is a command of the program, which comes first`,

  contextReport: {
    windowUnknown: "window unknown",
    share: (percent: string, window: string) => `${percent} % of ${window}`,
    total: {
      reported: (model: string, tokens: string, share: string) =>
        `${model}: ${tokens} tokens by the server's count, ${share}`,
      estimated: (model: string, tokens: string, share: string) =>
        `${model}: about ${tokens} tokens, ${share}`,
    },
    compactsAt: (tokens: string) => `compacts at ${tokens} tokens`,
    categories: {
      "system prompt": "system prompt",
      "instructions": "instructions",
      "skills": "skills",
      "tools": "tools",
      "environment and notes": "environment and notes",
      "user": "user",
      "summaries": "summaries",
      "assistant": "assistant",
      "tool results": "tool results",
    },
    kinds: {
      "supplemental prompt": "supplemental prompt of",
      "instructions": "instructions",
      "late instructions": "late instructions",
      "skill": "skill",
      "active skill": "active skill",
      "MCP server": "MCP server",
      "MCP index": "MCP index",
    },
    shadowed: (path: string, by: string) => `not used: ${path} (${by} comes first)`,
  },
};
