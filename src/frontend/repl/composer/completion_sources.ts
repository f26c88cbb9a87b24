import type { Assembly } from "../../../assembly/mod.ts";
import type { CommandHost, SlashCommand } from "../../../command/mod.ts";
import type { MentionDeps, PathIndex } from "./completion_lists.ts";
import { CompletionItem, CompletionList, CompletionSource } from "./completion.ts";
import { openReference, referenceTo, serverAndUri } from "../../../path/reference_text.ts";
import { oneLine } from "../../../util/terminal_text.ts";

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
        // An argument can follow: the menu goes on with what it can be.
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

/** Values for the arguments of a command that offers some. */
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

interface FileSourceOptions {
  readonly cwd: string;
  /** The user's home directory, for `~/`. */
  readonly home: string | undefined;
}

/** More entries of a directory are not offered, and not even looked at. */
const MAX_ENTRIES = 2000;

const MAX_SEEN = 20_000;

/** Files for `@`: one directory at a time, hidden ones once a dot was typed, ignored ones at the end. */
export function fileSource({ cwd, home }: FileSourceOptions): CompletionSource {
  return {
    match(before) {
      const reference = openReference(before);
      if (!reference) return undefined;
      const cut = reference.path.lastIndexOf("/") + 1;
      const [directory, query] = [reference.path.slice(0, cut), reference.path.slice(cut)];
      // Hidden files are another list.
      const list = `${query.startsWith(".") ? "." : " "}${directory}`;
      return { from: reference.at, query, list, preselect: true };
    },
    async items(list) {
      const directory = list.slice(1);
      const expanded = home !== undefined && directory.startsWith("~/")
        ? `${home}${directory.slice(1)}`
        : directory;
      const path = expanded.startsWith("/") ? expanded : `${cwd}/${expanded}`;
      return await readEntries(path, expanded, list.startsWith("."));
    },
  };
}

const FRESH_MS = 3_000;

interface TreeSourceOptions {
  readonly cwd: string;
  /** Paths that may not be seen. */
  readonly hidden: () => Promise<(path: string) => boolean>;
  /** Age of a listing in milliseconds from which on the next `@` makes another one; default: 3,000. */
  readonly freshMs?: number;
}

/**
 * Files and directories of the whole tree for `@`, without what ignore files name. The tree is listed between
 * keys from the first `@` on; until that has ended, directories are completed one at a time.
 */
export function treeSource({ cwd, hidden, freshMs = FRESH_MS }: TreeSourceOptions): CompletionSource {
  let tree: { readonly paths: PathIndex; readonly cut: boolean; readonly since: number } | undefined;
  let listing: Promise<void> | undefined;
  const list = async () => {
    const { listTree } = await import("./completion_lists.ts");
    const { paths, cut } = await listTree(cwd, await hidden());
    tree = { paths, cut, since: performance.now() };
  };
  return {
    match(before) {
      const reference = openReference(before);
      if (!reference || /^[./~]|(?:^|\/)\.\.(?:\/|$)/.test(reference.path)) return undefined;
      return { from: reference.at, query: reference.path, list: "", preselect: true };
    },
    async items() {
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
    },
  };
}

/** Agents and earlier sessions of the directory for `@`, next to files. */
export function mentionSource(
  run: () => Promise<MentionDeps>,
): CompletionSource {
  return {
    match(before) {
      const reference = openReference(before);
      if (!reference || reference.path.includes("/")) return undefined;
      return { from: reference.at, query: reference.path, list: "", preselect: true };
    },
    async items() {
      return { items: await (await import("./completion_lists.ts")).mentionItems(await run()) };
    },
  };
}

/** Resources of MCP servers for `@`: beside files, and all of a server behind `@server:`. */
export function resourceSource(servers: () => Promise<Assembly["servers"]>): CompletionSource {
  return {
    match(before) {
      const reference = openReference(before);
      if (!reference) return undefined;
      const { at, path } = reference;
      if (serverAndUri(path)) return { from: at, query: path, list: path, preselect: true, grows: true };
      return path.includes("/") ? undefined : { from: at, query: path, list: "", preselect: true };
    },
    async items(list) {
      const pool = await servers();
      if (!pool) return { items: [] };
      const { resourceItems } = await import("./completion_lists.ts");
      return { items: await resourceItems(list, pool) };
    },
  };
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
  const folder = (item: CompletionItem) => item.more ? 0 : 1;
  items.sort((a, b) => folder(a) - folder(b) || collator.compare(a.label, b.label));
  return { items, cut };
}

interface EntryLocation {
  readonly path: string;
  /** The directory as a reference names it. */
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

/** A path as an item, that of a directory with a slash at its end; none where no reference can name it. */
function itemOfPath(path: string): CompletionItem[] {
  const reference = referenceTo(path);
  if (reference === undefined) return [];
  if (!path.endsWith("/")) return [{ label: path, insert: `${reference} ` }];
  // What was begun with a quote continues behind the directory.
  return [{ label: path, insert: reference.replace(/"$/, ""), more: true }];
}

/** What the ignore files say about the entries of a directory. */
async function ignoredIn(directory: string): Promise<EntryLocation["isIgnored"]> {
  const { IgnoreScope } = await import("../../../path/ignore_files.ts");
  const scope = IgnoreScope.above(`${directory}/any`, directory);
  return (name, isDirectory) =>
    name === ".git" || name === "node_modules" || scope.ignores(`${directory}/${name}`, name, isDirectory);
}

function leadsToDirectory(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
