import { errorMessage, formatLocation, message, ReasonixError, type SourceLocation } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import { contains, join, relativeTo } from "../path/lexical.ts";
import { isFile, readSmallText, sortedEntries } from "../path/probe.ts";
import { worktreeIdOf } from "../path/project_dir.ts";
import { realPath } from "../path/real_path.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import { canonicalJson } from "../util/json.ts";
import { FileLock } from "../util/lock.ts";

export interface TrustReport {
  readonly trusted: readonly TrustItem[];
  readonly untrusted: readonly TrustItem[];
}

export interface TrustRecord {
  readonly project: string;
  readonly kind: string;
  readonly name: string;
  /** RFC 3339. */
  readonly time: string;
}

interface TrustFile {
  readonly version: 1;
  readonly trusted: { readonly [hash: string]: TrustRecord };
}

async function sha256(data: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", data)).toHex();
}

/**
 * The user's decisions about executable things of a project, in `<home>/trust.json` (0600), outside of what a
 * repository or a tool can write. A decision counts for one project directory and one content: the same
 * server in another clone, or with another argument or script, asks again.
 *
 * Contract: a damaged file trusts nothing; it is an error only when a decision is to be added to it.
 */
export class TrustStore {
  readonly #home: string;
  readonly #file: string;
  readonly #project: string;
  readonly #trustAll: boolean;
  /** Read once: a store lives as long as one look at a project. */
  #known: Promise<TrustFile> | undefined;
  readonly #isThere: (path: string) => boolean;

  /** `project` is the real path of the workspace root; `trustAll` trusts every item for this run. */
  constructor(options: {
    readonly home: string;
    readonly project: string;
    readonly trustAll?: boolean | undefined;
  }) {
    this.#trustAll = options.trustAll ?? false;
    this.#home = options.home;
    this.#file = `${options.home}/trust.json`;
    this.#project = options.project;
    this.#isThere = fileFinder(options.project);
  }

  /** Reports whether the user trusts an item as it is now, or everything for this run. */
  async isTrusted(item: TrustItem): Promise<boolean> {
    return this.#trustAll || (await this.inspect([item])).trusted.length > 0;
  }

