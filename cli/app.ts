import { type Application, buildApplication, buildCommand, buildRouteMap, run } from "@stricli/core";
import { runCommand, shortForm } from "./routes/run.ts";
import { type CliContext, exitCodeOf, finalExitCode, processContext } from "./terminal/process.ts";
import { configRoutes } from "./routes/config.ts";
import { PARSER_TEXTS } from "./routes/parser_texts.ts";
import { chatCommand, withChat } from "./routes/chat.ts";
import { argument, flag, NONE } from "./routes/parameters.ts";
import { contextCommand, doctorCommand, statsCommand } from "./routes/reports.ts";
import { mcpRoutes } from "./routes/mcp.ts";
import { modelRoutes } from "./routes/models.ts";
import { permissionRoutes, sandboxRoutes, trustCommand } from "./routes/access.ts";
import { pluginRoutes } from "./routes/plugin.ts";
import { agentRoutes, hookRoutes, skillRoutes } from "./routes/skills.ts";
import { sessionRoutes } from "./routes/session.ts";
import { VERSION } from "../src/util/version.ts";

const setup = buildCommand({
  loader: async () => (await import("./commands/setup.ts")).setup,
  parameters: {
    flags: { yes: flag("Write the default file without questions") },
    positional: {
      kind: "tuple",
      parameters: [{ ...argument("File to write (default: your user config)", "path"), optional: true }],
    },
  },
  docs: { brief: "Set up a provider: key, model, a first try" },
});

const replay = buildCommand({
  loader: async () => (await import("./commands/replay.ts")).replay,
  parameters: {
    flags: {
      outputFormat: {
        kind: "enum",
        values: ["text", "jsonl", "stream-json"],
        default: "text",
        brief: "Form of the output",
      },
      showThinking: flag("Show the model's reasoning"),
    },
    positional: { kind: "tuple", parameters: [argument("Session id or file", "file")] },
  },
  docs: { brief: "Show a recorded session without a model" },
});

const version = buildCommand({
  loader: async () => (await import("./commands/version.ts")).version,
  parameters: { flags: { json: flag("Print JSON") }, ...NONE },
  docs: { brief: "Print versions" },
});

const install = buildCommand({
  loader: async () => (await import("./commands/install/install.ts")).install,
  parameters: NONE,
  docs: { brief: "Install this program as the command reasonix" },
});

const uninstall = buildCommand({
  loader: async () => (await import("./commands/install/install.ts")).uninstall,
  parameters: NONE,
  docs: { brief: "Remove the command reasonix" },
});

const docs = buildCommand({
  loader: async () => (await import("./commands/docs.ts")).docs,
  parameters: {
    positional: { kind: "tuple", parameters: [{ ...argument("Page to print", "page"), optional: true }] },
  },
  docs: { brief: "Read the documentation of this version" },
});

const completion = buildCommand({
  loader: async () => (await import("./commands/completion/completion.ts")).completion,
  parameters: {
    positional: { kind: "tuple", parameters: [argument("bash, zsh, fish or powershell", "shell")] },
  },
  docs: {
    brief: "Print a shell completion script",
    fullDescription: "Print a shell completion script. To install it, once:\n" +
      "  bash        reasonix completion bash \\\n" +
      "                > ~/.local/share/bash-completion/completions/reasonix\n" +
      "  zsh         echo 'eval \"$(reasonix completion zsh)\"' >> ~/.zshrc\n" +
      "  fish        reasonix completion fish \\\n" +
      "                > ~/.config/fish/completions/reasonix.fish\n" +
      "  powershell  reasonix completion powershell >> $PROFILE",
  },
});

const complete = buildCommand({
  loader: async () => {
    const { completeFor } = await import("./commands/completion/completion.ts");
    return completeFor({ app, expand: withShortForm });
  },
  parameters: {
    flags: { describe: flag("Add what each proposal means, after a tab") },
    positional: { kind: "array", parameter: argument("Words of the command line", "word") },
  },
  docs: { brief: "Propose completions" },
});

const ROUTES = {
  run: runCommand,
  chat: chatCommand,
  setup,
  doctor: doctorCommand,
  config: configRoutes,
  session: sessionRoutes,
  stats: statsCommand,
  context: contextCommand,
  models: modelRoutes,
  skills: skillRoutes,
  agents: agentRoutes,
  hooks: hookRoutes,
  mcp: mcpRoutes,
  permissions: permissionRoutes,
  sandbox: sandboxRoutes,
  trust: trustCommand,
  plugin: pluginRoutes,
  replay,
  version,
  completion,
  install,
  uninstall,
  docs,
  complete,
};

const root = buildRouteMap({
  routes: ROUTES,
  docs: {
    brief: "A coding agent for the terminal",
    hideRoute: { complete: true },
  },
});

/** The command tree. */
export const app: Application<CliContext> = buildApplication<CliContext>(root, {
  name: "reasonix",
  versionInfo: { currentVersion: VERSION },
  determineExitCode: exitCodeOf,
  scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: true },
  documentation: {
    caseStyle: "convert-camel-to-kebab",
    onlyRequiredInUsageLine: true,
    useAliasInUsageLine: false,
  },
  localization: {
    text: PARSER_TEXTS,
  },
});

/** Runs one command line and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const context = processContext();
  const line = shortForm(args);
  const words = withEmptyValues(line?.words ?? withChat(args, Object.keys(ROUTES)));
  if (line && line.ignored.length > 0) {
    context.process.stderr.write(`· Without effect here: ${line.ignored.join(", ")}\n`);
  }
  if (words.some(isHelp) || isGroup(words)) {
    const [{ fitHelp }, { installHelp }] = await Promise.all([
      import("./terminal/narrow.ts"),
      import("./routes/help.ts"),
    ]);
    installHelp(app);
    fitHelp(context);
  }
  await run(app, words, context);
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
function isGroup([first = "", ...more]: readonly string[]): boolean {
  return more.length === 0 && Object.hasOwn(ROUTES, first) &&
    "getAllEntries" in ROUTES[first as keyof typeof ROUTES];
}

function isHelp(arg: string): boolean {
  return arg === "--help" || arg === "-h" || arg === "--help-all";
}

function withShortForm(args: readonly string[]): readonly string[] {
  return shortForm(args)?.words ?? (args.length === 0 ? args : withChat(args, Object.keys(ROUTES)));
}
