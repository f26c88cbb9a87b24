import { message, ReasonixError } from "../core/mod.ts";
import { exists } from "../path/probe.ts";
import { existingRealPath } from "../path/real_path.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import { findGit, gitEnvironment, type ProgramResult, runProgram } from "../util/process.ts";
import { attempt } from "../util/lazy.ts";

/** Settings that keep git from running other programs and from using the network. */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.safecrlf=false",
  "submodule.recurse=false",
  "protocol.allow=never",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting]);

interface GitOptions {
  readonly cwd: string;
  readonly input?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Git as this program uses it, without hooks, file system monitors or the variables of a surrounding git. */
export class Git {
  readonly #program: string;

  private constructor(program: string) {
    this.#program = program;
  }

  /** Throws a ReasonixError when there is none that does not come from the directory itself. */
  static find(cwd: string): Git {
    const program = findGit(cwd);
    if (program !== undefined) return new Git(program);
    throw new ReasonixError(message`Cannot find git, which work trees are made with`, {
      remedy: message`install git, or work without separate work trees`,
    });
  }

  /** Runs it to its end, however that is; only an abort throws. */
  async run(args: readonly string[], { cwd, input, env, signal }: GitOptions): Promise<ProgramResult> {
    signal?.throwIfAborted();
    const result = await runProgram([this.#program, ...SETTINGS, ...args], {
      cwd,
      env: { ...gitEnvironment(), ...env },
      input,
      signal,
    });
    signal?.throwIfAborted();
    return result;
  }

  /** Returns its output. Throws a ReasonixError that begins with `purpose` ("Cannot …") when it fails. */
  async ask(purpose: string, args: readonly string[], options: GitOptions): Promise<string> {
    const { code, text, errors } = await this.run(args, options);
    if (code === 0) return text;
    throw new ReasonixError(`${purpose}: ${firstLine(errors) || `git ended with ${code}`}`);
  }
}

/** The decisive line, without the prefix of git. */
export function firstLine(errors: string): string {
  const lines = errors.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const line = lines.find((each) => /^(?:fatal|error):/.test(each)) ?? lines[0] ?? "";
  return line.replace(/^(?:fatal|error):\s*/, "");
}

export function entries(text: string): string[] {
  return text.split("\0").filter((entry) => entry !== "");
}

export interface Repository {
  readonly top: string;
  /** The directory seen from there; "" for the top itself. */
  readonly prefix: string;
  /** Git's own directory, which all work trees of the repository share, and the store of its objects. */
  readonly common: string;
  readonly objects: string;
  readonly objectFormat: string;
  readonly head: string;
}

/** Looks a repository up. Throws a ReasonixError for a directory that no work tree can be made of. */
export async function openRepository(git: Git, cwd: string, signal?: AbortSignal): Promise<Repository> {
  const options = { cwd, signal };
  const kind = await git.run(["rev-parse", "--is-bare-repository", "--is-inside-work-tree"], options);
  if (kind.code !== 0) {
    const unknown = /not a git repository/.test(kind.errors);
    throw unusable(
      cwd,
      unknown ? "it is in no git repository" : firstLine(kind.errors),
      unknown ? "make it one with `git init` and a first commit, or work without a work tree" : undefined,
    );
  }
  const [bare, inside] = kind.text.split("\n");
  if (inside !== "true") {
    const reason = bare === "true"
      ? "the repository is bare, so there are no files to work on"
      : "it is inside of git's own directory";
    throw unusable(cwd, reason, "use a directory with checked-out files");
  }
  const purpose = `Cannot make a work tree of ${cwd}`;
  const facts = ["--show-toplevel", "--git-common-dir", "--show-object-format", "--show-prefix"];
  const asking = ["rev-parse", "--path-format=absolute", "--git-path", "objects", ...facts];
  const text = await git.ask(purpose, asking, options);
  const [objects = "", top = "", common = "", objectFormat = "sha1", prefix = ""] = text.split("\n");
  const head = await git.run(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], options);
  if (head.code !== 0) throw unusable(cwd, "the repository has no commit yet", "make a first commit");
  return { top, prefix: prefix.replace(/\/$/, ""), common, objects, objectFormat, head: head.text.trim() };
}

