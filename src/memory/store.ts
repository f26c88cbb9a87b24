import { message, ReasonixError } from "../core/mod.ts";
import type {
  MemoryEntry,
  MemoryFact,
  MemoryHit,
  MemoryKind,
  MemoryPort,
  MemoryScope,
  NewMemory,
  SavedMemory,
} from "../tool/mod.ts";
import { saveFile } from "../util/atomic_write.ts";
import { parseFrontmatter, scalarText, textField } from "../util/frontmatter.ts";
import { indexable, matchExpression, snippet, termsOf } from "../util/search_words.ts";
import { suggestNames } from "../util/suggest.ts";
import { oneLine } from "../util/terminal_text.ts";
import { sortedEntries } from "../path/probe.ts";

/** A fact with the day it was first saved. */
export interface StoredFact extends MemoryFact {
  readonly created: string;
}

const KINDS: readonly MemoryKind[] = ["user", "project", "reference", "feedback"];
const MAX_NAME = 64;
const MAX_DESCRIPTION = 300;

/**
 * A name as file name and handle: lower case, words joined by hyphens. Empty when nothing of it can be kept.
 */
function factName(given: string): string {
  return given.normalize("NFC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, MAX_NAME).replace(
    /^-+|-+$/g,
    "",
  );
}

function factFile(fact: StoredFact): string {
  const head = [
    `name: ${scalarText(fact.name)}`,
    `description: ${scalarText(fact.description)}`,
    `kind: ${fact.kind}`,
    ...(fact.pinned ? ["pinned: true"] : []),
    `created: ${fact.created}`,
    `updated: ${fact.updated}`,
  ];
  return `---\n${head.join("\n")}\n---\n\n${fact.text.trim()}\n`;
}

/**
 * Reads a fact, also one a person wrote by hand: what is missing is taken from the file's name and first
 * line.
 */
