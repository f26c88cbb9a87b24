import { ReasonixError } from "../core/mod.ts";
import { exists } from "../path/probe.ts";
import { entries, firstLine, type Git, type GitOptions } from "./git_commands.ts";

/** The repository that a directory belongs to. Absolute paths. */
export interface Repository {
  /** Top of its work tree. */
  readonly top: string;
  /** The directory seen from there; "" for the top itself. */
  readonly prefix: string;
  /** Git's own directory, which all work trees of the repository share, and the store of its objects. */
  readonly common: string;
  readonly objects: string;
  readonly objectFormat: string;
  /** Commit that is checked out. */
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
  return new ReasonixError(`Cannot make a work tree of ${cwd}: ${reason}`, remedy ? { remedy } : {});
}

/** Files of a directory by whether they are there. */
export interface ListedFiles {
  /** Files and links that are there. */
  readonly present: readonly string[];
  /** Paths that are known and gone, or hidden behind a link by now. */
  readonly gone: readonly string[];
}

/**
 * The files that git sees in a work tree: those it knows and those it does not ignore, in repositories inside
 * of it as well. Paths are relative to `top`.
 */
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

/** Looks at paths below a directory without following links. */
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
    try {
      return Deno.lstatSync(`${this.#top}/${path}`);
    } catch {
      return undefined;
    }
  }
}
