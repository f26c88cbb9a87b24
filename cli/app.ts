import {
  type Application,
  buildApplication,
  buildCommand,
  buildRouteMap,
  type Command as Route,
  type RouteMap,
  run as execute,
} from "@stricli/core";
import { VERSION } from "../src/util/version.ts";
import type { Argument, Command, CommandGroup, Flag, ValueKind } from "./command.ts";
import { PARSER_TEXTS } from "./parser_texts.ts";
import type { RunFlags } from "./run_flags.ts";
import { shortForm } from "./short_form.ts";
import { type CliContext, exitCodeOf, finalExitCode, logDefect, processContext } from "./terminal/process.ts";

const acp = () => import("./commands/run/acp.ts");
const batch = () => import("./commands/batch.ts");
const batchRun = () => import("./commands/run/batch/batch.ts");
const chat = () => import("./commands/run/chat.ts");
const serve = () => import("./commands/run/serve.ts");
const program = () => import("./commands/program.ts");
const reports = () => import("./commands/reports.ts");
const config = () => import("./commands/config.ts");
const session = () => import("./commands/session.ts");
const extensions = () => import("./commands/extensions.ts");
const mcp = () => import("./commands/mcp/mcp.ts");
const permissions = () => import("./commands/permissions.ts");
const sandbox = () => import("./commands/sandbox.ts");
const replay = () => import("./commands/replay.ts");
const completion = () => import("./commands/completion/completion.ts");
const install = () => import("./commands/install.ts");
const commit = () => import("./commands/git/commit.ts");
const pr = () => import("./commands/git/pr.ts");
const plugin = () => import("./commands/plugin/plugin.ts");
const update = () => import("./commands/update.ts");
const review = () => import("./commands/git/review.ts");
const runs = () => import("./commands/run/run.ts");

const STATS = "Show tokens, cache hits and cost";
/** Only shell completion uses it. */
const HIDDEN = "complete";

type Entry = readonly [brief: string, load: () => Promise<Command | CommandGroup>];

const COMMANDS: Readonly<Record<string, Entry>> = {
  run: ["Do one task and exit (short form: reasonix -p)", async () => (await runs()).runCommand],
  batch: [
    "Run a tasks file on many machines",
    async () =>
      (await batch()).batchCommands({
        readRunFlags,
        batchRun,
        openRequests: async (...request) => await (await pr()).openBatchRequests(...request),
      }),
  ],
  chat: ["Open the chat (also: reasonix alone)", async () => (await chat()).chatCommand],
  review: ["Find defects in a change", async () => (await review()).reviewCommand],
  commit: ["Write a message for what is staged, and commit", async () => (await commit()).commitCommand],
  pr: ["Push the branch and open a pull request", async () => (await pr()).prCommand],
  acp: ["Serve an editor by the Agent Client Protocol", async () => (await acp()).acpCommand],
  web: ["Open the web page in the browser", async () => (await serve()).webCommand],
  serve: ["Serve the web page at a fixed address", async () => (await serve()).serveCommand],
  setup: ["Set up a provider: key, model, a first try", async () => (await program()).setupCommand],
  doctor: ["Check configuration, providers and sandbox", async () => (await reports()).doctorCommand],
  config: ["Show and change settings", async () => (await config()).configCommands],
  session: ["List, search, rewind and manage sessions", async () => {
    const [{ sessionCommands }, { statsCommand: command }] = await Promise.all([session(), reports()]);
    return { commands: { ...sessionCommands.commands, stats: { brief: STATS, command } } };
  }],
  stats: [STATS, async () => (await reports()).statsCommand],
  context: ["Show what is sent to the model, by category", async () => (await reports()).contextCommand],
  models: [
    "Show context windows, effort levels and prices of models",
    async () => (await reports()).modelsCommands,
  ],
  skills: ["List and check skills", async () => (await extensions()).skillsCommands],
  agents: ["List and show agents for parts of a task", async () => (await extensions()).agentsCommands],
  hooks: ["List and try hooks", async () => (await extensions()).hooksCommands],
  mcp: ["List, add and try MCP servers", async () => (await mcp()).mcpCommands],
  permissions: ["Explain permission decisions", async () => (await permissions()).permissionsCommands],
  sandbox: ["Use the command jail by hand", async () => (await sandbox()).sandboxCommands],
  trust: ["Trust hooks, servers and agents of this project", async () => (await extensions()).trustCommand],
  plugin: ["Set up and start plugins that come with reasonix", async () => (await plugin()).pluginCommands],
  replay: ["Show a recorded session without a model", async () => (await replay()).replayCommand],
  version: ["Print versions", async () => (await program()).versionCommand],
  completion: ["Print a shell completion script", async () => (await completion()).completionCommand],
  install: ["Install this program as the command reasonix", async () => (await install()).installCommand],
  update: [
    "Update the program, or go back to the version before",
    async () => (await update()).updateCommand,
  ],
  uninstall: ["Remove the command reasonix", async () => (await install()).uninstallCommand],
  docs: ["Read the documentation of this version", async () => (await program()).docsCommand],
  [HIDDEN]: [
    "Propose completions",
    async () => (await completion()).completeCommand({ appFor, inCommandWords }),
  ],
};

