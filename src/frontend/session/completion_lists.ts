import { loadAgentList } from "../../features/mod.ts";
import type { Assembly } from "../../run/mod.ts";
import { beginsWord, byScore, type CompletionItem, KIND, LAST, type Scored } from "./completion.ts";
import { resourceReference, serverAndUri } from "../../path/reference_text.ts";
import { listSessions, projectDir } from "../../session/mod.ts";
import { loadTreeWalk } from "../../tool/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";

type Servers = NonNullable<Assembly["servers"]>;
type Entry = ReturnType<Servers["resources"]>[number];

/** Resources of one server listed next to files; a server with more is one entry. */
const MAX_NEXT_TO_FILES = 10;
const COMPLETION_MS = 3_000;

/** The resources for the text behind `@`; with `server:` those of that server. */
export async function resourceItems(written: string, servers: Servers): Promise<CompletionItem[]> {
  const named = serverAndUri(written);
  if (!named) return nextToFiles(servers.resources());
  const entries = servers.resources().filter(({ server }) => server === named.server);
  const values = await valuesFor(named.uri, entries, servers);
  return values.length > 0 ? values : entries.map(itemOf);
}

function nextToFiles(entries: readonly Entry[]): CompletionItem[] {
  return [...Map.groupBy(entries, ({ server }) => server)].flatMap(([server, group]) => {
    if (group.length <= MAX_NEXT_TO_FILES) return group.map(itemOf);
    return [{ label: `${server}:`, insert: `@${server}:`, more: true, detail: `${group.length}` }];
  });
}

function itemOf({ server, resource: { uri, name, description }, template }: Entry): CompletionItem {
  const detail = oneLine(description || (name === uri ? "" : name), 100);
  const whole = !template;
  const fixed = template ? uri.slice(0, openBrace(uri)) : uri;
  const reference = resourceReference(`${server}:${fixed}`, whole) ?? `@${server}:`;
  return {
    label: `${server}:${uri}`,
    insert: whole ? `${reference} ` : reference,
    ...(template ? { more: true } : {}),
    ...(detail === "" ? {} : { detail }),
  };
}

async function valuesFor(
  uri: string,
  entries: readonly Entry[],
  servers: Servers,
): Promise<CompletionItem[]> {
  const found = await Promise.all(
    entries.filter(({ template }) => template).map(async ({ server, resource }) => {
      const part = openPart(resource.uri, uri);
      if (!part) return [];
      const { name, value, before, after, last } = part;
      const query = { ref: { template: resource.uri }, argument: name, value };
      const signal = AbortSignal.timeout(COMPLETION_MS);
      const values = await servers.complete(server, query, signal).catch(() => []);
      return values.map((each): CompletionItem => {
        const label = `${server}:${before}${encoded(each)}${after}`;
        const reference = resourceReference(label, last) ?? label;
        return { label, insert: last ? `${reference} ` : reference, ...(last ? {} : { more: true }) };
      });
    }),
  );
  return found.flat();
}

