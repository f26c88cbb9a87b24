import { message, type MessageTexts, type ToolFamily, withRemedy } from "../core/mod.ts";
import { globWeight, type RuleList, spelledOut } from "./path_rules.ts";
import { ANY, type Match, matchPattern, SEP, toPattern } from "./pattern.ts";
import { suggestNames } from "../util/suggest.ts";

/**
 * A rule as written in a configuration file. `origin` is printed as it is, such as `reasonix.toml:12:5`.
 */
export interface RuleText {
  readonly text: string;
  readonly origin?: string;
}

export interface RuleProblem {
  readonly rule: string;
  readonly list: RuleList;
  readonly origin?: string;
  readonly message: string;
  /** The form to write instead. */
  readonly remedy: string;
}

/** `[permissions]` after merging. `mode` is what happens to a writer that no rule matches. */
export interface PolicySource {
  readonly mode: "ask" | "allow" | "deny";
  readonly allow: readonly RuleText[];
  readonly ask: readonly RuleText[];
  readonly deny: readonly RuleText[];
}

/** The content of a rule's parentheses. */
type RuleSpec =
  /** The subject exactly as it is (`tool=literal`). */
  | { readonly kind: "literal"; readonly text: string }
  /** `raw` is what was written; `patterns` match a whole command whose words are joined by SEP. */
  | {
    readonly kind: "command";
    readonly raw: string;
    readonly patterns: readonly string[];
    readonly words: readonly string[];
  }
  /** A glob on paths or on any other subject. */
  | { readonly kind: "glob"; readonly raw: string };

export interface Rule {
  readonly text: string;
  readonly list: RuleList;
  /** Its `origin` is only looked at when it is shown, since finding it may cost something. */
  readonly source: RuleText;
  readonly family?: ToolFamily;
  /** Tool name, with `*` as wildcard; absent for a family rule. */
  readonly tool?: string;
  /** Absent: every call of the tool. */
  readonly spec?: RuleSpec;
}

/** Reads one rule: `Tool`, `Tool(spec)` or `tool=literal`; see docs/permissions.md. */
export function parseRule(source: RuleText, list: RuleList): Rule | RuleProblem {
  const text = source.text.trim();
  const read = readRule(source.text);
  if (isFault(read)) {
    const origin = source.origin === undefined ? {} : { origin: source.origin };
    return { rule: source.text, list, ...origin, message: read.message, remedy: read.remedy };
  }
  const { target, inner, literal } = read;
  const rule = { text, list, source, ...target, ...offeredName(target) };
  if (literal !== undefined) {
    return { ...rule, text: source.text.trimStart(), spec: { kind: "literal", text: literal } };
  }
  if (inner === undefined) return rule;
  const family = "family" in target ? target.family : undefined;
  if (family === "Mcp") return { text, list, source, ...offeredName({ tool: `mcp__${inner}` }) };
  if (family === "Bash") return { ...rule, spec: commandSpec(inner) };
  return { ...rule, spec: { kind: "glob", raw: inner } };
}

export function isProblem(parsed: Rule | RuleProblem): parsed is RuleProblem {
  return "message" in parsed;
}

/** A server may have any name; the model calls its tools without the characters that not every wire takes. */
function offeredName(target: RuleTarget): { readonly tool?: string } {
  if (!("tool" in target) || !target.tool.startsWith("mcp__")) return {};
  return { tool: target.tool.replace(/[^A-Za-z0-9_*?-]/gu, "_") };
}

/** `npm run test:*` and the older `go test *` match at a word boundary; other wildcards match anywhere. */
function commandSpec(raw: string): RuleSpec {
  const prefix = /^(.*?)(?:\s*:\*|\s+\*)$/s.exec(raw);
  const body = prefix?.[1] ?? raw;
  const words = splitWords(body);
  const pattern = words.map(toPattern).join(SEP);
  const patterns = prefix ? [pattern, `${pattern}${SEP}${ANY}`] : [pattern];
  return { kind: "command", raw, patterns, words };
}