/** The program with one of its commands, or with all of them; the others are only named. */
export async function appFor(
  name: string | "all" | undefined,
  failed?: (error: unknown) => void,
): Promise<Application<CliContext>> {
  const commands: Record<string, CommandGroup["commands"][string]> = {};
  for (const [each, [brief, load]] of Object.entries(COMMANDS)) {
    const command = name === "all" || name === each ? await load() : { run() {} };
    commands[each] = { brief, command, ...(each === HIDDEN ? { hidden: true } : {}) };
  }
  return application(groupRoute("A coding agent for the terminal", { commands }), failed);
}

function application(
  root: RouteMap<CliContext>,
  failed?: (error: unknown) => void,
): Application<CliContext> {
  return buildApplication<CliContext>(root, {
    name: "reasonix",
    versionInfo: { currentVersion: VERSION },
    determineExitCode(error) {
      failed?.(error);
      return exitCodeOf(error);
    },
    scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
    documentation: {
      caseStyle: "convert-camel-to-kebab",
      onlyRequiredInUsageLine: true,
      useAliasInUsageLine: false,
    },
    localization: { text: PARSER_TEXTS },
  });
}

function groupRoute(brief: string, { commands }: CommandGroup): RouteMap<CliContext> {
  const routes: Record<string, Route<CliContext> | RouteMap<CliContext>> = {};
  const hidden: Record<string, boolean> = {};
  for (const [name, each] of Object.entries(commands)) {
    const { brief, command } = each;
    routes[name] = "commands" in command ? groupRoute(brief, command) : commandRoute(brief, command);
    hidden[name] = each.hidden ?? false;
  }
  return buildRouteMap({ routes, docs: { brief, hideRoute: hidden } });
}

function commandRoute(brief: string, spec: Command): Route<CliContext> {
  const { description, flags = {}, aliases, args = [], rest, run } = spec;
  const parameters = {
    flags: Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, withCompletion(flag)])),
    ...(aliases ? { aliases } : {}),
    positional: rest
      ? {
        kind: "array",
        parameter: withCompletion(rest),
        ...(rest.minimum === undefined ? {} : { minimum: rest.minimum }),
      }
      : { kind: "tuple", parameters: args.map(withCompletion) },
  };
  return buildCommand<Record<string, unknown>, string[], CliContext>({
    func: run as never,
    parameters: parameters as never,
    docs: { brief, ...(description === undefined ? {} : { fullDescription: description }) },
  });
}

