import { CLOCK, type Clock } from "../../util/timer.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const TICK_MS = 120;

/** The last line of a terminal: what is being waited for, and for how long. It is written over and over. */
export class LiveLine {
  readonly #write: (text: string) => void;
  readonly #fit: (text: string) => string;
  readonly #clock: Clock;
  #text: string | undefined;
  #since = 0;
  #frame = 0;
  #drawn = false;
  #ticking = false;

  constructor(write: (text: string) => void, fit: (text: string) => string, clock: Clock = CLOCK) {
    this.#write = write;
    this.#fit = fit;
    this.#clock = clock;
  }

  /** Shows a text; the time counts from the first call with it, or from `since`. */
  show(text: string, since = this.#clock.now()): void {
    if (this.#text === text) return;
    this.#text = text;
    this.#since = since;
    this.#draw();
    if (!this.#ticking) this.#tick();
  }

  hide(): void {
    this.#text = undefined;
    this.erase();
  }

  /** Takes the line off the screen, so that something else can be written; the next tick shows it again. */
  erase(): void {
    if (!this.#drawn) return;
    this.#drawn = false;
    this.#write("\r\x1b[2K");
  }

  #draw(): void {
    if (this.#text === undefined) return;
    const seconds = Math.floor((this.#clock.now() - this.#since) / 1000);
    const time = seconds < 1 ? "" : ` · ${seconds} s`;
    this.#write(`\r\x1b[2K${this.#fit(`${FRAMES[this.#frame++ % FRAMES.length]} ${this.#text}${time}`)}`);
    this.#drawn = true;
  }

  #tick(): void {
    this.#ticking = true;
    this.#clock.after(TICK_MS, () => {
      this.#ticking = false;
      if (this.#text === undefined) return;
      this.#draw();
      this.#tick();
    });
  }
}
