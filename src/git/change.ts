import { lstatSync, readFileSync } from "node:fs";
import { message, ReasonixError, usageError } from "../core/mod.ts";
import { type ChangedFile, type DiffSection, type Entry, type Hunk, Scratch } from "./compare.ts";
import { attempt } from "../util/lazy.ts";
import { joinBytes } from "../util/bytes.ts";
import { cutText } from "../util/terminal_text.ts";
import { DiskFiles, entries, type Git, gitFailure, type GitOptions } from "./git.ts";
import { sha256 } from "../util/digest.ts";

/** The files of one side of a change. */
export interface Revision {
  /** Object id of a commit; undefined: the working tree, the index, or nothing before the first commit. */
  readonly id: string | undefined;
  /** Reads at most 5 MB. Undefined: no such file, a link, a submodule, or too large. */
  read(path: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined>;
}

export interface Change {
  /** One line for people: "main...topic, 3 commits". */
  readonly target: string;
  /** Identifies the target from one review to the next: "uncommitted", "base main", "commit SHA". */
  readonly key: string;
  /** Top directory of the repository. */
  readonly top: string;
  readonly base: Revision;
  readonly head: Revision;
  /** The files below `top` are those of `head`. */
  readonly onDisk: boolean;
  readonly files: readonly ChangedFile[];
  /** Commit messages, newest first, at most 50. */
  readonly messages: readonly string[];
}

export type ChangeRequest =
  /** HEAD → working tree, with the untracked files that git does not ignore. */
  | { readonly kind: "uncommitted" }
  /** HEAD → index, also before the first commit. */
  | { readonly kind: "staged" }
  /** The merge base of both → head; absent: HEAD. */
  | { readonly kind: "base"; readonly base: string; readonly head?: string }
  /** The first parent → commit. */
  | { readonly kind: "commit"; readonly commit: string };

const MAX_READ = 5 * 1024 * 1024;
const MAX_MESSAGES = 50;
const MAX_MESSAGE_CHARS = 4_000;

/**
 * Reads a change without executing anything of the repository: no hook, filter, textconv, diff program or
 * monitor, and without a network. Throws a ReasonixError with a remedy when there is none.
 */
export async function readChange(
  git: Git,
  cwd: string,
  request: ChangeRequest,
  signal?: AbortSignal,
): Promise<Change> {
  const scratch = await Scratch.open(git, cwd, signal);
  try {
    return await new Reader(scratch).read(request);
  } finally {
    await scratch[Symbol.asyncDispose]();
  }
}

/** Both sides of a change as trees, before they are compared. */
interface Sides {
  readonly target: string;
  readonly key: string;
  /** Commit of the base; undefined: nothing. */
  readonly base: string | undefined;
  /** Commit of `head`; undefined: the tree is that of the index or the working tree. */
  readonly head?: string;
  readonly tree: string;
  readonly onDisk: boolean;
  readonly messages: readonly string[];
  readonly leftOut?: readonly ChangedFile[];
}

class Reader {
  readonly #scratch: Scratch;

  constructor(scratch: Scratch) {
    this.#scratch = scratch;
  }

  async read(request: ChangeRequest): Promise<Change> {
    const { tree, leftOut = [], base: from, head: to, ...facts } = await this.#sides(request);
    const { top } = this.#scratch.repository;
    const nothing = ["hash-object", "-t", "tree", "/dev/null"];
    const sections = await this.#scratch.compare(from ?? (await this.#scratch.ask(nothing)).trim(), tree);
    const large = await this.#scratch.largeObjects(sections);
    const attributes = await this.#scratch.attributes(from, sections.map(({ path }) => path));
    for (const section of sections) {
      const omitted = large.has(section) ? "too large" : omission(section, attributes);
      if (omitted !== undefined) section.omitted ??= omitted;
    }
    const base = this.#commitFiles(from);
    const head = request.kind === "uncommitted"
      ? { id: undefined, read: (path: string) => Promise.resolve(readFromDisk(top, path)) }
      : readOnce(to === undefined ? this.#stagedFiles(sections, base) : this.#commitFiles(to));
    return { ...facts, top, base, head, files: [...sections, ...leftOut] };
  }

  async #sides(request: ChangeRequest): Promise<Sides> {
    const { head } = this.#scratch.repository;
    switch (request.kind) {
      case "uncommitted": {
        const { tree, leftOut } = await this.#scratch.workingTree({ untracked: true });
        const name = { target: "uncommitted changes", key: "uncommitted" };
        return { ...name, base: head, tree, onDisk: true, messages: [], leftOut };
      }
      case "staged": {
        const tree = await this.#scratch.indexTree();
        const onDisk = await this.#isOnDisk(tree);
        return { target: "staged changes", key: "staged", base: head, tree, onDisk, messages: [] };
      }
      case "base":
        return await this.#branch(request);
      case "commit":
        return await this.#commit(request.commit);
    }
  }

