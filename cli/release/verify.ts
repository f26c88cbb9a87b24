/**
 * Verifies the files of a release: `SHA256SUMS`, signed with minisign, names the SHA-256 of each. Format of
 * keys and signatures: https://jedisct1.github.io/minisign/#format
 */
import { createHash, createPublicKey, verify } from "node:crypto";
import { Buffer } from "node:buffer";
import { message, ReasonixError, type Text } from "../../src/core/mod.ts";

interface PublicKey {
  /** As `minisign` prints it. */
  readonly id: string;
  /** 32 bytes of Ed25519. */
  readonly bytes: Uint8Array;
}

/** The bytes before a raw Ed25519 key in its SPKI form (RFC 8410). */
const SPKI_HEAD = Uint8Array.from(atob("MCowBQYDK2VwAyEA"), (char) => char.charCodeAt(0));

/** Parses the second line of `minisign.pub`. */
export function parsePublicKey(key: string): PublicKey {
  const bytes = fromBase64(key);
  if (bytes?.length !== 42 || latin1(bytes.subarray(0, 2)) !== "Ed") {
    throw new ReasonixError(message`Cannot read the public key ${JSON.stringify(key)}`, {
      remedy: message`use the second line of the file minisign.pub`,
    });
  }
  return { id: keyId(bytes.subarray(2, 10)), bytes: bytes.subarray(10) };
}

/**
 * Returns the version that a signature over `SHA256SUMS` was made for. Throws if `key` did not make it, or
 * if the lines are not of the form that `sha256sum` writes. With `wanted` it throws for another version, too:
 * the signature of an older release is valid for ever.
 */
export function verifySums(
  sums: Uint8Array,
  signature: string,
  key: string,
  wanted?: string,
): { readonly version: string } {
  const { id, bytes } = parsePublicKey(key);
  const signed = parseSignature(signature);
  if (signed.id !== id) {
    throw untrusted(message`it is signed with the key ${signed.id}, and releases are signed with ${id}`);
  }
  const content = signed.isPrehashed ? createHash("blake2b512").update(sums).digest() : sums;
  if (!isSignedBy(bytes, content, signed.signature)) {
    throw untrusted(message`it was changed after it was signed, or the signature belongs to another file`);
  }
  const comment = Buffer.concat([signed.signature, new TextEncoder().encode(signed.comment)]);
  if (!isSignedBy(bytes, comment, signed.commentSignature)) {
    throw untrusted(message`the trusted comment of its signature was changed`);
  }
  const version = VERSION_COMMENT.exec(signed.comment)?.[1];
  if (version === undefined) {
    throw untrusted(message`the trusted comment ${JSON.stringify(signed.comment)} names no version`);
  }
  if (wanted !== undefined && version !== wanted) {
    throw untrusted(message`it is signed for version ${version}, and version ${wanted} is wanted`);
  }
  entriesOf(sums);
  return { version };
}

/** The trusted comment of a release's signature. */
const VERSION_COMMENT = /^reasonix (\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/;
const LINE = /^([0-9a-f]{64}) {2}(.+)$/;
/** No path, no hidden file, no name that Windows shortens. */
const FILE_NAME = /^[A-Za-z0-9](?:[\w.+~-]*[A-Za-z0-9])?$/;

/** Returns the SHA-256 of each file that `SHA256SUMS` names. */
export function entriesOf(sums: Uint8Array): ReadonlyMap<string, string> {
  const lines = latin1(sums).split("\n");
  if (lines.pop() !== "") throw untrusted(message`its last line does not end`);
  const entries = new Map<string, string>();
  const seen = new Set<string>();
  for (const [at, line] of lines.entries()) {
    const [, digest, file] = LINE.exec(line) ?? [];
    if (digest === undefined || file === undefined || !FILE_NAME.test(file)) {
      throw untrusted(message`line ${at + 1} is not a SHA-256, two spaces and the name of a file`);
    }
    // Two such files would be one on macOS and Windows.
    const name = file.toLowerCase();
    if (seen.has(name)) throw untrusted(message`line ${at + 1} names ${file} again`);
    seen.add(name);
    entries.set(file, digest);
  }
  if (entries.size === 0) throw untrusted(message`it names no file`);
  return entries;
}

/** Returns the SHA-256 that `SHA256SUMS` names for a file. */
export function entryOf(sums: Uint8Array, file: string): string {
  const digest = entriesOf(sums).get(file);
  if (digest !== undefined) return digest;
  throw new ReasonixError(message`Cannot find ${file} in SHA256SUMS`, {
    remedy: message`the release has no such file; choose another version`,
  });
}

/** Returns the SHA-256 as `SHA256SUMS` writes it. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function untrusted(reason: Text): ReasonixError {
  return new ReasonixError(message`Cannot trust SHA256SUMS: ${reason}`, {
    remedy: message`download the release again; do not use its files while this error remains`,
  });
}

interface Signature {
  readonly id: string;
  /** BLAKE2b-512 of the file is signed (`ED`), not the file (`Ed`). */
  readonly isPrehashed: boolean;
  readonly signature: Uint8Array;
  readonly comment: string;
  /** Covers signature and comment. */
  readonly commentSignature: Uint8Array;
}

function parseSignature(text: string): Signature {
  const [, body = "", comment = "", global = ""] =
    /^untrusted comment: [^\n]*\n([^\n]*)\ntrusted comment: ([^\n]*)\n([^\n]*)\n?$/.exec(text) ?? [];
  const bytes = fromBase64(body);
  const commentSignature = fromBase64(global);
  const algorithm = latin1(bytes?.subarray(0, 2) ?? new Uint8Array());
  if (bytes?.length !== 74 || commentSignature?.length !== 64 || !/^E[dD]$/.test(algorithm)) {
    throw untrusted(message`its signature is incomplete, or not one of minisign`);
  }
  return {
    id: keyId(bytes.subarray(2, 10)),
    isPrehashed: algorithm === "ED",
    signature: bytes.subarray(10),
    comment,
    commentSignature,
  };
}

function isSignedBy(key: Uint8Array, content: Uint8Array, signature: Uint8Array): boolean {
  const spki = Buffer.concat([SPKI_HEAD, key]);
  return verify(null, content, createPublicKey({ key: spki, format: "der", type: "spki" }), signature);
}

/** A number of 64 bits, the lowest byte first. */
function keyId(bytes: Uint8Array): string {
  return bytes.toReversed().toHex().toUpperCase();
}

/** Returns the bytes of padded base64 in its only form, or undefined. */
function fromBase64(text: string): Uint8Array | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return btoa(latin1(bytes)) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}
