import type { ConfiguredHook } from "../../config/mod.ts";
import { errorMessage, formatLocation, type PreparedCall } from "../../core/mod.ts";
import { absolutePath, normalize } from "../../path/lexical.ts";
import { exists, isFile } from "../../path/probe.ts";
import { CLAUDE_TOOLS, claudeToolName, toolsNamed } from "../../tool/mod.ts";
import { canonicalJson } from "../../util/json.ts";
import { suggestNames } from "../../util/suggest.ts";
import { cutText } from "../../util/terminal_text.ts";

/** The meaning of a hook's plain output, and of its refusal, at one event. */
interface EventFacts {
  /** The value that its matcher is compared with; absent: none. */
  readonly matches?: "tool" | "source" | "reason" | "trigger" | "agent" | "kind";
  /** The target of a refusal (exit code 2); absent: it is too late to refuse. */
  readonly refuses?: "call" | "prompt" | "end" | "compaction" | "result";
  /** Plain text on standard output is for the model, or for the summary. */
  readonly plainText?: "context" | "guide";
}

/** The events at which hooks run, by the names that other agents use too. */
export const HOOK_EVENTS = {
  PreToolUse: { matches: "tool", refuses: "call" },
  PermissionRequest: { matches: "tool", refuses: "call" },
  PostToolUse: { matches: "tool", refuses: "result" },
  PostToolUseFailure: { matches: "tool", refuses: "result" },
  UserPromptSubmit: { refuses: "prompt", plainText: "context" },
  SessionStart: { matches: "source", plainText: "context" },
  SessionEnd: { matches: "reason" },
  Stop: { refuses: "end" },
  SubagentStart: { matches: "agent", plainText: "context" },
  SubagentStop: { matches: "agent", refuses: "end" },
  PreCompact: { matches: "trigger", refuses: "compaction", plainText: "guide" },
  PostCompact: { matches: "trigger" },
  Notification: { matches: "kind" },
} as const satisfies Readonly<Record<string, EventFacts>>;

export type HookEvent = keyof typeof HOOK_EVENTS;

/** Events of other agents that have no counterpart here; a hook for one is no slip of the pen. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  "BeforeModel",
  "AfterModel",
  "BeforeTool",
  "AfterTool",
  "ConfigChange",
  "CwdChanged",
  "Elicitation",
  "ElicitationResult",
  "FileChanged",
  "InstructionsLoaded",
  "PermissionDenied",
  "PostLLMCall",
  "PostToolBatch",
  "Setup",
  "StopFailure",
  "TaskCompleted",
  "TaskCreated",
  "TeammateIdle",
  "UserPromptExpansion",
  "WorktreeCreate",
  "WorktreeRemove",
]);

export function isHookEvent(name: string): name is HookEvent {
  return Object.hasOwn(HOOK_EVENTS, name);
}

export function factsOf(event: HookEvent): EventFacts {
  return HOOK_EVENTS[event];
}

/** Says whether one of these names is meant. */
type Matcher = (names: readonly string[]) => boolean;

/**
 * Reads a matcher: empty or `*` means everything, plain names count as they are, alternatives are between
 * `|` (or commas), and anything else is a regular expression that has to match a whole name. Returns what is
 * wrong with one that cannot be read.
 */
export function readMatcher(text: string): Matcher | { readonly fault: string } {
  const matcher = text.trim();
  if (matcher === "" || matcher === "*") return () => true;
  if (/^[\w\s|,-]+$/.test(matcher)) {
    const wanted = new Set(matcher.split(/[|,]/).map((name) => name.trim()).filter((name) => name !== ""));
    return (names) => names.some((name) => wanted.has(name));
  }
  try {
    // A top-level alternative must not escape the anchors.
    const pattern = new RegExp(`^(?:${matcher})$`, "s");
    const slow = slowPart(matcher);
    if (slow !== undefined) return { fault: `it may take for ever, because of ${slow}` };
    return (names) => names.some((name) => pattern.test(name));
  } catch (error) {
    return { fault: errorMessage(error) };
  }
}

/** The most repetitions without an end: each multiplies the time by the length of a name. */
const MAX_REPETITIONS = 4;

/** Finds a part of a regular expression that can take too long: nothing can interrupt it. */
function slowPart(source: string): string | undefined {
  const elements = source.matchAll(
    /\\([1-9]|k<)|\\[^]|\[(?:\\[^]|[^\]\\])*\]|(\()(?:\?[:=!]|\?<[=!]|\?<\w+>)?|(\))|(\|)|([*+]|\{\d+(?:,\d*)?\})|(\?)|[^]/g,
  );
  let repetitions = 0;
  /** Of each open group: whether it can match a text in several ways. */
  const varied = [false];
  let last = false;
  for (const [, reference, open, close, bar, repetition, optional] of elements) {
    if (reference) return "a back-reference";
    if (repetition && last) return "a repetition within a repetition";
    if (repetition && ++repetitions > MAX_REPETITIONS) return "too many repetitions";
    const inner = close ? varied.pop() ?? false : false;
    if (open) varied.push(false);
    else if (inner || bar || repetition || optional) varied[varied.length - 1] = true;
    last = inner;
  }
  return undefined;
}

