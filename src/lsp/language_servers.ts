import type {
  ClientCapabilities,
  Diagnostic,
  InitializeParams,
  PositionEncodingKind,
  ServerCapabilities,
} from "vscode-languageserver-protocol";
import { errorMessage, ReasonixError } from "../core/mod.ts";
import { contains, parentOf } from "../path/lexical.ts";
import { exists } from "../path/probe.ts";
import type { ServerProcess } from "../tool/mod.ts";
import { isRecord } from "../util/json.ts";
import { after, unlessAborted } from "../util/timer.ts";
import { LspConnection, ServerRefusal } from "./connection.ts";
import { fileUri, isRange, pathOfUri, recordsIn } from "./positions.ts";
import { languageOf, type ServerSpec } from "./server_specs.ts";

/** Starts a process in the jail for language servers. Rejects with a ReasonixError that has the reason. */
type StartProcess = (
  server: { readonly name: string; readonly root: string },
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
) => Promise<ServerProcess>;

export interface LspOptions {
  readonly specs: readonly ServerSpec[];
  readonly cwd: string;
  /** The user's home, which is not a project. */
  readonly userHome?: string | undefined;
  /** Finds an installed program; undefined: there is none. */
  readonly find: (program: string) => string | undefined;
  readonly spawn: StartProcess;
  /** Called with each new state of a server, but not while the session closes. */
  readonly changed: (change: StateChange) => void;
  /** Time without a request after which a process is ended. */
  readonly idleMs?: number;
}

/** Failed: it was lost too often and is not started again. */
type ServerState = "idle" | "starting" | "ready" | "stopped" | "failed";

interface StateChange {
  readonly server: string;
  readonly state: ServerState;
  /** The reason why a server was lost, for the user. */
  readonly why?: string | undefined;
}

/** A server for a file, and the project that it serves it in. */
interface Match {
  readonly spec: ServerSpec;
  /** Full path. */
  readonly program: string;
  readonly root: string;
}

const IDLE_MS = 5 * 60_000;
/** Servers that run at the same time; they are large. */
const MAX_RUNNING = 4;

/** The language servers of a session: one per project and language, started when needed. */
export class LanguageServers {
  readonly #options: LspOptions;
  #isClosing = false;
  readonly #programs = new Map<string, string | undefined>();
  /** The most recently used one is the last. */
  readonly #servers = new Map<string, LanguageServer>();

  constructor(options: LspOptions) {
    const changed = (change: StateChange) => this.#isClosing || options.changed(change);
    this.#options = { ...options, changed };
  }

