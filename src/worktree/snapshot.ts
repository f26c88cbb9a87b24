import { existingRealPath } from "../path/real_path.ts";
import { writeFileAtomic } from "../util/atomic_write.ts";
import { entries, firstLine, type Git } from "./git_commands.ts";
import { type ListedFiles, listFiles, type Repository } from "./repository.ts";

/** What a work tree differs from its beginning by. */
export interface WorktreePatch {
  /** The file that holds the patch, for `git apply` at the top of the repository; gone with the work tree. */
  readonly file: string;
  /** Its length; 0: nothing was changed. */
  readonly bytes: number;
  /** Changed paths from the top of the repository. */
  readonly files: readonly string[];
}

/**
 * The bytes of a work tree at its beginning, kept in a repository beside it: the user's own gets no object of
 * it, and no conversion, filter or ignore rule of the project stands between the files and the patch.
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

  /** Takes these files of the work tree as its beginning. */
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

  /** The changes since the beginning, untracked files that are not ignored included. */
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
   * What git sees by its own rules, beside the files it was made to know against them. Where the work tree's
   * own repository cannot be asked any more, the beginning still can.
   */
  async #files(env: Record<string, string>, signal?: AbortSignal): Promise<ListedFiles> {
    const listed = await listFiles(this.#git, this.#tree, { env: { ...this.#env, ...env }, signal });
    const forced = await listFiles(this.#git, this.#tree, { signal, only: "known" }).catch(() => undefined);
    return { present: [...new Set([...listed.present, ...forced?.present ?? []])], gone: listed.gone };
  }

  /** Says why a patch cannot be applied to the files below `top` as they are now; undefined when it can. */
  async problemOf(file: string, top: string): Promise<string | undefined> {
    const { code, errors } = await this.#apply(file, top, ["--check"]);
    return code === 0 ? undefined : firstLine(errors) || `git ended with ${code}`;
  }

  /** Changes the files below `top`, all of them or none. Returns why it could not. */
  async apply(file: string, top: string): Promise<string | undefined> {
    const { code, errors } = await this.#apply(file, top, []);
    return code === 0 ? undefined : firstLine(errors) || `git ended with ${code}`;
  }

  async #apply(file: string, top: string, more: readonly string[]) {
    if ((await Deno.stat(file)).size === 0) return { code: 0, errors: "" };
    const env = { GIT_DIR: this.#dir, GIT_WORK_TREE: existingRealPath(top) ?? top };
    return await this.#git.run(["apply", "--whitespace=nowarn", ...more, "--", file], { cwd: top, env });
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