  async #branch(
    { base: name, head: rev = "HEAD" }: Extract<ChangeRequest, { kind: "base" }>,
  ): Promise<Sides> {
    const other = await this.#resolve(name);
    const head = await this.#resolve(rev);
    const base = await this.#mergeBase([name, other], [rev, head]);
    const range = [`${base}..${head}`];
    const count = Number(await this.#scratch.ask(["rev-list", "--count", ...range]));
    const branch = await this.#scratch.run(["symbolic-ref", "--quiet", "--short", "HEAD"]);
    const shown = rev === "HEAD" ? branch.text.trim() || head.slice(0, 12) : rev;
    return {
      target: `${name}...${shown}, ${count === 1 ? "1 commit" : `${count} commits`}`,
      key: `base ${name}`,
      base,
      head,
      tree: head,
      onDisk: await this.#isCheckedOut(head),
      messages: await this.#messages([`--max-count=${MAX_MESSAGES}`, ...range]),
    };
  }

  async #commit(rev: string): Promise<Sides> {
    const id = await this.#resolve(rev);
    const raw = await this.#scratch.ask(["cat-file", "commit", id]);
    const parent = /^tree .*\nparent ([0-9a-f]+)\n/.exec(raw)?.[1];
    // The parent of the oldest commit of a shallow clone is not there.
    if (
      parent !== undefined && (await this.#scratch.run(["cat-file", "-e", `${parent}^{commit}`])).code !== 0
    ) {
      throw new ReasonixError(message`Cannot compare ${rev} with its parent: this clone does not have it`, {
        remedy: message`get it with ${"`git fetch --deepen=1`"}`,
      });
    }
    const messages = await this.#messages(["--max-count=1", id]);
    const subject = messages[0]?.split("\n", 1)[0] ?? "";
    return {
      target: `commit ${id.slice(0, 12)} ${subject}`.trim(),
      key: `commit ${id}`,
      base: parent,
      head: id,
      tree: id,
      onDisk: await this.#isCheckedOut(id),
      messages,
    };
  }

  async #mergeBase(
    [base, baseId]: readonly [name: string, id: string],
    [head, headId]: readonly [name: string, id: string],
  ): Promise<string> {
    const result = await this.#scratch.run(["merge-base", baseId, headId]);
    const id = result.text.trim();
    if (result.code === 0 && id !== "") return id;
    if (await this.#isShallow()) {
      throw new ReasonixError(
        message`Cannot compare ${head} with ${base}: this clone does not have the commit both begin at`,
        { remedy: message`get the history with ${"`git fetch --unshallow`"}` },
      );
    }
    const purpose = message`Cannot compare ${head} with ${base}`;
    if (result.code !== 1) throw gitFailure(purpose, result);
    throw new ReasonixError(message`${purpose}: they have no commit in common`, {
      remedy: message`name a base that ${head} was made from`,
    });
  }

