import { type EnvLookup, isInside, resolvePath, userConfigFile, userHome } from "../config_paths.ts";
import { type Layer, locationOf } from "../load/layer.ts";
import { type ConfigProblem, formatKey, type KeyPath } from "../problem.ts";
import { isLower, judgeProvider, type KnownKeys } from "./provider_trust.ts";
import { commandLine, hideSecrets } from "../query/hide_secrets.ts";
import type { Config } from "../schema/config_types.ts";
import {
  CONFIG_SCHEMA,
  isTable,
  type JsonSchema,
  tableOf,
  type TomlTable,
  valueAt,
} from "../schema/json_schema.ts";
import { contains, relativeTo } from "../../path/lexical.ts";
import { isSystemDirectory } from "../../path/protected.ts";
import { realPath } from "../../path/real_path.ts";
import { isFault, isProblem, parseRule, readRule, type Rule } from "../../rule/mod.ts";
import { entryItem, type PermissionGrant, type TrustEntry, type TrustItem } from "../../trust/mod.ts";
import { canonicalJson } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";

interface ProjectInput {
  readonly layer: Layer;
  /** Its table with variables and paths expanded; becomes the result. */
  readonly expanded: TomlTable;
  readonly base: Config;
  readonly keys: KnownKeys;
  readonly cwd: string;
  readonly env: EnvLookup;
  readonly home: string;
  /** All layers of the project, as written. */
  readonly project: readonly Layer[];
  /** The preset that closes the network, such as "preset offline": no project opens it again. */
  readonly offline: string | undefined;
  /** Values that entries of `[[plugins]]` take from the project's `.env`, by index. */
  readonly fromDotenv: ReadonlyMap<number, TomlTable>;
}

/** A setting that requires trust; `withhold` removes it from the table. */
interface Restrictable {
  readonly item: TrustItem;
  withhold(): void;
}

interface ProjectResult {
  /** The settings that count. Removed entries of lists of tables are `undefined`, so that indexes stay. */
  readonly table: TomlTable;
  readonly warnings: ConfigProblem[];
  /** Settings that are still in the table and require trust. */
  readonly withholdable: Restrictable[];
  /** The name of the user's provider entry whose key and address a project's entry has, by that entry. */
  readonly endpoints: Map<TomlTable, string>;
}

interface GrantList {
  readonly path: KeyPath;
  /** The table of the list, which has the last name of its path. */
  readonly table: TomlTable;
  readonly values: readonly string[];
  /** Warns that an item never counts. */
  refuse(index: number, message: string): void;
}

/** Keeps the settings of a project file that restrict or are harmless; see the table in docs/config.md. */
export function restrictProjectConfig(input: ProjectInput): ProjectResult {
  const result: ProjectResult = {
    table: input.expanded,
    warnings: [],
    withholdable: [],
    endpoints: new Map(),
  };
  const grantLists: GrantList[] = [];
  restrictTable(result.table, CONFIG_SCHEMA, {
    path: [],
    table: result.table,
    base: input.base as TomlTable,
    input,
    result,
    grantLists,
  });
  const grants = findGrants(grantLists, input);
  if (grants) result.withholdable.push(grants);
  return result;
}

interface Scope {
  readonly path: KeyPath;
  readonly table: TomlTable;
  readonly base: TomlTable;
  readonly input: ProjectInput;
  readonly result: ProjectResult;
  readonly grantLists: GrantList[];
}

function restrictTable(table: TomlTable, schema: JsonSchema, scope: Scope): void {
  for (const [name, value] of Object.entries(table)) {
    const child = schema.properties?.[name];
    const base = scope.base[name];
    const here = { ...scope, path: [...scope.path, name], base: tableOf(base) };
    if (!child) continue;
    if (child.properties && isTable(value)) restrictTable(value, child, here);
    else if (child.project) table[name] = restrictValue(value, base, child, { ...here, table });
    if (table[name] === undefined) delete table[name];
  }
}

