/** The report of `reasonix doctor`. */
export const texts = {
  versions: "Versions",
  permissions: "Permissions of this program",
  allowed: "allowed",
  limited: "limited",
  denied: "denied",
  needless: (kind: string, name: string) =>
    `This program was started with permission to load ${kind} (${name}), which it never needs; ` +
    "install it again with a line of docs/start.md",
  nativeCode: "native code",
  remoteModules: "remote modules",

  paths: "Paths",
  configuration: "Configuration",
  found: "found  ",
  absent: "absent ",

  rules: "Permission rules",
  providers: "Providers",
  noModel: "(no model)",
  keyIs: (state: string) => `key: ${state}`,
  keyFromCommand: "from api_key_command",
  keyInHome: "set in the home",
  keyInEnvironment: "set in the environment",
  keyMissing: "MISSING",
  keyNotNeeded: "not needed",
  notAsked: "not asked",
  refused: "reached, but refused",
  notReachable: "NOT reachable",
  answersWithoutList: (model: string) => `${model} answers; no list of models`,
  itAnswersWithoutList: "it answers; no list of models",
  reachable: (count: number) => `reachable, ${count === 1 ? "1 model" : `${count} models`}`,
  notListed: (provider: string, missing: string, listed: string, more: number) =>
    `${provider}: the server does not list ${missing}; choose one of ${listed}` +
    (more > 0 ? ` and ${more} more` : ""),
  smallWindow: (provider: string, model: string, tokens: number, configured: number) =>
    `${provider}: the server gives ${model} a window of ${tokens} tokens, but context_window is ${configured}; ` +
    `set context_window = ${tokens}, or have the server give it more`,

  serverStopped: "server not running",
  serverUnusable: "server cannot be started",
  serverRuns: (pid: number, port: number, users: number) =>
    `server runs: process ${pid}, port ${port}, used by ${users === 1 ? "1 process" : `${users} processes`}`,
  localServers: "Model servers on this machine",
  usedBy: (provider: string) => `used by provider ${provider}`,
  notSetUp: "not set up",
  windowOf: (tokens: number) => `window ${tokens}`,
  seesImages: "sees images",
  noToolCalls: "no tool calls",
  moreModels: (count: number) => `and ${count} more`,
  addEntry: "`reasonix setup` writes an entry such as this one:",

  servers: "MCP servers",
  languageServers: "Language servers",
  notInstalled: "not installed",
  serverOff: "switched off",
  serverUnknown: "never started; `reasonix doctor --online` tries it",
  serverOffers: (tools: number, prompts: number, resources: number) =>
    [`${tools} tool`, `${prompts} prompt`, `${resources} resource`]
      .map((text) => text.startsWith("1 ") ? text : `${text}s`).join(", "),
  serverReady: (offers: string, ms: number) => `${offers}, ready in ${ms} ms`,
  serverSlow: "slow; what it installs at each start can be installed once",
  serverBroken: (why: string) => why,
  serverFailed: (why: string) => `its last start failed: ${why}`,
  tryServer: (name: string) => `try \`reasonix mcp test ${name}\``,

  sandbox: "Sandbox",
  notExamined: "not examined",
  withoutJail: "Still in force without a jail:",
  withFullAccess: "In force with --permission-mode danger-full-access:",
  noBubblewrap: "bubblewrap is not installed, so commands cannot be confined: " +
    "apt install bubblewrap (or the package of that name in your distribution)",

  worktrees: "Work trees of agents",
  worktreeUsed: (tree: string) => `${tree}  in use`,
  worktreeWaits: (tree: string) => `${tree}  waits for the next run of its tasks`,
  worktreesRemoved: (count: number) => `${count} left behind and removed now`,
  worktreeStays: (id: string, why: string) => `the work tree ${id} was left behind and stays: ${why}`,

  sessions: "Sessions",
  sessionCount: (count: number, size: string, homeSize: string) =>
    `${count} of this folder, ${size}; ${homeSize} in the home`,
  bytes: (count: number) => `${count} bytes`,

  noProblems: "No problems found",
  problems: "Problems",
  remarks: "Warnings",
  verbose: "Everything, also what is in order: `reasonix doctor --verbose` (`/doctor verbose`)",
  unknownWindow: (provider: string, model: string) =>
    `${provider}: the context window of ${model} is unknown. Unless its server reports one, long sessions are ` +
    "not compacted; set context_window of the provider, such as 131072",
  withRemedy: (problem: string, remedy: string) => `${problem}; ${remedy}`,
};
