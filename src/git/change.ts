import { createHash } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import { message, ReasonixError, type Text, usageError } from "../core/mod.ts";
import { type ChangedFile, type DiffSection, type Entry, type Hunk, Scratch } from "./compare.ts";
import { attempt } from "../util/lazy.ts";
import { joinBytes } from "../util/bytes.ts";
import { DiskFiles, entries, type Git, openRepository, problemOf, type Repository } from "./git.ts";

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
  return await inScratch(git, { cwd, signal }, (context) => new Reader(git, context).read(request));
}

async function inScratch<T>(
  git: Git,
  { cwd, signal }: ReadOptions,
  work: (context: ReaderContext) => Promise<T>,
): Promise<T> {
  const purpose = message`Cannot read the change in ${cwd}`;
  const repository = await openRepository(git, cwd, { purpose, signal });
  const scratch = await Scratch.make(git, repository, { purpose, signal });
  try {
    return await work({ repository, scratch, purpose, signal });
  } finally {
    await scratch.remove();
  }
}

interface ReaderContext {
  readonly repository: Repository;
  readonly scratch: Scratch;
  readonly purpose: Text;
  readonly signal?: AbortSignal | undefined;
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
  readonly readsDisk?: true;
  readonly onDisk: boolean;
  readonly messages: readonly string[];
  readonly leftOut?: readonly ChangedFile[];
}

class Reader {
  readonly #git: Git;
  readonly #repository: Repository;
  readonly #scratch: Scratch;
  readonly #purpose: Text;
  readonly #signal: AbortSignal | undefined;

  constructor(git: Git, { repository, scratch, purpose, signal }: ReaderContext) {
    this.#git = git;
    this.#repository = repository;
    this.#scratch = scratch;
    this.#purpose = purpose;
    this.#signal = signal;
  }

  async read(request: ChangeRequest): Promise<Change> {
    const { tree, leftOut = [], readsDisk, base: from, head: to, ...facts } = await this.#sides(request);
    const { top, objectFormat } = this.#repository;
    const sections = await this.#scratch.compare(from ?? EMPTY_TREES[objectFormat] ?? "", tree);
    const files = [...await this.#files(sections, from), ...leftOut];
    const base = this.#revision(
      from,
      new Map(sections.map(({ oldPath, path, old }) => [oldPath ?? path, old])),
    );
    const gone = sections.flatMap(({ status, oldPath = "", old }) =>
      status === "renamed" ? [[oldPath, { ...old, mode: "000000" }] as const] : []
    );
    const changed = new Map([...gone, ...sections.map(({ path, now }) => [path, now] as const)]);
    const head = readsDisk
      ? {
        id: undefined,

        read: (path: string) => Promise.resolve(readFromDisk(top, path)),
      }
      : this.#revision(to, changed, to === undefined ? base : undefined);
    return { ...facts, top, base, head, files };
  }