function restrictValue(value: unknown, base: unknown, schema: JsonSchema, scope: Scope): unknown {
  switch (schema.project) {
    case "ignored":
      if (canonicalJson(value) === canonicalJson(base)) return undefined;
      return void warn(scope, `Only your own file can set ${formatKey(scope.path)}`);
    case "stricter":
      return looseness(value, schema) <= looseness(base, schema) ? value : refused(scope, base, value);
    case "off":
      return value === false || base === true ? value : refused(scope, base, value);
    case "lower":
      return value === base || isLower(value, base) ? value : refused(scope, base, value);
    case "subset":
      return subset(value, base, scope);
    case "inside":
      return inside(value, scope);
    case "trust":
      return withTrust(value, scope);
    case "grants":
      return mayGrant(value, base, scope);
    default:
      return value;
  }
}

function looseness(value: unknown, schema: JsonSchema): number {
  return schema.enum?.indexOf(String(value)) ?? 0;
}

function subset(value: unknown, base: unknown, scope: Scope): unknown {
  if (!Array.isArray(value) || !Array.isArray(base) || base.length === 0 || base.includes("*")) return value;
  const kept = value.filter((item) => base.includes(item));
  // An empty list means every tool.
  return kept.length > 0 ? kept : refused(scope, base, value);
}

function inside(value: unknown, scope: Scope): unknown {
  if (Array.isArray(value)) {
    return value.filter((item, index) =>
      inside(item, { ...scope, path: [...scope.path, index] }) !== undefined
    );
  }
  if (value === "" || isInside(String(value), scope.input.cwd)) return value;
  // As written: the value of a variable in it may be a secret.
  const written = JSON.stringify(valueAt(scope.input.layer.table, scope.path));
  return void warn(scope, `${formatKey(scope.path)} may not leave the project with ${written}`);
}

/** Items that the user has in the list already grant nothing. */
function mayGrant(value: unknown, base: unknown, scope: Scope): unknown {
  if (!Array.isArray(value) || value.every((item) => Array.isArray(base) && base.includes(item))) {
    return value;
  }
  const { path, table, grantLists } = scope;
  const refuse = (index: number, message: string) => warn({ ...scope, path: [...path, index] }, message);
  grantLists.push({ path, table, values: value.map(String), refuse });
  return value;
}

function refused(scope: Scope, base: unknown, value: unknown): undefined {
  const change = `from ${JSON.stringify(base)} to ${JSON.stringify(value)}`;
  warn(scope, `A project file cannot loosen ${formatKey(scope.path)} ${change}`);
}

function warn({ input, path, result }: Scope, message: string): void {
  const place = locationOf(input.layer, path);
  result.warnings.push({
    level: "warning",
    message: `${message}; it is ignored`,
    remedy: `move it to ${userConfigFile(input)} if you want it`,
    ...(place ? { place } : {}),
  });
}

function withTrust(value: unknown, scope: Scope): unknown {
  const [list] = scope.path;
  if (isTable(value)) return commands(value, scope);
  if (!Array.isArray(value)) {
    const reason = `it would run ${JSON.stringify(value)} as the shell`;
    const withhold = () => delete scope.table[String(scope.path.at(-1))];
    mark(
      { kind: "shell", name: String(value), written: value, describe: () => ({ reason }) },
      scope,
      withhold,
    );
    return value;
  }
  const raw = scope.input.layer.table[String(list)];
  const entries: (TomlTable | undefined)[] = value.map((entry, index) =>
    isTable(entry) && Array.isArray(raw) && isTable(raw[index]) ? entry : undefined
  );
  for (const [index, entry] of entries.entries()) {
    const written = Array.isArray(raw) ? raw[index] : undefined;
    if (!entry || !isTable(written)) continue;
    const place: EntryLocation = {
      scope: { ...scope, path: [...scope.path, index] },
      withhold: () => entries[index] = undefined,
      replace: (by) => entries[index] = by,
    };
    if (list === "providers") provider(written, entry, place);
    else if (list === "hooks") mark(hookEntry(written, scope.input), place.scope, place.withhold);
    else plugin(written, entry, place);
  }
  return entries;
}

