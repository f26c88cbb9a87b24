/** A digest of a text that is given piece by piece (cyrb53, 53 bits), not secure against attackers. */
export class Fingerprint {
  #a: number;
  #b: number;

  constructor(from?: Fingerprint) {
    this.#a = from ? from.#a : 0xdeadbeef;
    this.#b = from ? from.#b : 0x41c6ce57;
  }

  add(text: string): this {
    let a = this.#a;
    let b = this.#b;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      a = Math.imul(a ^ code, 0x9e3779b1);
      b = Math.imul(b ^ code, 0x5f356495);
    }
    this.#a = a;
    this.#b = b;
    return this;
  }

  get value(): string {
    const a = mixed(this.#a, this.#b);
    const b = mixed(this.#b, this.#a);
    return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
  }
}

function mixed(one: number, other: number): number {
  return Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
}

/** Digest of a JSON value, which shows whether it was changed since, as by the redaction of a secret. */
export function digestOf(value: unknown): string {
  return new Fingerprint().add(JSON.stringify(value)).value;
}
