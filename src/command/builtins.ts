import type { CommandBody } from "./command.ts";

/** What is known of a command of the program without loading it. */
export interface Builtin {
  readonly aliases?: readonly string[];
  /** Works only where a person goes on: it leads to another session, or leaves. */
  readonly chatOnly?: true;
  /** Does not wait for the end of a turn: it only shows something, or concerns what comes. */
  readonly whileWorking?: true | ((argument: string) => boolean);
  /** Works on a conversation that has begun. */
  readonly needsSession?: true;
  readonly load: () => Promise<{ readonly command: CommandBody }>;
}

/** The commands of the program, one line per file, in the order of the list that people see. */
export const COMMANDS = {
  help: { aliases: ["?"], whileWorking: true, load: () => import("./builtin/reports/help.ts") },
  new: { chatOnly: true, load: () => import("./builtin/session/new_session.ts") },
  clear: { chatOnly: true, load: () => import("./builtin/session/clear.ts") },
  resume: { chatOnly: true, load: () => import("./builtin/session/resume.ts") },
  fork: { aliases: ["branch"], needsSession: true, load: () => import("./builtin/session/fork.ts") },
  rename: { needsSession: true, whileWorking: true, load: () => import("./builtin/session/rename.ts") },
  compact: { needsSession: true, load: () => import("./builtin/session/compact.ts") },
  undo: { needsSession: true, load: () => import("./builtin/session/undo.ts") },
  rewind: { needsSession: true, load: () => import("./builtin/session/rewind.ts") },
  redo: { needsSession: true, load: () => import("./builtin/session/redo.ts") },
  export: { needsSession: true, load: () => import("./builtin/session/export.ts") },
  copy: { needsSession: true, whileWorking: true, load: () => import("./builtin/session/copy.ts") },
  diff: { whileWorking: true, load: () => import("./builtin/reports/diff.ts") },
  todo: { aliases: ["todos"], whileWorking: true, load: () => import("./builtin/reports/todo.ts") },
  context: { whileWorking: true, load: () => import("./builtin/reports/context.ts") },
  cost: { aliases: ["usage"], whileWorking: true, load: () => import("./builtin/reports/cost.ts") },
  status: { whileWorking: true, load: () => import("./builtin/reports/status.ts") },
  model: { aliases: ["models"], load: () => import("./builtin/settings/model.ts") },
  effort: { load: () => import("./builtin/settings/effort.ts") },
  goal: {
    whileWorking: (argument) => /^(?:show|clear|off)?$/i.test(argument.trim()),
    load: () => import("./builtin/tasks/goal.ts"),
  },
  plan: { load: () => import("./builtin/tasks/plan_mode.ts") },
  mode: { whileWorking: true, load: () => import("./builtin/settings/mode.ts") },
  permissions: { load: () => import("./builtin/settings/permissions.ts") },
  sandbox: { whileWorking: true, load: () => import("./builtin/reports/sandbox.ts") },
  mcp: { whileWorking: true, load: () => import("./builtin/reports/mcp.ts") },
  agents: { whileWorking: true, load: () => import("./builtin/reports/agents.ts") },
  hooks: { whileWorking: true, load: () => import("./builtin/reports/hooks.ts") },
  skills: { whileWorking: true, load: () => import("./builtin/reports/skills.ts") },
  memory: { whileWorking: true, load: () => import("./builtin/reports/memory.ts") },
  init: { load: () => import("./builtin/tasks/init.ts") },
  review: { load: () => import("./builtin/tasks/review.ts") },
  verify: { load: () => import("./builtin/tasks/verify.ts") },
  settings: { aliases: ["config"], load: () => import("./builtin/settings/settings.ts") },
  theme: { whileWorking: true, load: () => import("./builtin/settings/theme.ts") },
  lang: { aliases: ["language"], whileWorking: true, load: () => import("./builtin/settings/lang.ts") },
  doctor: { load: () => import("./builtin/reports/doctor.ts") },
  bug: { load: () => import("./builtin/reports/bug.ts") },
  quit: {
    aliases: ["exit"],
    chatOnly: true,
    whileWorking: true,
    load: () => import("./builtin/session/quit.ts"),
  },
} as const satisfies Readonly<Record<string, Builtin>>;

export type BuiltinName = keyof typeof COMMANDS;