  /** Returns the commit of a revision. Throws a usage error when there is none. */
  async #resolve(rev: string): Promise<string> {
    if (rev === "" || rev.startsWith("-")) {
      throw usageError(
        message`Cannot read the revision ${JSON.stringify(rev)}: it is no name of a commit`,
        message`name a branch, a tag or a commit`,
      );
    }
    const id = await this.#commitOf(rev);
    if (id !== undefined) return id;
    throw usageError(
      message`Cannot read the revision ${JSON.stringify(rev)}: this clone has no such commit`,
      await this.#commitOf(`origin/${rev}`) !== undefined
        ? message`use ${`origin/${rev}`}`
        : await this.#isShallow()
        ? message`get the history with ${`\`git fetch --unshallow${refspec(rev)}\``}`
        : message`name a branch, a tag or a commit that ${"`git log`"} shows, or get it with ${"`git fetch`"}`,
    );
  }

  async #isShallow(): Promise<boolean> {
    return (await this.#scratch.run(["rev-parse", "--is-shallow-repository"])).text.trim() === "true";
  }

  async #commitOf(rev: string): Promise<string | undefined> {
    const { code, text } = await this.#scratch.run(["rev-parse", "--quiet", "--verify", `${rev}^{commit}`]);
    const id = text.trim();
    return code === 0 && /^[0-9a-f]{40,64}$/.test(id) ? id : undefined;
  }

  async #messages(range: readonly string[]): Promise<string[]> {
    const listing = ["rev-list", "--encoding=UTF-8", "--format=%B%x00", ...range];
    const decoder = new TextDecoder();
    let text = "";
    const take = (chunk: Uint8Array) => {
      text += decoder.decode(chunk, { stream: true });
      return text.length <= MAX_MESSAGES * MAX_MESSAGE_CHARS * 4;
    };
    await this.#scratch.git.read(listing, take, this.#scratch.options);
    const written = entries(text).map((entry) => entry.replace(/^\s*commit [0-9a-f]+\n/, "").trim());
    return written.filter((entry) => entry !== "").map((entry) => entry.slice(0, MAX_MESSAGE_CHARS));
  }

  async #isCheckedOut(id: string): Promise<boolean> {
    if (id !== this.#scratch.repository.head || this.#scratch.isSparse) return false;
    return await this.#isOnDisk((await this.#scratch.ask(["rev-parse", `${id}^{tree}`])).trim());
  }

  async #isOnDisk(tree: string): Promise<boolean> {
    const disk = await this.#scratch.workingTree({ untracked: false });
    return disk.tree === tree && disk.leftOut.length === 0;
  }

  #commitFiles(id: string | undefined): Revision {
    const { git, options: { cwd } } = this.#scratch;
    return {
      id,
      async read(path, signal) {
        if (id === undefined) return undefined;
        const listing = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", id, "--", path];
        const { text } = await git.run(listing, { cwd, signal });
        const [, mode = "", blob = "", found] = /^(\d+) blob ([0-9a-f]+)\t([^\0]*)\0$/.exec(text) ?? [];
        return found === path ? await readBlob(git, { mode, id: blob }, { cwd, signal }) : undefined;
      },
    };
  }

  /** The index: what it changes is known by its object, and the rest is in the base. */
  #stagedFiles(sections: readonly DiffSection[], base: Revision): Revision {
    const { git, options: { cwd } } = this.#scratch;
    const known = new Map<string, Entry | undefined>();
    for (const { status, oldPath = "" } of sections) if (status === "renamed") known.set(oldPath, undefined);
    for (const { path, now } of sections) known.set(path, now);
    return {
      id: undefined,
      async read(path, signal) {
        if (!known.has(path)) return await base.read(path, signal);
        const entry = known.get(path);
        return entry && await readBlob(git, entry, { cwd, signal });
      },
    };
  }
}

/** Arguments that fetch a branch, which a clone of a single branch needs; "" for other revisions. */
function refspec(rev: string): string {
  const name = rev.replace(/^origin\//, "");
  const isBranch = /^[A-Za-z][\w./-]*$/.test(name) && !/^(?:HEAD|[0-9a-f]{7,64})$/.test(name);
  return isBranch ? ` origin ${name}:refs/remotes/origin/${name}` : "";
}

/** Keeps the file that was read last: findings of a file follow each other. */
function readOnce(side: Revision): Revision {
  let last: { readonly path: string; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;
  return {
    ...side,
    async read(path, signal) {
      if (last?.path === path) return last.bytes;
      const bytes = await side.read(path, signal);
      if (bytes) last = { path, bytes };
      return bytes;
    },
  };
}

async function readBlob(
  git: Git,
  { mode, id }: Entry,
  options: GitOptions,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (!mode.startsWith("100")) return undefined;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const { code, endedEarly } = await git.read(["cat-file", "blob", id], (chunk) => {
    chunks.push(chunk);
    return (size += chunk.length) <= MAX_READ;
  }, options);
  return endedEarly || code !== 0 ? undefined : joinBytes(chunks);
}

/** Reads a file below a directory that no link leads to. */
function readFromDisk(top: string, path: string): Uint8Array<ArrayBuffer> | undefined {
  const isInside = path !== "" && path.split("/").every((part) => !/^(?:|\.|\.\.|\.git)$/i.test(part));
  if (!isInside || new DiskFiles(top).kindOf(path) !== "file") return undefined;
  const file = `${top}/${path}`;
  const info = attempt(() => lstatSync(file));
  if (!info?.isFile() || info.size > MAX_READ) return undefined;
  return attempt(() => new Uint8Array(readFileSync(file)));
}

const LOCK_FILES = new Set([
  ...["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb"],
  ...["deno.lock", "cargo.lock", "go.sum", "composer.lock", "gemfile.lock", "poetry.lock", "pipfile.lock"],
  ...["uv.lock", "pdm.lock", "pubspec.lock", "podfile.lock", "package.resolved", "mix.lock", "flake.lock"],
  ...["packages.lock.json", "gradle.lockfile", ".terraform.lock.hcl", "cartfile.resolved", "conan.lock"],
]);
/** The average length of changed lines above which no person wrote them. */
const MINIFIED = 1_000;

/** The reason why models do not see a file. Attributes of the base outrank what its name says. */
function omission(
  { path, kind, hunks, added, removed }: DiffSection,
  attributes: ReadonlyMap<string, string | undefined>,
): string | undefined {
  if (kind === "binary") return "binary";
  if (kind !== "text") return undefined;
  if (attributes.has(path)) return attributes.get(path);
  const parts = path.toLowerCase().split("/");
  const name = parts.at(-1) ?? "";
  if (LOCK_FILES.has(name)) return "lock file";
  if (parts.includes("node_modules") || parts[0] === "vendor" || parts[0] === "third_party") {
    return "vendored";
  }
  if (/\.min\.(?:js|mjs|cjs|css)$|\.(?:js|css)\.map$/.test(name)) return "minified";
  if (!/\.(?:js|mjs|cjs|css|html|json|svg)$/.test(name)) return undefined;
  const changed = hunks.flatMap(({ lines }) => lines).filter((line) => /^[+-]/.test(line));
  const length = changed.reduce((sum, line) => sum + line.length, 0);
  return length > (added + removed) * MINIFIED ? "minified" : undefined;
}

/**
 * Returns the uncommitted changes as a request if there are any, else the branch against the default branch.
 * Throws a usage error when there is no default branch.
 */
export async function defaultRequest(git: Git, cwd: string, signal?: AbortSignal): Promise<ChangeRequest> {
  await using scratch = await Scratch.open(git, cwd, signal);
  const { options, repository: { head } } = scratch;
  if (head === undefined) return { kind: "uncommitted" };
  const { tree, leftOut } = await scratch.workingTree({ untracked: true });
  const committed = await scratch.ask(["rev-parse", `${head}^{tree}`]);
  if (tree !== committed.trim() || leftOut.length > 0) return { kind: "uncommitted" };
  const remote = await defaultBranch(git, "origin", options);
  if (remote !== undefined) return { kind: "base", base: `origin/${remote}` };
  const base = await existing(git, "refs/heads/", DEFAULT_NAMES, options);
  if (base !== undefined) return { kind: "base", base };
  throw usageError(
    message`Cannot choose what to compare: nothing is uncommitted, and there is no default branch`,
    message`name a base with --base BRANCH, or a commit with --commit SHA`,
  );
}

const DEFAULT_NAMES = ["main", "master", "trunk", "develop"];

/** Returns the default branch of a remote, as far as the clone knows it. */
export async function defaultBranch(
  git: Git,
  remote: string,
  options: GitOptions,
): Promise<string | undefined> {
  const refs = `refs/remotes/${remote}/`;
  const named = (await git.run(["symbolic-ref", "--quiet", `${refs}HEAD`], options)).text.trim();
  const names = named.startsWith(refs) ? [named.slice(refs.length), ...DEFAULT_NAMES] : DEFAULT_NAMES;
  return await existing(git, refs, names, options);
}

async function existing(
  git: Git,
  refs: string,
  names: readonly string[],
  options: GitOptions,
): Promise<string | undefined> {
  for (const name of names) {
    const found = await git.run(["rev-parse", "--quiet", "--verify", `${refs}${name}^{commit}`], options);
    if (found.code === 0) return name;
  }
}

const MAX_LINE = 2_000;

/**
 * The differences of a file for a model, with the line numbers of the new version before each line.
 * `hunks`: only these.
 */
export function numberedDiff(file: ChangedFile, hunks: readonly Hunk[] = file.hunks): string {
  const last = Math.max(0, ...hunks.map(({ newStart, newLines }) => newStart + newLines));
  const width = String(last).length;
  const shown = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    // A carriage return is worth a character only where the lines of a hunk differ in it.
    const ends = new Set(lines.filter((line) => !line.startsWith("\\")).map((line) => line.endsWith("\r")));
    const mark = ends.size > 1 ? "␍" : "";
    let number = newStart;
    const rows = lines.map((line) => {
      const text = line.endsWith("\r") ? line.slice(0, -1) + mark : line;
      return `${(/^[-\\]/.test(line) ? "" : String(number++)).padStart(width)} ${cutText(text, MAX_LINE)}`;
    });
    return [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...rows].join("\n");
  });
  return shown.join("\n");
}

/**
 * 16 hex digits over the path and the lines of a hunk, without its numbers. The context counts: the same
 * lines at another place are another change.
 */
export function hunkDigest(path: string, { lines }: Hunk): string {
  return sha256([path, ...lines].join("\n")).slice(0, 16);
}
