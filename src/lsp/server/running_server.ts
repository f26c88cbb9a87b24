import type { Diagnostic, PositionEncodingKind, ServerCapabilities } from "vscode-languageserver-protocol";
import { ReasonixError } from "../../core/mod.ts";
import type { ServerProcess } from "../../tool/mod.ts";
import { isRecord } from "../../util/json.ts";
import { after } from "../../util/timer.ts";
import { LspConnection, ServerRefusal } from "../connection/connection.ts";
import { fileUri } from "../uri.ts";
import { answerServer, initializeParams, registeredMethods } from "./client_side.ts";
import { diagnosticsIn, PublishedDiagnostics } from "./diagnostics.ts";
import { languageOf, type ServerSpec } from "./specs.ts";

export interface RunningParts {
  readonly spec: ServerSpec;
  readonly root: string;
  readonly process: ServerProcess;
  readonly ended: (why: string) => void;
}

interface OpenDocument {
  version: number;
  text: string;
}

const START_MS = 30_000;
const PULL = "textDocument/diagnostic";
/** Files that a server keeps in memory for us; the one that was not used for longest is closed. */
const MAX_OPEN = 40;
/** ServerCancelled, ContentModified: the server asks for patience. */
const AGAIN: readonly number[] = [-32802, -32801];
const AGAIN_MS = 200;
const CHANGED = { created: 1, changed: 2, deleted: 3 } as const;

/** A language server that has been initialized: one life of one process. */
export class RunningServer {
  readonly connection: LspConnection;
  readonly encoding: PositionEncodingKind;
  readonly capabilities: ServerCapabilities;
  readonly #spec: ServerSpec;
  readonly #published: PublishedDiagnostics;
  readonly #registered: ReadonlySet<string>;
  /** By path, the one used last at the end. */
  readonly #open = new Map<string, OpenDocument>();

  private constructor(
    spec: ServerSpec,
    connection: LspConnection,
    heard: { readonly published: PublishedDiagnostics; readonly registered: ReadonlySet<string> },
    capabilities: ServerCapabilities,
  ) {
    this.#spec = spec;
    this.connection = connection;
    this.#published = heard.published;
    this.#registered = heard.registered;
    this.capabilities = capabilities;
    this.encoding = capabilities.positionEncoding ?? "utf-16";
  }

  /** Rejects with a ReasonixError, the process ended, when the server does not come up. */
  static async start({ spec, root, process, ended }: RunningParts): Promise<RunningServer> {
    const published = new PublishedDiagnostics();
    const registered = new Set<string>();
    const connection = new LspConnection(process, {
      notified: (method, params) => {
        if (method === "textDocument/publishDiagnostics") published.take(params);
      },
      asked: (method, params) => {
        for (const one of registeredMethods(method, params)) registered.add(one);
        return answerServer({ spec, root }, method, params);
      },
      ended,
    });
    try {
      const result = await connection.request("initialize", initializeParams(spec, root), {
        timeoutMs: START_MS,
      });
      if (!isRecord(result) || !isRecord(result.capabilities)) {
        throw new ReasonixError("The language server answered initialize without capabilities");
      }
      connection.notify("initialized", {});
      const heard = { published, registered };
      return new RunningServer(spec, connection, heard, result.capabilities);
    } catch (error) {
      await connection.end();
      throw error;
    }
  }

  /** Tells the server the text of a file, as far as it does not know it. Returns the version it has then. */
  sync(path: string, text: string): number {
    const known = this.#open.get(path);
    const uri = fileUri(path);
    this.#open.delete(path);
    if (known?.text === text) {
      this.#open.set(path, known);
      return known.version;
    }
    const document = { version: (known?.version ?? 0) + 1, text };
    this.#open.set(path, document);
    const { version } = document;
    if (known) {
      const change = { textDocument: { uri, version }, contentChanges: [{ text }] };
      this.connection.notify("textDocument/didChange", change);
      this.connection.notify("textDocument/didSave", { textDocument: { uri }, text });
    } else {
      const languageId = languageOf(this.#spec, path) ?? "plaintext";
      this.connection.notify("textDocument/didOpen", { textDocument: { uri, languageId, version, text } });
    }
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.close(oldest);
    return version;
  }

  /** Files that it was told the text of. */
  get opened(): readonly string[] {
    return [...this.#open.keys()];
  }

  close(path: string): void {
    if (!this.#open.delete(path)) return;
    this.connection.notify("textDocument/didClose", { textDocument: { uri: fileUri(path) } });
  }

  /** Tells the server of files that changed on the disk. */
  changed(files: readonly { readonly path: string; readonly change: keyof typeof CHANGED }[]): void {
    const changes = files.map(({ path, change }) => ({ uri: fileUri(path), type: CHANGED[change] }));
    this.connection.notify("workspace/didChangeWatchedFiles", { changes });
  }

  /**
   * Returns all that the server says of a text of a file. Undefined: it said nothing in time. Rejects
   * when it is gone, and when the signal is aborted.
   */
  async diagnose(
    path: string,
    text: string,
    limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<readonly Diagnostic[] | undefined> {
    if (!this.capabilities.diagnosticProvider && !this.#registered.has(PULL)) {
      const known = this.#open.get(path)?.text === text;
      // What was published about this very text is not published again: it has to be another version.
      if (known) this.close(path);
      const version = known ? 1 : (this.#open.get(path)?.version ?? 0) + 1;
      const found = this.#published.next(path, version, limits);
      this.sync(path, text);
      return await found;
    }
    this.sync(path, text);
    const params = { textDocument: { uri: fileUri(path) } };
    const report = await this.patiently(PULL, params, limits);
    return isRecord(report) && report.kind === "full" ? diagnosticsIn(report.items) : undefined;
  }

  /** A request that is made again while the server says that it is not ready for it. */
  async patiently(
    method: string,
    params: unknown,
    limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const end = performance.now() + limits.timeoutMs;
    while (true) {
      try {
        return await this.connection.request(method, params, limits);
      } catch (error) {
        const again = error instanceof ServerRefusal && AGAIN.includes(error.code);
        if (!again || performance.now() > end || this.connection.isGone) throw error;
      }
      await new Promise<void>((resolve) => void after(AGAIN_MS, resolve));
    }
  }
}
