import type { Assembly } from "../../run/mod.ts";
import type { CommandHost, SlashCommand } from "../../command/mod.ts";
import type { MentionDeps, PathIndex } from "./completion_lists.ts";
import type { CompletionItem, CompletionList, CompletionMatch, CompletionSource } from "./completion.ts";
import { openReference, referenceTo, serverAndUri } from "../../path/reference_text.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { attempt } from "../../util/lazy.ts";

interface SourcesOptions {
  readonly cwd: string;
  /** The home directory of the user. */
  readonly home: string | undefined;
  readonly commands: CommandHost;
  /** Provides MCP resources, agents, earlier sessions and hidden paths. */
  readonly session: () => Promise<Pick<Assembly, "servers" | "workspace" | "paths" | "loaded" | "session">>;
}

/** The sources that need no open session: commands of the program, and files. */
export function closedSources(
  { cwd, home, locale }: Pick<SourcesOptions, "cwd" | "home"> & Pick<CommandHost, "locale">,
): CompletionSource[] {
  const commands = async () =>
    (await import("../../command/mod.ts")).allCommands({ locale, oneSession: true });
  return [commandSource(commands), fileSource({ cwd, home })];
}

/** All sources of a session. */
export function completionSources({ cwd, home, commands, session }: SourcesOptions): CompletionSource[] {
  return [
    // Built-in commands are known before the session, which knows the others, is open.
    commandSource(async () => {
      const { allCommands } = await import("../../command/mod.ts");
      return await allCommands({ locale: commands.locale, oneSession: commands.oneSession ?? false });
    }),
    commandSource(async () => (await commands.commands()).filter(({ kind }) => kind !== "builtin")),
    argumentSource(commands),
    resourceSource(async () => (await session()).servers),
    fileSource({ cwd, home }),
    treeSource({
      cwd,
      hidden: async () => {
        const { workspace } = await session();
        return (path) => workspace.hidden(path);
      },
    }),
    mentionSource(session),
  ];
}

/** Names of commands for a `/` at the start of a draft. */
export function commandSource(commands: () => Promise<readonly SlashCommand[]>): CompletionSource {
  return {
    match(before) {
      const [, query] = /^\/([^\s/]*)$/.exec(before) ?? [];
      return query === undefined ? undefined : { from: 0, query, list: "", preselect: true };
    },
    async items() {
      const items = (await commands()).flatMap((command) => {
        const { name, aliases = [], argumentHint, brief } = command;
        const detail = oneLine(argumentHint === undefined ? brief : `${argumentHint}  ${brief}`);
        // An argument can follow: the menu continues with its values.
        const more = argumentHint === undefined ? { sends: true } : { more: true };
        return [name, ...aliases].map((each, index) => ({
          label: each,
          detail,
          insert: `/${each}${argumentHint === undefined ? "" : " "}`,
          ...more,
          ...(index > 0 ? { last: true } : {}),
        }));
      });
      return { items };
    },
  };
}

/** Values for the arguments of a command. */
export function argumentSource(host: CommandHost): CompletionSource {
  return {
    match(before) {
      const [head, name, words] = /^\/([A-Za-z][\w:-]*) +((?:\S+ +)*)(?=\S*$)/.exec(before) ?? [];
      if (head === undefined || name === undefined) return undefined;
      const word = before.slice(head.length);
      const list = `${name} ${words}`.trimEnd();
      // What servers propose for an argument depends on how it begins.
      return name.startsWith("mcp__")
        ? { from: head.length, query: word, list: `${list} ${word}`, preselect: false, grows: true }
        : { from: head.length, query: word, list, preselect: false };
    },
    async items(list) {
      const [name = "", ...words] = list.split(/ +/);
      const commands = await host.commands();
      const command = commands.find((each) => each.name === name || each.aliases?.includes(name));
      const word = name.startsWith("mcp__") ? words.pop() ?? "" : "";
      const found = await command?.complete?.(host, { before: words, word }) ?? [];
      const items = found.map(({ value, detail, open, also }) => ({
        label: value,
        insert: value,
        ...(detail === undefined ? {} : { detail: oneLine(detail) }),
        ...(open ? { more: true } : {}),
        ...(also === undefined ? {} : { also }),
      }));
      return { items };
    },
  };
}

const MAX_ENTRIES = 2000;

const MAX_SEEN = 20_000;

/** A source for references (`@path`); `match` overrides fields of the match of the whole path. */
function referenceSource(
  match: (path: string) => Partial<CompletionMatch> | undefined,
  items: CompletionSource["items"],
): CompletionSource {
  return {
    match(before) {
      const { at, path } = openReference(before) ?? {};
      const found = path === undefined ? undefined : match(path);
      return found && { from: at ?? 0, query: path ?? "", list: "", preselect: true, ...found };
    },
    items,
  };
}

/** Files for `@`: one directory at a time, hidden ones once a dot was typed, ignored ones at the end. */
export function fileSource(
  { cwd, home }: { readonly cwd: string; readonly home: string | undefined },
): CompletionSource {
  const match = (path: string) => {
    const cut = path.lastIndexOf("/") + 1;
    const [directory, query] = [path.slice(0, cut), path.slice(cut)];
    // Hidden files are another list.
    return { query, list: `${query.startsWith(".") ? "." : " "}${directory}` };
  };
  return referenceSource(match, async (list) => {
    const directory = list.slice(1);
    const expanded = home !== undefined && directory.startsWith("~/")
      ? `${home}${directory.slice(1)}`
      : directory;
    const path = expanded.startsWith("/") ? expanded : `${cwd}/${expanded}`;
    return await readEntries(path, expanded, list.startsWith("."));
  });
}