/**
 * Splits a rule's text like a shell would, so that `git commit -m "a b"` names three words and one of two.
 */
function splitWords(text: string): string[] {
  const words: string[] = [];
  let word = "";
  let open = false;
  for (
    const [, single, double, escaped, space, other] of text.matchAll(
      /'([^']*)'|"([^"]*)"|\\(.)|(\s+)|([\s\S])/g,
    )
  ) {
    if (space !== undefined) {
      if (open) words.push(word);
      word = "";
      open = false;
    } else {
      word += single ?? double ?? escaped ?? other ?? "";
      open = true;
    }
  }
  if (open) words.push(word);
  return words;
}

/**
 * The way permission rules are written and which tools their names mean: the configuration checks it, the
 * gate works with it.
 */

/** The subject of a rule: a family of tools, or tools by name, with `*` as wildcard. */
type RuleTarget = { readonly family: ToolFamily } | { readonly tool: string };

/** A parsed rule. */
export interface RuleParts {
  readonly name: string;
  readonly target: RuleTarget;
  /** The content of the parentheses, without blanks around it; absent: every call. Never empty. */
  readonly inner?: string;
  /** The text after `=`. */
  readonly literal?: string;
}

/** A text that is no rule. */
export interface RuleFault {
  readonly message: string;
  /** The form to write instead. */
  readonly remedy: string;
  /** It is a rule, but more than can be held: an error in every list, since part of it would be lost. */
  readonly isTooWide?: true;
  /** Both for other languages. */
  readonly texts: Required<MessageTexts>;
}

/** Names that users write in rules, older ones and those of other systems, by the name they mean here. */
const RULE_NAMES: Readonly<Record<string, string>> = {
  Bash: "Bash",
  bash: "Bash",
  shell: "Bash",
  powershell: "Bash",
  pwsh: "Bash",
  Shell: "Bash",
  Read: "Read",
  Edit: "Edit",
  Write: "Edit",
  MultiEdit: "Edit",
  NotebookEdit: "Edit",
  Mcp: "Mcp",
  MCP: "Mcp",
  Grep: "grep",
  Glob: "glob",
  LS: "ls",
  WebFetch: "WebFetch",
  WebSearch: "WebSearch",
  Task: "Task",
  Agent: "Task",
  task: "Task",
  read_only_task: "Task",
  TodoWrite: "todo_write",
  Skill: "skill",
  BashOutput: "job_output",
  KillShell: "job_kill",
};

const FAMILIES: ReadonlySet<string> = new Set([
  "Bash",
  "Read",
  "Edit",
  "Mcp",
  "Task",
  "WebFetch",
  "WebSearch",
]);

