/** Signatures of thoughts: opaque bytes of the server, each bound to its part. */
import { createHash } from "node:crypto";
import { unsigned, type WirePart } from "./shapes.ts";

/** The text that the vendor accepts instead of a signature, for an unknown call. */
const DUMMY = "skip_thought_signature_validator";

export class Signatures {
  /** Part of each signature that went out. */
  readonly #given = new Map<string, string>();
  /** Calls that came with the vendor's word for an unknown thought, by their names. */
  readonly dummies = new Set<string>();
  #count = 0;

  /** The part with a separate signature. */
  signed(part: WirePart): WirePart {
    const text = JSON.stringify(part);
    const seed = `${this.#count++} ${text}`;
    const signature = createHash("sha256").update(seed).digest("base64");
    this.#given.set(signature, text);
    return { ...part, thoughtSignature: signature };
  }

  /** All signatures that went out. */
  get given(): readonly string[] {
    return [...this.#given.keys()];
  }

  problem(part: WirePart): string | undefined {
    const { thoughtSignature: signature, functionCall: call } = part;
    if (signature === DUMMY && call) {
      this.dummies.add(call.name);
      return undefined;
    }
    if (typeof signature !== "string" || !/^[A-Za-z0-9+/_-]+=*$/.test(signature)) {
      return `Invalid value at 'thought_signature' (TYPE_BYTES), Base64 decoding failed for "${signature}"`;
    }
    const own = this.#given.get(signature);
    return own === JSON.stringify(unsigned(part)) ? undefined : "Corrupted thought signature.";
  }
}
