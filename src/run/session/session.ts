import {
  type EventStore,
  MemoryStore,
  openConversation,
  Recorder,
  type RewindDeps,
  TurnCheckpoints,
  type WantedPrefix,
} from "../../control/mod.ts";
import { type Event, message, type NewEvent, newNotice, usageError } from "../../core/mod.ts";
import { isDirectory, isFile } from "../../path/probe.ts";
import { worktreeIdOf } from "../../path/project_dir.ts";
import { realPath } from "../../path/real_path.ts";
import { otherVendorSources, type Provider } from "../../provider/mod.ts";
import type { Workspace } from "../../sandbox/mod.ts";
import {
  type Checkpoints,
  findSession,
  lastSession,
  loadManage,
  projectDir,
  repair,
  SessionLog,
  type SessionPaths,
  sessionPaths,
} from "../../session/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { VERSION } from "../../util/version.ts";
import { buildWorkspace, loadTrustedConfig, redactorOf } from "../access/access_scope.ts";
import type { Modes } from "../access/gate.ts";
import type { PromptInputs } from "../context/prompt_inputs.ts";
import type { PluginDeps, RunPlugins } from "../run_features.ts";
import type { AssemblyOptions, ParentRun, RunOptions, RunPaths } from "../run_options.ts";
import { offerLateTools } from "../tools/toolbox.ts";
import type { TurnExtensions } from "../turn.ts";

/** The store of the events of a run: a session file, or memory. */
export interface RunSession extends EventStore {
  readonly id: string;
  readonly paths: SessionPaths;
  /** The event a new session begins with. */
  readonly head?: NewEvent | undefined;
  /** Why events are not on disk; undefined when they all are. */
  readonly problem?: string | undefined;
  /** The events after a sequence number, in order, up to another one. */
  eventsAfter(seq: number, last?: number): readonly Event[];
}

interface OpenedSession {
  readonly session: RunSession;
  /** Removes known secrets from stored texts. */
  readonly redact: (text: string) => string;
}

/** The session a run writes to: a new one, or the one its options name (or a copy of that). */
export async function openSession(options: AssemblyOptions): Promise<OpenedSession> {
  const { paths, loaded, program } = options;
  const redact = redactorOf(loaded);
  if (options.inMemory) return { session: new MemorySession(redact), redact };
  if (options.parent) return { session: agentSession(options.parent, options, redact), redact };
  const path = chosenSession(paths, options);
  if (path !== undefined) {
    const id = options.sessionId === undefined ? {} : { id: newId(paths, options.sessionId) };
    const file = options.copy
      ? (await loadManage()).copySession(path, { version: VERSION, ...id }).path
      : path;
    return {
      session: SessionLog.open(file, {
        redact,
        program,
        messagesLater: options.messagesLater ?? false,
        start: { cwd: paths.cwd, version: VERSION },
      }),
      redact,
    };
  }
  if (options.copy) {
    throw usageError(message`Cannot copy a session: none was named`, message`add --continue or --resume ID`);
  }
  const id = options.sessionId === undefined ? {} : { id: newId(paths, options.sessionId) };
  const { home, cwd } = paths;
  const { aside = false } = options;
  const session = SessionLog.create({ home, cwd, version: VERSION, redact, program, aside, ...id });
  return { session, redact };
}

/** The session of an agent that works for another one; its file is with the files of that session. */
function agentSession(
  { directory, file, link }: ParentRun,
  { paths: { home, cwd }, sessionId }: AssemblyOptions,
  redact: (text: string) => string,
): SessionLog {
  if (file !== undefined) return SessionLog.open(file, { redact, start: { cwd, version: VERSION } });
  const id = sessionId === undefined ? {} : { id: sessionId };
  return SessionLog.create({ home, cwd, directory, parent: link, version: VERSION, redact, ...id });
}

/** Checks the user's identifier for a new session. */
function newId({ home, cwd }: RunPaths, id: string): string {
  const remedy = "give a UUID that no session has";
  if (!/^[0-9A-Za-z][\w-]{0,63}$/.test(id)) {
    throw usageError(message`Cannot use "${id}" as the identifier of a session`, remedy);
  }
  if (!isFile(sessionPaths(projectDir(home, cwd), id).path)) return id;
  throw usageError(
    message`Cannot begin session ${id}: there is one already`,
    message`resume it: --resume ${id}`,
  );
}

function chosenSession({ home, cwd }: RunPaths, options: RunOptions): string | undefined {
  if (options.resume !== undefined && options.continue) {
    throw usageError(
      message`Cannot use --continue together with --resume`,
      message`--continue takes the latest session, --resume the one it names`,
    );
  }
  if (options.resume !== undefined) return findSession(home, options.resume, { cwd }).path;
  if (!options.continue) return undefined;
  const last = lastSession(projectDir(home, cwd));
  if (last) return last.path;
  throw usageError(
    message`Cannot continue: there is no session for ${cwd} yet`,
    message`run without --continue to begin one`,
  );
}

/**
 * A session in memory. Its outputs and checkpoints are in a temporary directory, which goes when it is
 * closed.
 */
class MemorySession extends MemoryStore implements RunSession {
  readonly id: string = crypto.randomUUID();
  readonly paths: SessionPaths;

  constructor(redact: (text: string) => string) {
    super(redact);
    const dir = Deno.makeTempDirSync({ prefix: "reasonix-session-" });
    this.paths = { id: this.id, path: `${dir}/events.jsonl`, dir, lock: `${dir}/lock` };
  }

  eventsAfter(seq: number, last?: number): readonly Event[] {
    return this.events.slice(Math.max(0, seq), last);
  }

