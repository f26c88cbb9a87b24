import { answerParts, type Part, type Turn } from "../../support/model_server.ts";
import type { Random } from "../../support/seed.ts";

/** A point at which the program is to be killed, and how long after it. */
export type Aim = {
  readonly at: "time";
  readonly wait: number;
} | {
  /** The nth event of a kind on standard output. */
  readonly at: "event";
  readonly type: string;
  readonly nth: number;
  readonly wait: number;
} | {
  /** Growth of the measured file by this many bytes, or by this many files. */
  readonly at: "growth";
  readonly more: number;
  readonly wait: number;
} | {
  /** The nth request of the conversation or for a summary, after this many pieces of its answer. */
  readonly at: "request" | "summary";
  readonly nth: number;
  readonly pieces: number;
  /** The server says no more until the program is dead. */
  readonly held: boolean;
  readonly wait: number;
};

/** The parts of a program's life that an aim is chosen for. */
export type Target =
  | "start"
  | "request"
  | "stream"
  | "tool"
  | "between"
  | "compaction"
  | "rewind"
  | "exit"
  | "copy"
  | "concurrent";

/** The frequency of each target in a round. */
const ROTA: readonly Target[] = [
  ...Array<Target>(1).fill("start"),
  ...Array<Target>(3).fill("request"),
  ...Array<Target>(2).fill("stream"),
  ...Array<Target>(4).fill("tool"),
  ...Array<Target>(4).fill("between"),
  ...Array<Target>(4).fill("compaction"),
  ...Array<Target>(4).fill("rewind"),
  ...Array<Target>(4).fill("exit"),
  ...Array<Target>(1).fill("copy"),
  ...Array<Target>(3).fill("concurrent"),
];

export function targets(random: Random, only?: readonly Target[]): Target[] {
  return random.shuffled(only ? ROTA.filter((target) => target === "start" || only.includes(target)) : ROTA);
}

/** Chooses a point for a target. A kill that comes too late or too early counts where it falls. */
export function aimAt(target: Target, random: Random): Aim {
  const nth = 1 + random.below(2);
  const held = random.below(2) === 0;
  switch (target) {
    case "start":
      return { at: "time", wait: random.below(110) };
    case "request":
      return { at: "request", nth, pieces: 0, held: true, wait: random.below(4) };
    case "stream":
      return { at: "request", nth, pieces: 1 + random.below(6), held, wait: random.below(3) };
    case "tool":
      return { at: "event", type: "tool.start", nth, wait: random.below(held ? 12 : 70) };
    case "between":
      return { at: "event", type: "tool.end", nth, wait: random.below(2) };
    case "compaction":
      if (random.below(4) === 0) return { at: "event", type: "compaction", nth: 1, wait: random.below(3) };
      return { at: "summary", nth: 1, pieces: random.below(4), held, wait: random.below(5) };
    case "rewind":
      if (random.below(4) === 0) return { at: "time", wait: 20 + random.below(100) };
      return { at: "growth", more: 1, wait: random.below(12) };
    case "exit":
      return { at: "event", type: random.pick(["turn.end", "result"]), nth: 1, wait: random.below(3) };
    case "copy":
      return { at: "growth", more: 1, wait: random.below(4) };
    case "concurrent":
      if (held) return { at: "time", wait: random.below(500) };
      return { at: "growth", more: 1 + random.below(30_000), wait: random.below(2) };
  }
}

/** Waits for the point of an aim and fires once. */
export class Trigger {
  readonly #aim: Aim;
  readonly #fire: () => void;
  readonly #size: () => number;
  readonly #before: number;
  #seen = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setInterval> | undefined;

  /** `size` measures what grows. */
  constructor(aim: Aim, size: () => number, fire: () => void) {
    this.#aim = aim;
    this.#fire = fire;
    this.#size = size;
    this.#before = size();
    if (aim.at === "time") this.#pull();
    if (aim.at === "growth") this.#poll = setInterval(() => this.#look(aim.more), 1);
  }

  line(text: string): void {
    const { at } = this.#aim;
    if (at === "event" && text.includes(`"type":"${this.#aim.type}"`) && ++this.#seen === this.#aim.nth) {
      this.#pull();
    }
  }

  /** Returns the answer to a request, cut at the aim. */
  answer(turn: Turn, isSummary: boolean, onByte: () => void): Turn {
    const aim = this.#aim;
    const aimed = aim.at === (isSummary ? "summary" : "request") && ++this.#seen === aim.nth;
    const [pieces, held] = aimed && "pieces" in aim ? [aim.pieces, aim.held] : [Infinity, false];
    const pull = () => this.#pull();
    return {
      stream: (function* (): Generator<Part> {
        let sent = 0;
        for (const part of answerParts(turn, 1)) {
          if (sent === pieces) pull();
          if (sent === pieces && held) yield new Promise<never>(() => {});
          if (sent++ === 0) onByte();
          yield part;
          // The program reads each piece separately.
          if (sent % 4 === 0) yield new Promise((resolve) => setTimeout(resolve, 0));
        }
        if (sent <= pieces && aimed) pull();
      })(),
    };
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#poll);
  }

  #look(more: number): void {
    if (this.#size() >= this.#before + more) this.#pull();
  }

  #pull(): void {
    clearInterval(this.#poll);
    this.#timer ??= setTimeout(this.#fire, this.#aim.wait);
  }
}