/** Encodes only characters that would end the value within its address. */
function encoded(value: string): string {
  return value.replace(/[\s"%?#]/g, encodeURIComponent);
}

/** Index of the first part in braces; the length where there is none. */
function openBrace(template: string): number {
  const at = template.indexOf("{");
  return at < 0 ? template.length : at;
}

interface OpenPart {
  readonly name: string;
  /** The typed part of its value. */
  readonly value: string;
  /** The address up to the value. */
  readonly before: string;
  /** The literal up to the next part. */
  readonly after: string;
  readonly last: boolean;
}

/** The part of a URI template at the end of a partial URI. */
function openPart(template: string, uri: string): OpenPart | undefined {
  const pieces = template.split(/\{[+#./;?&]?([^}]*)\}/);
  let rest = uri;
  for (let at = 0; at < pieces.length; at += 2) {
    const literal = pieces[at] ?? "";
    const name = pieces[at + 1];
    if (!rest.startsWith(literal) || name === undefined) return undefined;
    rest = rest.slice(literal.length);
    const after = pieces[at + 2] ?? "";
    const end = after === "" ? -1 : rest.indexOf(after);
    if (end < 0) {
      const before = uri.slice(0, uri.length - rest.length);
      const variable = name.split(",")[0]?.replace(/[*:].*$/, "") ?? "";
      return { name: variable, value: rest, before, after, last: at + 4 > pieces.length };
    }
    rest = rest.slice(end);
  }
  return undefined;
}

const MAX_FILES = 250_000;
const MAX_LISTING_MS = 30_000;
/** Longest time that the listing blocks a key. */
const SLICE_MS = 8;

/** Lists the files and directories of a tree, without ignored ones; `cut`: not all of them. */
export async function listTree(
  cwd: string,
  hidden: (path: string) => boolean,
): Promise<{ readonly paths: PathIndex; readonly cut: boolean }> {
  const { walkFiles } = await loadTreeWalk();
  const paths = new PathIndex();
  const known = new Set<string>();
  const addDirectory = (path: string) => {
    if (path === "" || known.has(path)) return;
    known.add(path);
    addDirectory(path.slice(0, path.lastIndexOf("/", path.length - 2) + 1));
    paths.add(path);
  };
  const full = new AbortController();
  const start = cwd.endsWith("/") ? cwd.length : cwd.length + 1;
  const options = {
    root: cwd,
    cwd,
    hidden,
    prune: (_path: string, name: string) => name === "node_modules",
    signal: full.signal,
    sliceMs: SLICE_MS,
    deadline: Date.now() + MAX_LISTING_MS,
  };
  const walk = walkFiles(options, (path) => {
    if (paths.size >= MAX_FILES) return full.abort();
    const relative = path.slice(start);
    addDirectory(relative.slice(0, relative.lastIndexOf("/") + 1));
    paths.add(relative);
  });
  const { timedOut } = await walk.catch((error) => {
    if (full.signal.aborted) return { timedOut: true };
    throw error;
  });
  return { paths, cut: timedOut };
}

const MAX_SESSIONS = 50;

export type MentionDeps = Pick<Assembly, "paths" | "loaded" | "session">;

/** The agents of a run, and the earlier sessions of its directory. */
export async function mentionItems({ paths, loaded, session }: MentionDeps): Promise<CompletionItem[]> {
  const { agents } = await (await loadAgentList()).agentList(paths, loaded);
  const sessions = listSessions(projectDir(paths.home, paths.cwd), { limit: MAX_SESSIONS });
  return [
    ...agents.filter(({ usable }) => usable).map(({ name, description }) =>
      mention(`agent:${name}`, description)
    ),
    ...sessions.filter(({ id }) => id !== session.id).map(({ id, title }) => mention(`session:${id}`, title)),
  ];
}

function mention(label: string, text: string): CompletionItem {
  return { label, insert: `@${label} `, detail: oneLine(text, 100), also: text };
}

/**
 * The paths of a tree, found by their names first, then by their directories, then by scattered characters.
 *
 * A search of 100,000 paths takes a few milliseconds: what a query of one more character finds is among what
 * the query before has found.
 */
export class PathIndex {
  readonly #paths: string[] = [];
  readonly #lower: string[] = [];
  readonly #letters: number[] = [];
  readonly #names: number[] = [];
  #earlier: { readonly query: string; readonly found: readonly number[] } | undefined;

  get size(): number {
    return this.#paths.length;
  }

  /** Adds a path; that of a directory ends with a slash. */
  add(path: string): void {
    const lower = path.toLowerCase();
    // Lengths stay the same, so that offsets count for both.
    this.#lower.push(lower.length === path.length ? lower : path);
    this.#paths.push(path);
    this.#names.push(path.lastIndexOf("/", path.length - 2) + 1);
    this.#letters.push(lettersOf(lower));
    this.#earlier = undefined;
  }

  search(query: string, most: number): Scored<string>[] {
    const wanted = query.toLowerCase();
    if (wanted === "") return [];
    const letters = lettersOf(wanted);
    const { query: before = "", found: among } = this.#earlier ?? {};
    const narrowed = before !== "" && wanted.startsWith(before) ? among : undefined;
    const found: number[] = [];
    let best: Scored<string>[] = [];
    let bar = LAST;
    const count = narrowed?.length ?? this.#paths.length;
    for (let at = 0; at < count; at++) {
      const index = narrowed?.[at] ?? at;
      if (((this.#letters[index] ?? 0) & letters) !== letters) continue;
      const path = this.#paths[index] ?? "";
      const score = pathScore(path, this.#lower[index] ?? "", this.#names[index] ?? 0, wanted);
      if (score === undefined) continue;
      found.push(index);
      if (score >= bar) continue;
      best.push({ item: path, score });
      if (best.length < most * 8) continue;
      best = byScore(best).slice(0, most);
      bar = best.at(-1)?.score ?? LAST;
    }
    this.#earlier = { query: wanted, found };
    return byScore(best).slice(0, most);
  }
}

function lettersOf(text: string): number {
  let letters = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 97 && code <= 122) letters |= 1 << (code - 97);
    else if (code >= 48 && code <= 57) letters |= 1 << 26;
    else if (code > 127) letters |= 1 << 27;
  }
  return letters;
}

/** As `scoreOf`; {@linkcode LAST} where the characters are scattered too much. */
function pathScore(path: string, lower: string, name: number, wanted: string): number | undefined {
  const longer = Math.min(lower.length - wanted.length, KIND - 1);
  if (longer < 0) return undefined;
  const inName = lower.indexOf(wanted, wanted.includes("/") ? 0 : name);
  if (inName >= 0) {
    const left = lower.length - inName - wanted.length;
    if (inName === name && (left === 0 || (left === 1 && lower.endsWith("/")))) return longer;
    const kind = inName === name || inName === 0 ? 1 : beginsWord(path, inName) ? 2 : 3;
    return kind * KIND + longer;
  }
  if (lower.includes(wanted)) return 3 * KIND + Math.min(KIND / 2 + longer, KIND - 1);
  const nameGaps = gapsOf(path, lower, wanted, name);
  const gaps = nameGaps ?? gapsOf(path, lower, wanted, 0);
  if (gaps === undefined) return undefined;
  if (gaps > wanted.length / 2) return LAST;
  return (nameGaps === undefined ? 5 : 4) * KIND + Math.min(gaps * 20 + longer, KIND - 1);
}

/** Number of gaps in the middle of words; undefined where a character is missing. */
function gapsOf(path: string, lower: string, wanted: string, start: number): number | undefined {
  let gaps = 0;
  let from = start;
  for (let index = 0; index < wanted.length; index++) {
    const at = lower.indexOf(wanted[index] ?? "", from);
    if (at < 0) return undefined;
    if (at > from && !beginsWord(path, at)) gaps++;
    from = at + 1;
  }
  return gaps;
}