const FRESH_MS = 3_000;

interface TreeSourceOptions {
  readonly cwd: string;
  readonly hidden: () => Promise<(path: string) => boolean>;
  /** Maximum age of a listing in milliseconds when the next `@` is typed; default: 3,000. */
  readonly freshMs?: number;
}

/**
 * Files and directories of the whole tree for `@`, without ignored ones. The tree is listed between keys from
 * the first `@` on; until that has ended, directories are completed one at a time.
 */
export function treeSource({ cwd, hidden, freshMs = FRESH_MS }: TreeSourceOptions): CompletionSource {
  let tree: { readonly paths: PathIndex; readonly cut: boolean; readonly since: number } | undefined;
  let listing: Promise<void> | undefined;
  const list = async () => {
    const { listTree } = await import("./completion_lists.ts");
    const { paths, cut } = await listTree(cwd, await hidden());
    tree = { paths, cut, since: performance.now() };
  };
  const match = (path: string) => /^[./~]|(?:^|\/)\.\.(?:\/|$)/.test(path) ? undefined : {};
  return referenceSource(match, async () => {
    if (!tree || performance.now() - tree.since >= freshMs) {
      listing ??= list().finally(() => listing = undefined);
      if (!tree) await listing;
      else listing.catch(() => {});
    }
    return {
      items: [],
      search: (query, most) =>
        tree?.paths.search(query, most).flatMap(({ item, score }) =>
          itemOfPath(item).map((found) => ({ item: found, score }))
        ) ?? [],
      cut: tree?.cut === true,
    };
  });
}

/** Agents and earlier sessions of the directory for `@`, next to files. */
function mentionSource(run: () => Promise<MentionDeps>): CompletionSource {
  return referenceSource(
    (path) => path.includes("/") ? undefined : {},
    async () => ({ items: await (await import("./completion_lists.ts")).mentionItems(await run()) }),
  );
}

/** Resources of MCP servers for `@`: next to files, and all of a server behind `@server:`. */
export function resourceSource(servers: () => Promise<Assembly["servers"]>): CompletionSource {
  const match = (path: string): Partial<CompletionMatch> | undefined => {
    if (serverAndUri(path)) return { list: path, grows: true };
    return path.includes("/") ? undefined : {};
  };
  return referenceSource(match, async (list) => {
    const pool = await servers();
    if (!pool) return { items: [] };
    const { resourceItems } = await import("./completion_lists.ts");
    return { items: await resourceItems(list, pool) };
  });
}

async function readEntries(path: string, directory: string, hidden: boolean): Promise<CompletionList> {
  const entries: Deno.DirEntry[] = [];
  let seen = 0;
  for await (const entry of Deno.readDir(path)) {
    if (++seen > MAX_SEEN || entries.length > MAX_ENTRIES) break;
    if (entry.name.startsWith(".") === hidden) entries.push(entry);
  }
  const cut = seen > MAX_SEEN || entries.length > MAX_ENTRIES;
  const isIgnored = await ignoredIn(path.replace(/(.)\/+$/, "$1"));
  const items = entries.flatMap((entry) => itemOf(entry, { path, directory, isIgnored }));
  const collator = new Intl.Collator(undefined, { numeric: true });
  const rank = (item: CompletionItem) => item.more ? 0 : 1;
  items.sort((a, b) => rank(a) - rank(b) || collator.compare(a.label, b.label));
  return { items, cut };
}

interface EntryLocation {
  readonly path: string;
  readonly directory: string;
  readonly isIgnored: (name: string, isDirectory: boolean) => boolean;
}

function itemOf(entry: Deno.DirEntry, { path, directory, isIgnored }: EntryLocation): CompletionItem[] {
  const { name } = entry;
  const isDirectory = entry.isDirectory || (entry.isSymlink && leadsToDirectory(`${path}/${name}`));
  const label = `${name}${isDirectory ? "/" : ""}`;
  const last = isIgnored(name, isDirectory) ? { last: true } : {};
  return itemOfPath(`${directory}${label}`).map((item) => ({ ...item, label, ...last }));
}

/** An item for a path (a directory ends with a slash); none where no reference can name it. */
function itemOfPath(path: string): CompletionItem[] {
  const reference = referenceTo(path);
  if (reference === undefined) return [];
  if (!path.endsWith("/")) return [{ label: path, insert: `${reference} ` }];
  // What was begun with a quote continues behind the directory.
  return [{ label: path, insert: reference.replace(/"$/, ""), more: true }];
}

/** Reads the ignore files for the entries of a directory. */
async function ignoredIn(directory: string): Promise<EntryLocation["isIgnored"]> {
  const { IgnoreScope } = await import("../../path/ignore_files.ts");
  const scope = IgnoreScope.above(`${directory}/any`, directory);
  return (name, isDirectory) =>
    name === ".git" || name === "node_modules" || scope.ignores(`${directory}/${name}`, name, isDirectory);
}

function leadsToDirectory(path: string): boolean {
  return attempt(() => Deno.statSync(path).isDirectory) ?? false;
}
