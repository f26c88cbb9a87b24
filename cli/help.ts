import type { Application, Command, CommandContext, RouteMap } from "@stricli/core";
import type { ChatFlags, RunFlags } from "./run_flags.ts";
import type { Argument } from "./command.ts";
import type { Flag } from "./command.ts";
import { kebab } from "./command.ts";

type ReviewFlag =
  | "uncommitted"
  | "base"
  | "commit"
  | "pr"
  | "head"
  | "incremental"
  | "whole"
  | "format"
  | "failOn"
  | "publish";

/** The flags of `run`, `chat` and `review` by what they are about; what stands nowhere here comes last. */
const GROUPS:
  readonly (readonly [title: string, flags: readonly (keyof RunFlags | keyof ChatFlags | ReviewFlag)[]])[] = [
    ["Change", ["uncommitted", "base", "commit", "pr", "head", "incremental", "whole"]],
    ["Model", ["model", "preset", "effort", "systemPrompt", "systemPromptFile", "appendSystemPrompt"]],
    ["Session", ["continue", "resume", "copy", "dir", "file", "web"]],
    ["What it may do", [
      "permissionMode",
      "approvalMode",
      "allowedTools",
      "disallowedTools",
      "tools",
      "onAsk",
      "writes",
      "addDir",
      "trustProject",
      "ignoreUntrusted",
    ]],
    ["Output", [
      "format",
      "failOn",
      "publish",
      "outputFormat",
      "jsonSchema",
      "output",
      "quiet",
      "verbose",
      "stream",
      "showThinking",
      "raw",
      "noColor",
      "linear",
      "metrics",
      "record",
    ]],
    ["Limits", ["maxSteps", "timeLimit", "maxCost"]],
    ["Goals and plans", [
      "planThenRun",
      "autoPlan",
      "goal",
      "check",
      "maxGoalTurns",
      "research",
      "simple",
      "steps",
    ]],
    ["Batch", [
      "tasks",
      "tasksFrom",
      "jobs",
      "worktree",
      "results",
      "resultsDir",
      "shard",
      "taskIndex",
      "image",
      "fresh",
    ]],
  ];

const MANY_FLAGS = 15;

const RARE = [
  "batch",
  "context",
  "sandbox",
  "stats",
  "plugin",
  "replay",
  "version",
  "completion",
  "install",
  "update",
  "uninstall",
];

const ROOT = `Usage
  reasonix [flags] ["message"]   Open the chat
  reasonix run [flags] "task"    Do one task and exit
  reasonix COMMAND --help        Show the flags of a command

Examples
  reasonix                                     Chat about this directory
  reasonix -c                                  Continue the latest session
  reasonix run "fix the failing test"          Do one task
  git diff | reasonix -p "explain this"        Read standard input
  reasonix run -m openai/gpt-5 "explain @src"  Choose the model
`;

const ROOT_END = `Configuration is read from ~/.reasonix/config.toml and from reasonix.toml of the
project: reasonix config path. Documentation: reasonix docs. Version: -v
`;

/** A subcommand of `command.ts` as the parser has it. */
interface CommandParameters {
  readonly flags?: Readonly<Record<string, Flag>>;
  readonly aliases?: Readonly<Record<string, string>>;
  readonly positional?:
    | { readonly kind: "tuple"; readonly parameters: readonly Argument[] }
    | { readonly kind: "array"; readonly parameter: Argument; readonly minimum?: number };
}

type Target<C extends CommandContext> = Command<C> | RouteMap<C>;
type HelpArguments = Parameters<Command<CommandContext>["formatHelp"]>[0];

interface HelpOptions {
  readonly all?: boolean;
  /** Translates a text of the help. */
  readonly say?: (english: string) => string;
}

/** Gives every command of a program the help of this module; `all` also lists hidden flags and commands. */
export function installHelp<C extends CommandContext>(
  { root }: Application<C>,
  { all = false, say = String }: HelpOptions = {},
): void {
  const visit = (target: Target<C>, depth: number): void => {
    Object.assign(target, {
      formatHelp: (args: HelpArguments) =>
        helpText(target, all ? { ...args, includeHidden: true } : args, { depth, say }),
    });
    if (isMap(target)) { for (const { target: inner } of target.getAllEntries()) visit(inner, depth + 1); }
  };
  visit(root, 0);
}

function isMap<C extends CommandContext>(target: Target<C>): target is RouteMap<C> {
  return "getAllEntries" in target;
}