/** The facts of a call that hooks see. */
export type HookedCall = Pick<PreparedCall, "call" | "tool" | "args" | "family" | "writes">;

/**
 * All names that a matcher may call a tool by. Whatever changes files also answers to `Edit` and `Write`, so
 * that a hook written for those cannot be gone around with another tool.
 */
export function hookToolNames({ call, tool, family }: HookedCall): readonly string[] {
  const theirs = Object.entries(CLAUDE_TOOLS).filter(([, ours]) => ours.includes(tool)).map(([name]) => name);
  const names = [tool, call.name, ...theirs];
  if (family === "Bash") names.push("Bash");
  const changesFiles = family === "Edit" &&
    !["edit_file", "multi_edit", "write_file"].includes(tool);
  if (family === "Edit" && tool !== "write_file") names.push("Edit");
  if (changesFiles) names.push("Write");
  return [...new Set(names)];
}

/** Names that arguments have in Claude Code, by ours. */
const ARGUMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Bash: { timeout_ms: "timeout" },
  Edit: { path: "file_path" },
  Grep: { include: "glob" },
  MultiEdit: { path: "file_path" },
  Read: { path: "file_path" },
  Skill: { name: "skill" },
  Write: { path: "file_path" },
};

/** Files that a call changes, for tools that have no argument for one of them. */
const FILES = ["file_path", "file_paths"] as const;

/**
 * The arguments as hooks see them: under our names, and under those of Claude Code where they differ, whose
 * paths are absolute. Of a tool that names its files in another way they are added.
 */
export function hookToolInput(call: HookedCall, cwd: string): Record<string, unknown> {
  const { args, family, writes = [] } = call;
  const input: Record<string, unknown> = { ...args };
  for (const [ours, theirs] of renamed(call)) {
    const value = args[ours];
    if (value !== undefined) input[theirs] = theirs.endsWith("_path") ? absolute(String(value), cwd) : value;
  }
  if (family === "Edit" && renamed(call).length === 0 && writes.length > 0) {
    const paths = writes.map((path) => absolute(path, cwd));
    Object.assign(input, { file_path: paths[0], file_paths: paths });
  }
  return input;
}

/**
 * The arguments that a hook wants in place of those it saw. Where an argument has two names the one that was
 * changed counts; Claude Code's when both were.
 */
export function ownArguments(
  call: HookedCall,
  updated: Readonly<Record<string, unknown>>,
  cwd: string,
): string {
  const seen = hookToolInput(call, cwd);
  const args: Record<string, unknown> = { ...updated };
  for (const [ours, theirs] of renamed(call)) {
    if (!Object.hasOwn(updated, theirs)) continue;
    delete args[theirs];
    const changed = canonicalJson(updated[theirs]) !== canonicalJson(seen[theirs]);
    if (changed || !Object.hasOwn(updated, ours)) args[ours] = updated[theirs];
  }
  if (renamed(call).length === 0) {
    for (const name of FILES) if (!Object.hasOwn(call.args, name)) delete args[name];
  }
  return JSON.stringify(args);
}

function renamed({ tool }: HookedCall): [ours: string, theirs: string][] {
  return Object.entries(ARGUMENTS[claudeToolName(tool)] ?? {});
}

function absolute(path: string, cwd: string): string {
  return normalize(absolutePath(path, { cwd, home: undefined }));
}

export interface Hook {
  readonly event: HookEvent;
  readonly matches: Matcher;
  readonly source: ConfiguredHook;
}

interface HookProblem {
  readonly source: ConfiguredHook;
  readonly message: string;
  readonly remedy: string;
}

/** Reads the hooks; those that name no event or have no readable matcher are problems. */
export function readHooks(
  sources: readonly ConfiguredHook[],
): { readonly hooks: readonly Hook[]; readonly problems: readonly HookProblem[] } {
  const hooks: Hook[] = [];
  const problems: HookProblem[] = [];
  for (const source of sources) {
    const { event, matcher, fault } = source;
    if (fault) {
      problems.push({ source, ...fault });
      continue;
    }
    if (!isHookEvent(event)) {
      problems.push({ source, ...unknownEvent(event) });
      continue;
    }
    const matches = readMatcher(matcher);
    if (typeof matches === "function") hooks.push({ event, matches, source });
    else {
      const message = `The matcher ${JSON.stringify(matcher)} is no regular expression: ${matches.fault}`;
      problems.push({ source, message, remedy: "write names such as Bash or Edit|Write, or correct it" });
    }
  }
  return { hooks, problems };
}

function unknownEvent(event: string): Pick<HookProblem, "message" | "remedy"> {
  if (ELSEWHERE.has(event)) {
    return {
      message: `The event ${event} never comes here`,
      remedy: "see reasonix docs hooks for those that do",
    };
  }
  const [near] = suggestNames(event, Object.keys(HOOK_EVENTS), 1);
  const remedy = near ? `did you mean ${near}?` : `write one of ${Object.keys(HOOK_EVENTS).join(", ")}`;
  return { message: `There is no event ${JSON.stringify(event)}`, remedy };
}

