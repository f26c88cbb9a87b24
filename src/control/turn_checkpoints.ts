import type { Checkpointer } from "../agent/mod.ts";
import { errorMessage, listOf, message, newNotice, type PreparedCall } from "../core/mod.ts";
import { type CheckpointOptions, type Checkpoints, loadCheckpoints } from "../session/mod.ts";
import { isKnownToRead, type Tool } from "../tool/mod.ts";
import { after } from "../util/timer.ts";
import type { Recorder } from "./recorder.ts";

export interface TurnCheckpointOptions extends Pick<CheckpointOptions, "dir" | "root" | "skip"> {
  readonly recorder: Recorder;
  /** Real path of a file a tool is about to write; rejects when it may not. */
  readonly resolve: (path: string) => Promise<string>;
}

/** Silence of the model after a command that leaves time to look for its changes. */
const DETECT_AFTER_MS = 40;

const NAMED_PATHS = 5;

/**
 * Looks at the workspace before the first command or writing call of a turn, after commands while the model
 * thinks, and after the turn.
 */
export class TurnCheckpoints implements Checkpointer {
  readonly #options: TurnCheckpointOptions;
  #opened: Promise<Checkpoints> | undefined;
  #turn = 0;
  /** The first look of the turn; undefined in a turn that has not needed one yet, false when it failed. */
  #ready: Promise<Checkpoints | false> | undefined;
  /** Commands that ran since the last look for changes, and the timer of that look. */
  #due = 0;
  #armed = false;
  /** True once a call of this turn was meant to change something. */
  #meantTo = false;

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

  begin(turn: number): void {
    this.#turn = turn;
    this.#ready = undefined;
    this.#due = 0;
    this.#meantTo = false;
  }

  /** Starts the first look while the arguments of a call of this tool arrive. */
  prewarm(tool: Tool): void {
    if (!isKnownToRead(tool)) this.#firstLook();
  }

  async snapshotBefore({ writes }: PreparedCall): Promise<void> {
    if (writes?.length === 0) return;
    const checkpoints = await this.#firstLook();
    if (!checkpoints) return;
    for (const path of writes ?? []) {
      // What may not be written is refused by the tool itself.
      const real = await this.#options.resolve(path).catch(() => undefined);
      if (real !== undefined) await this.#attempt(() => checkpoints.before(real));
    }
  }

  detectAfter({ writes }: PreparedCall, readsOnly: boolean): void {
    if (!readsOnly) this.#meantTo = true;
    if (writes) return;
    this.#due += 1;
    this.#arm();
  }

  /** A call of the turn was meant to change something. */
  get meantToChange(): boolean {
    return this.#meantTo;
  }

  /**
   * Paths that differ from the beginning of the turn: from the working directory, or absolute. Costs a look
   * at the workspace.
   */
  async changed(): Promise<readonly string[]> {
    const checkpoints = await this.#ready;
    return (checkpoints && await this.#attempt(() => checkpoints.changed())) || [];
  }

  async end(): Promise<void> {
    const checkpoints = await this.#ready;
    this.#ready = undefined;
    this.#due = 0;
    if (checkpoints) await this.#attempt(async () => await this.#report(await checkpoints.end()));
  }

  /**
   * One timer for all commands: what it finds when it fires decides. A model that answers faster is not held
   * up.
   */
  #arm(): void {
    if (this.#armed) return;
    this.#armed = true;
    const due = this.#due;
    const turn = this.#turn;
    after(DETECT_AFTER_MS, () => {
      this.#armed = false;
      if (this.#due === 0 || turn !== this.#turn) return;
      if (this.#due !== due) return this.#arm();
      this.#due = 0;
      void this.#attempt(async () => {
        const checkpoints = await this.#ready;
        if (checkpoints) await this.#report(await checkpoints.detect());
      });
    });
  }

  /** Reports of changes in a turn in which nothing should have changed. */
  async #report(paths: readonly string[]): Promise<void> {
    if (this.#meantTo || paths.length === 0) return;
    const first = [...paths].sort().slice(0, NAMED_PATHS);
    const rest = paths.length - first.length;
    const names = rest > 0 ? message`${first} and ${rest} more` : listOf(first);
    const text =
      message`Files changed although all calls of this turn were considered read-only: ${names}. \`reasonix session rewind\` restores them`;
    await this.#options.recorder.record(newNotice("warning", "checkpoint", text));
  }

  #firstLook(): Promise<Checkpoints | false> {
    return this.#ready ??= this.#attempt(() => this.#begin());
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
      const { root, recorder } = this.#options;
      const problem = errorMessage(error);
      const text =
        message`Cannot save the state of the files of ${root}: ${problem}. The changes of this turn cannot be rewound`;
      await recorder.record(newNotice("warning", "checkpoint", text));
      return false;
    }
  }
}