/** Takes a rule apart: `Tool`, `Tool(what)` or `tool=literal`; see docs/permissions.md. */
export function readRule(written: string): RuleParts | RuleFault {
  const text = written.trim();
  if (text === "") {
    return withRemedy(
      message`Cannot read an empty permission rule`,
      message`write Tool or Tool(what), such as Bash(go test:*)`,
    );
  }
  const split = /^([^\s(=]+)(?:\(([\s\S]*)\)|=([\s\S]*))?$/.exec(text);
  if (!split) {
    return withRemedy(
      message`Cannot read permission rule ${quote(text)}`,
      message`write Tool or Tool(what) with both parentheses`,
    );
  }
  const [, name = "", between, literal] = split;
  const target = targetOf(name);
  if (!target) return unknownTool(name);
  // A literal is compared as it is, with the blanks at its end.
  if (literal !== undefined) return { name, target, literal: literal + (/\s*$/.exec(written)?.[0] ?? "") };
  const inner = between?.trim();
  if (inner === undefined || inner === "*") return { name, target };
  if (name === "WebFetch" && inner !== "" && !readAddressPattern(inner)) return noAddress(text, inner);
  if (inner !== "") return isHeld(target, inner) ? { name, target, inner } : tooWide(text, name);
  return withRemedy(
    message`Cannot read permission rule ${quote(text)}: its parentheses are empty`,
    message`write ${name} alone for every call`,
  );
}

/** The most characters of a rule with wildcards, and of each name that it expands to: no path is longer. */
const MAX_LENGTH = 4096;
/** The most that a rule and the rules of one file may weigh, see {@linkcode ruleWeight}. */
const MAX_RULE_WEIGHT = 64 * 1024;
export const MAX_WEIGHT = 4 * MAX_RULE_WEIGHT;

/** The amount of text with wildcards that calls are compared with; 0 for no rule that can be held. */
export function ruleWeight(rule: unknown): number {
  const read = typeof rule === "string" ? readRule(rule) : undefined;
  if (!read || isFault(read)) return 0;
  return weightOf(read.target, read.inner ?? read.name);
}

function weightOf(target: RuleTarget, inner: string): number {
  if (!isWithoutPath(target)) return globWeight(inner);
  return /[*?]/.test(inner) ? inner.length : 0;
}

function isWithoutPath(target: RuleTarget): boolean {
  return "family" in target && /^(?:Bash|Mcp|WebFetch|WebSearch)$/.test(target.family);
}

/** Reports whether calls can be compared with every name that a rule expands to. */
function isHeld(target: RuleTarget, inner: string): boolean {
  const names = isWithoutPath(target) ? [/[*?]/.test(inner) ? inner : ""] : spelledOut(inner);
  return names !== undefined && names.every((name) => name.length <= MAX_LENGTH) &&
    weightOf(target, inner) <= MAX_RULE_WEIGHT;
}

function noAddress(text: string, inner: string): RuleFault {
  const host = /[\w-]+(?:\.[\w-]+)+/.exec(inner)?.[0] ?? "docs.example";
  return withRemedy(
    message`Cannot read permission rule ${quote(text)}: it names neither a domain nor an address`,
    message`write ${`WebFetch(domain:${host})`} or ${`WebFetch(https://${host}/*)`}`,
  );
}

function tooWide(text: string, name: string): RuleFault {
  return {
    ...withRemedy(
      message`Cannot hold permission rule ${
        quote(text)
      }: it is too long, or its braces expand to too many names`,
      message`write several rules for ${name}, or a wildcard in place of braces`,
    ),
    isTooWide: true,
  };
}

export function isFault(read: RuleParts | RuleFault): read is RuleFault {
  return "message" in read;
}

/** Undefined when no tool can have the name. */
function targetOf(name: string): RuleTarget | undefined {
  const known = RULE_NAMES[name];
  if (known !== undefined) return isFamily(known) ? { family: known } : { tool: known };
  if (name === "*") return { tool: "*" };
  if (name.length > MAX_LENGTH) return undefined;
  if (/^mcp__[\w.*-]+$/.test(name)) return { tool: name };
  return /^[a-z][a-z0-9_.-]*$/.test(name) ? { tool: name } : undefined;
}

function isFamily(name: string): name is ToolFamily {
  return FAMILIES.has(name);
}

function unknownTool(name: string): RuleFault {
  const near = suggestNames(name, Object.keys(RULE_NAMES), 1)[0];
  return withRemedy(
    message`Cannot read permission rule for ${quote(name)}: no tool or family has this name`,
    near ? message`did you mean ${near}?` : message`use Bash, Read, Edit, Mcp or a tool's own name`,
  );
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}…` : text);
}

/** The parts of an address that rules are compared with. Ports, fragments and credentials count for none. */
interface Address {
  readonly scheme: string;
  /** Lower case and ASCII, without a dot at its end. */
  readonly host: string;
  /** Path and query; escapes of letters, digits, `-`, `.`, `_` and `~` are replaced. */
  readonly rest: string;
}

/** The content of the parentheses of a rule; a host may have `*`. `rest` is absent for a domain. */
type AddressPattern = Omit<Address, "rest"> & { readonly rest?: string };

/** Reads what a rule for WebFetch names; undefined for a text that names neither a domain nor an address. */
function readAddressPattern(raw: string): AddressPattern | undefined {
  const domain = /^domain:(.*)$/is.exec(raw)?.[1];
  if (domain !== undefined) {
    const host = hostPattern(domain.trim());
    return host === undefined ? undefined : { scheme: "*", host };
  }
  const [, scheme = "", authority = "", rest = ""] =
    /^([a-z*][a-z\d+.*-]*):\/\/([^/?#]*)([^#]*)/is.exec(raw) ?? [];
  const host = hostPattern(authority);
  if (host === undefined) return undefined;
  const open = rest === "" && host.endsWith("*");
  return { scheme: scheme.toLowerCase(), host, rest: open ? "*" : unescaped(rest === "" ? "/" : rest) };
}

/** A host as addresses have it, where it has no `*`; undefined for what no host can be. */
function hostPattern(written: string): string | undefined {
  const text = written.replace(/:\d*$/, "");
  if (text === "" || /[\s/?#@\\]/.test(text)) return undefined;
  const [, open = "", name = ""] = /^(\*?\.?)(.*)$/s.exec(text) ?? [];
  if (name === "") return open.startsWith("*") ? "*" : undefined;
  if (name.includes("*")) return text.toLowerCase().replace(/\.+$/, "");
  const host = asciiHost(name);
  return host === undefined ? undefined : open + host;
}

function asciiHost(name: string): string | undefined {
  const url = URL.parse(`https://${name}/`);
  const host = url?.hostname.replace(/\.+$/, "");
  return url?.pathname === "/" && host !== "" ? host : undefined;
}

/**
 * Compares an address, as the model wrote it, with what a rule names. An allowance needs a web address
 * without credentials; a refusal also holds for other schemes, for an address without a scheme, and may hold
 * for one that servers could read in different ways.
 */
export function matchAddress(raw: string, list: RuleList, written: string): Match {
  const pattern = readAddressPattern(raw);
  if (!pattern) return "no";
  const url = URL.parse(written);
  if (list === "allow") return isPlainWeb(url) && names(pattern, addressOf(url)) ? "yes" : "no";
  const readings = [url, url?.host ? null : URL.parse(`https://${written}`)].filter((each) => each !== null);
  if (readings.some((each) => names(pattern, addressOf(each)))) return "yes";
  const authority = /^[^:/?#]*:?[/\\]*([^/?#]*)/.exec(written.trim())?.[1] ?? "";
  // deno-lint-ignore no-control-regex
  return readings.length === 0 || /[\\@%\s\x00-\x1f]/.test(authority) ? "maybe" : "no";
}

function isPlainWeb(url: URL | null): url is URL {
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

function addressOf(url: URL): Address {
  return {
    scheme: url.protocol.slice(0, -1),
    host: asciiHost(url.hostname) ?? url.hostname.toLowerCase(),
    rest: unescaped(url.pathname + url.search),
  };
}

function unescaped(text: string): string {
  return text.replace(/%(2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi, (whole, code: string) => {
    const char = String.fromCharCode(parseInt(code, 16));
    return /[\w.~-]/.test(char) ? char : whole;
  });
}

function names(pattern: AddressPattern, { scheme, host, rest }: Address): boolean {
  const fits = (part: string, text: string) => matchPattern(toPattern(part), text) === "yes";
  return fits(pattern.scheme, scheme) && fits(pattern.host, host) &&
    (pattern.rest === undefined || fits(pattern.rest, rest));
}

/** The host of a web address, by which rules name it; undefined for another one. */
export function webHost(written: string): string | undefined {
  const url = URL.parse(written);
  return isPlainWeb(url) ? addressOf(url).host || undefined : undefined;
}
