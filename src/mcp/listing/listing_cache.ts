import { writeFileAtomic } from "../../util/atomic_write.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import type { Listing } from "./listing.ts";
import { textHash } from "./names.ts";

/** The two families of protocol revisions: with and without a handshake. */
export type Era = "legacy" | "modern";

/** What is remembered of a server between runs. */
export interface ServerRecord {
  /** What it offered last; absent: it never answered. */
  readonly listing?: Listing;
  readonly era?: Era;
  /** RFC 3339; an era counts for a week, since servers are updated. */
  readonly checked?: string;
  /** Why its last start failed; absent: it did not. */
  readonly failure?: string;
}

interface CacheFile extends ServerRecord {
  /** Raised when files of before must not count. */
  readonly version: 3;
}

const ERA_DAYS = 7;
const SECOND_SEED = 0x9e3779b9;

/**
 * What servers offered, in `mcp/<hash>.json` of the cache (0600), so that a run can offer their tools before
 * they have started. How a server is started is not in it: arguments and addresses may hold keys.
 *
 * Contract: a file that cannot be read is no file; one that cannot be written costs the next run a wait.
 */
export class ListingCache {
  readonly #directory: string;

  constructor(cacheDir: string) {
    this.#directory = `${cacheDir}/mcp`;
  }

  read(definition: string): ServerRecord {
    let text: string;
    try {
      text = Deno.readTextFileSync(this.#file(definition));
    } catch {
      return {};
    }
    const data = parseJson(text);
    return isCacheFile(data) ? data : {};
  }

  async write(definition: string, record: ServerRecord): Promise<void> {
    try {
      await Deno.mkdir(this.#directory, { recursive: true, mode: 0o700 });
      const file: CacheFile = { ...record, version: 3 };
      await writeFileAtomic(this.#file(definition), JSON.stringify(file), { setMode: 0o600 });
    } catch {
      // A home that cannot be written to is no reason to stop.
    }
  }

  #file(definition: string): string {
    const parts = [undefined, SECOND_SEED].map((seed) => textHash(definition, seed).toString(16));
    return `${this.#directory}/${parts.map((part) => part.padStart(8, "0")).join("")}.json`;
  }
}

/** The era that a start may rely on. */
export function knownEra({ era, checked }: ServerRecord, now = Date.now()): Era | undefined {
  const age = now - Date.parse(checked ?? "");
  return age >= 0 && age < ERA_DAYS * 86_400_000 ? era : undefined;
}

function isCacheFile(data: unknown): data is CacheFile {
  if (!isRecord(data) || data.version !== 3) return false;
  const { listing } = data;
  return listing === undefined ||
    isRecord(listing) &&
      ["tools", "prompts", "resources", "templates", "problems"].every((key) => Array.isArray(listing[key]));
}
