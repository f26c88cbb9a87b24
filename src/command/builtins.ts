import type { CommandBody } from "./command.ts";

export interface Builtin {
  readonly aliases?: readonly string[];
  /** Works only in a chat: it opens another session, or quits. */
  readonly chatOnly?: true;
  /** Concerns the terminal of the chat; other front ends do not list it. */
  readonly forTerminal?: true;
  /** Does not wait for the end of a turn: it only shows something, or concerns what comes. */
  readonly whileWorking?: true | ((argument: string) => boolean);
  /** Works on a conversation that has begun. */
  readonly needsSession?: true;
  readonly load: () => Promise<CommandBody>;
}

const session = () => import("./builtin/session.ts");
const settings = () => import("./builtin/settings.ts");
const tasks = () => import("./builtin/tasks.ts");
const review = () => import("./builtin/review.ts");
const reports = () => import("./builtin/reports.ts");
const mcp = () => import("./builtin/mcp.ts");
const commit = () => import("./builtin/commit.ts");

/** The commands of the program, one line per file, in the order of the list that people see. */
export const COMMANDS = {
  help: { aliases: ["?"], whileWorking: true, load: async () => (await reports()).helpCommand },
  new: { chatOnly: true, load: async () => (await session()).newCommand },
  clear: { chatOnly: true, load: async () => (await session()).clearCommand },
  resume: { chatOnly: true, load: async () => (await session()).resumeCommand },
  fork: { aliases: ["branch"], needsSession: true, load: async () => (await session()).forkCommand },
  rename: { needsSession: true, whileWorking: true, load: async () => (await session()).renameCommand },
  compact: { needsSession: true, load: async () => (await session()).compactCommand },
  undo: { needsSession: true, load: async () => (await session()).undoCommand },
  rewind: { needsSession: true, load: async () => (await session()).rewindCommand },
  redo: { needsSession: true, load: async () => (await session()).redoCommand },
  export: { needsSession: true, load: async () => (await session()).exportCommand },
  copy: {
    needsSession: true,
    forTerminal: true,
    whileWorking: true,
    load: async () => (await session()).copyCommand,
  },
  diff: { whileWorking: true, load: async () => (await reports()).diffCommand },
  todo: { aliases: ["todos"], whileWorking: true, load: async () => (await reports()).todoCommand },
  context: { whileWorking: true, load: async () => (await reports()).contextCommand },
  cost: { aliases: ["usage"], whileWorking: true, load: async () => (await reports()).costCommand },
  status: { whileWorking: true, load: async () => (await reports()).statusCommand },
  model: { aliases: ["models"], load: async () => (await settings()).modelCommand },
  setup: { load: async () => (await settings()).setupCommand },
  effort: { load: async () => (await settings()).effortCommand },
  goal: {
    whileWorking: (argument) => /^(?:show|clear|off)?$/i.test(argument.trim()),
    load: async () => (await tasks()).goalCommand,
  },
  plan: { load: async () => (await tasks()).planCommand },
  mode: { whileWorking: true, load: async () => (await settings()).modeCommand },
  permissions: { load: async () => (await settings()).permissionsCommand },
  sandbox: { whileWorking: true, load: async () => (await reports()).sandboxCommand },
  mcp: { whileWorking: true, load: async () => (await mcp()).mcpCommand },
  agents: { whileWorking: true, load: async () => (await reports()).agentsCommand },
  hooks: { whileWorking: true, load: async () => (await reports()).hooksCommand },
  skills: { whileWorking: true, load: async () => (await reports()).skillsCommand },
  memory: { whileWorking: true, load: async () => (await reports()).memoryCommand },
  init: { load: async () => (await tasks()).initCommand },
  review: { load: async () => (await review()).reviewCommand },
  commit: { load: async () => (await commit()).commitCommand },
  verify: { load: async () => (await tasks()).verifyCommand },
  settings: { aliases: ["config"], load: async () => (await settings()).settingsCommand },
  theme: { forTerminal: true, whileWorking: true, load: async () => (await settings()).themeCommand },
  lang: { aliases: ["language"], whileWorking: true, load: async () => (await settings()).langCommand },
  doctor: { load: async () => (await reports()).doctorCommand },
  bug: { load: async () => (await reports()).bugCommand },
  view: {
    chatOnly: true,
    forTerminal: true,
    whileWorking: true,
    load: async () => (await session()).viewCommand,
  },
  web: { chatOnly: true, whileWorking: true, load: async () => (await session()).webCommand },
  quit: {
    aliases: ["exit"],
    chatOnly: true,
    whileWorking: true,
    load: async () => (await session()).quitCommand,
  },
} as const satisfies Readonly<Record<string, Builtin>>;

export type BuiltinName = keyof typeof COMMANDS;