function unusable(cwd: string, reason: string, remedy?: string): ReasonixError {
  return new ReasonixError(message`Cannot make a work tree of ${cwd}: ${reason}`, remedy ? { remedy } : {});
}

interface ListedFiles {
  readonly present: readonly string[];
  /** Paths that are known and gone, or hidden behind a link by now. */
  readonly gone: readonly string[];
}

/** Known and not ignored files of a work tree, inner repositories included. Paths are relative to `top`. */
export async function listFiles(
  git: Git,
  top: string,
  { only, ...options }: Pick<GitOptions, "env" | "signal"> & { readonly only?: "known" },
): Promise<ListedFiles> {
  const others = only === "known" ? [] : ["--others", "--exclude-standard"];
  const listing = ["ls-files", "-z", "--cached", ...others];
  const purpose = `Cannot list the files of ${top}`;
  const listed = new Set(entries(await git.ask(purpose, listing, { ...options, cwd: top })));
  const look = new Look(top);
  const [present, gone]: [string[], string[]] = [[], []];
  for (const entry of listed) {
    const path = entry.replace(/\/$/, "");
    const kind = look.kindOf(path);
    if (kind === "file") present.push(path);
    else if (kind === "missing") gone.push(path);
    else if (exists(`${top}/${path}/.git`)) {
      const { signal } = options;
      const inner = await listFiles(git, `${top}/${path}`, { signal });
      present.push(...inner.present.map((name) => `${path}/${name}`));
    } else gone.push(path);
  }
  return { present, gone };
}

class Look {
  readonly #top: string;
  readonly #directories = new Map<string, boolean>([["", true]]);

  constructor(top: string) {
    this.#top = top;
  }

  kindOf(path: string): "file" | "directory" | "missing" {
    const cut = path.lastIndexOf("/");
    if (!this.#isDirectory(cut < 0 ? "" : path.slice(0, cut))) return "missing";
    const info = this.#info(path);
    if (!info) return "missing";
    return info.isDirectory ? "directory" : info.isFile || info.isSymlink ? "file" : "missing";
  }

  #isDirectory(path: string): boolean {
    let known = this.#directories.get(path);
    if (known === undefined) {
      known = this.kindOf(path) === "directory";
      this.#directories.set(path, known);
    }
    return known;
  }

  #info(path: string): Deno.FileInfo | undefined {
    return attempt(() => Deno.lstatSync(`${this.#top}/${path}`));
  }
}

/** The changes of a work tree since its creation. */
export interface WorktreePatch {
  /** The file that holds the patch, for `git apply` at the top of the repository; gone with the work tree. */
  readonly file: string;
  readonly bytes: number;
  /** Changed paths from the top of the repository. */
  readonly files: readonly string[];
}

/**
 * The bytes of a work tree at its beginning, in a separate repository: the user's repository gets no objects,
 * and no filter or ignore rule of the project changes the patch.
 */
export class Snapshot {
  readonly #git: Git;
  readonly #dir: string;
  readonly #tree: string;

  constructor(git: Git, dir: string, tree: string) {
    this.#git = git;
    this.#dir = dir;
    this.#tree = tree;
  }

