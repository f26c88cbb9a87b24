import { errorMessage, type ImagePart } from "../core/mod.ts";
import { sortedEntries } from "../path/probe.ts";
import {
  imageType,
  MAX_IMAGE_FILE_BYTES,
  referencedNames,
  resourceBlock,
  serverAndUri,
} from "../path/reference_text.ts";
import { suggestNames } from "../util/suggest.ts";
import { attempt } from "../util/lazy.ts";

export interface References {
  /** Tagged blocks that precede the message. */
  readonly blocks: string[];
  readonly images: ImagePart[];
  readonly notices: string[];
}

export interface ReferenceOptions {
  readonly cwd: string;
  /** Resolves a path for reading; rejects when it may not be read. */
  readonly read: (path: string) => Promise<string>;
  readonly hidden: (absolutePath: string) => boolean;
  readonly vision: boolean;
  /** Returns the text that an editor has of a file and has not saved. */
  readonly unsaved?: (path: string) => Promise<string | undefined>;
  /** Reads lines of a document, by its real path; undefined where no plugin does. */
  readonly document?: (
    path: string,
    range: { offset?: number; limit: number },
  ) => Promise<string> | undefined;
  /** Reads a resource of a connected MCP server for `@server:uri`; undefined when there is no such server. */
  readonly resource?: (server: string, uri: string) => Promise<ResourceText> | undefined;
}

/** A resource as the model gets it: data that is no text has its location named there. */
export interface ResourceText {
  readonly text: string;
  readonly images: readonly ImagePart[];
}

const MAX_FILE_BYTES = 64 * 1024;
/** Lines of a document; the plugin bounds their characters. */
const MAX_LINES = 5000;
const MAX_ENTRIES = 200;
const MAX_DEPTH = 8;
const NOISE = new Set([".git", "node_modules", ".hg", ".svn", "__pycache__"]);

/**
 * Resolves `@path`, `@dir/`, `@path:10-40`, `@"path with blanks"` and `@server:uri`. Only what exists on
 * disk, or names a server, is a reference; everything else stays literal text.
 */
export async function resolveReferences(text: string, options: ReferenceOptions): Promise<References> {
  const found: References = { blocks: [], images: [], notices: [] };
  const seen = new Set<string>();
  for (const name of referencedNames(text)) {
    if (name === "" || seen.has(name)) continue;
    seen.add(name);
    await resolveOne(name, options, found);
  }
  return found;
}

interface Target {
  readonly name: string;
  readonly stat: Deno.FileInfo;
  readonly lines?: readonly [number, number];
}

async function addResource(given: string, options: ReferenceOptions, found: References): Promise<boolean> {
  const name = given.replace(/[.!?:]+$/, "");
  const named = serverAndUri(name);
  const reading = named && named.uri !== "" ? options.resource?.(named.server, named.uri) : undefined;
  if (!reading) return false;
  try {
    const { text, images } = await reading;
    found.blocks.push(resourceBlock(name, text));
    found.images.push(...images);
  } catch (error) {
    found.notices.push(`@${name} was not attached: ${errorMessage(error)}`);
  }
  return true;
}

async function resolveOne(name: string, options: ReferenceOptions, found: References): Promise<void> {
  if (await addResource(name, options, found)) return;
  const target = locate(name, options.cwd);
  if (!target) {
    const notice = missingNotice(name.replace(/[.!?:]+$/, ""), options);
    if (notice !== undefined) found.notices.push(notice);
    return;
  }
  let path: string;
  try {
    path = await options.read(target.name);
  } catch (error) {
    found.notices.push(`@${name} was not attached: ${errorMessage(error)}`);
    return;
  }
  if (target.stat.isDirectory) found.blocks.push(directoryBlock(target.name, path, options));
  else if (target.stat.isFile) await addFile(target, path, options, found);
  else found.notices.push(`@${name} was not attached: not a regular file`);
}

/**
 * The existence gate: the longest reading of the name that exists, without trailing punctuation or a line
 * range.
 */
function locate(name: string, cwd: string): Target | undefined {
  for (const candidate of [name, name.replace(/[.!?:]+$/, "")]) {
    const stat = statOf(candidate, cwd);
    if (stat) return { name: candidate, stat };
    const range = /^(.+):(\d+)(?:-(\d+))?$/.exec(candidate);
    const file = range?.[1];
    const rangeStat = file === undefined ? undefined : statOf(file, cwd);
    if (range && file !== undefined && rangeStat) {
      const first = Math.max(1, Number(range[2]));
      return { name: file, stat: rangeStat, lines: [first, Math.max(first, Number(range[3] ?? first))] };
    }
  }
  return undefined;
}

