/** What turns an attribute off, by the name of what it turns off. */
const OFF: Readonly<Record<number, string>> = {
  22: "weight",
  23: "italic",
  24: "underline",
  25: "blink",
  27: "inverse",
  28: "hidden",
  29: "strike",
  39: "text",
  49: "background",
  55: "overline",
  59: "underline colour",
};
const ON: Readonly<Record<number, string>> = {
  1: "weight",
  2: "weight",
  3: "italic",
  4: "underline",
  5: "blink",
  6: "blink",
  7: "inverse",
  8: "hidden",
  9: "strike",
  21: "underline",
  38: "text",
  48: "background",
  53: "overline",
  58: "underline colour",
};

function turnedOn(code: number): string | undefined {
  if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) return "text";
  if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) return "background";
  return ON[code];
}

/** Colours and attributes that are on after some SGR sequences (ECMA-48 8.3.117, ISO 8613-6 colours). */
export class Style {
  readonly #on = new Set<string>();

  get plain(): boolean {
    return this.#on.size === 0;
  }

  /** Takes a whole sequence, from its ESC to its `m`. */
  apply(sequence: string): void {
    const codes = sequence.slice(2, -1).split(";");
    for (let at = 0; at < codes.length; at++) {
      const [first = "", second] = (codes[at] ?? "").split(":");
      const code = Number(first);
      const off = code === 4 && second === "0" ? "underline" : OFF[code];
      const on = turnedOn(code);
      if (code === 0) this.#on.clear();
      else if (off !== undefined) this.#on.delete(off);
      else if (on !== undefined) this.#on.add(on);
      // A colour brings parameters of its own: 5 and a number, or 2 and three of them.
      if (second === undefined && (code === 38 || code === 48 || code === 58)) {
        at += codes[at + 1] === "2" ? 4 : 2;
      }
    }
  }
}