  async #sides(request: ChangeRequest): Promise<Sides> {
    const { head } = this.#repository;
    switch (request.kind) {
      case "uncommitted": {
        const { tree, leftOut } = await this.#scratch.workingTree({ untracked: true });
        const name = { target: "uncommitted changes", key: "uncommitted" };
        return { ...name, base: head, tree, readsDisk: true, onDisk: true, messages: [], leftOut };
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
    const count = Number(await this.#ask(["rev-list", "--count", ...range]));
    const shown = rev === "HEAD" ? await this.#headName(head) : rev;
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
    const raw = await this.#ask(["cat-file", "commit", id]);
    const parent = /^tree .*\nparent ([0-9a-f]+)\n/.exec(raw)?.[1];
    if (parent !== undefined) await this.#requireParent(rev, parent);
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

  /** The parent of the oldest commit of a shallow clone is not there. */
  async #requireParent(rev: string, parent: string): Promise<void> {
    const { code } = await this.#run(["cat-file", "-e", `${parent}^{commit}`]);
    if (code === 0) return;
    throw new ReasonixError(message`Cannot compare ${rev} with its parent: this clone does not have it`, {
      remedy: message`get it with ${"`git fetch --deepen=1`"}`,
    });
  }

  async #mergeBase(
    [base, baseId]: readonly [name: string, id: string],
    [head, headId]: readonly [name: string, id: string],
  ): Promise<string> {
    const { code, text, errors } = await this.#run(["merge-base", baseId, headId]);
    const id = text.trim();
    if (code === 0 && id !== "") return id;
    const shallow = (await this.#run(["rev-parse", "--is-shallow-repository"])).text.trim() === "true";
    if (shallow) {
      throw new ReasonixError(
        message`Cannot compare ${head} with ${base}: this clone does not have the commit both begin at`,
        { remedy: message`get the history with ${"`git fetch --unshallow`"}` },
      );
    }
    if (code !== 1) {
      throw new ReasonixError(message`Cannot compare ${head} with ${base}: ${problemOf(code, errors)}`);
    }
    throw new ReasonixError(message`Cannot compare ${head} with ${base}: they have no commit in common`, {
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
    const remote = await this.#commitOf(`origin/${rev}`) === undefined ? undefined : `origin/${rev}`;
    throw usageError(
      message`Cannot read the revision ${JSON.stringify(rev)}: this clone has no such commit`,
      remote === undefined
        ? message`name a branch, a tag or a commit that ${"`git log`"} shows, or get it with ${"`git fetch`"}`
        : message`use ${remote}`,
    );
  }

  async #commitOf(rev: string): Promise<string | undefined> {
    const { code, text } = await this.#run(["rev-parse", "--quiet", "--verify", `${rev}^{commit}`]);
    const id = text.trim();
    return code === 0 && /^[0-9a-f]{40,64}$/.test(id) ? id : undefined;
  }

  async #headName(head: string): Promise<string> {
    const { text } = await this.#run(["symbolic-ref", "--quiet", "--short", "HEAD"]);
    return text.trim() || head.slice(0, 12);
  }

  async #messages(range: readonly string[]): Promise<string[]> {
    const listing = ["rev-list", "--encoding=UTF-8", "--format=%B%x00", ...range];
    const decoder = new TextDecoder();
    let text = "";
    const take = (chunk: Uint8Array) => {
      text += decoder.decode(chunk, { stream: true });
      return text.length <= MAX_MESSAGES * MAX_MESSAGE_CHARS * 4;
    };
    await this.#git.read(listing, take, this.#options);
    const written = entries(text).map((entry) => entry.replace(/^\s*commit [0-9a-f]+\n/, "").trim());
    return written.filter((entry) => entry !== "").map((entry) => entry.slice(0, MAX_MESSAGE_CHARS));
  }

  async #isCheckedOut(id: string): Promise<boolean> {
    if (id !== this.#repository.head || this.#scratch.isSparse) return false;
    return await this.#isOnDisk((await this.#ask(["rev-parse", `${id}^{tree}`])).trim());
  }

  async #isOnDisk(tree: string): Promise<boolean> {
    const disk = await this.#scratch.workingTree({ untracked: false });
    return disk.tree === tree && disk.leftOut.length === 0;
  }

