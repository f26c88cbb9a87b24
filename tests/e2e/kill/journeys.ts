import type { SessionState } from "../../../src/session/mod.ts";
import type { Event } from "../../../src/core/mod.ts";
import type { Tree } from "./files.ts";
import type { Random } from "../../support/seed.ts";

/** The required result of a rewind or a redo that was begun. */
export interface Journey {
  readonly args: readonly string[];
  readonly wanted: Tree;
  /** The files before it was first begun: the target of a redo. */
  readonly from: Tree;
  readonly isRedo: boolean;
}

/** Points of a rewind with their files; one rewind at a time, repeated until it is done. */
export class Journeys {
  /** The rewind or redo that was begun and killed. */
  current: Journey | undefined;
  readonly #random: Random;
  /** The files at the end of each turn and before it, by the number of the event that began it. */
  readonly #after = new Map<number, Tree>();
  readonly #before = new Map<number, Tree>();
  #undo: Tree | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Records the events of a run; `turn` began with the event of this number. */
  wentOn(
    events: readonly Event[],
    { turn, before, after }: {
      readonly turn: number | undefined;
      readonly before: Tree;
      readonly after: Tree;
    },
  ): void {
    const first = events.find(({ type }) => type === "turn.start");
    if (first) {
      // A rewind that was killed before it was recorded is no part of the history.
      this.#before.set(first.seq, this.current?.from ?? before);
      if (turn !== undefined) this.#after.set(turn, after);
      this.#undo = this.current = undefined;
    } else if (events.length > 0 && this.current) {
      this.current = { ...this.current, from: after };
    }
  }

  /** The rewind or redo is recorded. */
  arrived(): void {
    this.#undo = this.current?.isRedo ? undefined : this.current?.from;
    this.current = undefined;
  }

  /** Returns the current or a new one; undefined without a possible target. */
  plan(state: SessionState, now: Tree): Journey | undefined {
    return this.current ??= this.#redo(now) ?? this.#rewind(state, now);
  }

  #redo(now: Tree): Journey | undefined {
    if (!this.#undo || this.#random.below(2) > 0) return undefined;
    return { args: ["session", "redo"], wanted: this.#undo, from: now, isRedo: true };
  }

  #rewind(state: SessionState, now: Tree): Journey | undefined {
    const places = this.places(state);
    if (places.length === 0) return undefined;
    const [turn, files] = this.#random.pick(places);
    const args = ["session", "rewind", "--to", String(turn)];
    const scope = this.#random.below(5);
    if (scope === 0) return { args: [...args, "--conversation"], wanted: now, from: now, isRedo: false };
    return { args: scope === 1 ? [...args, "--code"] : args, wanted: files, from: now, isRedo: false };
  }

  /** Turns that a rewind can target, with the files at their end; 0 is before the first one. */
  places({ turns }: SessionState): [turn: number, files: Tree][] {
    const first = turns[0] && this.#before.get(turns[0].from);
    const ends = turns.flatMap(({ turn, from }): [number, Tree][] => {
      const files = this.#after.get(from);
      return files ? [[turn, files]] : [];
    });
    return first ? [[0, first], ...ends] : ends;
  }
}
