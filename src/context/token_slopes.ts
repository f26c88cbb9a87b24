/** Tokens of texts by kind: those of ASCII, and those of other scripts, in which vocabularies differ most. */
export interface ScriptTokens {
  readonly ascii: number;
  readonly other: number;
}

/** Tokens that the first guess is worth: of so many counted ones each kind has a slope of its own. */
const GUESS = { ascii: 500, other: 60 };
/** What earlier growth still counts when there is more. */
const KEPT = 0.95;

/** Reported tokens for one of ours, by kind: a guess from the first report, then the growth that is seen. */
export class TokenSlopes {
  #guess = 1;
  #aa = 0;
  #ab = 0;
  #bb = 0;
  #ra = 0;
  #rb = 0;
  #slopes: ScriptTokens = { ascii: 1, other: 1 };

  /** Begins anew from one count of a whole request. */
  begin(own: number, reported: number): void {
    this.#guess = bounded(reported / Math.max(1, own));
    this.#aa =
      this.#ab =
      this.#bb =
      this.#ra =
      this.#rb =
        0;
    this.#slopes = { ascii: this.#guess, other: this.#guess };
  }

  of({ ascii, other }: ScriptTokens): number {
    return this.#slopes.ascii * ascii + this.#slopes.other * other;
  }

  /** Takes in by how much a request has grown: least squares, where errors grow with the size. */
  grow({ ascii, other }: ScriptTokens, reported: number): void {
    const size = ascii + other;
    if (size <= 0 || reported < 0) return;
    this.#aa = this.#aa * KEPT + ascii * ascii / size;
    this.#ab = this.#ab * KEPT + ascii * other / size;
    this.#bb = this.#bb * KEPT + other * other / size;
    this.#ra = this.#ra * KEPT + ascii * reported / size;
    this.#rb = this.#rb * KEPT + other * reported / size;
    const [aa, bb] = [this.#aa + GUESS.ascii, this.#bb + GUESS.other];
    const [ra, rb] = [this.#ra + GUESS.ascii * this.#guess, this.#rb + GUESS.other * this.#guess];
    const det = aa * bb - this.#ab * this.#ab;
    this.#slopes = {
      ascii: bounded((ra * bb - rb * this.#ab) / det),
      other: bounded((rb * aa - ra * this.#ab) / det),
    };
  }
}

/** Beyond this a report is about something else, such as a proxy that counts cached tokens apart. */
function bounded(slope: number): number {
  return Math.min(3, Math.max(0.3, slope));
}
