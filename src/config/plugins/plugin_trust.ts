import type { TrustEntry } from "../../trust/mod.ts";
import { type Layer, placeOf } from "../load/layer.ts";
import type { KeyPath } from "../problem.ts";
import { type EnvLookup, resolvePath } from "../config_paths.ts";
import { hideSecrets } from "../query/hide_secrets.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";

/** Longer command lines are shown in full only where a person asks for it. */
const MOST = 160;

interface AboutPlugin {
  readonly layer: Layer;
  /** Of the entry in the layer. */
  readonly path: KeyPath;
  readonly cwd: string;
  readonly env: EnvLookup;
  /** The user has a server of that name, whose place it would take. */
  readonly replaces: boolean;
  /** Finds the owner of a variable; see `KnownKeys`. */
  readonly holder: (name: string) => string | undefined;
  /** Values that it takes from the project's `.env`. */
  readonly used: TomlTable | undefined;
}

/** Makes the trust entry of a server as written; `entry` is the same with variables replaced. */
export function pluginEntry(
  written: TomlTable,
  entry: TomlTable,
  { layer, path, cwd, env, replaces, holder, used }: AboutPlugin,
): TrustEntry {
  return {
    kind: "plugin",
    name: String(entry.name),
    // The decision is another one where the user's own server gives way, or other values come along.
    written: { ...written, ...(replaces ? { replaces } : {}), ...(used ? { used } : {}) },
    paths: namedPaths(entry, { cwd, env }),
    describe: () => ({
      ...describePlugin(written, replaces, holder),
      /** Places of values of variables and headers. */
      get hidden() {
        return (["env", "headers"] as const).flatMap((key) =>
          Object.keys(tableOf(written[key])).flatMap((name) =>
            placeOf(layer, [...path, key, name], "value") ?? []
          )
        );
      },
    }),
  };
}

/**
 * Describes a server as written; `replaces` says that the user has one of that name, which it would take the
 * place of.
 */
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
    replaces ? ", in place of your own server of this name" : "",
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
    ["these run without a question, as tools that only read", written.trusted_read_only_tools],
    ["takes the place of", replaces ? "your own server of this name" : undefined],
  ];
  return {
    reason: `it would ${parts.join("")}`,
    lines: rows.flatMap(([title, value]) => {
      const text = Array.isArray(value) ? value.join(", ") : value;
      return isText(text) ? [`${title}: ${text}`] : [];
    }),
  };
}

/** The command line or address, without what looks like a key in it. */
function target(written: TomlTable): string {
  if (isRemote(written)) return String(hideSecrets(String(written.url)));
  const args = Array.isArray(written.args) ? written.args.map(String) : [];
  return commandLine(String(written.command ?? ""), args);
}

/** A command line as a person types it, without what looks like a key in it. */
export function commandLine(command: string, args: readonly string[]): string {
  const words = hideSecrets([command, ...args]) as string[];
  return words.map((word) => /^(?:[\w@%+=:,./~${}-]+|\[secret\])$/.test(word) ? word : JSON.stringify(word))
    .join(" ");
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

/** Names of the user's variables that the server gets. */
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

function tableOf(value: unknown): TomlTable {
  return isTable(value) ? value : {};
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
        "it can refuse and change calls, answer for you what no rule speaks of, and tell the model things",
        ...(written.failure === "closed" ? ["if it fails, it refuses"] : []),
      ],
    }),
  };
}

/** The variable of the project directory in a line, in the forms of a shell. */
const PROJECT =
  /"?\$(?:\{(?:CLAUDE|REASONIX)_PROJECT_DIR(?::[-?=][^}]*)?\}|(?:CLAUDE|REASONIX)_PROJECT_DIR\b)"?/g;

/** Returns the paths that the words of a line may name, absolute, whether or not there are such files. */
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
