/** Keys and signatures in minisign's format, for tests that sign a release without the program `minisign`. */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

export interface TestKey {
  /** The second line of `minisign.pub`. */
  readonly public: string;
  /** Returns the text of a signature file; prehashed unless `legacy`. */
  readonly sign: (content: Uint8Array, comment: string, form?: "legacy" | "prehashed") => string;
}

/** Makes a key pair, with this key id if there is one. */
export function testKey(id: Uint8Array = randomBytes(8)): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const signed = (content: Uint8Array) => new Uint8Array(sign(null, content, privateKey));
  return {
    public: base64("Ed", id, raw),
    sign(content, comment, form = "prehashed") {
      const isLegacy = form === "legacy";
      const signature = signed(isLegacy ? content : createHash("blake2b512").update(content).digest());
      const global = signed(new Uint8Array([...signature, ...new TextEncoder().encode(comment)]));
      const body = base64(isLegacy ? "Ed" : "ED", id, signature);
      return `untrusted comment: signature\n${body}\ntrusted comment: ${comment}\n${global.toBase64()}\n`;
    },
  };
}

function base64(algorithm: string, id: Uint8Array, rest: Uint8Array): string {
  return new Uint8Array([...new TextEncoder().encode(algorithm), ...id, ...rest]).toBase64();
}
