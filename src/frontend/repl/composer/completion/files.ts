import type { Assembly } from "../../../../assembly/mod.ts";
import { openReference, referenceTo, serverAndUri } from "../../../../path/reference_text.ts";
import type { CompletionItem, CompletionList, CompletionSource } from "./completion.ts";

export interface FileSourceOptions {
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
      const { resourceItems } = await import("./resources.ts");
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

interface EntryPlace {
  readonly path: string;
  /** The directory as a reference names it. */
  readonly directory: string;
  readonly isIgnored: (name: string, isDirectory: boolean) => boolean;
}

function itemOf(entry: Deno.DirEntry, { path, directory, isIgnored }: EntryPlace): CompletionItem[] {
  const { name } = entry;
  const isDirectory = entry.isDirectory || (entry.isSymlink && leadsToDirectory(`${path}/${name}`));
  const reference = referenceTo(`${directory}${name}${isDirectory ? "/" : ""}`);
  if (reference === undefined) return [];
  // What was begun with a quote goes on behind the directory.
  const insert = isDirectory ? reference.replace(/"$/, "") : `${reference} `;
  const label = `${name}${isDirectory ? "/" : ""}`;
  return [{
    label,
    insert,
    ...(isDirectory ? { more: true } : {}),
    ...(isIgnored(name, isDirectory) ? { last: true } : {}),
  }];
}

/** What the ignore files say about the entries of a directory. */
async function ignoredIn(directory: string): Promise<EntryPlace["isIgnored"]> {
  const { IgnoreScope } = await import("../../../../path/ignore_scope.ts");
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