function commands(value: TomlTable, scope: Scope): TomlTable {
  const lines = Object.values(value).flat().map(String);
  const name = scope.path.join(".");
  const withhold = () => delete scope.table[String(scope.path.at(-1))];
  const reason = `it would run ${lines.map((line) => JSON.stringify(line)).join(", ")} after turns that ` +
    "change files";
  mark({ kind: "verify", name, written: value, describe: () => ({ reason, lines }) }, scope, withhold);
  return value;
}

interface EntryLocation {
  readonly scope: Scope;
  readonly withhold: () => void;
  readonly replace: (by: TomlTable) => void;
}

function provider(written: TomlTable, entry: TomlTable, { scope, withhold, replace }: EntryLocation): void {
  const { reason, userEntry, counts, refused } = judgeProvider(written, entry, scope.input.keys);
  replace(counts);
  if (userEntry) scope.result.endpoints.set(counts, String(userEntry.name));
  for (const path of new Map(refused.map((path) => [formatKey(path), path])).values()) {
    const here = { ...scope, path: [...scope.path, ...path] };
    warn(here, `A project file cannot loosen ${formatKey(here.path)} of your provider ${userEntry?.name}`);
  }
  if (reason === undefined) return;
  const describe = () => ({ reason });
  mark({ kind: "provider", name: String(entry.name), written, describe }, scope, withhold);
}

/** A server that a project only disables needs no trust, and its other settings are ignored. */
function plugin(written: TomlTable, entry: TomlTable, { scope, withhold }: EntryLocation): void {
  const { base, layer, cwd, env, keys: { holder }, fromDotenv } = scope.input;
  if (entry.enabled === false) {
    for (const key of Object.keys(entry)) if (key !== "name" && key !== "enabled") delete entry[key];
    return;
  }
  if (entry.providers !== undefined) {
    const path = [...scope.path, "providers"];
    warn({ ...scope, path }, `Only your own file can set ${formatKey(path)}`);
    delete entry.providers;
  }
  const replaces = base.plugins.some((present) => present.name === entry.name);
  const used = fromDotenv.get(Number(scope.path.at(-1)));
  const about = { layer, path: scope.path, cwd, env, replaces, holder, used };
  mark(pluginEntry(written, entry, about), scope, withhold);
}

function mark(entry: TrustEntry, { input, path, result }: Scope, withhold: () => void): void {
  const { layer, cwd } = input;
  const place = () => locationOf(layer, path) ?? { file: layer.file ?? "" };
  result.withholdable.push({ item: entryItem(entry, { cwd, place }), withhold });
}

/**
 * Finds the grants in the lists of a project's file: one decision for the file, keyed by all grants and all
 * restrictions. Warns about grants that no project can have.
 */
function findGrants(grantLists: readonly GrantList[], input: ProjectInput): Restrictable | undefined {
  const grants: PermissionGrant[] = [];
  // The decision is about the file, and the same with every preset.
  const decided: [string, string][] = [];
  const withheld: (() => void)[] = [];
  for (const { path, table, values, refuse } of grantLists) {
    const key = formatKey(path);
    const harmless: string[] = [];
    const all: string[] = [];
    for (const [index, written] of values.entries()) {
      const found = effectOf(key, written, input);
      if (found === "never") {
        refuse(index, `Only your own file can open ${JSON.stringify(written)} for writing`);
      } else if (found === "nothing") all.push(written);
      else if (found === "inside") all.push(written), harmless.push(written);
      else if (key === "sandbox.network_hosts" && input.offline !== undefined) {
        decided.push([key, found.value]);
        refuse(index, `With ${input.offline} a project cannot open the host ${JSON.stringify(written)}`);
      } else {
        decided.push([key, found.value]);
        all.push(found.value);
        // Looked up when it is shown: thousands of them would each cost a pass over the text.
        grants.push({
          key,
          ...found,
          get place() {
            return locationOf(input.layer, [...path, index]) ?? { file: "" };
          },
        });
      }
    }
    const name = String(path.at(-1));
    table[name] = all;
    withheld.push(() => {
      if (harmless.length > 0) table[name] = harmless;
      else delete table[name];
    });
  }
  const [first] = grants;
  if (!first) return undefined;
  const file = input.layer.file ?? "";
  const name = relativeTo(file, input.cwd) ?? file;
  const restrictions = input.project.map((layer) => restrictionsOf(layer.table));
  const definition = canonicalJson([decided, restrictions]);
  const reason = "it would allow more than you do";
  return {
    item: { kind: "widening", name, reason, definition, place: first.place, grants },
    withhold: () => withheld.forEach((withhold) => withhold()),
  };
}

