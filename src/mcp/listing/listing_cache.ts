import { writeFileAtomic } from "../../util/atomic_write.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import type { Listing } from "./listing.ts";

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
  readonly version: 1;
}

const ERA_DAYS = 7;

/**
 * What servers offered, in `<home>/cache/mcp/<hash>.json` (0600), so that a run can offer their tools before
 * they have started.
 *
 * Contract: a file that cannot be read is no file; one that cannot be written costs the next run a wait.
 */
export class ListingCache {
  readonly #directory: string;

  constructor(home: string) {
    this.#directory = `${home}/cache/mcp`;
  }

  read(hash: string): ServerRecord {
    let text: string;
    try {
      text = Deno.readTextFileSync(this.#file(hash));
    } catch {
      return {};
    }
    const data = parseJson(text);
    return isCacheFile(data) ? data : {};
  }

  async write(hash: string, record: ServerRecord): Promise<void> {
    try {
      await Deno.mkdir(this.#directory, { recursive: true, mode: 0o700 });
      const file: CacheFile = { version: 1, ...record };
      await writeFileAtomic(this.#file(hash), JSON.stringify(file), { setMode: 0o600 });
    } catch {
      // A home that cannot be written to is no reason to stop.
    }
  }

  #file(hash: string): string {
    return `${this.#directory}/${hash}.json`;
  }
}

/** The era that a start may rely on. */
export function knownEra({ era, checked }: ServerRecord, now = Date.now()): Era | undefined {
  const age = now - Date.parse(checked ?? "");
  return age >= 0 && age < ERA_DAYS * 86_400_000 ? era : undefined;
}

function isCacheFile(data: unknown): data is CacheFile {
  if (!isRecord(data) || data.version !== 1) return false;
  const { listing } = data;
  return listing === undefined ||
    isRecord(listing) &&
      ["tools", "prompts", "resources", "templates", "problems"].every((key) => Array.isArray(listing[key]));
}
