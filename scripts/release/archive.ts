/** Archives whose bytes depend on nothing but their files and a time: tar (ustar), gzip and ar. */
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";

export interface ArchiveFile {
  /** Relative, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly executable?: boolean;
}

const BLOCK = 512;
const encoder = new TextEncoder();

/**
 * Returns a compressed tar archive of files and their directories, in order of paths, all of root. Level 0
 * does not compress.
 */
export function tarGzip(files: readonly ArchiveFile[], time: Date, level?: number): Uint8Array<ArrayBuffer> {
  const directories = new Set(files.flatMap(({ path }) => parentsOf(path)));
  const entries = [
    ...[...directories].map((path) => ({ path, bytes: new Uint8Array(), mode: 0o755, type: "5" })),
    ...files.map(({ path, bytes, executable }) => ({
      path: `./${path}`,
      bytes,
      mode: executable ? 0o755 : 0o644,
      type: "0",
    })),
  ].sort((a, b) => a.path < b.path ? -1 : 1);
  const parts = entries.flatMap(({ bytes, ...entry }) => [
    header({ ...entry, size: bytes.length, time }),
    bytes,
    new Uint8Array(-bytes.length & (BLOCK - 1)),
  ]);
  return gzip(Buffer.concat([...parts, new Uint8Array(2 * BLOCK)]), level);
}

/** Compressed without a name or a time. */
export function gzip(bytes: Uint8Array, level = 9): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(bytes, { level }));
}

/** `a/b/c` is in `./`, `./a/` and `./a/b/`. */
function parentsOf(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return ["./", ...names.map((_, at) => `./${names.slice(0, at + 1).join("/")}/`)];
}

interface Entry {
  readonly path: string;
  readonly mode: number;
  readonly type: string;
  readonly size: number;
  readonly time: Date;
}

/** The header of an entry: field by field at its offset, as in POSIX.1-1988. */
function header({ path, mode, type, size, time }: Entry): Uint8Array {
  const bytes = new Uint8Array(BLOCK);
  const name = encoder.encode(path);
  if (name.length > 100) throw new Error(`Cannot archive ${path}: its name has more than 100 bytes`);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  bytes.set(name, 0);
  const fields: readonly (readonly [number, string])[] = [
    [100, octal(mode, 7)],
    [108, octal(0, 7)],
    [116, octal(0, 7)],
    [124, octal(size, 11)],
    [136, octal(seconds(time), 11)],
    // The sum counts itself as spaces.
    [148, " ".repeat(8)],
    [156, type],
    [257, "ustar"],
    [263, "00"],
    [265, "root"],
    [297, "root"],
  ];
  for (const [offset, text] of fields) bytes.set(encoder.encode(text), offset);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.set(encoder.encode(`${octal(sum, 6)}\0 `), 148);
  return bytes;
}

function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}

/** Returns an ar archive, in the given order. */
export function ar(
  members: readonly (readonly [name: string, bytes: Uint8Array])[],
  time: Date,
): Uint8Array {
  const parts = members.flatMap(([name, bytes]) => [
    encoder.encode(
      `${name.padEnd(16)}${String(seconds(time)).padEnd(12)}${"0".padEnd(6)}${"0".padEnd(6)}${
        "100644".padEnd(8)
      }${String(bytes.length).padEnd(10)}\`\n`,
    ),
    bytes,
    encoder.encode(bytes.length % 2 === 0 ? "" : "\n"),
  ]);
  return Buffer.concat([encoder.encode("!<arch>\n"), ...parts]);
}