  async take(files: readonly string[], repository: Repository, signal?: AbortSignal): Promise<void> {
    await this.#make(repository);
    await this.#ask(["update-index", "--add", "-z", "--stdin"], { input: joined(files), signal });
    // Its being there says that the rest is whole.
    await writeFileAtomic(`${this.#dir}/base-tree`, await this.#ask(["write-tree"], { signal }));
  }

  async #make({ objects, objectFormat }: Pick<Repository, "objects" | "objectFormat">): Promise<void> {
    const format = objectFormat === "sha1" ? [] : [`--object-format=${objectFormat}`];
    const options = { cwd: this.#tree };
    await this.#git.ask(PURPOSE, ["init", "--quiet", "--bare", "--template=", ...format, this.#dir], options);
    await Deno.mkdir(`${this.#dir}/info`, { recursive: true });
    await Deno.writeTextFile(
      `${this.#dir}/info/attributes`,
      "* -text -ident -filter -working-tree-encoding\n",
    );
    // What the user's repository has need not be written a second time.
    await Deno.writeTextFile(`${this.#dir}/objects/info/alternates`, `${objects}\n`);
  }

  async diff(signal?: AbortSignal): Promise<WorktreePatch> {
    const index = `${this.#dir}/index-${crypto.randomUUID().slice(0, 8)}`;
    const file = `${this.#dir}/changes.patch`;
    await Deno.copyFile(`${this.#dir}/index`, index).catch(() => {});
    const env = { GIT_INDEX_FILE: index };
    try {
      const { present, gone } = await this.#files(env, signal);
      await this.#ask(["update-index", "--force-remove", "-z", "--stdin"], {
        env,
        signal,
        input: joined(gone),
      });
      const adding = ["update-index", "--add", "--replace", "-z", "--stdin"];
      await this.#ask(adding, { env, signal, input: joined(present) });
      const base = (await Deno.readTextFile(`${this.#dir}/base-tree`)).trim();
      const now = (await this.#ask(["write-tree"], { env, signal })).trim();
      await this.#ask(["diff-tree", "-r", "-p", ...FORM, `--output=${file}`, base, now], { signal });
      const names = await this.#ask(["diff-tree", "-r", "-z", "--no-renames", "--name-only", base, now], {
        signal,
      });
      return { file, bytes: (await Deno.stat(file)).size, files: entries(names) };
    } finally {
      await Deno.remove(index).catch(() => {});
    }
  }

  /**
   * Files by git's rules, and those added against them. Where the repository of the work tree fails, the
   * beginning is asked alone.
   */
  async #files(env: Record<string, string>, signal?: AbortSignal): Promise<ListedFiles> {
    const listed = await listFiles(this.#git, this.#tree, { env: { ...this.#env, ...env }, signal });
    const forced = await listFiles(this.#git, this.#tree, { signal, only: "known" }).catch(() => undefined);
    return { present: [...new Set([...listed.present, ...forced?.present ?? []])], gone: listed.gone };
  }

  /** The reason why a patch does not apply to the files below `top`. */
  async problemOf(file: string, top: string): Promise<string | undefined> {
    return await this.#apply(file, top, ["--check"]);
  }

  /** Changes all files below `top` or none. Returns the reason for none. */
  async apply(file: string, top: string): Promise<string | undefined> {
    return await this.#apply(file, top, []);
  }

  async #apply(file: string, top: string, more: readonly string[]): Promise<string | undefined> {
    if ((await Deno.stat(file)).size === 0) return undefined;
    const env = { GIT_DIR: this.#dir, GIT_WORK_TREE: existingRealPath(top) ?? top };
    const args = ["apply", "--whitespace=nowarn", ...more, "--", file];
    const { code, errors } = await this.#git.run(args, { cwd: top, env });
    return code === 0 ? undefined : firstLine(errors) || `git ended with ${code}`;
  }

  get #env(): Record<string, string> {
    return { GIT_DIR: this.#dir, GIT_WORK_TREE: this.#tree };
  }

  async #ask(
    args: readonly string[],
    { env, ...options }: { input?: string; env?: Record<string, string>; signal?: AbortSignal | undefined },
  ): Promise<string> {
    return await this.#git.ask(PURPOSE, args, { ...options, cwd: this.#tree, env: { ...this.#env, ...env } });
  }
}

const PURPOSE = "Cannot compare the work tree with its beginning";

const FORM = [
  "--binary",
  "--full-index",
  "--no-renames",
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  "--src-prefix=a/",
  "--dst-prefix=b/",
];

function joined(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0`).join("");
}
