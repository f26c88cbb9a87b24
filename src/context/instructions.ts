import type { Message, PreparedCall, ToolCall } from "../core/mod.ts";
import { absolutePath, contains, normalize, relativeTo } from "../path/lexical.ts";
import { exists, isDirectory, readSmallText } from "../path/probe.ts";
import { existingRealPath } from "../path/real_path.ts";

/** An instruction file as it enters the system prompt. */
export interface InstructionFile {
  readonly path: string;
  /** The source as the model sees it, such as "AGENTS.md (project)". */
  readonly label: string;
  readonly text: string;
}

interface InstructionNotice {
  readonly path: string;
  readonly problem: string;
}

export interface Instructions {
  readonly files: readonly InstructionFile[];
  readonly notices: readonly InstructionNotice[];
  /** Files that exist but lost against a better name in the same directory, and that one. */
  readonly shadowed: readonly { readonly path: string; readonly by: string }[];
}

interface InstructionOptions {
  readonly cwd: string;
  readonly home: string;
  /** Further files from `instructions = [...]`, absolute. */
  readonly extra?: readonly string[];
  /** The directories above the repository count, too. */
  readonly fromRoot?: boolean;
  /** Bytes for all files together. */
  readonly maxBytes: number;
  /** Reports whether a path must not be read. */
  readonly hidden?: (path: string) => boolean;
}

interface FileRule {
  /** Say so when there is none. */
  readonly required?: boolean;
  readonly within?: string;
}

interface Source {
  readonly path: string;
  /** Files that led here, this one included. */
  readonly chain: readonly string[];
  /** Imports may not lead out of this directory. */
  readonly fence: string;
  /** True when `@path` in the middle of a line counts, too. */
  readonly mentions: boolean;
}

const NAMES = ["AGENTS.md", "CLAUDE.md"];
/** Notes of one person, outside of version control; each of the names has one. */
const LOCAL_NAME = "CLAUDE.local.md";
const OWN_NAME = "REASONIX.md";
const IMPORT_DEPTH = 5;
/** Files that import each other many times over would otherwise grow without end. */
const MAX_IMPORTS = 200;
const MAX_IMPORT_NOTICES = 20;
/** A larger file is no text for a model. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

/**
 * Collects the instruction files: home, then every directory from the repository root down to the working
 * directory; with `fromRoot` those above the repository before. In a directory AGENTS.md is used, else
 * CLAUDE.md; CLAUDE.local.md of a project and REASONIX.md are added on top, in this order.
 */
export function loadInstructions(options: InstructionOptions): Instructions {
  const collector = new Collector(options);
  collector.directory(options.home, "user");
  const directories = projectDirectories(options.cwd);
  if (options.fromRoot) {
    for (const directory of directoriesAbove(directories[0] ?? options.cwd)) {
      if (directory !== options.home) {
        collector.directory(directory, "above", directory === "" ? "/" : directory);
      }
    }
  }
  for (const directory of directories) collector.directory(directory, "project", directories[0]);
  const root = directories[0] ?? options.cwd;
  for (const path of options.extra ?? []) {
    // A file in the repository may be a link of the repository, the one that names it.
    const fence = contains(root, path) ? { within: root } : {};
    collector.file(path, `${path} (configured)`, { required: true, ...fence });
  }
  return collector;
}

function loadDirectoryInstructions(directory: string, options: InstructionOptions): Instructions {
  const collector = new Collector(options);
  collector.directory(directory, "project", projectDirectories(options.cwd)[0]);
  return collector;
}

/**
 * Directories from the repository root (the nearest one with .git) down to `cwd`; only `cwd` outside a
 * repository.
 */
function projectDirectories(cwd: string): string[] {
  const directories: string[] = [];
  for (let directory = cwd;;) {
    directories.unshift(directory);
    if (exists(`${directory}/.git`)) return directories;
    const parent = directory.replace(/[/\\][^/\\]*$/, "");
    if (parent === directory || parent === "") return [cwd];
    directory = parent;
  }
}

/** The directories above one, the root of the file system first, as an empty text. */
function directoriesAbove(directory: string): string[] {
  const parent = directory.replace(/[/\\]?[^/\\]*$/, "");
  return parent === directory ? [] : [...directoriesAbove(parent), parent];
}

class Collector implements Instructions {
  readonly files: InstructionFile[] = [];
  readonly notices: InstructionNotice[] = [];
  readonly shadowed: { path: string; by: string }[] = [];
  readonly #options: InstructionOptions;
  #left: number;
  #imports = 0;
  #importNotices = 0;