  async #files(sections: readonly DiffSection[], base: string | undefined): Promise<ChangedFile[]> {
    const large = await this.#scratch.largeObjects(sections);
    const marked = await this.#scratch.attributes(base, sections.map(({ path }) => path));
    return sections.map((section) => {
      const { path, oldPath, status, hunks, added, removed } = section;
      const omitted = section.omitted ?? (large.has(section) ? "too large" : undefined) ??
        omission(section, marked.get(path));
      return {
        path,
        ...(oldPath === undefined ? {} : { oldPath }),
        status,
        kind: section.kind,
        hunks,
        added,
        removed,
        ...(omitted === undefined ? {} : { omitted }),
      };
    });
  }

  /** A commit, or the index over a base. What a change has of it is known by its object. */
  #revision(
    id: string | undefined,
    known: ReadonlyMap<string, Entry>,
    rest?: Revision,
  ): Revision {
    const git = this.#git;
    const options = { cwd: this.#repository.top };
    // Findings of a file follow each other.
    let last: { readonly path: string; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;
    return {
      id,
      read: async (path, signal) => {
        if (last?.path === path) return last.bytes;
        const entry = known.get(path) ??
          (id === undefined ? undefined : await entryOf(git, { ...options, signal }, { commit: id, path }));
        if (!entry) return await rest?.read(path, signal);
        const bytes = await readBlob(git, { ...options, signal }, entry);
        if (bytes) last = { path, bytes };
        return bytes;
      },
    };
  }

  get #options() {
    return { cwd: this.#repository.top, signal: this.#signal };
  }

  async #run(args: readonly string[]) {
    return await this.#git.run(args, this.#options);
  }

  async #ask(args: readonly string[]): Promise<string> {
    return await this.#git.ask(this.#purpose, args, this.#options);
  }
}

const EMPTY_TREES: Readonly<Record<string, string>> = {
  sha1: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  sha256: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
};

interface ReadOptions {
  readonly cwd: string;
  readonly signal?: AbortSignal | undefined;
}

async function entryOf(
  git: Git,
  options: ReadOptions,
  { commit, path }: { readonly commit: string; readonly path: string },
): Promise<Entry | undefined> {
  const listing = ["ls-tree", "-z", "--full-tree", commit, "--", path];
  const { text } = await git.run(listing, options);
  const [, mode, id, found] = /^(\d+) blob ([0-9a-f]+)\t([^\0]*)\0$/.exec(text) ?? [];
  return mode === undefined || id === undefined || found !== path ? undefined : { mode, id };
}

async function readBlob(
  git: Git,
  options: ReadOptions,
  { mode, id }: Entry,
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
  marked?: ReadonlyMap<string, string>,
): string | undefined {
  if (kind === "binary") return "binary";
  if (kind !== "text") return undefined;
  for (const word of ["generated", "vendored"] as const) {
    const value = marked?.get(`linguist-${word}`);
    if (value === "set" || value === "true") return word;
    if (value !== undefined) return undefined;
  }
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
  return await inScratch(git, { cwd, signal }, async ({ repository: { head, top }, scratch, purpose }) => {
    if (head === undefined) return { kind: "uncommitted" };
    const options = { cwd: top, signal };
    const { tree, leftOut } = await scratch.workingTree({ untracked: true });
    const committed = await git.ask(purpose, ["rev-parse", `${head}^{tree}`], options);
    if (tree !== committed.trim() || leftOut.length > 0) return { kind: "uncommitted" };
    const remote = await git.run(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"], options);
    const names = ["main", "master", "trunk", "develop"];
    const refs = [
      ...(remote.code === 0 ? [remote.text.trim()] : []),
      ...names.map((name) => `refs/remotes/origin/${name}`),
      ...names.map((name) => `refs/heads/${name}`),
    ];
    for (const ref of refs) {
      const found = await git.run(["rev-parse", "--quiet", "--verify", `${ref}^{commit}`], options);
      if (found.code === 0) return { kind: "base", base: ref.replace(/^refs\/(?:remotes|heads)\//, "") };
    }
    throw usageError(
      message`Cannot choose what to compare: nothing is uncommitted, and there is no default branch`,
      message`name a base with --base BRANCH, or a commit with --commit SHA`,
    );
  });
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
      const cut = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE).toWellFormed()}…` : text;
      return `${(/^[-\\]/.test(line) ? "" : String(number++)).padStart(width)} ${cut}`;
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
  return createHash("sha256").update([path, ...lines].join("\n")).digest("hex").slice(0, 16);
}
