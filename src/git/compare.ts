import { lstatSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { message, ReasonixError, type Text } from "../core/mod.ts";
import { join } from "../path/lexical.ts";
import { exists } from "../path/probe.ts";
import { attempt } from "../util/lazy.ts";
import type { ProgramResult } from "../util/process.ts";
import {
  DiskFiles,
  entries,
  type Git,
  gitFailure,
  type GitOptions,
  joined,
  openRepository,
  type Repository,
} from "./git.ts";

/** Adjacent changed lines of a file, with 3 lines of context. */
export interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /** Each with " ", "+", "-" or "\\" (no newline at the end) before it. */
  readonly lines: readonly string[];
}

export interface ChangedFile {
  /**
   * From the top of the repository; of a deleted file: in the base. To be shown through terminalSafe or
   * oneLine only. A name that is not UTF-8 is quoted as git does it, and the file is omitted.
   */
  readonly path: string;
  /** The path in the base of a file that was renamed or copied. */
  readonly oldPath?: string;
  readonly status: "added" | "modified" | "deleted" | "renamed" | "copied" | "retyped";
  readonly kind: "text" | "binary" | "submodule" | "link";
  readonly hunks: readonly Hunk[];
  readonly added: number;
  readonly removed: number;
  /** The reason why no model sees it: "generated", "lock file", "too large"; absent: models see it. */
  readonly omitted?: string;
}

/** A file on one side: its mode, and the object with its content. */
export interface Entry {
  readonly mode: string;
  readonly id: string;
}

/** A changed file as git reports it. */
export interface DiffSection extends Omit<ChangedFile, "hunks"> {
  readonly old: Entry;
  readonly now: Entry;
  hunks: Hunk[];
  kind: ChangedFile["kind"];
  added: number;
  removed: number;
  omitted?: string;
}

const MAX_FILE_LINES = 20_000;
const MAX_FILE_CHARS = 2_000_000;
const MAX_CHARS = 64_000_000;
/** Larger files are compared by their objects alone. */
const LARGE = 5 * 1024 * 1024;
/** Bytes that the changed files of a working tree may hold together. */
const MAX_HASHED = 256 * 1024 * 1024;

/** Settings that say how git reads the files of a working tree. None of them names a program. */
const TREE_SETTINGS =
  "^core\\.(filemode|symlinks|ignorecase|trustctime|checkstat|precomposeunicode|autocrlf|eol|sparsecheckout)$";

/**
 * A temporary repository with the objects of the user's one, but without its settings, attributes and hooks:
 * what is compared in it cannot name a program. The user's repository gets no object.
 */
export class Scratch implements AsyncDisposable {
  readonly git: Git;
  readonly repository: Repository;
  /** The directory and the abort signal for git in the user's repository. */
  readonly options: Pick<GitOptions, "cwd" | "signal">;
  readonly #purpose: Text;
  readonly #dir: string;
  #hasIndex = false;
  isSparse = false;

  private constructor(git: Git, repository: Repository, { purpose, signal, dir }: {
    readonly purpose: Text;
    readonly signal: AbortSignal | undefined;
    readonly dir: string;
  }) {
    this.git = git;
    this.repository = repository;
    this.options = { cwd: repository.top, signal };
    this.#purpose = purpose;
    this.#dir = dir;
  }

