import { findGit, gitEnvironment, runProgram } from "../../util/process.ts";
import { readSmallText } from "../../path/probe.ts";

/** A file as git last saw it. */
export interface GitStamp {
  readonly id: string;
  readonly size: number;
  readonly mtimeMs: number;
  /** Lower 32 bits. */
  readonly ino: number;
}

/**
 * Reads the repository's index: the ids of files that are unchanged since git looked at them. Undefined when
 * there is none, or when checked-out bytes may differ from stored ones (line-ending conversion, filters).
 *
 * Only reads. Format: git's Documentation/gitformat-index.txt, versions 2 and 3.
 */
export function readGitIndex(root: string): Map<string, GitStamp> | undefined {
  if (Deno.build.os === "windows" || convertsContent(root)) return undefined;
  let bytes: Uint8Array;
  let written: number;
  try {
    const path = `${root}/.git/index`;
    const info = Deno.statSync(path);
    if (!info.isFile) return undefined;
    written = info.mtime?.getTime() ?? 0;
    bytes = Deno.readFileSync(path);
  } catch {
    return undefined;
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || view.getUint32(0) !== 0x44495243) return undefined;
  const version = view.getUint32(4);
  if (version !== 2 && version !== 3) return undefined;
  return readEntries(view, view.getUint32(8), written);
}

const ENTRY_HEAD = 62;

function readEntries(view: DataView, count: number, written: number): Map<string, GitStamp> | undefined {
  const files = new Map<string, GitStamp>();
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const decoder = new TextDecoder();
  let at = 12;
  for (let n = 0; n < count; n++) {
    if (at + ENTRY_HEAD > bytes.length) return undefined;
    const mtimeMs = view.getUint32(at + 8) * 1000 + Math.floor(view.getUint32(at + 12) / 1e6);
    const flags = view.getUint16(at + 60);
    const from = at + ENTRY_HEAD + (flags & 0x4000 ? 2 : 0);
    const to = bytes.indexOf(0, from);
    if (to < 0) return undefined;
    const path = decoder.decode(bytes.subarray(from, to));
    if (path === ".gitattributes" || path.endsWith("/.gitattributes")) return undefined;
    // A file as young as the index may have changed after git looked ("racy"); in conflict (stage > 0)
    // nothing is certain.
    if (mtimeMs < written && (flags & 0x3000) === 0) {
      files.set(path, {
        id: bytes.subarray(at + 40, at + 60).toHex(),
        size: view.getUint32(at + 36),
        mtimeMs,
        ino: view.getUint32(at + 20),
      });
    }
    at += (to - at + 8) & ~7;
  }
  return files;
}

function convertsContent(root: string): boolean {
  const home = Deno.env.get("HOME") ?? "";
  const configs = [
    `${root}/.git/config`,
    `${home}/.gitconfig`,
    `${Deno.env.get("XDG_CONFIG_HOME") ?? `${home}/.config`}/git/config`,
    "/etc/gitconfig",
  ];
  if (
    configs.some((path) => /autocrlf|\beol\b|attributesfile|objectformat/i.test(readSmallText(path) ?? ""))
  ) {
    return true;
  }
  return (readSmallText(`${root}/.git/info/attributes`) ?? "") !== "";
}

/**
 * Content of a blob of the repository, or undefined when it has none with that id. Changes nothing in the
 * repository.
 */
export async function readGitBlob(root: string, id: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const git = findGit(root);
  if (git === undefined) return undefined;
  try {
    // Older versions would fetch a missing blob, by a program that the repository names.
    const options = ["-C", root, "--no-optional-locks", "-c", "protocol.allow=never"];
    const { code, stdout } = await runProgram([git, ...options, "cat-file", "blob", id], {
      env: gitEnvironment(),
    });
    return code === 0 ? stdout : undefined;
  } catch {
    return undefined;
  }
}
