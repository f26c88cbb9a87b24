import type { ProviderTable } from "../edit/edit.ts";
import type { ConfigProblem } from "../problem.ts";
import { hideSecrets, holdsSecret } from "../query/hide_secrets.ts";
import { isTable, tableOf, type TomlTable } from "../schema/json_schema.ts";
import { clausesOf, message, type SourceLocation, type Text } from "../../core/mod.ts";
import { defined } from "../../util/json.ts";
import { createRedactor } from "../../util/redact.ts";

export type AgentName = "claude" | "codex" | "opencode" | "reasonix";

/** The owner of a file, which decides which of our files takes its settings. */
export type Scope = "user" | "project";

export interface Origin {
  /** Such as `permissions.allow "Bash(git:*)"`, without secrets. */
  readonly text: string;
  readonly place: SourceLocation;
  readonly scope: Scope;
}

export type Change =
  | { readonly kind: "set"; readonly key: string; readonly value: unknown }
  | { readonly kind: "item"; readonly key: string; readonly item: string | TomlTable }
  /** A Markdown file; `path` starts in the Reasonix home, or in `.reasonix` of the project. */
  | { readonly kind: "file"; readonly path: string; readonly text: string }
  | { readonly kind: "entry"; readonly list: "providers" | "plugins"; readonly entry: ProviderTable };

export interface Step {
  readonly origin: Origin;
  readonly change: Change;
  /** Difference from its effect there. */
  readonly note?: Text;
}

export interface Left {
  readonly origin: Origin;
  readonly why: Text;
}

/** A key found in a file. Its value is never shown and never written into a configuration. */
export interface FoundKey {
  readonly name: string;
  readonly value: string;
  readonly origin: Origin;
}

const redact = createRedactor([]);

function looksLikeKey(text: string): boolean {
  return redact(String(hideSecrets(text))) !== text;
}

function textsIn(change: Exclude<Change, { kind: "entry" }>): string[] {
  if (change.kind === "file") return [change.text];
  const value = change.kind === "set" ? change.value : change.item;
  return isTable(value) ? Object.values(value).map(String) : [String(value)];
}

export class ImportPlan {
  readonly steps: Step[] = [];
  readonly left: Left[] = [];
  readonly keys: FoundKey[] = [];
  readonly problems: ConfigProblem[] = [];
  readonly notices: Text[] = [];

  take(origin: Origin, change: Change, note?: Text): void {
    if (change.kind !== "entry" && textsIn(change).some(looksLikeKey)) {
      return this.leave(origin, message`it contains a key`);
    }
    this.steps.push(defined({ origin, change, note }));
  }

  leave(origin: Origin, why: Text): void {
    this.left.push({ origin, why });
  }

  /**
   * Remembers a key under its name, or under `other` where another value has that name already; a value that
   * is there keeps its name. Returns the name.
   */
  key(found: FoundKey, other: string): string {
    const same = this.keys.find(({ value, origin }) =>
      value === found.value && origin.scope === found.origin.scope
    );
    if (same) return same.name;
    const name = this.keys.some((known) => known.name === found.name) ? other : found.name;
    this.keys.push({ ...found, name });
    return name;
  }
}

const MARK = "\u0000";
const MARKS = /\[(?:secret|redacted)\]/g;
/** `my server`, `api-key` → `MY_SERVER_API_KEY`. */
export function variableName(...words: string[]): string {
  const name = words.join("_").toUpperCase().replace(/[^A-Z0-9]+/g, "_").replace(/^_+|_+$/g, "");
  return /^\d/.test(name) || name === "" ? `_${name}` : name;
}

/** The server or provider that keys are named after. */
interface Owner {
  readonly plan: ImportPlan;
  readonly origin: Origin;
  readonly name: string;
}

/** Replaces secrets in environment variables by `${NAME}`. */
export function safeEnvironment(values: unknown, owner: Owner): Record<string, string> {
  return mapTexts(values, (value, name) => {
    if (isReference(value)) return value;
    if (holdsSecret(name, value)) return reference(owner, value, name);
    return safeText(value, owner, name);
  });
}

/** Replaces secrets in headers by `${NAME}`; the scheme (`Bearer`) stays. */
export function safeHeaders(values: unknown, owner: Owner): Record<string, string> {
  return mapTexts(values, (value, name) => {
    if (isReference(value)) return value;
    const scheme = /^(?:Bearer|Basic|Token)\s+/i.exec(value)?.[0] ?? "";
    const secret = scheme !== "" || holdsSecret(name.replaceAll("-", "_"), value) ||
      /auth|cookie/i.test(name);
    if (!secret) return safeText(value, owner, name);
    const word = name.toLowerCase() === "authorization" ? "token" : name;
    return scheme + reference(owner, value.slice(scheme.length), variableName(owner.name, word));
  });
}

/** Replaces secrets in arguments, such as after `--token`, by `${NAME}`. */
export function safeArguments(values: unknown, owner: Owner): string[] {
  const list = Array.isArray(values) ? values.map(String) : [];
  const hidden = hideSecrets(list) as string[];
  return list.map((text, index) => {
    const flag = /^--?([\w-]+)/.exec(/^--?[\w-]+=/.test(text) ? text : list[index - 1] ?? "")?.[1] ?? "key";
    return isReference(text) ? text : cover(text, redact(hidden[index] ?? text), owner, flag);
  });
}