/** Endings that make a name without a directory a file, and not a host, a handle or a decorator. */
const FILE_ENDINGS = new Set(
  ("astro bash bat c cc cfg cjs clj conf cpp cs css csv cts cxx dart diff dockerfile docx eml epub " +
    "ex exs fish gif go gradle graphql h hpp hs html ini ipynb java jpeg jpg js json jsonc jsonl jsx " +
    "kt kts less lock log lua m md mdx mjs mk ml mts nix odt patch pdf php pl png pptx proto ps1 py " +
    "pyi r rb rs rst sass scala scss sh sql svelte svg swift tf toml ts tsv tsx txt vim vue webp xlsx " +
    "xml yaml yml zig zsh").split(" "),
);

/**
 * Returns a notice for what was meant as a file: its form says so, or there is one of a similar name. A
 * package such as `@types/node`, a handle such as `@someone` and a decorator stay text.
 */
function missingNotice(name: string, { cwd, hidden }: ReferenceOptions): string | undefined {
  const path = name.replace(/:\d+(?:-\d+)?$/, "");
  const isPath = looksLikePath(path, cwd);
  if (!isPath && !/[./]/.test(path)) return undefined;
  const near = nearestPath(path, isPath, { cwd, hidden });
  if (!isPath && near === undefined) return undefined;
  const hint = near === undefined ? "" : `; did you mean @${near}?`;
  return `@${name} was not attached: there is no such ${path.endsWith("/") ? "directory" : "file"}${hint}`;
}

