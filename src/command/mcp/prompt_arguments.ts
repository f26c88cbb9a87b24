import type { McpPromptInfo } from "../../mcp/mod.ts";

type Declared = McpPromptInfo["arguments"];

/** What follows the name of a prompt, by argument. */
export interface PromptArguments {
  readonly given: Readonly<Record<string, string>>;
  /** Required ones that have no value. */
  readonly missing: Declared;
  /** What no argument takes. */
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
export function argumentUsage(declared: Declared): string {
  return declared.map(({ name, required }) => required ? `<${name}>` : `[${name}]`).join(" ");
}

/** The argument that a word is for which is being written, and how its value begins. */
export function argumentAt(
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
