/**
 * The plugins that come with the program, a line each. `reasonix plugin`, completion, `doctor`, the tables of
 * the documentation and the build read this list; nothing else names a plugin.
 *
 * It is data that the program loads before a plugin starts: it imports nothing heavy.
 */
import { processAccess } from "./web/access.ts";
import { SEARCH_SERVICES, searchKey } from "./web/search.ts";

/** The facts of one run that decide what the process of a plugin may touch. */
export interface ProcessFacts {
  /** Absolute path of the directory that the session works in. */
  readonly workspace: string;
  /** Absolute path of the only directory that the plugin may write to. */
  readonly state: string;
  /** Absolute path of the Reasonix home. */
  readonly home: string;
  /** `[plugins.settings]`, not validated yet. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** `host:port` of each granted provider. */
  readonly providerHosts: readonly string[];
  /** Looks up an environment variable of the session; absent where only the settings count. */
  readonly variable?: (name: string) => string | undefined;
}

/** What the process of a plugin may touch in addition to its own files. No plugin may start programs. */
export interface ProcessPermissions {
  /** Absolute paths. The runtime follows links in them to any file: a plugin compares real paths. */
  readonly read?: readonly string[];
  /** Absolute paths: the state directory, or nothing. */
  readonly write?: readonly string[];
  /** Hosts, `host:port`, or `true` for all; the process starts without network where it is absent. */
  readonly net?: readonly string[] | true;
  /** Ranges and hosts that stay refused. */
  readonly denyNet?: readonly string[];
  /** Names of environment variables in addition to those of the host. */
  readonly env?: readonly string[];
}

export interface PluginCommand {
  readonly name: string;
  readonly brief: string;
  /** Its arguments, such as `INDEX`. */
  readonly usage?: string;
}

/** A setting that `reasonix plugin add` asks for. */
export interface PluginQuestion {
  /** Its key in `[plugins.settings]`, dotted. */
  readonly key: string;
  readonly text: string;
  readonly choices?: readonly string[];
  /** The answer that is proposed, by the answers so far; undefined: the setting may be left out. */
  readonly proposed?: (answers: Readonly<Record<string, string>>) => string | undefined;
  /** Reports whether it is asked, by the answers so far. Absent: always. */
  readonly when?: (answers: Readonly<Record<string, string>>) => boolean;
}

export interface PluginInfo {
  readonly name: string;
  readonly brief: string;
  /** The module below `plugins/` that exports `plugin`. */
  readonly module: string;
  /** One phrase for people: what its process may touch. */
  readonly touches: string;
  /** Keys of `[plugins.settings]` that only the user's own file can set. */
  readonly userSettings?: readonly string[];
  /** `command` is the one of {@linkcode commands} that the process is for; none: it serves a client. */
  permissions(facts: ProcessFacts, command?: string): ProcessPermissions;
  readonly questions?: readonly PluginQuestion[];
  /** Commands for people, without a model: `reasonix plugin NAME COMMAND`. */
  readonly commands?: readonly PluginCommand[];
}

export const PLUGINS: readonly PluginInfo[] = [
  {
    name: "example",
    brief: "Two tools, a prompt and resources that change nothing: how a plugin is made",
    module: "example/server.ts",
    touches: "nothing",
    permissions: (_facts, command) => command === "--http" ? { net: ["127.0.0.1"] } : {},
    commands: [{
      name: "--http",
      brief: "Serve streamable HTTP on this port of 127.0.0.1 (0 = any)",
      usage: "PORT",
    }],
  },
  {
    name: "documents",
    brief: "PDF, Word, Excel, PowerPoint, EPUB, notebooks, emails and more as Markdown",
    module: "documents/server.ts",
    touches: "reads the workspace",
    permissions: ({ workspace }) => ({ read: [workspace] }),
  },
  {
    name: "map",
    brief: "Ranked definitions of a repository, outlines and lookups of names in 13 languages",
    module: "map/server.ts",
    touches: "reads the workspace; writes its state directory",
    permissions: ({ workspace, state }) => ({ read: [workspace, state, ...packages()], write: [state] }),
  },
  {
    name: "persona",
    brief: "Reviews of a text by several personas, and a summary of what they say",
    module: "persona/server.ts",
    touches: "reads the workspace and prompts of yours; connects to granted providers",
    permissions: ({ workspace, home, providerHosts }) => ({
      read: [workspace, `${home}/prompts/personas`],
      net: providerHosts,
    }),
  },
  {
    name: "rag",
    brief: "Search of indexed documents and code, by words and by meaning",
    module: "rag/server.ts",
    touches:
      "reads the directories of its indexes; writes its state directory; connects to granted providers",
    permissions: ({ workspace, state, settings, providerHosts }) => ({
      read: [state, ...indexRoots(settings.indexes, workspace)],
      write: [state],
      net: providerHosts,
    }),
    questions: [{
      key: "indexes.docs.path",
      text: "Directory with documents, for the index docs",
      proposed: () => "docs",
    }],
    commands: [
      { name: "update", brief: "Bring indexes up to date with their files", usage: "[INDEX…]" },
      { name: "status", brief: "Print the state of indexes", usage: "[INDEX…]" },
      { name: "search", brief: "Search indexes without a model", usage: "QUERY [INDEX…]" },
    ],
  },
  {
    name: "web",
    brief: "Web search, and pages, documents and images of the web as text",
    module: "web/server.ts",
    touches: "connects to public addresses, or to the proxy alone; no files",
    userSettings: ["allow_private", "searxng_url", "key_env"],
    questions: [
      {
        key: "search",
        text: "Search service; without one the plugin only reads pages",
        choices: [...Object.keys(SEARCH_SERVICES), "none"],
      },
      {
        key: "searxng_url",
        text: "Address of your SearXNG server",
        when: ({ search }) => search === "searxng",
      },
      {
        key: "key_env",
        text: "Environment variable with the key of the service",
        when: ({ search }) => searchKey(search) !== undefined,
        proposed: ({ search }) => searchKey(search),
      },
    ],
    permissions: ({ settings, variable }) => processAccess(settings, variable),
  },
];

/** The directories of `[plugins.settings.indexes.NAME]`, as far as they can be read before validation. */
function indexRoots(indexes: unknown, workspace: string): readonly string[] {
  return Object.values(indexes ?? {}).map((each) => each?.path).flatMap((path) =>
    typeof path !== "string" ? [] : [/^(?:\/|[a-z]:)/i.test(path) ? path : `${workspace}/${path}`]
  );
}

/** The cache of packages, where a plugin that runs from sources finds the grammars. */
function packages(): readonly string[] {
  if (!import.meta.url.endsWith(".ts")) return [];
  const { pathname } = new URL(import.meta.resolve("tree-sitter-bash/package.json"));
  return [decodeURIComponent(pathname).replace(/tree-sitter-bash[^a-z].*$/, "")];
}
