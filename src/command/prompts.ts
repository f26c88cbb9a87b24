import type { Assembly } from "../run/mod.ts";
import type { ArgumentValue, CommandHost, SlashCommand, TypedArguments } from "./command.ts";
import { ReasonixError, usageError } from "../core/mod.ts";
import { loadTexts } from "../i18n/mod.ts";
import type { McpPromptInfo, PromptEntry } from "../mcp/mod.ts";
import { oneLine } from "../util/terminal_text.ts";

type Servers = NonNullable<Assembly["servers"]>;

/** A command for each prompt of the MCP servers, as far as it is known what they offer. */
export function promptCommands(assembly: Assembly, servers: Servers): SlashCommand[] {
  return servers.prompts().map((entry) => promptCommand(entry, servers, assembly));
}

function promptCommand(entry: PromptEntry, servers: Servers, assembly: Assembly): SlashCommand {
  const { name, server, prompt } = entry;
  const usage = argumentUsage(prompt.arguments);
  return {
    name,
    brief: oneLine(prompt.description || `${server}: ${prompt.name}`, 160),
    kind: "prompt",
    origin: server,
    ...(usage === "" ? {} : { argumentHint: oneLine(usage, 80) }),
    run: (host, argument, signal) => send(entry, { host, servers, assembly, argument, signal }),
    complete: (_host, typed) => complete(entry, servers, typed),
  };
}

interface Invocation {
  readonly host: CommandHost;
  readonly servers: Servers;
  readonly assembly: Assembly;
  readonly argument: string;
  readonly signal: AbortSignal | undefined;
}

/** Has the server write the prompt, and sends that as the user's message. */
async function send(
  { name, server, prompt }: PromptEntry,
  { host, servers, assembly, argument, signal = new AbortController().signal }: Invocation,
): Promise<void> {
  const texts = await loadTexts("mcp_commands", host.locale);
  const { given, missing, surplus } = promptArguments(prompt.arguments, argument);
  const usage = `/${name} ${argumentUsage(prompt.arguments)}`.trimEnd();
  if (surplus !== "") {
    throw usageError(texts.surplus(name, surplus), texts.usage(usage));
  }
  const values: Record<string, string> = { ...given };
  for (const { name: wanted, description } of missing) {
    if (host.headless) {
      throw usageError(texts.missing(name, wanted), texts.usage(usage));
    }
    const answer = await host.prompt(texts.asksArgument(server, prompt.name, wanted, description));
    if (answer === undefined || answer === "") return host.say(texts.promptLeft(name));
    values[wanted] = answer;
  }
  const { text, images } = await servers.prompt({ server, name: prompt.name, args: values }, {
    ...assembly.attachments,
    signal,
  });
  if (text === "" && images.length === 0) {
    throw new ReasonixError(texts.emptyPrompt(name), { remedy: texts.tryOther });
  }
  host.send(text, { literal: true, ...(images.length > 0 ? { images } : {}) });
}

/** Values of the argument that is being written, and names of those that have none. */
async function complete(
  { server, prompt }: PromptEntry,
  servers: Servers,
  { before, word }: TypedArguments,
): Promise<readonly ArgumentValue[]> {
  const at = argumentAt(prompt.arguments, before, word);
  if (!at) return [];
  const { argument: { name, description }, value, named } = at;
  const query = { ref: { prompt: prompt.name }, argument: name, value };
  const found = await servers.complete(server, query, AbortSignal.timeout(COMPLETION_MS)).catch(() => []);
  const values = found.filter((each) => !/[\n"]/.test(each)).map((each) => {
    const text = /\s/.test(each) ? `"${each}"` : each;
    return { value: named ? `${name}=${text}` : text, detail: name };
  });
  const names = prompt.arguments
    .filter((each) => !named && ![...before, word].some((given) => given.startsWith(`${each.name}=`)))
    .map((each) => ({
      value: `${each.name}=`,
      ...(each.description === "" ? {} : { detail: each.description }),
      open: true,
    }));
  if (values.length > 0 || named) return values;
  return names.length > 0 ? names : [{ value: `${name}=`, detail: description, open: true }];
}

const COMPLETION_MS = 3_000;

type Declared = McpPromptInfo["arguments"];

interface PromptArguments {
  readonly given: Readonly<Record<string, string>>;
  /** Required ones that have no value. */
  readonly missing: Declared;
  /** Text that no argument takes. */
  readonly surplus: string;
}

/**
 * Reads the arguments of a prompt: `name=value` for a declared name, everything else by position. Quotes hold
 * blanks together; the last argument takes what is left over.
 */
export function promptArguments(declared: Declared, text: string): PromptArguments {
  const given = new Map<string, string>();
  const rest: Word[] = [];
  for (const word of wordsOf(text)) {
    const name = word.quoted ? undefined : /^([^=\s]+)=/.exec(word.text)?.[1];
    if (name !== undefined && declared.some((each) => each.name === name) && !given.has(name)) {
      given.set(name, word.text.slice(name.length + 1));
    } else rest.push(word);
  }
  const open = declared.filter(({ name }) => !given.has(name));
  for (const [at, { name }] of open.entries()) {
    const [first, ...more] = rest;
    if (!first) break;
    const isLast = at === open.length - 1;
    // The blanks between the words of the last one are the user's.
    given.set(name, isLast && more.length > 0 ? text.slice(first.at).trimEnd() : first.text);
    if (isLast) rest.length = 0;
    else rest.shift();
  }
  return {
    given: Object.fromEntries(given),
    missing: declared.filter(({ name, required }) => required && !given.get(name)),
    surplus: rest.map((word) => word.text).join(" "),
  };
}

interface Word {
  readonly text: string;
  readonly at: number;
  readonly quoted: boolean;
}

function wordsOf(text: string): Word[] {
  return [...text.matchAll(/([^\s"'=]+=)?(?:"([^"]*)"|'([^']*)')(?=\s|$)|\S+/g)].map((match) => {
    const [whole, name = "", double, single] = match;
    const inner = double ?? single;
    return {
      text: inner === undefined ? whole : name + inner,
      at: match.index,
      quoted: inner !== undefined && name === "",
    };
  });
}

/** The arguments as a usage line shows them: `<needed> [optional]`. */
function argumentUsage(declared: Declared): string {
  return declared.map(({ name, required }) => required ? `<${name}>` : `[${name}]`).join(" ");
}

/** The argument that a word is for which is being written, and how its value begins. */
function argumentAt(
  declared: Declared,
  before: readonly string[],
  word: string,
): { readonly argument: Declared[number]; readonly value: string; readonly named: boolean } | undefined {
  const nameOf = (each: string) => declared.find(({ name }) => each.startsWith(`${name}=`));
  const named = nameOf(word);
  if (named) return { argument: named, value: word.slice(named.name.length + 1), named: true };
  const taken = before.map(nameOf).filter((each) => each !== undefined);
  const positions = before.length - taken.length;
  const argument = declared.filter((each) => !taken.includes(each))[positions];
  return argument && { argument, value: word, named: false };
}
