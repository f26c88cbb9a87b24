import { exists } from "../path/probe.ts";
import { existingRealPath } from "../path/real_path.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import {
  DiskFiles,
  entries,
  firstLine,
  type Git,
  type GitOptions,
  joined,
  type Repository,
} from "../git/mod.ts";

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
  const look = new DiskFiles(top);
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

  /** `prepare` changes the files before that. */
  async take(
    files: readonly string[],
    repository: Pick<Repository, "objects" | "objectFormat">,
    { signal, prepare }: {
      readonly signal?: AbortSignal | undefined;
      readonly prepare?: () => Promise<void>;
    },
  ): Promise<void> {
    await this.#make(repository);
    await this.#ask(["update-index", "--add", "-z", "--stdin"], { input: joined(files), signal });
    if (prepare) {
      await prepare();
      await this.#update({}, signal);
    }
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
      await this.#update(env, signal);
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

  /** Brings the index to the files that are there now. */
  async #update(env: Record<string, string>, signal: AbortSignal | undefined): Promise<void> {
    const { present, gone } = await this.#files(env, signal);
    const removing = ["update-index", "--force-remove", "-z", "--stdin"];
    await this.#ask(removing, { env, signal, input: joined(gone) });
    const adding = ["update-index", "--add", "--replace", "-z", "--stdin"];
    await this.#ask(adding, { env, signal, input: joined(present) });
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