/** Replaces keys in an address or another text by `${NAME}`. */
export function safeText(text: string, owner: Owner, word = "key"): string {
  return isReference(text) ? text : cover(text, redact(String(hideSecrets(text))), owner, word);
}

function isReference(text: string): boolean {
  return /\$\{[A-Za-z_]/.test(text);
}

function cover(text: string, hidden: string, owner: Owner, word: string): string {
  if (hidden === text) return text;
  const name = variableName(owner.name, word);
  const parts = hidden.replace(MARKS, MARK).split(MARK);
  const [before = "", after = ""] = parts;
  const fits = parts.length === 2 && text.startsWith(before) && text.endsWith(after);
  if (!fits) return reference(owner, text, name);
  return before + reference(owner, text.slice(before.length, text.length - after.length), name) + after;
}

function reference({ plan, origin, name: owner }: Owner, value: string, name: string): string {
  return `\${${plan.key({ name, value, origin }, variableName(owner, name))}}`;
}

function mapTexts(values: unknown, map: (value: string, name: string) => string): Record<string, string> {
  const entries = Object.entries(tableOf(values));
  return Object.fromEntries(
    entries.filter(([, value]) => value !== null && typeof value !== "object")
      .map(([name, value]) => [name, map(String(value), name)]),
  );
}

/** An MCP server of another agent as an entry of `[[plugins]]`, with its secrets and without a name. */
export interface ServerDescription {
  readonly entry: TomlTable;
  readonly without: readonly string[];
}

const REMOTE = ["http", "streamable-http", "sse"];

/** Takes over a server as an entry of `[[plugins]]`, its secrets lifted into variables. */
export function takeServer(
  plan: ImportPlan,
  origin: Origin,
  name: string,
  { entry: server, without }: ServerDescription,
): void {
  const owner = { plan, origin, name };
  const type = transportOf(server);
  const isRemote = REMOTE.includes(type);
  if (type !== "stdio" && !isRemote) {
    return plan.leave(
      origin,
      message`the transport ${JSON.stringify(type)} is not there; stdio, http and sse are`,
    );
  }
  const needed = isRemote ? "url" : "command";
  const target = server[needed];
  if (typeof target !== "string" || target === "") {
    return plan.leave(origin, message`the server has no ${needed}`);
  }
  const [env, headers] = [safeEnvironment(server.env, owner), safeHeaders(server.headers, owner)];
  const text = (value: unknown) => typeof value === "string" ? value : undefined;
  const { startup_timeout_seconds, call_timeout_seconds, enabled_tools, disabled_tools } = server;
  const entry: ProviderTable = {
    name,
    ...given(
      isRemote
        ? {
          type,
          url: safeText(target, owner, "api_key"),
          env,
          headers,
          headers_helper: text(server.headers_helper),
        }
        : {
          command: safeText(target, owner),
          args: safeArguments(server.args, owner),
          env,
          headers,
          cwd: text(server.cwd),
        },
    ),
    ...(server.oauth && isRemote ? { oauth: server.oauth } : {}),
    ...given({ startup_timeout_seconds, call_timeout_seconds, enabled_tools, disabled_tools }),
    ...(server.enabled === false ? { enabled: false } : {}),
  };
  const note = without.length > 0 ? clausesOf(without.map((part) => message`without ${part}`)) : undefined;
  plan.take(origin, { kind: "entry", list: "plugins", entry }, note);
}

function transportOf({ type, command, url }: TomlTable): string {
  if (typeof type === "string" && type !== "") {
    return type === "local" ? "stdio" : type === "remote" ? "http" : type;
  }
  return url !== undefined && command === undefined ? "http" : "stdio";
}

/** Keeps the values that are neither missing nor 0 nor an empty list or table. */
function given(values: TomlTable): TomlTable {
  const isGiven = (value: unknown) =>
    typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);
  return Object.fromEntries(Object.entries(values).filter(([, value]) => isGiven(value)));
}

/** The keys under which other agents, and our files, describe servers. */
const SERVER_KEY = /^(?:mcpServers|mcp_servers|mcp|plugins)\b/;

export function serversOf(whole: ImportPlan): ImportPlan {
  const plan = new ImportPlan();
  plan.problems.push(...whole.problems);
  plan.left.push(...whole.left.filter(({ origin }) => SERVER_KEY.test(origin.text)));
  plan.steps.push(
    ...whole.steps.filter(({ change }) => change.kind === "entry" && change.list === "plugins"),
  );
  const entries = JSON.stringify(plan.steps.map(({ change }) => change));
  plan.keys.push(...whole.keys.filter(({ name }) => entries.includes(`\${${name}}`)));
  return plan;
}

/** A sentence as the continuation of another one. */
export function lowered(text: Text): Text {
  if (typeof text === "string") return text.charAt(0).toLowerCase() + text.slice(1);
  return { ...text, text: text.text.charAt(0).toLowerCase() + text.text.slice(1) };
}
