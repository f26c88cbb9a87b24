import type {
  ClientCapabilities,
  Diagnostic,
  InitializeParams,
  PositionEncodingKind,
  ServerCapabilities,
} from "vscode-languageserver-protocol";
import { errorMessage, ReasonixError } from "../core/mod.ts";
import type { ServerProcess } from "../tool/mod.ts";
import { isRecord } from "../util/json.ts";
import { after } from "../util/timer.ts";
import { LspConnection, ServerRefusal } from "./connection.ts";
import { fileUri, pathOfUri } from "./positions.ts";
import { languageOf, type ServerSpec } from "./server_specs.ts";

export interface ServerParts {
  readonly spec: ServerSpec;
  /** Full path of its program. */
  readonly program: string;
  /** The project that it serves. */
  readonly root: string;
  readonly spawn: StartProcess;
  /** Hears once, for the user, that the server is not started any more. */
  readonly givenUp: (server: string, why: string) => void;
  /** Time without a request after which its process is ended. */
  readonly idleMs: number;
}

/** Starts a process in the jail for language servers. Rejects with a ReasonixError that says why not. */
export type StartProcess = (
  server: { readonly name: string; readonly root: string },
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
) => Promise<ServerProcess>;

/** So often a server may be lost, or not come up, in one session. */
const MAX_LOSSES = 3;

/** A language server of a project: started when it is needed, ended when it is not. */
export class LanguageServer {
  readonly spec: ServerSpec;
  readonly root: string;
  readonly #parts: ServerParts;
  #running: Promise<RunningServer> | undefined;
  #process: ServerProcess | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #losses = 0;
  #why = "";
  #closed = false;

  constructor(parts: ServerParts) {
    this.spec = parts.spec;
    this.root = parts.root;
    this.#parts = parts;
  }

  /** False: it was lost too often, and is left alone. */
  get isUsable(): boolean {
    return !this.#closed && this.#losses < MAX_LOSSES;
  }

  /** The server, running and initialized. Rejects with a ReasonixError that says why there is none. */
  async running(): Promise<RunningServer> {
    if (!this.isUsable) {
      throw new ReasonixError(`The language server ${this.spec.name} is not started again: ${this.#why}`);
    }
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.stop(), this.#parts.idleMs);
    Deno.unrefTimer(this.#idle);
    return await (this.#running ?? this.#start());
  }

  /** Ends the process; the next request starts another. */
  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    this.#running = undefined;
    const process = this.#process;
    // One that is still starting has nothing to put in order; whoever waits for it hears that it is gone.
    await process?.end(0);
    const server = await running?.catch(() => undefined);
    await server?.connection.end();
  }

  /** Ends a server that does not do its work, which counts as a loss. */
  async giveUp(server: RunningServer, why: string): Promise<void> {
    await server.connection.end(why);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.stop();
  }

  #start(): Promise<RunningServer> {
    const { spec, program, root, spawn } = this.#parts;
    const lost = (why: string) => {
      // One that was stopped has made room for the next already.
      if (this.#running !== own) return;
      this.#running = undefined;
      this.#lost(why);
    };
    const start = async () => {
      const process = await spawn({ name: spec.name, root }, [program, ...spec.args], spec.env);
      this.#process = process;
      if (this.#running !== own) await process.end(0);
      return await RunningServer.start({ spec, root, process, ended: lost });
    };
    const own = this.#running = start();
    own.catch((error) => lost(errorMessage(error)));
    return own;
  }

  #lost(why: string): void {
    if (this.#closed) return;
    this.#why = why;
    if (++this.#losses === MAX_LOSSES) this.#parts.givenUp(this.spec.name, why);
  }
}

interface RunningParts {
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
class PublishedDiagnostics {
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
function diagnosticsIn(value: unknown): readonly Diagnostic[] {
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

/** Functions of this program as servers are told of them: no edit or file operation of theirs is applied. */
const CAPABILITIES: ClientCapabilities = {
  general: { positionEncodings: ["utf-16", "utf-8"] },
  window: { workDoneProgress: true },
  workspace: {
    applyEdit: false,
    configuration: true,
    workspaceFolders: true,
    symbol: {},
    diagnostics: { refreshSupport: true },
  },
  textDocument: {
    synchronization: { didSave: true },
    publishDiagnostics: { versionSupport: true },
    diagnostic: {},
    hover: { contentFormat: ["markdown", "plaintext"] },
    definition: { linkSupport: true },
    references: {},
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    rename: {},
  },
};

/** The first request. There is no process id: in the jail a server would see none by it, and end. */
function initializeParams(spec: ServerSpec, root: string): InitializeParams {
  return {
    processId: null,
    clientInfo: { name: "reasonix" },
    locale: "en",
    rootPath: root,
    rootUri: fileUri(root),
    workspaceFolders: [folderOf(root)],
    capabilities: CAPABILITIES,
    initializationOptions: spec.options,
    trace: "off",
  };
}

function folderOf(root: string): { uri: string; name: string } {
  return { uri: fileUri(root), name: root.slice(root.lastIndexOf("/") + 1) };
}

/** The answer to a request of a server; undefined: there is no such method. */
function answerServer(
  { spec, root }: { readonly spec: ServerSpec; readonly root: string },
  method: string,
  params: unknown,
): unknown {
  switch (method) {
    case "workspace/configuration": {
      const items = isRecord(params) && Array.isArray(params.items) ? params.items : [];
      return items.map((item) => isRecord(item) ? settingsOf(spec, item.section) : null);
    }
    case "workspace/workspaceFolders":
      return [folderOf(root)];
    case "workspace/applyEdit":
      return { applied: false, failureReason: "edits are made by the tools of this program" };
    case "client/registerCapability":
    case "client/unregisterCapability":
    case "window/workDoneProgress/create":
    case "window/showMessageRequest":
      return null;
    case "window/showDocument":
      return { success: false };
    default:
      return /^workspace\/.*\/refresh$/.test(method) ? null : undefined;
  }
}

/** A section of the settings, such as `python.analysis`, or that part of one: `analysis` of `python`. */
function settingsOf({ settings }: ServerSpec, section: unknown): unknown {
  if (typeof section !== "string") return settings;
  if (Object.hasOwn(settings, section)) return settings[section];
  const parts = Object.entries(settings).filter(([name]) => name.startsWith(`${section}.`));
  if (parts.length === 0) return null;
  return Object.fromEntries(parts.map(([name, value]) => [name.slice(section.length + 1), value]));
}

/** The methods that a server registers late, among those that are asked about here. */
function registeredMethods(method: string, params: unknown): readonly string[] {
  if (method !== "client/registerCapability" || !isRecord(params)) return [];
  const { registrations } = params;
  return Array.isArray(registrations)
    ? registrations.flatMap((one) => isRecord(one) && typeof one.method === "string" ? [one.method] : [])
    : [];
}
