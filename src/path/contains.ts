/**
 * Containment of absolute, normalised paths, and the one form in which names are compared where their
 * spelling does not count.
 */
import { slashed } from "./lexical.ts";

/** Says whether the usual file system of this platform ignores the case of names. */
export const IGNORES_CASE: boolean = Deno.build.os === "windows" || Deno.build.os === "darwin";

/** Characters that HFS+ leaves out when it compares names. */
const IGNORED = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g;
// deno-lint-ignore no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

/** The form in which a file system that ignores case and composition compares names. */
export function foldPath(path: string): string {
  if (ASCII.test(path)) return path.toLowerCase();
  const names = path.normalize("NFD").replace(IGNORED, "");
  // Only a lower case ß becomes "SS", so a capital one is made lower case first.
  return names.toLowerCase().toUpperCase().toLowerCase().normalize("NFC");
}

export interface ContainsOptions {
  /** Compares names without their case and composition. */
  readonly fold?: boolean;
}

/** Reports whether `path` is `directory` itself or lies in it. */
export function contains(directory: string, path: string, { fold = false }: ContainsOptions = {}): boolean {
  const [outer, inner] = fold
    ? [foldPath(slashed(directory)), foldPath(slashed(path))]
    : [slashed(directory), slashed(path)];
  if (!inner.startsWith(outer)) return false;
  return inner.length === outer.length || outer.endsWith("/") || inner.charAt(outer.length) === "/";
}

/**
 * The same on a file system that may write names in another case. A match that only folding shows is believed
 * only when the file system confirms it: two directories that differ in case are two where case counts.
 */
export function containsOnDisk(directory: string, path: string): boolean {
  if (contains(directory, path)) return true;
  if (!contains(directory, path, { fold: true })) return false;
  const depth = slashed(directory).split("/").length;
  return sameFile(slashed(path).split("/").slice(0, depth).join("/"), directory);
}

function sameFile(a: string, b: string): boolean {
  try {
    const [left, right] = [Deno.statSync(a), Deno.statSync(b)];
    return left.ino !== null && left.ino === right.ino && left.dev === right.dev;
  } catch {
    return false;
  }
}
