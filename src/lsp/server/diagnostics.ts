import type { Diagnostic } from "vscode-languageserver-protocol";
import { isRecord } from "../../util/json.ts";
import { after } from "../../util/timer.ts";
import { pathOfUri } from "../uri.ts";

/** The findings of a server about one version of a file. */
interface Published {
  readonly version: number | undefined;
  readonly items: readonly Diagnostic[];
}

/** Servers publish in parts (syntax first, types later): so long after the last part it is whole. */
const QUIET_MS = 80;
/** More are of no use to anybody; a server that lies about its findings must not fill the memory. */
const MAX_ITEMS = 1_000;

/** The diagnostics that a server publishes by itself, and the wait for them. */
export class PublishedDiagnostics {
  readonly #latest = new Map<string, Published>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Takes a `textDocument/publishDiagnostics` in. */
  take(params: unknown): void {
    if (!isRecord(params) || typeof params.uri !== "string") return;
    const path = pathOfUri(params.uri);
    // Files that nobody waits for are not kept: servers publish whole workspaces.
    const waiting = path === undefined ? undefined : this.#waiting.get(path);
    if (path === undefined || !waiting) return;
    const version = typeof params.version === "number" ? params.version : undefined;
    this.#latest.set(path, { version, items: diagnosticsIn(params.diagnostics) });
    for (const heard of waiting) heard();
  }

  /**
   * Waits for what the server says of a version of a file from now on, until it says nothing more. Undefined:
   * it said nothing in time. Rejects only when the signal is aborted.
   */
  async next(
    path: string,
    version: number,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<readonly Diagnostic[] | undefined> {
    this.#latest.delete(path);
    const said = Promise.withResolvers<void>();
    let quiet = () => {};
    const heard = () => {
      const latest = this.#latest.get(path);
      if (latest?.version !== undefined && latest.version < version) return;
      quiet();
      quiet = after(QUIET_MS, said.resolve);
    };
    const aborted = () => said.reject(signal.reason);
    const clear = after(timeoutMs, said.resolve);
    const waiting = this.#waiting.get(path) ?? new Set();
    this.#waiting.set(path, waiting.add(heard));
    signal.addEventListener("abort", aborted, { once: true });
    try {
      signal.throwIfAborted();
      await said.promise;
      const latest = this.#latest.get(path);
      return latest?.version !== undefined && latest.version < version ? undefined : latest?.items;
    } finally {
      quiet();
      clear();
      signal.removeEventListener("abort", aborted);
      waiting.delete(heard);
      if (waiting.size === 0) {
        this.#waiting.delete(path);
        this.#latest.delete(path);
      }
    }
  }
}

/** The well-formed ones of a list of a server. */
export function diagnosticsIn(value: unknown): readonly Diagnostic[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_ITEMS).filter(isDiagnostic);
}

function isDiagnostic(value: unknown): value is Diagnostic {
  if (!isRecord(value) || typeof value.message !== "string" || !isRecord(value.range)) return false;
  const { start, end } = value.range;
  return isPosition(start) && isPosition(end);
}

function isPosition(value: unknown): boolean {
  return isRecord(value) && Number.isSafeInteger(value.line) && Number(value.line) >= 0 &&
    Number.isSafeInteger(value.character) && Number(value.character) >= 0;
}