/** The location and the command of a hook: `reasonix.toml:3:1: ./check.sh`. */
export function hookTitle({ command, place }: Pick<ConfiguredHook, "command" | "place">): string {
  const shown = cutText(command.replace(/\s+/g, " ").trim(), 80);
  return place ? `${formatLocation(place)}: ${shown}` : shown;
}

/** A problem in one line, with its place and what to do. */
export function formatHookProblem({ source, message, remedy }: HookProblem): string {
  const place = source.place ? `${formatLocation(source.place)}: ` : "";
  return `${place}${message}; the hook ${JSON.stringify(source.command)} does not run; ${remedy}`;
}

const FAMILIES: Readonly<Record<string, HookedCall["family"]>> = {
  bash: "Bash",
  edit_file: "Edit",
  multi_edit: "Edit",
  write_file: "Edit",
  apply_patch: "Edit",
};

const SAMPLE_ARGUMENTS: Readonly<Record<string, Record<string, unknown>>> = {
  bash: { command: "echo hello" },
  edit_file: { path: "example.txt", old_string: "a", new_string: "b" },
  read_file: { path: "example.txt" },
  write_file: { path: "example.txt", content: "hello\n" },
};

/** The field of other events that their matcher is compared with, and a usual value. */
const FIELDS: Partial<Record<HookEvent, Record<string, string>>> = {
  UserPromptSubmit: { prompt: "hello" },
  SessionStart: { source: "startup" },
  SessionEnd: { reason: "other" },
  SubagentStart: { agent_type: "general" },
  SubagentStop: { agent_type: "general" },
  PreCompact: { trigger: "manual" },
  PostCompact: { trigger: "manual" },
  Notification: { notification_type: "permission_prompt" },
};

/** Makes the input of an event up; `given` is laid over the arguments of the tool, or over the event. */
export function sampleInput(
  event: HookEvent,
  { cwd, tool = "Bash", given }: {
    readonly cwd: string;
    readonly tool?: string | undefined;
    readonly given: Readonly<Record<string, unknown>>;
  },
): { readonly input: Record<string, unknown>; readonly names: readonly string[] } {
  const common = { session_id: "test", transcript_path: "", cwd, permission_mode: "default" };
  const fields = FIELDS[event];
  if (fields || event === "Stop") {
    const own = { ...fields, ...(event.endsWith("Stop") ? { stop_hook_active: false } : {}), ...given };
    const [name = ""] = Object.keys(fields ?? {});
    return { input: { ...common, ...own }, names: [String((own as Record<string, unknown>)[name] ?? "")] };
  }
  const [own = tool] = toolsNamed(tool);
  const family = FAMILIES[own];
  const call: HookedCall = {
    call: { id: "test", name: own, arguments: "" },
    tool: own,
    args: Object.keys(given).length > 0 ? { ...given } : SAMPLE_ARGUMENTS[own] ?? {},
    ...(family ? { family } : {}),
  };
  const result = event.startsWith("Post")
    ? { tool_response: { content: "", is_error: event !== "PostToolUse" } }
    : {};
  return {
    input: {
      ...common,
      tool_name: claudeToolName(own),
      tool_input: hookToolInput(call, cwd),
      tool_use_id: "test",
      ...result,
    },
    names: hookToolNames(call),
  };
}

/** Shell builtins and keywords that lines begin with. */
const BUILT_IN: ReadonlySet<string> = new Set(
  ("alias bg break case cd command continue do done echo elif else esac eval exec exit export false fc fg fi for " +
    "function getopts hash if jobs kill local printf pwd read readonly return set shift source test then time times trap true type ulimit " +
    "umask unalias unset until wait while").split(" "),
);

interface Around {
  readonly cwd: string;
  readonly env: (name: string) => string | undefined;
}

/** Reports the location of each hook whose program is not installed. */
export function missingCommands(hooks: readonly ConfiguredHook[], around: Around): string[] {
  return hooks.flatMap(({ command, event, place }) => {
    const missing = missingCommand(command, around);
    if (missing === undefined) return [];
    const at = place ? `${formatLocation(place)}: ` : "";
    return [
      `${at}The program ${
        JSON.stringify(missing)
      } of a hook for ${event} is not there, so the hook will fail`,
    ];
  });
}

/** The first word of a line if it is a plain one and names no program. */
function missingCommand(line: string, { cwd, env }: Around): string | undefined {
  const word = /^\s*"?([\w./~+-]+)"?(?=[\s;|&]|$)/.exec(line)?.[1];
  if (word === undefined || Deno.build.os === "windows" || BUILT_IN.has(word) || word === ".") {
    return undefined;
  }
  if (word.includes("/")) {
    return exists(normalize(absolutePath(word, { cwd, home: env("HOME") }))) ? undefined : word;
  }
  const found = (env("PATH") ?? "").split(":").some((directory) => isFile(`${directory || cwd}/${word}`));
  return found ? undefined : word;
}