  /**
   * Sorts items by whether they may run. Reads the store and the files the items name; an item whose file
   * cannot be read is not trusted.
   */
  async inspect(items: readonly TrustItem[]): Promise<TrustReport> {
    if (items.length === 0) return { trusted: [], untrusted: [] };
    const { trusted: known } = await (this.#known ??= this.#read().catch(() => EMPTY));
    const parent = await this.#parent();
    const isKnown = async (item: TrustItem, project: string) => {
      const files = filesOf(item, this.#project, this.#isThere);
      const hash = await this.#hash(item, files, project).catch(() => undefined);
      return hash !== undefined && Object.hasOwn(known, hash);
    };
    const trusted: TrustItem[] = [];
    const untrusted: TrustItem[] = [];
    for (const item of items) {
      const isTrusted = await isKnown(item, this.#project) ||
        (parent !== undefined && await isKnown(item, parent));
      (isTrusted ? trusted : untrusted).push(item);
    }
    return { trusted, untrusted };
  }

  /** Remembers that the user trusts these as they are now. */
  async trust(items: readonly TrustItem[], now: Date = new Date()): Promise<void> {
    const added: { [hash: string]: TrustRecord } = {};
    for (const item of items) {
      const { kind, name } = item;
      const hash = await this.#hash(item, filesOf(item, this.#project));
      added[hash] = { project: this.#project, kind, name, time: now.toISOString() };
    }
    await this.#update((known) => ({ ...known, ...added }));
  }

  async revoke(): Promise<void> {
    await this.#update((known) =>
      Object.fromEntries(Object.entries(known).filter(([, record]) => record.project !== this.#project))
    );
  }

  async list(): Promise<TrustRecord[]> {
    const { trusted } = await this.#read();
    return Object.values(trusted).filter((record) => record.project === this.#project);
  }

  /** The project that this one is a work tree of: what is trusted there is trusted here, too. */
  async #parent(): Promise<string | undefined> {
    const home = realPath(this.#home);
    if (worktreeIdOf(home, this.#project) === undefined) return undefined;
    return (await import("../worktree/mod.ts")).parentOfWorktree(home, this.#project);
  }

  async #hash(
    { kind, name, definition }: TrustItem,
    files: readonly string[],
    project = this.#project,
  ): Promise<string> {
    const contents: [string, string][] = [];
    for (const path of files) {
      const below = relativeTo(path, this.#project);
      const named = below === undefined ? path : join(project, below);
      contents.push([named, await sha256(await Deno.readFile(path))]);
    }
    const text = canonicalJson([project, kind, name, definition, contents]);
    return await sha256(new TextEncoder().encode(text));
  }

  async #read(): Promise<TrustFile> {
    let text: string;
    try {
      text = await Deno.readTextFile(this.#file);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return EMPTY;
      throw error;
    }
    const data: unknown = JSON.parse(text);
    if (!isTrustFile(data)) throw new Error("It has another format");
    return data;
  }

  async #update(change: (known: TrustFile["trusted"]) => TrustFile["trusted"]): Promise<void> {
    try {
      await Deno.mkdir(this.#file.slice(0, this.#file.lastIndexOf("/")), { recursive: true, mode: 0o700 });
      // Two sessions may be asked at once, and neither answer may be lost.
      const lock = await FileLock.acquire(`${this.#file}.lock`);
      try {
        this.#known = undefined;
        const next: TrustFile = { version: 1, trusted: change((await this.#read()).trusted) };
        await writeFileAtomic(this.#file, `${JSON.stringify(next, undefined, 2)}\n`, { setMode: 0o600 });
      } finally {
        lock.release();
      }
    } catch (error) {
      throw new ReasonixError(
        message`Cannot save the trust decision in ${this.#file}: ${errorMessage(error)}`,
        {
          remedy: message`make the file writable, or remove it to start over without any trusted project`,
          cause: error,
        },
      );
    }
  }
}

const EMPTY: TrustFile = { version: 1, trusted: {} };

function isTrustFile(data: unknown): data is TrustFile {
  return typeof data === "object" && data !== null && "version" in data && data.version === 1 &&
    "trusted" in data && typeof data.trusted === "object" && data.trusted !== null;
}

/**
 * Asks for files of a project and remembers the answers, for a look at many items. Most words of a command
 * name none; where nothing of the project begins like them the system is not asked.
 */
function fileFinder(project: string): (path: string) => boolean {
  const known = new Map<string, boolean>();
  let first: ReadonlySet<string> | undefined;
  const plain = (name: string) => name.normalize("NFC").toLowerCase();
  return (path) => {
    first ??= new Set(sortedEntries(project).map(({ name }) => plain(name)));
    const below = path.startsWith(`${project}/`) ? path.slice(project.length + 1) : "";
    const [segment = ""] = below.split("/");
    // What is no plain name (`..`, an empty one) is looked at as it is.
    if (first.size > 0 && /^[^.]|^\.[^.]/.test(segment) && !first.has(plain(segment))) return false;
    let found = known.get(path);
    if (found === undefined) known.set(path, found = isFile(path));
    return found;
  };
}

/**
 * Repository content that stays without effect until the user trusts exactly this content: one provider, MCP
 * server, hook, shell, command, skill, agent, verify command, or the permission grants of one file. The kind,
 * the name, the definition and the contents of the files are the key of a decision.
 */
export interface TrustItem {
  /** The kind, such as "plugin", "hook", "command", "skill"; "widening" for the grants of a file. */
  readonly kind: string;
  /** The name by which the user knows it. */
  readonly name: string;
  /**
   * Everything that decides what would run: command, arguments, environment, URL. Plain JSON; the order of
   * keys does not count. It may hold secrets. Of an entry of a configuration file its canonical text as
   * written, without replaced variables.
   */
  readonly definition: unknown;
  /** Absolute paths of the repository's files that it runs; an item whose file is missing is not trusted. */
  readonly files?: readonly string[];
  /** Absolute paths that its words name. Files of the project among them count like `files`. */
  readonly paths?: readonly string[];
  readonly place: SourceLocation;
  /** The reason why an entry needs trust, for people: "it would …". */
  readonly reason?: string;
  /** All facts for people, without values that may be secrets. Absent: the reason and the definition. */
  readonly lines?: readonly string[] | undefined;
  /** Places of values that may be secrets in the file. */
  readonly hidden?: readonly SourceLocation[] | undefined;
  /** The single permissions that the item grants. */
  readonly grants?: readonly PermissionGrant[];
}

/** One permission that a project would grant beyond the user's. */
export interface PermissionGrant {
  /** The setting, such as `permissions.allow`. */
  readonly key: string;
  /** The value that would count; of a directory its real path, so that a link cannot lead elsewhere later. */
  readonly value: string;
  /** Continues "it would be allowed to", for people. */
  readonly words: string;
  readonly place: SourceLocation;
}

/** An entry of a configuration file that needs trust. */
export interface TrustEntry extends Pick<TrustItem, "kind" | "name" | "paths"> {
  readonly written: unknown;
  /** Called only when the facts are shown, which most runs never do. */
  readonly describe: () => Pick<TrustItem, "lines" | "hidden"> & { readonly reason: string };
}

/** Makes the item of an entry of the project in `cwd`. Paths, location and facts are found on first use. */
export function entryItem(
  { kind, name, written, paths = [], describe }: TrustEntry,
  { cwd, place }: { readonly cwd: string; readonly place: () => SourceLocation },
): TrustItem & { readonly reason: string } {
  const definition = canonicalJson(written);
  let described: ReturnType<TrustEntry["describe"]> | undefined;
  const facts = () => described ??= describe();
  return {
    kind,
    name,
    definition,
    get paths() {
      const words = definition.match(/[^\s"'[\]{},:=]+/g) ?? [];
      const named = words.map((word) => word.startsWith("/") ? word : `${cwd}/${word}`);
      return [...new Set([...named, ...paths])];
    },
    get place() {
      return place();
    },
    get reason() {
      return facts().reason;
    },
    get lines() {
      return facts().lines;
    },
    get hidden() {
      return facts().hidden;
    },
  };
}

/** Lists the files whose contents are part of an item. */
export function filesOf(
  { files = [], paths = [] }: TrustItem,
  project: string,
  isThere: (path: string) => boolean = isFile,
): string[] {
  return [...files, ...paths.filter((path) => contains(project, path) && isThere(path))];
}

type TrustTexts = Texts["overlay"]["trust"];

/** Describes an item for `reasonix trust`: a heading, and a line for each fact. */
export function describeItem(item: TrustItem): string[] {
  const { kind, name, place, reason = "", definition, grants } = item;
  if (!grants) {
    return [`${kind} ${name}  ${formatLocation(place)}`, ...item.lines ?? [reason, String(definition)]];
  }
  return [
    `${name} would allow without a question, below your own deny and ask rules:`,
    ...grants.map(({ words, value, place }) => `${words}  ${value}  ${formatLocation(place)}`),
  ];
}

/** Describes items for the trust prompt: one line for each single thing, with its location. */
export function trustLines(items: readonly TrustItem[], texts: TrustTexts): string[] {
  return items.flatMap((item) => {
    const { kind, name, reason = "", place, grants } = item;
    if (grants) {
      return grants.map(({ key, value, place }) =>
        `${grantText(key, value, texts)} (${formatLocation(place)})`
      );
    }
    const words = kind === "shell" ? texts.shell(name) : texts.entry(kind, name, reason);
    return [`${words} (${formatLocation(place)})`];
  });
}

function grantText(key: string, value: string, texts: TrustTexts): string {
  if (key === "sandbox.allow_write") return texts.write(value);
  return key === "sandbox.network_hosts" ? texts.connect(value) : texts.allow(value);
}

/**
 * Returns the details of the trust prompt: the facts of items that have some, and of the rest their files as
 * they are, without the values that plugins pass on.
 */
export function trustDetails(items: readonly TrustItem[]): string {
  const plugins = items.flatMap(({ name, place, lines }) =>
    lines ? [`── ${name}  ${formatLocation(place)}\n${lines.join("\n")}\n`] : []
  );
  const rest = items.filter(({ lines }) => lines === undefined);
  const places = rest.flatMap(({ place, grants = [] }) => [place, ...grants.map((each) => each.place)]);
  const files = [...new Set(places.map(({ file }) => file))].map((file) => {
    const hidden = items.flatMap((item) => item.hidden ?? []).filter((place) => place.file === file);
    return `── ${file}\n${withoutLiterals(readSmallText(file) ?? "", hidden)}`;
  });
  return [...plugins, ...files].join("\n");
}

const LITERAL = /"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;

/** Replaces the quoted texts at these locations. */
function withoutLiterals(text: string, places: readonly SourceLocation[]): string {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offsets = places.map(({ line = 1, column = 1 }) => (starts[line - 1] ?? 0) + column - 1);
  return offsets.toSorted((a, b) => b - a).reduce((shown, offset) => {
    LITERAL.lastIndex = offset;
    const found = LITERAL.exec(shown);
    return found ? `${shown.slice(0, offset)}"[secret]"${shown.slice(offset + found[0].length)}` : shown;
  }, text);
}