  /** Returns the server for an absolute path; starts nothing. */
  match(path: string): Match | undefined {
    for (const spec of this.#options.specs) {
      if (languageOf(spec, path) === undefined) continue;
      const root = projectOf(path, spec.markers, this.#options);
      const program = root === undefined ? undefined : this.#find(spec);
      if (root !== undefined && program !== undefined) return { spec, program, root };
    }
    return undefined;
  }

  /** Returns the server for a file, running or not; undefined: there is none, or it was lost too often. */
  serverFor(path: string): LanguageServer | undefined {
    const match = this.match(path);
    if (!match) return undefined;
    const key = `${match.spec.name}\0${match.root}`;
    const server = this.#servers.get(key) ?? new LanguageServer(match, this.#options);
    this.#servers.delete(key);
    this.#servers.set(key, server);
    const [oldest] = this.#servers;
    if (oldest && this.#servers.size > MAX_RUNNING) {
      this.#servers.delete(oldest[0]);
      void oldest[1].close();
    }
    return server.isUsable ? server : undefined;
  }

  get states(): readonly Pick<LanguageServer, "name" | "root" | "state">[] {
    return [...this.#servers.values()].map(({ name, root, state }) => ({ name, root, state }));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  #find({ programs }: ServerSpec): string | undefined {
    for (const name of programs) {
      if (!this.#programs.has(name)) this.#programs.set(name, this.#options.find(name));
      const found = this.#programs.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/**
 * The project of a file: the outermost directory of the run with one of the markers, so that a repository of
 * many packages takes one server; above it the nearest one, but for the user's home and what holds it.
 */
function projectOf(
  path: string,
  markers: readonly string[],
  { cwd, userHome }: Pick<LspOptions, "cwd" | "userHome">,
): string | undefined {
  if (markers.length === 0) return contains(cwd, path) ? cwd : parentOf(path);
  const isProject = (directory: string) => markers.some((marker) => exists(`${directory}/${marker}`));
  let found: string | undefined;
  for (let directory = parentOf(path); directory !== parentOf(directory); directory = parentOf(directory)) {
    if (userHome !== undefined && contains(directory, userHome)) break;
    if (!contains(cwd, directory) && found !== undefined) break;
    if (isProject(directory)) found = directory;
  }
  return found;
}

/** Losses and failed starts of a server in one session. */
const MAX_LOSSES = 3;

/** A language server of a project: starts when it is needed, ends when it is idle. */
export class LanguageServer {
  readonly spec: ServerSpec;
  readonly root: string;
  readonly #program: string;
  readonly #options: LspOptions;
  #running: Promise<RunningServer> | undefined;
  #process: ServerProcess | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #state: ServerState = "idle";
  #losses = 0;
  #why = "";
  #closed = false;

  constructor({ spec, root, program }: Match, options: LspOptions) {
    this.spec = spec;
    this.root = root;
    this.#program = program;
    this.#options = options;
  }

  get name(): string {
    return this.spec.name;
  }

  get state(): ServerState {
    return this.#state;
  }

  /** False: it was closed, or lost too often, and is not started again. */
  get isUsable(): boolean {
    return !this.#closed && this.#state !== "failed";
  }

  #change(state: ServerState, why?: string): void {
    this.#state = state;
    this.#options.changed({ server: this.spec.name, state, why });
  }

  /** Returns the server, initialized. Rejects with a ReasonixError that has the reason. */
  async running(): Promise<RunningServer> {
    if (!this.isUsable) {
      throw new ReasonixError(`The language server ${this.spec.name} is not started again: ${this.#why}`);
    }
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.stop(), this.#options.idleMs ?? IDLE_MS);
    Deno.unrefTimer(this.#idle);
    return await (this.#running ?? this.#start());
  }

  /** Ends the process; the next request starts another. */
  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    this.#running = undefined;
    if (running) this.#change("stopped");
    const process = this.#process;
    // One that is still starting has nothing to put in order; its waiters get the error.
    await process?.end(0);
    const server = await running?.catch(() => undefined);
    await server?.connection.end();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.stop();
  }

  #start(): Promise<RunningServer> {
    const { spec, root } = this;
    const lost = (why: string) => {
      // One that was stopped may have a successor already.
      if (this.#running !== running) return;
      this.#running = undefined;
      this.#why = why;
      this.#change(++this.#losses === MAX_LOSSES ? "failed" : "stopped", why);
    };
    const start = async () => {
      const argv = [this.#program, ...spec.args];
      const process = await this.#options.spawn({ name: spec.name, root }, argv, spec.env);
      this.#process = process;
      if (this.#running !== running) await process.end(0);
      return await RunningServer.start(process, { spec, root, ended: lost });
    };
    const running = this.#running = start();
    this.#change("starting");
    const ready = () => this.#running === running && this.#change("ready");
    running.then(ready, (error) => lost(errorMessage(error)));
    return running;
  }
}

interface RunningOptions {
  readonly spec: ServerSpec;
  readonly root: string;
  readonly ended: (why: string) => void;
}

interface Limits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

interface OpenDocument {
  readonly version: number;
  readonly text: string;
}

const START_MS = 30_000;
const PULL = "textDocument/diagnostic";
/** Files that a server keeps in memory; the least recently used one is closed. */
const MAX_OPEN = 40;
/** ServerCancelled, ContentModified: the server asks for the request again. */
const AGAIN: readonly number[] = [-32802, -32801];
const AGAIN_MS = 200;
const CHANGED = { created: 1, changed: 2, deleted: 3 } as const;

export class RunningServer {
  readonly connection: LspConnection;
  readonly #spec: ServerSpec;
  readonly #published = new PublishedDiagnostics();
  readonly #registered = new Set<string>();
  /** By path; the most recently used one is the last. */
  readonly #open = new Map<string, OpenDocument>();
  capabilities: ServerCapabilities = {};

  private constructor(process: ServerProcess, { spec, root, ended }: RunningOptions) {
    this.#spec = spec;
    this.connection = new LspConnection(process, {
      notified: (method, params) => {
        if (method === "textDocument/publishDiagnostics") this.#published.take(params);
      },
      asked: (method, params) => {
        if (method === "client/registerCapability" && isRecord(params)) {
          for (const { method } of recordsIn(params.registrations)) this.#registered.add(String(method));
        }
        return answerServer(spec, root, { method, params });
      },
      ended,
    });
  }

  /** Rejects with a ReasonixError, the process ended, when the server does not come up. */
  static async start(process: ServerProcess, options: RunningOptions): Promise<RunningServer> {
    const server = new RunningServer(process, options);
    const { connection } = server;
    try {
      const params = initializeParams(options.spec, options.root);
      const result = await connection.request("initialize", params, { timeoutMs: START_MS });
      if (!isRecord(result) || !isRecord(result.capabilities)) {
        throw new ReasonixError("The language server answered initialize without capabilities");
      }
      connection.notify("initialized", {});
      server.capabilities = result.capabilities;
      return server;
    } catch (error) {
      await connection.end();
      throw error;
    }
  }

  get encoding(): PositionEncodingKind {
    return this.capabilities.positionEncoding ?? "utf-16";
  }

  /** Sends the text of a file unless the server has it. */
  sync(path: string, text: string): void {
    const known = this.#open.get(path);
    const version = known?.text === text ? known.version : (known?.version ?? 0) + 1;
    this.#open.delete(path);
    this.#open.set(path, { version, text });
    if (known?.text === text) return;
    const uri = fileUri(path);
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
  }

  get opened(): readonly string[] {
    return [...this.#open.keys()];
  }

  close(path: string): void {
    if (!this.#open.delete(path)) return;
    this.connection.notify("textDocument/didClose", { textDocument: { uri: fileUri(path) } });
  }

  changed(files: readonly { readonly path: string; readonly change: keyof typeof CHANGED }[]): void {
    const changes = files.map(({ path, change }) => ({ uri: fileUri(path), type: CHANGED[change] }));
    this.connection.notify("workspace/didChangeWatchedFiles", { changes });
  }

  /**
   * Returns the findings of the server in a text of a file; undefined: there were none in time. Rejects when
   * it is gone, and when the signal is aborted.
   */
  async diagnose(path: string, text: string, limits: Limits): Promise<readonly Diagnostic[] | undefined> {
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

  /** Repeats a request while the server reports that it is not ready for it. */
  async patiently(method: string, params: unknown, limits: Limits): Promise<unknown> {
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

/** Servers publish in parts (syntax first, types later): this long after the last one all are there. */
const QUIET_MS = 80;
/** A misbehaving server must not fill the memory. */
const MAX_ITEMS = 1_000;

type Receive = (items: readonly Diagnostic[], version: number | undefined) => void;

class PublishedDiagnostics {
  readonly #waiting = new Map<string, Set<Receive>>();

  /** Passes a `textDocument/publishDiagnostics` to those that wait for its file. */
  take(params: unknown): void {
    if (!isRecord(params) || typeof params.uri !== "string") return;
    const waiting = this.#waiting.get(pathOfUri(params.uri) ?? "");
    if (!waiting) return;
    const items = diagnosticsIn(params.diagnostics);
    for (const receive of waiting) {
      receive(items, typeof params.version === "number" ? params.version : undefined);
    }
  }

  /**
   * Waits for the diagnostics of a version of a file that come from now on, until the server is quiet.
   * Undefined: none came in time. Rejects only when the signal is aborted.
   */
  async next(
    path: string,
    version: number,
    { timeoutMs, signal }: Limits,
  ): Promise<readonly Diagnostic[] | undefined> {
    const settled = Promise.withResolvers<void>();
    let latest: readonly Diagnostic[] | undefined;
    let quiet = () => {};
    const receive: Receive = (items, of) => {
      if (of !== undefined && of < version) return;
      latest = items;
      quiet();
      quiet = after(QUIET_MS, settled.resolve);
    };
    const clear = after(timeoutMs, settled.resolve);
    const waiting = this.#waiting.get(path) ?? new Set();
    this.#waiting.set(path, waiting.add(receive));
    try {
      await unlessAborted(settled.promise, signal);
      return latest;
    } finally {
      quiet();
      clear();
      waiting.delete(receive);
      if (waiting.size === 0) this.#waiting.delete(path);
    }
  }
}

/** Returns the well-formed diagnostics of a list of a server. */
function diagnosticsIn(value: unknown): readonly Diagnostic[] {
  return recordsIn(value).slice(0, MAX_ITEMS).filter((item): item is Record<string, unknown> & Diagnostic =>
    typeof item.message === "string" && isRange(item.range)
  );
}

/** Capabilities of this program: no edit or file operation of a server is applied. */
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

/** Parameters of the first request. Without a process id: in the jail it would name no process. */
function initializeParams(spec: ServerSpec, root: string): InitializeParams {
  return {
    processId: null,
    clientInfo: { name: "reasonix" },
    locale: "en",
    rootPath: root,
    rootUri: fileUri(root),
    workspaceFolders: [workspaceOf(root)],
    capabilities: CAPABILITIES,
    initializationOptions: spec.options,
    trace: "off",
  };
}

function workspaceOf(root: string): { uri: string; name: string } {
  return { uri: fileUri(root), name: root.slice(root.lastIndexOf("/") + 1) };
}

/** Answers a request of a server; undefined: there is no such method. */
function answerServer(
  spec: ServerSpec,
  root: string,
  { method, params }: { readonly method: string; readonly params: unknown },
): unknown {
  switch (method) {
    case "workspace/configuration": {
      const items = isRecord(params) && Array.isArray(params.items) ? params.items : [];
      return items.map((item) => isRecord(item) ? settingsOf(spec, item.section) : null);
    }
    case "workspace/workspaceFolders":
      return [workspaceOf(root)];
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

/** Returns a section of the settings, such as `python.analysis`, or that part of one. */
function settingsOf({ settings }: ServerSpec, section: unknown): unknown {
  if (typeof section !== "string") return settings;
  if (Object.hasOwn(settings, section)) return settings[section];
  const parts = Object.entries(settings).filter(([name]) => name.startsWith(`${section}.`));
  if (parts.length === 0) return null;
  return Object.fromEntries(parts.map(([name, value]) => [name.slice(section.length + 1), value]));
}
