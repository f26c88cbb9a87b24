import type { Checkpointer } from "../agent/mod.ts";
import { errorMessage, type PreparedCall } from "../core/mod.ts";
import { type Checkpoints, loadCheckpoints } from "../session/mod.ts";
import type { Recorder } from "./recorder.ts";

export interface TurnCheckpointOptions {
  readonly recorder: Recorder;
  /** The session's own folder. */
  readonly dir: string;
  /** Working directory. */
  readonly root: string;
  /** Absolute paths never looked at. */
  readonly skip?: (path: string) => boolean;
  /** Whether the tool of this name does nothing but write files: its calls never turn out to be harmless. */
  readonly writesFiles?: (tool: string) => boolean;
  /** Started beside the first look before a command: what the command will need, so that neither waits for the other. */
  readonly concurrentWarmup?: () => Promise<unknown>;
  /** Real path of a file a tool is about to write; rejects when it may not. */
  readonly resolve: (path: string) => Promise<string>;
}

/** Looks at the workspace once before the first writing call of a turn and once after the turn. */
export class TurnCheckpoints implements Checkpointer {
  readonly #options: TurnCheckpointOptions;
  #opened: Promise<Checkpoints> | undefined;
  #turn = 0;
  /** The first look of the turn; undefined in a turn that has not written yet, false when it failed. */
  #ready: Promise<Checkpoints | false> | undefined;

  constructor(options: TurnCheckpointOptions) {
    this.#options = options;
  }

  /** The checkpoints themselves, for a rewind in the same process. */
  open(): Promise<Checkpoints> {
    const { dir, root, skip, recorder } = this.#options;
    return this.#opened ??= loadCheckpoints().then(({ Checkpoints }) =>
      Checkpoints.open({ dir, root, ...(skip ? { skip } : {}), seq: () => recorder.state.lastSeq })
    );
  }

  /** For the time in which the model thinks: what the first look of the session needs. */
  async warm(): Promise<void> {
    if (!this.#ready) await (await this.open()).warm();
  }

  begin(turn: number): void {
    this.#turn = turn;
    this.#ready = undefined;
  }

  prefetch(tool: string): void {
    if (this.#options.writesFiles?.(tool)) this.#ready ??= this.#attempt(() => this.#begin());
  }

  async snapshotBefore({ writes }: PreparedCall): Promise<void> {
    if (writes?.length === 0) return;
    if (!this.#ready && !writes) this.#options.concurrentWarmup?.().catch(() => {});
    const checkpoints = await (this.#ready ??= this.#attempt(() => this.#begin()));
    if (!checkpoints) return;
    for (const path of writes ?? []) {
      // What may not be written is refused by the tool itself.
      const real = await this.#options.resolve(path).catch(() => undefined);
      if (real !== undefined) await this.#attempt(() => checkpoints.before(real));
    }
  }

  async end(): Promise<void> {
    const checkpoints = await this.#ready;
    this.#ready = undefined;
    if (checkpoints) await this.#attempt(() => checkpoints.end());
  }

  async #begin(): Promise<Checkpoints> {
    const checkpoints = await this.open();
    checkpoints.begin(this.#turn);
    const taken = await checkpoints.ready();
    if (taken) await this.#options.recorder.record({ type: "checkpoint", ...taken });
    return checkpoints;
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T | false> {
    try {
      return await work();
    } catch (error) {
      const text = `Cannot keep the files of ${this.#options.root} as they are: ${errorMessage(error)}. ` +
        `What this turn changes cannot be rewound`;
      await this.#options.recorder.record({ type: "notice", level: "warning", code: "checkpoint", text });
      return false;
    }
  }
}
