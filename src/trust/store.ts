import { errorMessage, ReasonixError } from "../core/mod.ts";
import { join, relativeTo } from "../path/lexical.ts";
import { isFile, sortedEntries } from "../path/probe.ts";
import { worktreeIdOf } from "../path/project_dir.ts";
import { realPath } from "../path/real_path.ts";
import { canonicalJson } from "../util/json.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import { FileLock } from "../util/lock.ts";
import { filesOf, type TrustItem } from "./item.ts";

/** The decisions about a set of items. */
export interface TrustReport {
  readonly trusted: readonly TrustItem[];
  readonly untrusted: readonly TrustItem[];
}

/** One remembered decision. */
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

  /** Forgets every decision about this project. */
  async revoke(): Promise<void> {
    await this.#update((known) =>
      Object.fromEntries(Object.entries(known).filter(([, record]) => record.project !== this.#project))
    );
  }

  /** The decisions about this project. */
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
      throw new ReasonixError(`Cannot save the trust decision in ${this.#file}: ${errorMessage(error)}`, {
        remedy: "make the file writable, or remove it to start over without any trusted project",
        cause: error,
      });
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