function helpText<C extends CommandContext>(
  target: Target<C>,
  args: HelpArguments,
  { depth, say }: { readonly depth: number; readonly say: (english: string) => string },
): string {
  const name = args.prefix.join(" ");
  const bold = (text: string) => args.ansiColor ? `\x1b[1m${text}\x1b[22m` : text;
  const title = (text: string) => bold(say(text));
  const section = (heading: string, rows: readonly Row[], width?: number) =>
    rows.length === 0 ? [] : [`${title(heading)}\n${rowLines(rows, width)}`];
  const head = `${say(target.fullDescription ?? target.brief)}\n`;
  if (isMap(target)) {
    const shown = target.getAllEntries().filter(({ hidden }) => !hidden || args.includeHidden);
    const rows = shown.map((
      { name, target: { brief } },
    ): Row => [name["convert-camel-to-kebab"], say(brief)]);
    if (depth === 0) {
      const rare = rows.filter(([name]) => RARE.includes(name)).map(([name]) => name).join(", ");
      return [
        head,
        say(ROOT).replace(/^[A-Z]\w+$|^\p{Script=Han}+$/gmu, bold),
        ...section("Commands", [...rows.filter(([name]) => !RARE.includes(name)), [say("and also"), rare]]),
        say(ROOT_END),
      ].join("\n");
    }
    return [
      head,
      `${title("Usage")}\n  ${name} COMMAND [flags]\n`,
      ...section("Commands", rows),
      `The flags of a command: ${name} COMMAND --help\n`,
    ].join("\n");
  }
  const { flags = {}, aliases = {}, positional } = target.parameters as CommandParameters;
  const shown = Object.entries(flags).filter(([, { hidden }]) => !hidden || args.includeHidden);
  const row = ([flag, shape]: readonly [string, Flag]): Row => {
    const letter = Object.entries(aliases).find(([, long]) => long === flag)?.[0];
    return [
      `${letter === undefined ? "    " : `-${letter}, `}${longName(flag, shape)}`,
      described(shape, say),
    ];
  };
  const groups: typeof GROUPS = shown.length < MANY_FLAGS ? [] : GROUPS;
  const grouped = groups.map(([heading, names]) =>
    [heading, names.flatMap((flag) => shown.filter(([name]) => name === flag)).map(row)] as const
  );
  const listed = new Set<string>(groups.flatMap(([, names]) => names));
  const hasMore = !args.includeHidden && Object.values(flags).some(({ hidden }) => hidden);
  const last: Row[] = [
    ...shown.filter(([flag]) => !listed.has(flag)).map(row),
    [
      "-h, --help",
      say(hasMore ? "Show this help; --help-all: with the flags for Claude Code" : "Show this help"),
    ],
    ...(positional?.kind === "array"
      ? [["    --", say("Take everything after it as an argument")] as const]
      : []),
  ];
  const width = widthOf([...grouped.flatMap(([, rows]) => rows), ...last]);
  return [
    head,
    `${title("Usage")}\n  ${
      [name, ...(shown.length > 0 ? ["[flags]"] : []), ...argumentNames(positional)].join(" ")
    }\n`,
    ...section("Arguments", argumentRows(positional).map(([argument, brief]): Row => [argument, say(brief)])),
    ...grouped.flatMap(([heading, rows]) => section(heading, rows, width)),
    ...section(groups.length > 0 ? "More" : "Flags", last, width),
  ].join("\n");
}

type Row = readonly [name: string, description: string];

/** A longer name takes its description along to the right. */
const MOST_WIDTH = 31;

function widthOf(rows: readonly Row[]): number {
  return Math.min(MOST_WIDTH, Math.max(...rows.map(([name]) => name.length)));
}

function rowLines(rows: readonly Row[], width = widthOf(rows)): string {
  return rows.map(([name, description]) => `${`  ${name.padEnd(width)}  ${description}`.trimEnd()}\n`).join(
    "",
  );
}

function longName(flag: string, { kind, placeholder, values, variadic, withNegated }: Flag): string {
  const name = kebab(flag);
  if (kind === "boolean") return withNegated === false ? `--${name}` : `--[no-]${name}`;
  const value = (placeholder ?? (values ? name.split("-").at(-1) : undefined) ?? "value").toUpperCase();
  return `--${name} ${/[=:]/.test(placeholder ?? "") ? placeholder : value}${variadic ? "..." : ""}`;
}

function described(
  { brief, values, default: preset }: Flag,
  say: (english: string) => string,
): string {
  const facts = [
    ...(values ? [values.join(", ")] : []),
    ...(preset === undefined ? [] : [`${say("default: ")}${preset}`]),
  ];
  return facts.length === 0 ? say(brief) : `${say(brief)} (${facts.join("; ")})`;
}

function argumentNames(positional: CommandParameters["positional"]): string[] {
  if (positional?.kind === "array") {
    const { parameter: { placeholder }, minimum = 0 } = positional;
    return [minimum > 0 ? `<${placeholder}>...` : `[${placeholder}...]`];
  }
  return (positional?.parameters ?? []).map(({ placeholder, optional }) =>
    optional ? `[${placeholder}]` : `<${placeholder}>`
  );
}

function argumentRows(positional: CommandParameters["positional"]): Row[] {
  const given = positional?.kind === "array" ? [positional.parameter] : positional?.parameters ?? [];
  return given.map(({ placeholder, brief }) => [placeholder, brief]);
}
