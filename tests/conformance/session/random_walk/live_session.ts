/**
 * A session in this process with the real log, tools, checkpoints and loop; only the model is scripted.
 */
import { type AgentDeps, runTurn } from "../../../../src/agent/mod.ts";
import { RegistryToolbox } from "../../../../src/run/tools/toolbox.ts";
import {
  openConversation,
  Recorder,
  redoTarget,
  rewind,
  type RewindScope,
  TurnCheckpoints,
  turnTarget,
} from "../../../../src/control/mod.ts";
import type { Chunk } from "../../../../src/core/mod.ts";
import { loadManage, repair, SessionLog } from "../../../../src/session/mod.ts";
import { BUILTINS, ToolRegistry } from "../../../../src/tool/mod.ts";
import { call, say, scriptedProvider } from "../../../support/agent_fixture.ts";
import { makeToolContext } from "../../../support/tool_context.ts";

export interface Call {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

const READERS = new Set(["read_file", "ls", "grep"]);
const NEVER = new AbortController().signal;

export class LiveSession {
  readonly log: SessionLog;
  readonly #root: string;
  readonly #recorder: Recorder;
  readonly #changes: TurnCheckpoints;
  readonly #registry = new ToolRegistry(BUILTINS);
  #calls = 0;

  private constructor(log: SessionLog, root: string) {
    this.log = log;
    this.#root = root;
    this.#recorder = new Recorder(log);
    this.#changes = new TurnCheckpoints({
      recorder: this.#recorder,
      dir: log.paths.dir,
      root,
      resolve: (path) => makeToolContext(root).paths.write(path),
    });
  }

  static async begin(home: string, root: string): Promise<LiveSession> {
    return await LiveSession.#start(SessionLog.create({ home, cwd: root, version: "1" }), root);
  }

  /** Opens the session as a new process would. */
  static async open(path: string, root: string): Promise<LiveSession> {
    return await LiveSession.#start(SessionLog.open(path), root);
  }

  static async #start(log: SessionLog, root: string): Promise<LiveSession> {
    const session = new LiveSession(log, root);
    for (const event of repair(log.state)) await session.#recorder.record(event);
    const tools = session.#registry.schemas();
    await openConversation(session.#recorder, { system: "S", tools, model: "scripted-1" });
    return session;
  }

  /**
   * One turn with the given steps. With `crash` the process is killed after them.
   */
  async turn(text: string, steps: readonly (readonly Call[])[], crash = false): Promise<void> {
    const replies: Chunk[][] = steps.map((calls) => [
      ...calls.map(({ name, args }) => call(`call-${this.log.state.lastSeq}-${++this.#calls}`, name, args)),
      { type: "done", reason: "tool_calls" },
    ]);
    const { promise: lost, resolve: lose } = Promise.withResolvers<void>();
    const hang = async function* (): AsyncIterable<Chunk> {
      lose();
      await new Promise<never>(() => {});
      yield { type: "done", reason: "stop" };
    };
    const { callId: _i, signal: _s, progress: _p, jail, ...context } = makeToolContext(this.#root, {
      seen: new Map(),
      outputDir: `${this.log.paths.dir}/outputs`,
    });
    const parts: AgentDeps = {
      provider: scriptedProvider([...replies, crash ? hang : say(`answer to ${text}`)]),
      toolbox: new RegistryToolbox({ registry: this.#registry, context, jail: () => jail }),
      gate: {
        check: ({ call }) => ({
          decision: "allow",
          source: "mode",
          ...(READERS.has(call.name) ? { readsOnly: true } : {}),
        }),
      },
      conversation: this.#recorder,
      limits: {},
      checkpointer: this.#changes,
    };
    await Promise.race([runTurn(parts, { text }, NEVER), lost]);
  }

  async rewind(turn: number, scope: RewindScope): Promise<void> {
    const target = turnTarget(this.log.state, turn, scope);
    const { failed } = await rewind(this.#parts(), target);
    if (failed.length > 0) throw new Error(`Not restored: ${JSON.stringify(failed)}`);
  }

  async redo(): Promise<void> {
    await rewind(this.#parts(), redoTarget(this.log.state));
  }

  #parts() {
    return { recorder: this.#recorder, checkpoints: () => this.#changes.open() };
  }

  /** A copy up to a turn; this session is closed. */
  async fork(turn: number): Promise<LiveSession> {
    const { forkSession } = await loadManage();
    this.close();
    const place = forkSession(this.log.paths.path, turn, { version: "1" });
    return await LiveSession.open(place.path, this.#root);
  }

  close(): void {
    // A process that was killed in a turn does not look for changes any more.
    this.#changes.begin(-1);
    this.log.close();
  }
}
