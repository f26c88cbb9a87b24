/** What slash commands say that only report. */
export const texts = {
  commands: "Commands",
  ownCommands: "Commands of this project and yours",
  skills: "Skills",
  serverPrompts: "Prompts of MCP servers",
  otherLines:
    "A line of its own: `@path` gives the model a file, `!command` runs a shell line, `#fact` remembers something.",
  keysAre: "`/help keys` lists the keys.",
  alsoCalled: (names: string) => `Also: ${names}`,
  from: (origin: string) => `From ${origin}`,
  noHelp: (name: string) => `Cannot explain "${name}": there is no such command`,
  meant: (names: string) => `did you mean ${names}?`,
  helpListsAll: "/help lists all of them",

  noTodos: "The agent has no list of things to do",

  nothingSpent: "Nothing was spent yet",
  model: "model",
  turns: "turns",
  tokensIn: "tokens in",
  tokensOut: "tokens out",
  cachedPart: (tokens: string, cached: string, share: string) => `${tokens} (${cached} cached, ${share})`,
  thoughtPart: (tokens: string, thought: string) => `${tokens} (${thought} thinking)`,
  cost: "cost",
  lastTurn: "last turn",
  unknown: "unknown",
  time: "time",
  seconds: (seconds: string) => `${seconds} s`,

  noMcp: "No MCP servers are configured. This version starts none; see `reasonix docs not-yet`",
  mcpNotStarted: "Configured, and not started in this version (see `reasonix docs not-yet`):",
  noSkills: "No skills here; `reasonix skills list` says where it looked",
  scopes: { project: "project", global: "everywhere", user: "yours", configured: "configured" },
  noMemory: "Nothing is remembered here. A line that begins with # remembers a fact",
  memoryHint: "`/memory NAME` shows one, `/memory forget NAME` takes it out of use",
  memoryOff: "Cannot use the memory: this session has none",
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
  notUsed: "Not used",
  builtinWins: (file: string, name: string) =>
    `${file}: \`/${name}\` is a command of the program, which comes first`,
};
