import type { ActionCode } from "./reasons.ts";
import { baseName } from "../../path/lexical.ts";
import { readSmallText } from "../../path/probe.ts";
import { isKnown } from "../../rule/mod.ts";
import { type Call, type Grammar, listed, operands, type Program, ROWS } from "./program.ts";
import { FILES, TOOLS } from "./programs/tools.ts";
import { GIT } from "./programs/git.ts";
import { interpreter, SHELLS } from "./programs/code.ts";
import type { Destruction } from "./types.ts";

const GRAMMARS: Readonly<Record<string, Grammar>> = { ...FILES, ...GIT, ...SHELLS, ...TOOLS };

const PATTERNS: ReadonlyMap<string, string> = new Map(
  ROWS.flatMap(([name, pattern = ""]) => name.startsWith("@") ? [[name, pattern]] : []),
);

const FLAGS = new Set(["reads", "deep", "assigns", "dash", "runs"]);
const NUMBERS = new Set(["most", "skip", "depth"]);
const EXPRESSIONS = new Set(
  ["needs", "operands", "words", "first", "code", "input", "autoexec", "text", "when", "unless"],
);

/** Everything that is known of programs, a row each. */
export const PROGRAMS: readonly Program[] = ROWS.filter(([name]) => !/^[@%]/.test(name)).map(toProgram);

function toProgram([names, ...fields]: (typeof ROWS)[number]): Program {
  const row: Record<string, unknown> = { names };
  for (const field of fields) {
    const [name = "", value = ""] = field.split(/=(.*)/s, 2);
    const isExpression = EXPRESSIONS.has(name) || (name === "network" && value !== "");
    row[name] = isExpression
      ? new RegExp(PATTERNS.get(value) ?? value)
      : FLAGS.has(name) || name === "network"
      ? true
      : NUMBERS.has(name)
      ? Number(value)
      : value;
  }
  return { ...row, names, ...grammarOf(row) };
}

type Fields = Partial<Program> & {
  readonly grammar?: string;
  readonly action?: string;
  readonly when?: RegExp;
  readonly unless?: RegExp;
};

/** The grammar that a row names, or the one that its fields describe. */
function grammarOf(
  { names, grammar, interprets, code, input, action, when, unless }: Fields,
): Partial<Program> {
  if (grammar !== undefined) {
    const named = GRAMMARS[grammar];
    if (!named) throw new Error(`Unknown grammar of ${names}`);
    return named;
  }
  if (code && interprets !== undefined) {
    return interpreter({ code, input, shown: interprets === "shown" });
  }
  return action === undefined ? {} : { destroys: destructionBy(action, when, unless) };
}

/** The destruction by a program with a word that matches `when`, and none that matches `unless`. */
function destructionBy(action: string, when: RegExp | undefined, unless: RegExp | undefined) {
  const [code = "", ...details] = action.split(" ");
  return ({ name, args }: Call): Destruction[] => {
    const happens = (!when || args.some((arg) => when.test(arg))) && !args.some((arg) => unless?.test(arg));
    const what = details.includes("first") ? `${name} ${args[0]}` : name;
    return happens ? [{ action: [code as ActionCode, ...(details.length > 0 ? [what] : [])] }] : [];
  };
}

/** Rows by name; a name ending in `#` is that of a program with one name per version. */
const BY_NAME: ReadonlyMap<string, Program> = new Map(
  PROGRAMS.flatMap((row) => namesOf(row).map((name) => [name, row] as const)),
);

function namesOf({ names, sub }: Program): string[] {
  return names.split(" ").flatMap((name) =>
    sub === undefined ? [name] : sub.split(" ").map((word) => `${name} ${word}`)
  );
}

/** Returns what is known of a program by its bare name, or of a subcommand by both names. */
export function programNamed(name: string): Program | undefined {
  const plain = name.replace(/\.exe$|\.distrib$/, "");
  return BY_NAME.get(plain) ?? BY_NAME.get(`${plain}#`) ??
    BY_NAME.get(plain.replace(/[-.]?\d[\d.]*$/, "#")) ??
    (/^ld-[\w.-]+\.so/.test(plain)
      ? BY_NAME.get("ld.so")
      : /^mkfs\./.test(plain)
      ? BY_NAME.get("mkfs")
      : undefined);
}

/** Hosts of package registries, by the names that rows use. */
const REGISTRIES: ReadonlyMap<string, readonly string[]> = new Map(
  listed("registry").map(([name = "", hosts = ""]) => [name, hosts.split(" ")]),
);

/** Returns the hosts of all package registries. */
export function packageRegistries(): string[] {
  return [...REGISTRIES.values()].flat();
}

const ADDRESS = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;
/** `user@host:path`, which git and others take for SSH. */
const SSH_ADDRESS = /^(?:[\w.-]+@)?[\w.-]+:(?!\/\/)/;

/**
 * Returns the hosts that a command contacts, as entries of `network_hosts`: by the rows of what it runs,
 * outermost first, and by its words. "any": they are not known, or a proxy for the web does not lead there;
 * "local": this machine or a mere address.
 */
export function contactedHosts(
  runs: readonly (readonly string[])[],
  directory: string,
): string[] | "any" | "local" {
  const [first = []] = runs;
  const args = first.slice(1);
  if (!args.every(isKnown)) return "any";
  const own = runs.flatMap(([word = ""]) => {
    const { hosts = "", registries = "" } = programNamed(baseName(word)) ?? {};
    const named = registries.split(" ").flatMap((name) => REGISTRIES.get(name) ?? []);
    return [...hosts.split(" ").filter((host) => host !== ""), ...named];
  });
  let addresses = args.flatMap((arg) => arg.match(ADDRESS) ?? []);
  if (runs.some(([word = ""]) => baseName(word) === "git")) {
    if (args.includes("submodule")) return "any";
    if (addresses.length === 0 && args.some((arg) => SSH_ADDRESS.test(arg))) return "any";
    if (addresses.length === 0) addresses = remoteAddresses(operands(args), directory);
  }
  const named = addresses.map(webHost);
  if (named.includes("any") || (own.length === 0 && named.length === 0)) return "any";
  return named.includes("local") ? "local" : [...new Set([...own, ...named])];
}

/** Returns the host of a web address with its port where that is not the usual one. */
function webHost(address: string): string {
  const url = URL.parse(address.replace(/^git\+(?=https?:)/, ""));
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === "") return "any";
  if (/^[\d.]+$|^\[|(?:^|\.)localhost\.?$/.test(url.hostname)) return "local";
  return url.host.replace(/\.(?=:|$)/, "");
}

/** Returns the addresses of the remote that words of git name, by the repository's configuration. */
function remoteAddresses(words: readonly string[], directory: string): string[] {
  const found = new Map<string, string>();
  for (let at = directory; found.size === 0; at = at.slice(0, at.lastIndexOf("/"))) {
    const text = readSmallText(`${at}/.git/config`, 64 * 1024) ?? "";
    for (const [, name = "", body = ""] of text.matchAll(/^\[remote "([^"\n]+)"\]((?:\n(?!\[).*)*)/gm)) {
      for (const [, url = ""] of body.matchAll(/^\s*(?:push)?url\s*=\s*"?([^"\s]+)/gim)) {
        found.set(`${name} ${url}`, url);
      }
    }
    if (at.length <= 1) break;
  }
  const of = (name: string) =>
    [...found].filter(([key]) => key.startsWith(`${name} `)).map(([, url]) =>
      url.includes("://") ? url : `ssh://${url}`
    );
  const named = words.flatMap(of);
  return named.length > 0 ? named : of("origin");
}