function effectOf(
  key: string,
  value: string,
  context: ProjectInput,
): "nothing" | "inside" | "never" | Pick<PermissionGrant, "value" | "words"> {
  if (key === "permissions.allow") {
    return isFault(readRule(value)) ? "nothing" : { value, words: ruleWords(value) };
  }
  if (key === "sandbox.network_hosts") return { value, words: `connect to ${hostWords(value)}` };
  const real = resolved(value);
  if (real === undefined) return "never";
  if (contains(resolved(context.cwd) ?? context.cwd, real)) return "inside";
  return isTooWide(real, context) ? "never" : { value: real, words: `write in ${real}` };
}

function resolved(path: string): string | undefined {
  return attempt(() => realPath(path));
}

/** System directories, parents of the user's home, and the Reasonix home. */
function isTooWide(real: string, { home, env }: ProjectInput): boolean {
  const user = userHome(env);
  const keptIn = resolved(home) ?? home;
  return isSystemDirectory(real, user && (resolved(user) ?? user)) ||
    contains(real, keptIn) || contains(keptIn, real);
}

function hostWords(entry: string): string {
  return entry === "*" ? "any host" : entry.startsWith("*.") ? `every host below ${entry.slice(2)}` : entry;
}

const FAMILY_WORDS = {
  Bash: "run every command",
  Read: "read every file it can reach",
  Edit: "edit every file of the workspace",
  Mcp: "use every tool of every MCP server",
  Task: "let every agent work on parts of a task",
  WebFetch: "read every web address",
  WebSearch: "search the web for anything",
} as const;

function ruleWords(text: string): string {
  const rule = parseRule({ text }, "allow");
  if (isProblem(rule)) return text;
  const { family, spec, tool } = rule;
  if (!spec) {
    if (family !== undefined) return FAMILY_WORDS[family];
    return tool === "*" ? "use every tool for anything" : `use ${tool}`;
  }
  if (spec.kind === "command") return commandWords(spec);
  const what = spec.kind === "literal" ? JSON.stringify(spec.text) : spec.raw;
  if (family === "Bash") return `run ${what}`;
  if (family === "WebFetch") return `read ${what.replace(/^domain:/i, "every page of ")}`;
  if (family === "WebSearch") return `search the web for ${what}`;
  if (family === "Read" || family === "Edit") return `${family.toLowerCase()} files named ${what}`;
  return family === "Task" ? `let the agent ${what} work on parts of a task` : `use ${tool} for ${what}`;
}

function commandWords({ raw }: Extract<Rule["spec"], { kind: "command" }>): string {
  const prefix = /^(.*?)(?:\s*:\*|\s+\*)$/s.exec(raw)?.[1];
  if (prefix !== undefined && !/[*?]/.test(prefix)) {
    return `run commands that begin with ${JSON.stringify(prefix)}`;
  }
  return /[*?]/.test(raw) ? `run commands of the form ${JSON.stringify(raw)}` : `run ${JSON.stringify(raw)}`;
}