  static async open(git: Git, cwd: string, signal: AbortSignal | undefined): Promise<Scratch> {
    const purpose = message`Cannot read the change in ${cwd}`;
    const repository = await openRepository(git, cwd, { purpose, signal });
    const dir = await mkdtemp(join(tmpdir(), "reasonix-change-"));
    const scratch = new Scratch(git, repository, { purpose, signal, dir });
    try {
      await scratch.#fill();
      return scratch;
    } catch (error) {
      await scratch[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #fill(): Promise<void> {
    const { objects, objectFormat } = this.repository;
    const found = await this.run(["config", "-z", "--get-regexp", TREE_SETTINGS]);
    const settings = new Map(
      entries(found.text).map((entry) => {
        const [key = "", value = "true"] = entry.split("\n");
        return [key.replace(/^core\./, ""), value] as const;
      }).filter(([, value]) => /^\w+$/.test(value)),
    );
    this.isSparse = settings.get("sparsecheckout") === "true";
    settings.delete("sparsecheckout");
    const lines = [
      "[core]",
      "repositoryFormatVersion = 1",
      `attributesFile = ${JSON.stringify(`${this.#dir}/none`)}`,
      `bigFileThreshold = ${LARGE}`,
      "compression = 0",
      "looseCompression = 0",
      "fsync = none",
      "quotePath = true",
      ...[...settings].map(([key, value]) => `${key} = ${value}`),
      "[extensions]",
      `objectFormat = ${objectFormat}`,
    ];
    for (const name of ["objects/info", "refs", "info"]) {
      await mkdir(`${this.#dir}/${name}`, { recursive: true });
    }
    const files = {
      "HEAD": "ref: refs/heads/none\n",
      "config": `${lines.join("\n")}\n`,
      "info/attributes": "* -filter -ident -working-tree-encoding !diff\n",
      "objects/info/alternates": `${JSON.stringify(objects)}\n`,
    };
    for (const [name, text] of Object.entries(files)) await writeFile(`${this.#dir}/${name}`, text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true }).catch(() => {});
  }

  /** Runs git in the user's repository. */
  async run(args: readonly string[]): Promise<ProgramResult> {
    return await this.git.run(args, this.options);
  }

  async ask(args: readonly string[]): Promise<string> {
    return await this.git.ask(this.#purpose, args, this.options);
  }

  /** The index as a tree. Throws a ReasonixError for one with conflicts. */
  async indexTree(): Promise<string> {
    await this.#copyIndex();
    const [conflict] = entries(await this.#ask(["ls-files", "-z", "--unmerged"]));
    if (conflict !== undefined) {
      const path = conflict.slice(conflict.indexOf("\t") + 1);
      throw new ReasonixError(message`${this.#purpose}: ${path} has a merge conflict`, {
        remedy: message`resolve it, and stage the file with ${"`git add`"}`,
      });
    }
    return await this.#writeTree();
  }

  /** The files on the disk as a tree, with those that are too large for it or have no usable name. */
  async workingTree(
    { untracked }: { readonly untracked: boolean },
  ): Promise<{ readonly tree: string; readonly leftOut: readonly ChangedFile[] }> {
    await this.#copyIndex();
    const { top } = this.repository;
    const leftOut: ChangedFile[] = [];
    const leave = (path: string, status: ChangedFile["status"], omitted: string) => {
      leftOut.push({ path, status, kind: "binary", hunks: [], added: 0, removed: 0, omitted });
    };
    const disk = new DiskFiles(top);
    const present: string[] = [];
    const gone: string[] = [];
    let bytes = 0;
    const look = (name: string, mode: string, status: "added" | "modified") => {
      const { path, omitted } = nameOf(name);
      if (omitted !== undefined) return leave(path, status, omitted);
      const kind = disk.kindOf(path);
      if (kind === "file") {
        const size = attempt(() => lstatSync(`${top}/${path}`).size) ?? 0;
        if (size > LARGE || bytes + size > MAX_HASHED) return leave(path, status, "too large");
        bytes += size;
        present.push(path);
      } else if (kind === "directory" && mode === "160000" && exists(`${top}/${path}/.git`)) {
        present.push(path);
      } else if (kind !== "directory" || mode !== "160000") gone.push(path);
    };
    const changed = await this.#ask(["diff-files", "--raw", "--no-renames", "--ignore-submodules=dirty"]);
    for (const line of linesOf(changed)) {
      const [facts = "", name = ""] = line.split("\t");
      look(name, facts.slice(1, 7), "modified");
    }
    if (untracked) {
      const listing = ["-c", "core.quotePath=true", "ls-files", "--others", "--exclude-standard"];
      // A name that ends with a slash is another repository.
      for (const name of linesOf((await this.run(listing)).text)) {
        if (!/\/"?$/.test(name)) look(name, "000000", "added");
      }
    }
    await this.#update(["--force-remove"], gone);
    await this.#update(["--add", "--remove", "--replace"], present);
    return { tree: await this.#writeTree(), leftOut };
  }

  async #copyIndex(): Promise<void> {
    if (this.#hasIndex) return;
    this.#hasIndex = true;
    const { index } = this.repository;
    if (!exists(index)) return;
    const copy = `${this.#dir}/index`;
    await copyFile(index, copy);
    // Git compares files that are not older than the index by their content.
    const time = Math.floor(lstatSync(index).mtimeMs / 1000);
    await utimes(copy, time, time);
    const directory = index.slice(0, index.lastIndexOf("/"));
    for (const name of await readdir(directory)) {
      if (name.startsWith("sharedindex.")) {
        await copyFile(`${directory}/${name}`, `${this.#dir}/${name}`);
      }
    }
  }

  async #update(how: readonly string[], paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    await this.#ask(["update-index", ...how, "-z", "--stdin"], joined(paths));
  }

  async #writeTree(): Promise<string> {
    return (await this.#ask(["write-tree", "--missing-ok"])).trim();
  }

  /** Compares two trees. A file, or all of them together, above the limits lose their hunks. */
  async compare(base: string, tree: string): Promise<DiffSection[]> {
    const parser = new DiffParser();
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const form = ["--raw", "-p", "-M", "-C", "-l1000", "--no-abbrev", "--no-ext-diff", "--no-textconv"];
    // Without these, the .gitmodules of a change could hide a submodule, or end git.
    const modules = ["--submodule=short", "--ignore-submodules=none"];
    const args = ["diff-tree", "-r", ...form, ...modules, base, tree, "--"];
    const take = (chunk: Uint8Array) => parser.take(decoder.decode(chunk, { stream: true }));
    const result = await this.git.read(args, take, this.#inside);
    if (!result.endedEarly && result.code !== 0) throw gitFailure(this.#purpose, result);
    return parser.end(!result.endedEarly);
  }

  /** Those without hunks for their size. */
  async largeObjects(sections: readonly DiffSection[]): Promise<ReadonlySet<DiffSection>> {
    const binary = sections.filter(({ kind }) => kind === "binary");
    if (binary.length === 0) return new Set();
    const input = binary.flatMap(({ old, now }) => [`${old.id}\n`, `${now.id}\n`]).join("");
    const { text } = await this.#run(["cat-file", "--batch-check=%(objectsize)"], input);
    const sizes = text.split("\n").map(Number);
    return new Set(binary.filter((_, at) => Math.max(sizes[at * 2] || 0, sizes[at * 2 + 1] || 0) > LARGE));
  }

  /**
   * The reason that an attribute gives to omit a file, or undefined where it says that the file counts. Only
   * the files of the commit give attributes; they replace the index here.
   */
  async attributes(
    commit: string | undefined,
    paths: readonly string[],
  ): Promise<ReadonlyMap<string, "generated" | "vendored" | undefined>> {
    const decided = new Map<string, "generated" | "vendored" | undefined>();
    if (commit === undefined || paths.length === 0) return decided;
    await this.#run(["read-tree", commit]);
    const asking = ["check-attr", "--cached", "-z", "--stdin", "linguist-generated", "linguist-vendored"];
    const values = (await this.#run(asking, joined(paths))).text.split("\0");
    for (let at = 0; at + 2 < values.length; at += 3) {
      const [path = "", name = "", value = ""] = values.slice(at, at + 3);
      if (value === "unspecified" || decided.has(path)) continue;
      const word = name === "linguist-generated" ? "generated" : "vendored";
      decided.set(path, value === "set" || value === "true" ? word : undefined);
    }
    return decided;
  }

  get #inside() {
    const env = {
      GIT_DIR: this.#dir,
      GIT_WORK_TREE: this.repository.top,
      GIT_CONFIG_GLOBAL: `${this.#dir}/none`,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_ATTR_NOSYSTEM: "1",
    };
    return { ...this.options, env };
  }

  async #run(args: readonly string[], input?: string): Promise<ProgramResult> {
    return await this.git.run(args, { ...this.#inside, input });
  }

  async #ask(args: readonly string[], input?: string): Promise<string> {
    return await this.git.ask(this.#purpose, args, { ...this.#inside, input });
  }
}

function linesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

/** A name as git quotes it. One that is not UTF-8 stays quoted, and no model sees the file. */
function nameOf(quoted: string): Pick<ChangedFile, "path" | "omitted"> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const path = attempt(() => decoder.decode(unquoted(quoted)));
  return path === undefined ? { path: quoted, omitted: "its name is not UTF-8" } : { path };
}

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

/** Bytes of a name that git quotes where it has to. */
function unquoted(text: string): Uint8Array {
  if (!text.startsWith('"')) return new TextEncoder().encode(text);
  const parts = text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\])/gs);
  return Uint8Array.from(parts, ([, octal, escaped, plain = ""]) => {
    if (octal !== undefined) return parseInt(octal, 8);
    return ESCAPES[escaped ?? ""] ?? (escaped ?? plain).charCodeAt(0);
  });
}

const STATES: Readonly<Record<string, ChangedFile["status"]>> = {
  A: "added",
  D: "deleted",
  R: "renamed",
  C: "copied",
  T: "retyped",
};
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/**
 * Reads the output of `git diff-tree --raw -p`: the files in a row, then their differences in the same order.
 * Names come from the first part alone, and the counts of a hunk say where it ends, so that no content of a
 * file is taken for anything else.
 */
class DiffParser {
  readonly #sections: DiffSection[] = [];
  /** A file that became another type has two parts. */
  readonly #parts: DiffSection[] = [];
  #rest = "";
  #chars = 0;
  #inNames = true;
  #at = -1;
  #lines = 0;
  #size = 0;
  #hunk: { -readonly [Key in keyof Hunk]: Hunk[Key] } & { lines: string[] } | undefined;
  #left = { old: 0, now: 0 };

  /** False: there is more than the limit. */
  take(text: string): boolean {
    this.#chars += text.length;
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line);
    return this.#chars <= MAX_CHARS;
  }

  end(isWhole: boolean): DiffSection[] {
    for (const section of isWhole ? [] : this.#parts.slice(Math.max(this.#at, 0))) this.#drop(section);
    return this.#sections;
  }

  #line(line: string): void {
    if (this.#inNames) {
      if (line.startsWith(":")) return this.#name(line);
      this.#inNames = false;
      if (line === "") return;
    }
    const section = this.#parts[this.#at];
    if (section && this.#hunk && this.#inHunk(section, this.#hunk, line)) return;
    if (line.startsWith("diff --git ")) {
      this.#at++;
      this.#hunk = undefined;
      [this.#lines, this.#size] = [0, 0];
    } else if (section && /^Binary files |^GIT binary patch/.test(line)) section.kind = "binary";
    else if (section) this.#begin(section, line);
  }

  #name(line: string): void {
    const [facts = "", first = "", second] = line.slice(1).split("\t");
    const [oldMode = "", mode = "", oldId = "", id = "", state = ""] = facts.split(" ");
    const shown = mode === "000000" ? oldMode : mode;
    const section: DiffSection = {
      ...nameOf(second ?? first),
      ...(second === undefined ? {} : { oldPath: nameOf(first).path }),
      status: STATES[state[0] ?? ""] ?? "modified",
      kind: shown === "160000" ? "submodule" : shown === "120000" ? "link" : "text",
      hunks: [],
      added: 0,
      removed: 0,
      old: { mode: oldMode, id: oldId },
      now: { mode, id },
    };
    this.#sections.push(section);
    this.#parts.push(...section.status === "retyped" ? [section, section] : [section]);
  }

  #begin(section: DiffSection, line: string): void {
    const [, oldStart, oldLines = "1", newStart, newLines = "1"] = HUNK.exec(line) ?? [];
    if (oldStart === undefined) return;
    const counts = { oldLines: Number(oldLines), newLines: Number(newLines) };
    this.#left = { old: counts.oldLines, now: counts.newLines };
    this.#hunk = { oldStart: Number(oldStart), newStart: Number(newStart), ...counts, lines: [] };
    if (section.omitted === undefined) section.hunks.push(this.#hunk);
  }

  #inHunk(section: DiffSection, hunk: { readonly lines: string[] }, line: string): boolean {
    const { old, now } = this.#left;
    const sign = line[0];
    if (sign !== "\\") {
      if (old <= 0 && now <= 0) return false;
      if (sign !== "+") this.#left.old--;
      if (sign !== "-") this.#left.now--;
      if (sign === "+") section.added++;
      if (sign === "-") section.removed++;
    }
    this.#lines++;
    this.#size += line.length;
    if (this.#lines > MAX_FILE_LINES || this.#size > MAX_FILE_CHARS) this.#drop(section);
    else hunk.lines.push(line);
    return true;
  }

  #drop(section: DiffSection): void {
    section.hunks = [];
    section.omitted = "too large";
  }
}