  constructor(options: InstructionOptions) {
    this.#options = options;
    this.#left = options.maxBytes;
  }

  /** Files of the directory; links among them may not lead out of `within`. */
  directory(directory: string, scope: string, within?: string): void {
    const fence = within === undefined ? {} : { within };
    let by: string | undefined;
    for (const name of NAMES) {
      const path = `${directory}/${name}`;
      if (by === undefined) {
        if (this.file(path, `${this.#display(path)} (${scope})`, fence)) by = path;
      } else if (exists(path)) this.shadowed.push({ path, by });
    }
    const added = scope === "project" ? [LOCAL_NAME, OWN_NAME] : [OWN_NAME];
    for (const path of added.map((name) => `${directory}/${name}`)) {
      this.file(path, `${this.#display(path)} (${scope})`, fence);
    }
  }

  file(path: string, label: string, rule: FileRule = {}): boolean {
    const real = existingRealPath(path);
    if (real === undefined && rule.required) this.#notify(path, "could not be read");
    if (real === undefined || this.#options.hidden?.(path)) return false;
    if (rule.within !== undefined && !contains(existingRealPath(rule.within) ?? rule.within, real)) {
      return this.#notify(path, "left out: it is a link that leads out of the repository");
    }
    if (this.#options.hidden?.(real)) {
      return this.#notify(path, "left out: it leads to a file that may not be read");
    }
    const text = readText(real);
    if (text === undefined) return this.#notify(path, "could not be read");
    const base = directoryOf(path);
    const fence = rule.within !== undefined && contains(rule.within, base) ? rule.within : base;
    const whole = this.#withImports(
      { path, chain: [real], fence, mentions: /\/CLAUDE(?:\.local)?\.md$/.test(path) },
      text,
    );
    const tooLarge = `all instruction files together exceed ${this.#options.maxBytes} bytes`;
    if (this.#left <= 0) return this.#notify(path, `left out: ${tooLarge}`);
    const kept = cutBytes(whole, this.#left);
    if (kept.length < whole.length) this.#notify(path, `cut: ${tooLarge}`);
    this.#left -= new TextEncoder().encode(kept).length;
    this.files.push({ path, label, text: kept });
    return true;
  }

  #notify(path: string, problem: string): true {
    this.notices.push({ path, problem });
    return true;
  }

  /**
   * Replaces lines that are only `@path` by that file's text, and puts what else of a CLAUDE.md names a file
   * that way behind it. Code is left alone; cycles and escapes are as well, with a notice.
   */
  #withImports(source: Source, text: string): string {
    if (!text.includes("@")) return text;
    const mentioned = new Map<string, string>();
    let code = false;
    const lines = text.split("\n").map((line) => {
      const fence = /^\s*(?:```|~~~)/.test(line);
      if (fence) code = !code;
      if (fence || code) return line;
      const [, target] = /^@(\S+)[ \t]*$/.exec(line) ?? [];
      if (target !== undefined) {
        const imported = this.#import(source, target);
        if (imported !== undefined) return imported;
        if (++this.#importNotices <= MAX_IMPORT_NOTICES) {
          this.notices.push({ path: source.path, problem: `import ${target} was not followed` });
        }
      } else if (source.mentions) this.#collectMentions(source, line, mentioned);
      return line;
    });
    const more = [...mentioned].map(([target, imported]) => `\n## ${target}\n${imported}`);
    return [...lines, ...more].join("\n");
  }

  #collectMentions(source: Source, line: string, found: Map<string, string>): void {
    for (const [, target = ""] of line.replace(/`[^`]*`/g, "").matchAll(/(?:^|[\s(])@([\w.~/-]*[\w/-])/g)) {
      const imported = found.has(target) ? undefined : this.#import(source, target);
      if (imported !== undefined) found.set(target, imported);
    }
  }

  /** The text of an imported file with its own imports; undefined when it is none that may be imported. */
  #import(source: Source, target: string): string | undefined {
    const file = target.startsWith("~/")
      ? `${directoryOf(this.#options.home)}/${target.slice(2)}`
      : target.startsWith("/")
      ? target
      : `${directoryOf(source.path)}/${target}`;
    const real = existingRealPath(file);
    const { chain, fence } = source;
    if (real === undefined || chain.length > IMPORT_DEPTH || chain.includes(real)) return undefined;
    if (!contains(existingRealPath(fence) ?? fence, real) || this.#options.hidden?.(real)) return undefined;
    if (++this.#imports > MAX_IMPORTS) return undefined;
    const text = readText(real);
    return text === undefined || text.includes("\0")
      ? undefined
      : this.#withImports({ ...source, path: real, chain: [...chain, real] }, text);
  }

  #display(path: string): string {
    const { cwd } = this.#options;
    return relativeTo(path, cwd) ?? path;
  }
}

function directoryOf(path: string): string {
  return path.replace(/[/\\][^/\\]*$/, "");
}

function readText(path: string): string | undefined {
  return readSmallText(path, MAX_FILE_BYTES)?.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
}

function cutBytes(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  if (encoded.length <= bytes) return text;
  return new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
}

export interface LateInstructionOptions extends Omit<InstructionOptions, "extra"> {
  /** The conversation, whose instructions are not sent again. */
  readonly messages: () => readonly Message[];
  /** Reports what an earlier call was about. */
  readonly describe: (call: ToolCall) => PreparedCall | undefined;
  readonly onNotice?: (notice: InstructionNotice) => void;
}

const TAG = /^<instructions folder="([^"\n]*)">/;

/**
 * Instruction files below the working directory, added when a call first touches their directory. They become
 * messages and never change the prefix. The messages are read from the conversation, so a resumed session
 * does not hear it twice.
 */
export class LateInstructions {
  readonly #options: LateInstructionOptions;
  /**
   * Directories without instruction files, and paths that are no directories; looked at again in the next
   * turn.
   */
  readonly #empty = new Set<string>();
  #announced = new Set<string>();
  #of: readonly Message[] | undefined;
  #at = 0;
  #left: number;

  constructor(options: LateInstructionOptions) {
    this.#options = options;
    this.#left = options.maxBytes;
  }

  /**
   * Texts for directories that calls have touched since the last time; to be recorded as context messages.
   */
  take(): string[] {
    const messages = this.#options.messages();
    if (messages !== this.#of) this.#begin(messages);
    const texts: string[] = [];
    for (; this.#at < messages.length; this.#at++) {
      const message = messages[this.#at];
      if (message?.role === "user") this.#empty.clear();
      if (message?.role !== "assistant") continue;
      for (const call of message.calls ?? []) {
        const { reads = [], writes = [] } = this.#options.describe(call) ?? {};
        for (const path of [...reads, ...writes]) texts.push(...this.touch(path));
      }
    }
    return texts;
  }

  /**
   * Returns the instructions that apply to a file or directory below the working directory, outermost first;
   * empty when nothing is new.
   */
  touch(path: string): string[] {
    const { cwd } = this.#options;
    const name = relativeTo(normalize(absolutePath(path, { cwd })), cwd);
    if (name === undefined || name === ".") return [];
    const parts = name.split("/");
    return parts.flatMap((_, i) => this.#directory(parts.slice(0, i + 1).join("/")) ?? []);
  }

  /** A new array: a session was opened, compacted or rewound. */
  #begin(messages: readonly Message[]): void {
    const resumed = this.#of === undefined;
    this.#of = messages;
    this.#announced = new Set(messages.flatMap((message) => TAG.exec(message.content)?.[1] ?? []));
    this.#at = resumed ? messages.length : lastReply(messages);
  }

  #directory(name: string): string | undefined {
    if (this.#announced.has(name) || this.#empty.has(name) || this.#left <= 0) return undefined;
    const { cwd, onNotice } = this.#options;
    if (!isDirectory(`${cwd}/${name}`)) {
      this.#empty.add(name);
      return undefined;
    }
    const found = loadDirectoryInstructions(`${cwd}/${name}`, { ...this.#options, maxBytes: this.#left });
    for (const notice of found.notices) onNotice?.(notice);
    if (found.files.length === 0) {
      this.#empty.add(name);
      return undefined;
    }
    this.#announced.add(name);
    this.#left -= found.files.reduce((sum, file) => sum + file.text.length, 0);
    const files = found.files.map((file) => `## ${file.label}\n${file.text.trim()}`).join("\n\n");
    return `<instructions folder="${name}">\nThese apply to everything below ${name}.\n\n${files}\n</instructions>`;
  }
}

function lastReply(messages: readonly Message[]): number {
  const last = messages.findLastIndex((message) => message.role === "assistant");
  return last < 0 ? messages.length : last;
}