const RESTRICTING: ReadonlySet<string | undefined> = new Set(["adds", "stricter", "off", "subset"]);

/**
 * Returns the settings of a project that restrict. Grants were trusted together with them, so without one of
 * them they are others.
 */
function restrictionsOf(table: TomlTable, schema: JsonSchema = CONFIG_SCHEMA): TomlTable {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, value]): [string, unknown][] => {
      const child = schema.properties?.[name];
      if (child?.properties && isTable(value)) {
        const inner = restrictionsOf(value, child);
        return Object.keys(inner).length > 0 ? [[name, inner]] : [];
      }
      return RESTRICTING.has(child?.project) ? [[name, value]] : [];
    }),
  );
}

/** Longer command lines are shown in full only on request. */
const MOST = 160;

interface AboutPlugin {
  readonly layer: Layer;
  readonly path: KeyPath;
  readonly cwd: string;
  readonly env: EnvLookup;
  /** The user has a server of that name, which it would replace. */
  readonly replaces: boolean;
  readonly holder: (name: string) => string | undefined;
  readonly used: TomlTable | undefined;
}

/** Makes the trust entry of a server as written; `entry` is the same with variables replaced. */
function pluginEntry(
  written: TomlTable,
  entry: TomlTable,
  { layer, path, cwd, env, replaces, holder, used }: AboutPlugin,
): TrustEntry {
  return {
    kind: "plugin",
    name: String(entry.name),
    // Another decision is needed when it replaces the user's server, or takes other values.
    written: { ...written, ...(replaces ? { replaces } : {}), ...(used ? { used } : {}) },
    paths: namedPaths(entry, { cwd, env }),
    describe: () => ({
      ...describePlugin(written, replaces, holder),
      /** Locations of values of variables and headers. */
      get hidden() {
        return (["env", "headers"] as const).flatMap((key) =>
          Object.keys(tableOf(written[key])).flatMap((name) =>
            locationOf(layer, [...path, key, name], "value") ?? []
          )
        );
      },
    }),
  };
}

function describePlugin(
  written: TomlTable,
  replaces: boolean,
  holder: AboutPlugin["holder"],
): ReturnType<TrustEntry["describe"]> {
  const { cwd, headers_helper: helper } = written;
  const what = target(written);
  const env = Object.keys(tableOf(written.env));
  const passed = variablesIn(written).map((name) => [name, holder(name)].join(" ").trimEnd());
  const elsewhere = written.transport === "provider";
  const connect = elsewhere ? "have the model's provider connect to" : "connect to";
  const parts = [
    isRemote(written) ? `${connect} ${cut(what)}` : `run ${JSON.stringify(cut(what))}`,
    isText(cwd) ? ` in ${cut(cwd)}` : "",
    " as an MCP server",
    isText(helper) ? ` and run ${JSON.stringify(cut(helper))} for its headers` : "",
    env.length > 0 ? `, with ${env.join(", ")} in its environment` : "",
    passed.length > 0 ? `, and pass on your ${passed.join(", ")}` : "",
    replaces ? ", in place of your server of this name" : "",
  ];
  const rows: readonly (readonly [string, unknown])[] = [
    [isRemote(written) ? "connects to" : "runs", what],
    ["connected to by", elsewhere ? "the model's provider, which gets the headers, too" : undefined],
    ["in", cwd],
    ["runs for its headers", helper],
    ["environment", env],
    ["headers", Object.keys(tableOf(written.headers))],
    ["passes on your variables", passed],
    ["offers only", written.enabled_tools],
    ["settings", isTable(written.settings) ? JSON.stringify(hideSecrets(written.settings)) : undefined],
    ["asks for your providers, which only your own file grants", written.providers],
    ["these run without approval, as read-only tools", written.trusted_read_only_tools],
    ["replaces", replaces ? "your server of this name" : undefined],
  ];
  return {
    reason: `it would ${parts.join("")}`,
    lines: rows.flatMap(([title, value]) => {
      const text = Array.isArray(value) ? value.join(", ") : value;
      return isText(text) ? [`${title}: ${text}`] : [];
    }),
  };
}

