import { normalize, relativeTo } from "./lexical.ts";
import { existingRealPath } from "./real_path.ts";

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

/** Larger files are not taken as images; what is taken is scaled to the limits of the model. */
export const MAX_IMAGE_FILE_BYTES = 32 * 1024 * 1024;

/** The MIME type of an image that can be attached, by its name; undefined for all other files. */
export function imageType(path: string): string | undefined {
  return IMAGE_TYPES[path.split(".").pop()?.toLowerCase() ?? ""];
}

/** MIME types of images that can be attached. */
export const IMAGE_MIME_TYPES: readonly string[] = [...new Set(Object.values(IMAGE_TYPES))];

/** The path that a `file:` address of this machine names; undefined for every other address. */
export function fileUrlPath(written: string): string | undefined {
  try {
    const { protocol, host, pathname } = new URL(written);
    if (protocol !== "file:") return undefined;
    if (host !== "" && host !== "localhost") return undefined;
    return decodeURIComponent(pathname).replace(/^\/([A-Za-z]:)/, "$1");
  } catch {
    return undefined;
  }
}

/**
 * The name, for a reference, of the file at a `file:` address: relative to the directory that contains it,
 * with its lines. Undefined for every other address.
 */
export function fileUrlName(written: string, directory: string): string | undefined {
  const path = fileUrlPath(written);
  if (path === undefined || normalize(path) !== path.replace(/(?<=.)\/$/, "")) return undefined;
  const inside = relativeTo(path, directory) ?? relativeTo(existingRealPath(path) ?? "", directory);
  if (inside === undefined || /[\n"]/.test(inside)) return undefined;
  const [, first, last = first] = /^#L(\d+)(?:[:-]L?(\d+))?$/.exec(URL.parse(written)?.hash ?? "") ?? [];
  const name = inside.startsWith("@") ? `./${inside}` : inside;
  return first === undefined ? name : `${name}:${first}-${last}`;
}

/** Punctuation of Chinese and Japanese, which is used without a blank. */
const CJK_MARKS = "，。；：！？、）】」』》（【「『《";
/** Characters that may precede a reference; `@path` in the middle of a word is none. */
const BEFORE = `[\\s("'\`[{,;:${CJK_MARKS}\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7af]`;
/** A path without quotes holds no blank, and nothing that ends it. */
const PLAIN = `[^\\s"'\`,;)\\]}${CJK_MARKS}]`;

/** Names of the files in a message: `@path`, or `@"path with blanks"`. */
export function referencedNames(text: string): string[] {
  const names = text.matchAll(new RegExp(`(?<=^|${BEFORE})@(?:"([^"\\n]+)"|(${PLAIN}+))`, "g"));
  return [...names].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

const OPEN = new RegExp(`(?:^|${BEFORE})@(?:"([^"\\n]*)|(${PLAIN}*))$`);
/** A longer path is not being written. */
const MAX_OPEN = 2048;

/** The reference that is being written at the end of a text: where its `@` is, and its path so far. */
export function openReference(text: string): { readonly at: number; readonly path: string } | undefined {
  const line = text.slice(Math.max(0, text.lastIndexOf("\n"), text.length - MAX_OPEN));
  const match = OPEN.exec(line);
  if (!match) return undefined;
  const path = match[1] ?? match[2] ?? "";
  return { at: text.length - path.length - (match[1] === undefined ? 1 : 2), path };
}

/** A path as a reference; undefined for one that no reference can name. */
export function referenceTo(path: string): string | undefined {
  if (/["\n]/.test(path)) return undefined;
  const isPlain = new RegExp(`^${PLAIN}+$`).test(path) && !/[.!?:]$|[:@([{]/.test(path);
  return isPlain ? `@${path}` : `@"${path}"`;
}

/** A text from elsewhere that attaches nothing. */
export function withoutReferences(text: string): string {
  return text.replace(/(?<!\w)@/g, "");
}

/** The server and address of a reference such as `server:uri`; undefined for a path. */
export function serverAndUri(name: string): { readonly server: string; readonly uri: string } | undefined {
  const [, server, uri] = /^([\w.-]+):(.*)$/s.exec(name) ?? [];
  return server === undefined || uri === undefined ? undefined : { server, uri };
}

/** A reference to `server:uri`, quoted where needed; `whole`: nothing follows. */
export function resourceReference(name: string, whole: boolean): string | undefined {
  if (/["\n]/.test(name)) return undefined;
  const isPlain = new RegExp(`^${PLAIN}+$`).test(name) && !(whole && /[.!?:]$/.test(name));
  return isPlain ? `@${name}` : `@"${name}${whole ? '"' : ""}`;
}

const MAX_RESOURCE_CHARS = 64 * 1024;

/** The text of a resource as the model gets it before the message. */
export function resourceBlock(ref: string, text: string): string {
  const note = text.length > MAX_RESOURCE_CHARS ? `\n[cut; the resource has ${text.length} characters]` : "";
  const shown = text.slice(0, MAX_RESOURCE_CHARS).toWellFormed().trimEnd() || "[empty]";
  return `<resource ref="${ref}">\n${shown}${note}\n</resource>`;
}