function readFact(source: string, name: string, scope: MemoryScope): StoredFact {
  const read = parseFrontmatter(source);
  const text = read.body.trim();
  const updated = textField(read, "updated") ?? textField(read, "created") ?? "";
  const kind = KINDS.find((known) => known === (textField(read, "kind") ?? textField(read, "type")));
  return {
    name,
    scope,
    description: oneLine(
      textField(read, "description") || (text.split("\n")[0] ?? "").replace(/^#+\s*/, ""),
      MAX_DESCRIPTION,
    ),
    kind: kind ?? (scope === "global" ? "user" : "project"),
    pinned: textField(read, "pinned") === "true",
    created: textField(read, "created") ?? updated,
    updated,
    text,
  };
}

/** A hit must reach this part of the best one's score. */
const FLOOR = 0.3;
/** A word in the name or the description says more than one in the text. */
const HEAD_WEIGHT = 3;

interface FactHit {
  readonly fact: StoredFact;
  readonly snippet: string;
}

/** Finds the facts that fit the query, best first, by BM25 with a floor relative to the best. */
async function searchFacts(
  facts: readonly StoredFact[],
  query: string,
  limit: number,
): Promise<FactHit[]> {
  const expression = matchExpression(query);
  if (expression === "" || facts.length === 0) return [];
  const { DatabaseSync } = await import("node:sqlite");
  using database = new DatabaseSync(":memory:");
  database.exec(
    `CREATE VIRTUAL TABLE facts USING fts5 (head, text, tokenize = "unicode61 remove_diacritics 2")`,
  );
  const insert = database.prepare("INSERT INTO facts (rowid, head, text) VALUES (?, ?, ?)");
  const sorted = [...facts].sort((a, b) => a.name < b.name ? -1 : 1);
  for (const [id, { name, description, text }] of sorted.entries()) {
    insert.run(id, indexable(`${name} ${description}`), indexable(text));
  }
  const rows = database.prepare(
    `SELECT rowid AS id, -bm25(facts, ${HEAD_WEIGHT}, 1) AS score FROM facts WHERE facts MATCH ?
     ORDER BY score DESC, id`,
  ).all(expression);
  const best = Number(rows[0]?.score ?? 0);
  const terms = termsOf(query);
  return rows.filter(({ score }) => Number(score) >= best * FLOOR).slice(0, limit).flatMap(({ id }) => {
    const fact = sorted[Number(id)];
    return fact ? [{ fact, snippet: snippet(fact.text, terms) }] : [];
  });
}

export interface FactStoreOptions {
  /** Reasonix home; facts for all projects are in `<home>/memory`. */
  readonly home: string;
  /** Directory kept for the project, `<home>/projects/<slug>`; its facts are in `memory` below it. */
  readonly project: string;
  /** Takes secrets out of what is saved. */
  readonly redact?: (text: string) => string;
  readonly now?: () => Date;
}

const SCOPES: readonly MemoryScope[] = ["project", "global"];
const MAX_FACTS = 500;
const MAX_TEXT = 16_000;
const MAX_HITS = 10;

/**
 * Facts as Markdown files that people can read and edit. A forgotten fact moves to an archive and is not
 * searched.
 */
export class FactStore implements MemoryPort {
  readonly #options: FactStoreOptions;

  constructor(options: FactStoreOptions) {
    this.#options = options;
  }

  directory(scope: MemoryScope): string {
    return `${scope === "global" ? this.#options.home : this.#options.project}/memory`;
  }

  async search(query: string, limit = MAX_HITS): Promise<readonly MemoryHit[]> {
    return (await searchFacts(await this.facts(), query, limit)).map(({ fact, snippet }) => ({
      ...entryOf(fact),
      snippet,
    }));
  }

  /** Pinned ones first, then by name. */
  async list(): Promise<readonly MemoryEntry[]> {
    return (await this.facts()).map(entryOf);
  }

  async read(name: string, scope?: MemoryScope): Promise<StoredFact> {
    return await this.#find(name, scope);
  }

  async remember(given: NewMemory): Promise<SavedMemory> {
    const { redact = (text: string) => text, now = () => new Date() } = this.#options;
    const name = factName(given.name);
    const text = redact(given.text).trim();
    checkNew(given, name, text);
    const facts = await this.facts();
    const same = facts.filter((fact) => fact.name === name);
    const old = given.scope === undefined ? same[0] : same.find((fact) => fact.scope === given.scope);
    const kind = given.kind ?? old?.kind ?? "project";
    const scope = given.scope ?? old?.scope ?? (kind === "user" ? "global" : "project");
    if (!old && facts.filter((fact) => fact.scope === scope).length >= MAX_FACTS) {
      throw new ReasonixError(`Cannot save "${name}": there are ${MAX_FACTS} facts already`, {
        remedy: "forget those that no longer matter",
      });
    }
    const today = now().toISOString().slice(0, 10);
    const path = `${this.directory(scope)}/${name}.md`;
    await saveFile(
      path,
      factFile({
        name,
        scope,
        kind,
        text,
        description: oneLine(redact(given.description), MAX_DESCRIPTION),
        pinned: given.pinned ?? old?.pinned ?? false,
        created: old?.created || today,
        updated: today,
      }),
      { mode: 0o600 },
    );
    return { name, path, updated: old !== undefined };
  }

  async forget(name: string, scope?: MemoryScope): Promise<{ readonly archived: string }> {
    const fact = await this.#find(name, scope);
    const directory = this.directory(fact.scope);
    const stamp = (this.#options.now?.() ?? new Date()).toISOString().replace(/[-:]/g, "").slice(0, 15);
    await Deno.mkdir(`${directory}/archive`, { recursive: true, mode: 0o700 });
    const archived = `${directory}/archive/${fact.name}.${stamp}.md`;
    await Deno.rename(`${directory}/${fact.name}.md`, archived);
    return { archived };
  }

  async archive(): Promise<(StoredFact & { readonly archivedOn: string })[]> {
    const facts: (StoredFact & { readonly archivedOn: string; readonly stamp: string })[] = [];
    for (const scope of SCOPES) {
      const directory = `${this.directory(scope)}/archive`;
      for (const file of markdownFiles(directory)) {
        const [, name, stamp] = /^(.+)\.(\d{8}T\d{6})\.md$/.exec(file) ?? [];
        const source = await Deno.readTextFile(`${directory}/${file}`).catch(() => undefined);
        if (name === undefined || stamp === undefined || source === undefined) continue;
        const archivedOn = stamp.replace(/^(\d{4})(\d\d)(\d\d).*$/, "$1-$2-$3");
        facts.push({ ...readFact(source, name, scope), archivedOn, stamp });
      }
    }
    return facts.sort((a, b) => a.stamp < b.stamp ? 1 : -1).slice(0, MAX_FACTS);
  }

  /** Every fact in use. A file that cannot be read is passed over. */
  async facts(): Promise<StoredFact[]> {
    const facts: StoredFact[] = [];
    for (const scope of SCOPES) {
      const directory = this.directory(scope);
      for (const file of markdownFiles(directory).slice(0, MAX_FACTS)) {
        const source = await Deno.readTextFile(`${directory}/${file}`).catch(() => undefined);
        if (source !== undefined) facts.push(readFact(source, file.slice(0, -".md".length), scope));
      }
    }
    return facts.sort((a, b) =>
      Number(b.pinned) - Number(a.pinned) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
    );
  }

  async #find(given: string, scope: MemoryScope | undefined): Promise<StoredFact> {
    const facts = await this.facts();
    const wanted = [given, factName(given)];
    const found = facts.filter((fact) =>
      wanted.includes(fact.name) && (scope === undefined || fact.scope === scope)
    );
    const [fact, other] = found;
    if (fact && !other) return fact;
    if (fact) {
      throw new ReasonixError(
        message`Cannot choose "${given}": there is one of the project and one for all projects`,
        {
          remedy: message`give scope, project or global`,
        },
      );
    }
    const near = suggestNames(given, facts.map((one) => one.name), 3);
    throw new ReasonixError(message`Cannot find "${given}": there is no such fact`, {
      remedy: near.length > 0 ? message`did you mean ${near}?` : message`list what is saved`,
    });
  }
}

function checkNew(given: NewMemory, name: string, text: string): void {
  const problem = name === ""
    ? "the name has no letters or digits"
    : text === ""
    ? "the text is empty"
    : given.description.trim() === ""
    ? "the description is empty"
    : text.length > MAX_TEXT
    ? `the text has ${text.length} characters, at most ${MAX_TEXT} are kept`
    : undefined;
  if (problem === undefined) return;
  throw new ReasonixError(`Cannot save the fact "${given.name}": ${problem}`, {
    remedy: "save one short fact under one name",
  });
}

function markdownFiles(directory: string): string[] {
  return sortedEntries(directory)
    .filter(({ name, isFile }) => isFile && name.endsWith(".md") && !name.startsWith("."))
    .map(({ name }) => name);
}

function entryOf(fact: StoredFact): MemoryEntry {
  const { name, description, scope, kind, pinned, updated } = fact;
  return { name, description, scope, kind, pinned, updated };
}

const MAX_CHARS = 4_000;

/**
 * The `<memory>` block about saved facts, for the start of a session: the pinned facts by name, and how many
 * more there are. A message, never part of the prefix. Undefined when nothing is saved.
 */
export async function openingMemory(options: FactStoreOptions): Promise<string | undefined> {
  const entries = await new FactStore(options).list();
  if (entries.length === 0) return undefined;
  const lines: string[] = [];
  let left = MAX_CHARS;
  for (const entry of entries.filter((one) => one.pinned)) {
    const line = `- ${entry.name}: ${entry.description}`;
    if ((left -= line.length) < 0) break;
    lines.push(line);
  }
  const more = entries.length - lines.length;
  const head = lines.length > 0 ? ["Facts saved earlier; the memory tool reads them whole:", ...lines] : [];
  const tail = more > 0
    ? [`${more} ${lines.length > 0 ? "more " : ""}saved; search them with the memory tool.`]
    : [];
  return `<memory>\n${[...head, ...tail].join("\n")}\n</memory>`;
}
