import type { Assembly } from "../run/mod.ts";
import { usageError } from "../core/mod.ts";
import { loadTexts, type Locale, type Texts } from "../i18n/mod.ts";
import { exists } from "../path/probe.ts";
import { suggestNames } from "../util/suggest.ts";
import { oneLine } from "../util/terminal_text.ts";
import { type Builtin, type BuiltinName, COMMANDS } from "./builtins.ts";
import { meetServer, projectCommands, unusedFile } from "./project_commands.ts";
import type { CommandBody, CommandHost, SlashCommand } from "./command.ts";

export interface CommandScope {
  readonly locale?: Locale;
  /** The session that is open, or being opened; without one there are only the commands of the program. */
  readonly session?: () => Promise<Assembly>;
  readonly headless?: boolean;
  /** The front end is no terminal and shows one session. */
  readonly oneSession?: boolean;
}

/** All commands: the program's in the order of the list, then what the project and the user bring. */
export async function allCommands(scope: CommandScope = {}): Promise<readonly SlashCommand[]> {
  const [own, others] = await Promise.all([builtinCommands(scope.locale), projectCommands(scope.session)]);
  const names = new Set(own.flatMap(({ name, aliases = [] }) => [name, ...aliases]));
  const usable = own.filter(({ chatOnly, forTerminal }) =>
    !(chatOnly && (scope.headless || scope.oneSession)) && !(forTerminal && scope.oneSession)
  );
  return [...usable, ...others.filter(({ name }) => !names.has(name))];
}

async function builtinCommands(locale: Locale = "en"): Promise<readonly SlashCommand[]> {
  const texts = await loadTexts("commands", locale);
  const briefs: Readonly<Record<BuiltinName, string>> = texts.briefs;
  const hints: Readonly<Partial<Record<BuiltinName, string>>> = texts.hints;
  return (Object.keys(COMMANDS) as BuiltinName[]).map((name) => {
    const { aliases, chatOnly, forTerminal, whileWorking }: Builtin = COMMANDS[name];
    const argumentHint = hints[name];
    return {
      name,
      brief: briefs[name],
      kind: "builtin",
      ...(aliases ? { aliases } : {}),
      ...(chatOnly ? { chatOnly } : {}),
      ...(forTerminal ? { forTerminal } : {}),
      ...(whileWorking ? { whileWorking } : {}),
      ...(argumentHint === undefined ? {} : { argumentHint }),
      ...lazyBody(name, COMMANDS[name], texts),
    };
  });
}

/** The body, which is loaded when it is needed, and only where the command can work. */
function lazyBody(name: string, entry: Builtin, texts: Texts["commands"]): CommandBody {
  return {
    async run(host, argument, signal) {
      if (entry.chatOnly && (host.headless || host.oneSession)) {
        throw usageError(texts.needsChat(name), texts.needsChatRemedy(name));
      }
      // What a word behind it was meant to change must not happen to something else.
      if (argument.trim() !== "" && !Object.hasOwn(texts.hints, name)) {
        throw usageError(texts.takesNothing(name, oneLine(argument, 40)), `/${name}`);
      }
      if (entry.needsSession) await requireBeginning(name, host, texts);
      await (await entry.load()).run(host, argument, signal);
    },
    async complete(host, typed) {
      const command = await entry.load();
      const offer = typed.before.length === 0 ? command.complete : command.completeNext;
      // Proposals of a session that cannot be opened are none.
      return await (async () => await offer?.(host, typed))().catch(() => undefined) ?? [];
    },
  };
}

async function requireBeginning(name: string, host: CommandHost, texts: Texts["commands"]): Promise<void> {
  if ((await host.session()).session.state.lastSeq > 0) return;
  throw usageError(
    texts.nothingYet(name),
    host.headless ? texts.nothingYetHeadless(name) : texts.nothingYetChat,
  );
}

export interface CommandLine {
  readonly command: SlashCommand;
  readonly argument: string;
}

/**
 * Reads a line that may begin with `/name`; undefined for every other text, such as a path. Throws
 * ReasonixError (usage) for a name that no command has.
 */
export async function readCommand(
  line: string,
  scope: CommandScope = {},
): Promise<CommandLine | undefined> {
  const match = /^\/([\p{L}?][^\s/]*)(?:\s+([\s\S]*))?$/u.exec(line.trim());
  if (!match) return undefined;
  const [, name = "", argument = ""] = match;
  const isNamed = ({ name: own, aliases = [] }: SlashCommand) => own === name || aliases.includes(name);
  if (name.startsWith("mcp__")) await meetServer(name, scope.session);
  // Most lines name a command of the program, which needs no session.
  const command = (await builtinCommands(scope.locale)).find(isNamed) ??
    (await projectCommands(scope.session)).find(isNamed);
  if (command) return { command: reported(command, scope), argument: argument.trim() };
  const near = suggestNames(name, (await allCommands(scope)).map((each) => each.name))
    .filter((other) => Math.abs(other.length - name.length) <= 2);
  const texts = await loadTexts("commands", scope.locale ?? "en");
  const unused = await unusedFile(name, scope.session);
  if (unused) {
    throw usageError(texts.cannotUse(name, unused.text), texts.correctFile);
  }
  // What no command is called may be a directory, or a sentence that begins so.
  if (near.length === 0 && (exists(`/${name}`) || /^\P{ASCII}/u.test(name))) return undefined;
  const advice = near.length === 0
    ? texts.helpLists
    : texts.didYouMean(near.map((other) => `/${other}`).join(", "));
  throw usageError(texts.unknown(name), texts.inTurn(advice, texts.sendText));
}

/** The same command, of whose error the session is notified, too. */
function reported(command: SlashCommand, { session }: CommandScope): SlashCommand {
  return {
    ...command,
    async run(host, argument, signal) {
      try {
        await command.run(host, argument, signal);
      } catch (error) {
        const assembly = signal?.aborted ? undefined : await session?.().catch(() => undefined);
        assembly?.commandFailed(error);
        throw error;
      }
    },
  };
}

/** A text that begins with two slashes is sent with one. */
export function plainText(line: string): string {
  return line.startsWith("//") ? line.slice(1) : line;
}