/** The command line or address, with secrets hidden. */
function target(written: TomlTable): string {
  if (isRemote(written)) return String(hideSecrets(String(written.url)));
  const args = Array.isArray(written.args) ? written.args.map(String) : [];
  return commandLine(String(written.command ?? ""), args);
}

function isRemote({ type, url }: TomlTable): boolean {
  return isText(url) && (type ?? "stdio") !== "stdio";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function cut(text: string): string {
  const more = text.length - MOST;
  return more > 0 ? `${text.slice(0, MOST)}… (${more} more characters)` : text;
}

function variablesIn(written: TomlTable): string[] {
  const names = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value === "string") {
      for (const [, name = ""] of value.matchAll(/\$\{([A-Za-z_]\w*)/g)) names.add(name);
    } else if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
  };
  look(written);
  const { client_secret_env: secret } = tableOf(written.oauth);
  if (isText(secret)) names.add(secret);
  return [...names];
}

/**
 * Returns the paths that the words of a server may name, absolute: of the project's files among them the
 * contents are trusted too. Words count from where the server runs, and from the project.
 */
function namedPaths(entry: TomlTable, { cwd, env }: { cwd: string; env: EnvLookup }): string[] {
  const texts = [entry.command, entry.args, entry.headers_helper, Object.values(tableOf(entry.env))].flat();
  const words = texts.filter(isText).flatMap((text) => [text, ...text.split(/[\s"'`=,;|&<>()]+/)]);
  const directory = isText(entry.cwd) ? resolvePath(entry.cwd, cwd, env) : cwd;
  const paths = words.filter((word) => word !== "" && !word.includes("\0")).flatMap((word) =>
    [...new Set([directory, cwd])].map((base) => resolvePath(word, base, env))
  );
  return [...new Set(paths)];
}

/** Makes the trust entry of a hook as written; `paths` are those that its line names. */
export function hookEntry(
  written: TomlTable,
  context: { readonly cwd: string; readonly env: EnvLookup },
): TrustEntry & { readonly paths: readonly string[] } {
  const { event, matcher = "", command } = written;
  const line = String(hideSecrets(String(command)));
  const about = matcher === "" || matcher === "*" ? "" : String(matcher);
  return {
    kind: "hook",
    name: about === "" ? String(event) : `${event} ${about}`,
    written,
    paths: pathsInLine(String(command), context),
    describe: () => ({
      reason: `it would run ${JSON.stringify(line)} at ${event}${about === "" ? "" : ` of ${about}`}`,
      lines: [
        `runs: ${line}`,
        `at: ${event}${about === "" ? "" : `, of ${about}`}`,
        "it can refuse and change calls, decide calls without a matching rule, and send text to the model",
        ...(written.failure === "closed" ? ["if it fails, it refuses"] : []),
      ],
    }),
  };
}

/** The variable of the project directory in a line, in the forms of a shell. */
const PROJECT =
  /"?\$(?:\{(?:CLAUDE|REASONIX)_PROJECT_DIR(?::[-?=][^}]*)?\}|(?:CLAUDE|REASONIX)_PROJECT_DIR\b)"?/g;

function pathsInLine(
  line: string,
  { cwd, env }: { readonly cwd: string; readonly env: EnvLookup },
): string[] {
  const here = line.replace(PROJECT, cwd.replaceAll("$", "$$$$"));
  const quoted = [...here.matchAll(/"([^"]+)"|'([^']+)'/g)].map(([, double, single]) =>
    double ?? single ?? ""
  );
  const words = [...quoted, ...here.split(/[\s"'`=,;|&<>()]+/)];
  const paths = words.filter((word) => word !== "" && !word.includes("\0"))
    .map((word) => resolvePath(word, cwd, env));
  return [...new Set(paths)];
}