  override close(): void {
    Deno.removeSync(this.paths.dir, { recursive: true });
  }
}

interface CheckpointerDeps {
  readonly paths: RunPaths;
  readonly session: Pick<RunSession, "paths">;
  readonly recorder: Recorder;
  readonly workspace: Workspace;
}

/**
 * Checkpoints of a session's workspace: everything in it but what is hidden from tools and the Reasonix home.
 */
export function createCheckpointer(
  { paths, session, recorder, workspace }: CheckpointerDeps,
): TurnCheckpoints {
  const { forbidden, options } = workspace;
  // Asked for every file, so it is asked only where the workspace has something to hide.
  const hides = [paths.home, ...forbidden, ...options.forbidRead ?? []].some((area) =>
    meets(area, paths.cwd)
  );
  const own = worktreeIdOf(realPath(paths.home), paths.cwd) !== undefined;
  const ofHome = (path: string) => !own && `${path}/`.startsWith(`${paths.home}/`);
  return new TurnCheckpoints({
    recorder,
    dir: session.paths.dir,
    root: paths.cwd,
    ...(hides ? { skip: (path) => ofHome(path) || workspace.forbids(path) } : {}),
    resolve: (path) => workspace.write(path),
  });
}

/** Reports whether one of the directories holds the other; what is not absolute counts from the workspace. */
function meets(area: string, directory: string): boolean {
  const [a, b] = [area, directory].map((path) =>
    `${path.replaceAll("\\", "/").replace(/\/+$/, "")}/`.toLowerCase()
  );
  return !/^([a-z]:)?\//.test(a ?? "") || a?.startsWith(b ?? "") === true || b?.startsWith(a ?? "") === true;
}

/** Says whose signed or encrypted parts of earlier replies a model does not get. */
export async function recordOtherVendorParts(recorder: Recorder, { model }: Provider): Promise<void> {
  const sources = otherVendorSources(recorder.messages, model).join(", ");
  if (sources === "") return;
  const own = `${model.provider}/${model.id}`;
  const text = message`Signed reasoning of ${sources} is left out of requests: ${own} cannot take it`;
  await recorder.record(newNotice("info", "model", text));
}

interface RewindableSession {
  readonly paths: Omit<RunPaths, "cwd">;
  readonly log: SessionLog;
  /** Nothing is to be changed: what a crash left open stays open. */
  readonly preview: boolean;
}

/** Opens a recorded session, which no run works on, for a rewind. */
export async function openForRewind({ paths, log, preview }: RewindableSession): Promise<RewindDeps> {
  const recorder = new Recorder(log);
  if (!preview) { for (const event of repair(log.state)) await recorder.record(event); }
  for (const notice of log.takeNotices()) await recorder.record(notice);
  return { recorder, checkpoints: lazy(() => openCheckpoints(paths, log, recorder)) };
}

/** Checkpoints as the run made them: of the session's own directory, wherever this process was started. */
async function openCheckpoints(
  { home, env }: RewindableSession["paths"],
  log: SessionLog,
  recorder: Recorder,
): Promise<Checkpoints> {
  const cwd = log.state.cwd ?? "";
  if (!isDirectory(cwd)) {
    throw usageError(
      message`Cannot rewind files: the session's directory ${cwd || "?"} is not there`,
      message`bring the directory back, or rewind with --conversation`,
    );
  }
  const paths = { cwd: Deno.realPathSync(cwd), home, env };
  const { config } = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const workspace = buildWorkspace(paths, config);
  return await createCheckpointer({ paths, session: log, recorder, workspace }).open();
}

interface OpeningDeps extends Pick<PluginDeps, "paths" | "loaded" | "registry" | "provider"> {
  readonly workspace: Workspace;
  readonly inputs: PromptInputs;
  readonly session: Pick<RunSession, "head" | "state" | "takeNotices">;
  /** Absent where no plugin is configured. */
  readonly plugins?: RunPlugins | undefined;
}

interface OpenerDeps extends OpeningDeps {
  readonly recorder: Recorder;
  readonly modes: Modes;
  readonly extensions: TurnExtensions;
}

/** Opens the session at its first call: writes its first events, and notifies the extensions. */
export function opener(deps: OpenerDeps): () => Promise<void> {
  return lazy(async () => {
    const { recorder, modes, extensions } = deps;
    offerLateTools(deps);
    await recordOpening(recorder, deps);
    await modes.open();
    extensions.opened();
  });
}

/**
 * Records the first events of this process: the start of a new session, or what a crash left open in an old
 * one, and the prefix.
 */
export async function recordOpening(recorder: Recorder, deps: OpeningDeps): Promise<void> {
  const { session } = deps;
  if (session.head && session.state.lastSeq === 0) await recorder.record(session.head);
  for (const event of repair(session.state)) await recorder.record(event);
  for (const notice of session.takeNotices?.() ?? []) await recorder.record(notice);
  await deps.plugins?.settle();
  const reset = await openConversation(recorder, wantedPrefix(deps));
  if (reset === "model") await recordOtherVendorParts(recorder, deps.provider);
}

/** The head of the conversation as this run would begin it. */
function wantedPrefix(deps: OpeningDeps): WantedPrefix {
  const { inputs, registry, provider, plugins } = deps;
  return {
    system: inputs.system,
    tools: registry.schemas(),
    model: provider.model.id,
    provider: provider.model.provider,
    toolMode: provider.model.toolMode,
    context: [...inputs.opening(), plugins?.servers.instructions()].filter((text) => text !== undefined),
  };
}