function looksLikePath(path: string, cwd: string): boolean {
  if (/^\.{1,2}\//.test(path)) return true;
  const [, parent, last = ""] = /^(?:(.*)\/)?([^/]*)$/s.exec(path) ?? [];
  const ending = /^[\w-][\w.-]*\.([a-z]\w{0,9})$/i.exec(last)?.[1]?.toLowerCase();
  if (parent === undefined) return ending !== undefined && FILE_ENDINGS.has(ending);
  const isThere = statOf(parent === "" ? "/" : parent, cwd)?.isDirectory === true;
  if (isThere) return last === "" || (ending?.length ?? 9) <= 5;
  // A package of this project, such as @types/chart.js.
  if (parent === "types" || statOf(`node_modules/@${parent}`, cwd)) return false;
  return last === "" || (ending !== undefined && FILE_ENDINGS.has(ending));
}

/**
 * Returns a path that exists and differs only in its last name, or in every name; none outside of the working
 * directory.
 */
function nearestPath(
  path: string,
  everyName: boolean,
  { cwd, hidden }: Pick<ReferenceOptions, "cwd" | "hidden">,
): string | undefined {
  if (path.startsWith("/")) return undefined;
  const found: string[] = [];
  const parts = path.replace(/^\.\/|\/$/g, "").split("/");
  for (const [index, part] of parts.entries()) {
    if (part === "" || part === "." || part === "..") return undefined;
    const directory = [cwd, ...found].join("/");
    const names = sortedEntries(directory).map((entry) => entry.name)
      .filter((entry) => !hidden(`${directory}/${entry}`));
    const isExact = names.includes(part) || (!everyName && index < parts.length - 1);
    const name = isExact ? part : suggestNames(part, names, 1)[0];
    if (name === undefined) return undefined;
    found.push(name);
  }
  return found.join("/");
}

function statOf(name: string, cwd: string): Deno.FileInfo | undefined {
  return attempt(() => Deno.statSync(name.startsWith("/") ? name : `${cwd}/${name}`));
}

/** Endings of files that a plugin turns into text. Other kinds, such as csv, are attached as they are. */
const DOCUMENT = /\.(?:pdf|doc[xm]|xls[xm]|ppt[xm]|odt|epub|eml)$/i;

const NO_READER = "the plugin that reads documents is not set up (reasonix plugin add documents)";

/** Adds a document as text where a plugin reads it; resolves to `false` for what is attached as it is. */
async function addDocument(target: Target, path: string, options: ReferenceOptions, found: References) {
  const { name, stat, lines } = target;
  if (!DOCUMENT.test(name)) return false;
  const range = lines ? { offset: lines[0], limit: lines[1] - lines[0] + 1 } : { limit: MAX_LINES };
  const reading = options.document?.(path, range);
  if (!reading && /\.eml$/i.test(name)) return false;
  const leaveOut = (reason: string) => {
    found.blocks.push(`<file path="${name}">[document, ${stat.size} bytes; not attached]</file>`);
    found.notices.push(`@${name} was not attached: ${reason}`);
  };
  if (!reading) leaveOut(NO_READER);
  try {
    const text = await reading ?? "";
    const cut = text.length > MAX_FILE_BYTES
      ? `${text.slice(0, MAX_FILE_BYTES).toWellFormed()}\n[cut]`
      : text;
    const part = lines ? ` lines="${lines.join("-")}"` : "";
    if (reading) found.blocks.push(`<file path="${name}"${part}>\n${cut}\n</file>`);
  } catch (error) {
    leaveOut(errorMessage(error));
  }
  return true;
}

async function addFile(
  target: Target,
  path: string,
  options: ReferenceOptions,
  found: References,
): Promise<void> {
  const { name, stat } = target;
  const type = imageType(name);
  if (type) {
    if (options.vision && stat.size <= MAX_IMAGE_FILE_BYTES) {
      found.images.push({ mime: type, data: (await Deno.readFile(path)).toBase64() });
      found.blocks.push(`<file path="${name}">[image attached]</file>`);
    } else {
      found.blocks.push(`<file path="${name}">[image, ${stat.size} bytes; not attached]</file>`);
      const reason = options.vision ? "an image may have 32 MB" : "the model takes no images";
      found.notices.push(`@${name} was not attached: ${reason}`);
    }
    return;
  }
  if (await addDocument(target, path, options, found)) return;
  const limit = target.lines ? stat.size : MAX_FILE_BYTES;
  const unsaved = await options.unsaved?.(path);
  const whole = unsaved === undefined ? undefined : new TextEncoder().encode(unsaved);
  const size = whole?.length ?? stat.size;
  const bytes = whole?.subarray(0, target.lines ? size : limit) ?? await readHead(path, limit);
  if (bytes.subarray(0, 8192).includes(0)) {
    found.blocks.push(`<file path="${name}">[binary file, ${size} bytes]</file>`);
    return;
  }
  const text = new TextDecoder().decode(bytes, { stream: true });
  if (target.lines) {
    const [first, last] = target.lines;
    found.blocks.push(
      `<file path="${name}" lines="${first}-${last}">\n${lineRange(text, first, last)}\n</file>`,
    );
    return;
  }
  const note = size > MAX_FILE_BYTES ? `\n[cut; the file has ${size} bytes, read_file shows the rest]` : "";
  found.blocks.push(`<file path="${name}">\n${text.trimEnd() || "[empty]"}${note}\n</file>`);
}

function lineRange(text: string, first: number, last: number): string {
  const all = text.replace(/\n$/, "").split("\n");
  if (first > all.length) return `[the file has only ${all.length} lines]`;
  const lines = all.slice(first - 1, last).join("\n");
  return lines.length > MAX_FILE_BYTES
    ? `${lines.slice(0, MAX_FILE_BYTES)}\n[cut; read_file shows the rest]`
    : lines;
}

async function readHead(path: string, limit: number): Promise<Uint8Array> {
  using file = await Deno.open(path, { read: true });
  const buffer = new Uint8Array(Math.min(limit, 16 * 1024 * 1024));
  let length = 0;
  while (length < buffer.length) {
    const count = await file.read(buffer.subarray(length));
    if (count === null) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function directoryBlock(name: string, path: string, options: ReferenceOptions): string {
  const lines: string[] = [];
  listInto(lines, path, { prefix: "", depth: 1, hidden: options.hidden });
  const more = lines.length > MAX_ENTRIES ? "\n[more entries are not listed]" : "";
  const listed = lines.slice(0, MAX_ENTRIES).join("\n") || "[empty]";
  return `<dir path="${name}">\n${listed}${more}\n</dir>`;
}

interface Listing {
  readonly prefix: string;
  readonly depth: number;
  readonly hidden: (path: string) => boolean;
}

function listInto(lines: string[], directory: string, listing: Listing): void {
  for (const entry of sortedEntries(directory)) {
    const path = `${directory}/${entry.name}`;
    if (NOISE.has(entry.name) || listing.hidden(path)) continue;
    if (lines.length > MAX_ENTRIES) return;
    lines.push(`${listing.prefix}${entry.name}${entry.isDirectory ? "/" : ""}`);
    if (entry.isDirectory && listing.depth < MAX_DEPTH) {
      listInto(lines, path, {
        ...listing,
        prefix: `${listing.prefix}${entry.name}/`,
        depth: listing.depth + 1,
      });
    }
  }
}