/** Reads words as flags of `reasonix run`; a text is what is wrong with them. */
async function readRunFlags(words: readonly string[]): Promise<RunFlags | string> {
  let read: RunFlags | undefined;
  let wrong = "";
  const run = (flags: unknown, ...rest: readonly string[]) => {
    if (rest.length === 0) read = flags as RunFlags;
    else wrong = `"${rest[0]}" is no flag`;
  };
  const command = { ...(await runs()).runCommand, run };
  const app = application(groupRoute("", { commands: { run: { brief: "", command } } }));
  const write = (text: string) => void (wrong += text);
  const { process } = processContext();
  const stdout = { ...process.stdout, write };
  await execute(app, ["run", ...words], { process: { ...process, stdout, stderr: { write } } });
  return read ?? (wrong.split("\n", 1)[0] ?? "").replace(/^error: /, "");
}

interface CompletionContext extends CliContext {
  readonly before: readonly string[];
  /** Receives the meaning of proposed words. */
  readonly briefs: Map<string, string>;
}

function withCompletion<P extends Flag | Argument>({ complete, ...parameter }: P) {
  if (complete === undefined) return parameter;
  return { ...parameter, proposeCompletions: proposals(complete) };
}

function proposals(kind: ValueKind) {
  return async function (this: CompletionContext, current: string): Promise<readonly string[]> {
    const { VALUES } = await import("./commands/completion/values.ts");
    const found = await VALUES[kind]({ current, before: this.before });
    for (const { word, brief } of found) if (brief !== undefined) this.briefs.set(word, brief);
    return found.map(({ word }) => word).filter((word) => word.startsWith(current));
  };
}

export async function main(args: readonly string[]): Promise<number> {
  const context = processContext();
  const line = shortForm(args);
  const words = withEmptyValues(line?.words ?? withChat(args));
  if (line && line.ignored.length > 0) {
    context.process.stderr.write(`· Without effect here: ${line.ignored.join(", ")}\n`);
  }
  let failure: unknown;
  const app = await appFor(words[0], (error) => failure = error);
  if (words.some(isHelp) || await isGroup(words)) {
    const [{ fitHelp }, { installHelp }, { languageOf }, { loadTranslator }] = await Promise.all([
      import("./terminal/narrow.ts"),
      import("./help.ts"),
      import("./terminal/language.ts"),
      import("../src/i18n/mod.ts"),
    ]);
    const translator = await loadTranslator(languageOf(context).locale);
    installHelp(app, {
      say: (english) => translator.text({ text: english, template: english, values: [] }),
    });
    fitHelp(context);
  }
  await execute(app, words, context);
  if (failure !== undefined) await logDefect(failure, context);
  return finalExitCode(context);
}

/** The parser knows `--flag=` only with something behind it. */
function withEmptyValues(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return words.flatMap((word, at) =>
    /^--[a-z][\w-]*=$/i.test(word) && (end < 0 || at < end) ? [word.slice(0, -1), ""] : [word]
  );
}

/** A group of commands without one of them prints its help. */
async function isGroup([first = "", ...more]: readonly string[]): Promise<boolean> {
  if (more.length > 0 || !Object.hasOwn(COMMANDS, first)) return false;
  const command = await COMMANDS[first]?.[1]();
  return command !== undefined && "commands" in command;
}

function isHelp(arg: string): boolean {
  return arg === "--help" || arg === "-h" || arg === "--help-all";
}

/**
 * The words of a command line, with the chat for lines that name no command: none at all, flags, and a task
 * in quotes. A single plain word is more likely a mistyped command.
 */
function withChat(words: readonly string[]): readonly string[] {
  const [first = ""] = words;
  const about = /^(?:--help|--help-all|-h|--version|-v|-V)$/.test(first);
  if (about || Object.hasOwn(COMMANDS, first)) return words;
  const task = first.startsWith("-") || /\s|[^\x20-\x7e]/.test(first);
  return words.length === 0 || task ? ["chat", ...words] : words;
}

/** The words of a line that is being typed, with its command written out. */
function inCommandWords(args: readonly string[]): readonly string[] {
  return shortForm(args)?.words ?? (args.length === 0 ? args : withChat(args));
}
