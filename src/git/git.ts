import { lstatSync } from "node:fs";
import { message, ReasonixError, type Text } from "../core/mod.ts";
import {
  findGit,
  gitEnvironment,
  type ProgramOptions,
  type ProgramResult,
  runProgram,
  streamProgram,
} from "../util/process.ts";
import { environmentOf } from "../path/read_env.ts";
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

/** Variables that a connection may need. */
const CONNECTION = [
  ...["SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSH", "SSL_CERT_FILE", "GIT_SSL_CAINFO"],
  ...["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "NO_PROXY", "no_proxy"],
];

/** Variables of a git that may connect, by these protocols only (`https:ssh`). */
export function connectionEnvironment(protocols: string): Record<string, string> {
  return { ...environmentOf(CONNECTION), GIT_ALLOW_PROTOCOL: protocols };
}

export type GitOptions = ProgramOptions & { readonly cwd: string };

/**
 * Git as this program uses it: without hooks, file system monitors, a network, or the variables of a
 * surrounding git.
 */
export class Git {
  readonly #program: string;

  private constructor(program: string) {
    this.#program = program;
  }

  /** Throws a ReasonixError when there is none that does not come from the directory itself. */
  static find(cwd: string): Git {
    const program = findGit(cwd);
    if (program !== undefined) return new Git(program);
    throw new ReasonixError(message`Cannot find git`, {
      remedy: message`install git, and have its directory in PATH`,
    });
  }

  /** Runs it to its end, however that is; only an abort throws. */
  async run(args: readonly string[], options: GitOptions): Promise<ProgramResult> {
    return await this.#started(
      options,
      (complete) => runProgram([this.#program, ...SETTINGS, ...args], complete),
    );
  }

  /** Hands over its output as it comes, and ends it early when `take` returns false. */
  async read(
    args: readonly string[],
    take: (chunk: Uint8Array<ArrayBuffer>) => boolean,
    options: GitOptions,
  ): ReturnType<typeof streamProgram> {
    return await this.#started(
      options,
      (complete) => streamProgram([this.#program, ...SETTINGS, ...args], take, complete),
    );
  }

  async #started<T>(
    { env, signal, ...options }: GitOptions,
    start: (options: GitOptions) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    // The empty list of protocols outranks all settings of a repository.
    const result = await start({
      ...options,
      signal,
      env: { ...gitEnvironment(), GIT_ALLOW_PROTOCOL: "", ...env },
    });
    signal?.throwIfAborted();
    return result;
  }

  /** Returns its output. Throws a ReasonixError that begins with `purpose` ("Cannot …") when it fails. */
  async ask(purpose: Text, args: readonly string[], options: GitOptions): Promise<string> {
    const { code, text, errors } = await this.run(args, options);
    if (code === 0) return text;
    throw gitFailure(purpose, { code, errors });
  }
}

/** The error of a git that failed. The objects of a partial clone can be missing. */
export function gitFailure(
  purpose: Text,
  { code, errors }: Pick<ProgramResult, "code" | "errors">,
): ReasonixError {
  const isPartial = /unable to read|could not fetch|promisor|missing/.test(errors);
  return new ReasonixError(
    message`${purpose}: ${problemOf(code, errors)}`,
    isPartial
      ? { remedy: message`fetch the missing objects with ${"`git fetch --refetch --no-filter`"}` }
      : {},
  );
}

export function problemOf(code: number, errors: string): Text {
  return firstLine(errors) || message`git ended with ${code}`;
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

/** Paths for the standard input of git, as `-z` reads them. */
export function joined(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0`).join("");
}

export interface Repository {
  readonly top: string;
  /** The directory seen from there; "" for the top itself. */
  readonly prefix: string;
  /** Git's own directory, which all work trees of the repository share, and the store of its objects. */
  readonly common: string;
  readonly objects: string;
  readonly index: string;
  readonly objectFormat: string;
  /** The commit that is checked out; undefined before the first one. */
  readonly head: string | undefined;
}

/**
 * Looks a repository up. Throws a ReasonixError that begins with `purpose` ("Cannot …") for a directory
 * without checked-out files.
 */
export async function openRepository(
  git: Git,
  cwd: string,
  { purpose, signal }: { readonly purpose: Text; readonly signal?: AbortSignal | undefined },
): Promise<Repository> {
  const options = { cwd, signal };
  const paths = ["objects", "index"].flatMap((name) => ["--git-path", name]);
  const facts = ["--show-toplevel", "--git-common-dir", "--show-object-format", "--is-inside-work-tree"];
  const known = ["rev-parse", "--path-format=absolute", ...paths, ...facts, "--show-prefix"];
  const { code, text, errors } = await git.run(known, options);
  const [objects = "", index = "", top = "", common = "", objectFormat = "sha1", inside = "", prefix = ""] =
    text
      .split("\n");
  if (code !== 0 || inside !== "true") throw await noFiles(git, purpose, { ...options, code, errors });
  const found = await git.run(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], options);
  const head = found.code === 0 ? found.text.trim() : undefined;
  return { top, prefix: prefix.replace(/\/$/, ""), common, objects, index, objectFormat, head };
}

/** The error for a directory without checked-out files; `code` and `errors` are git's. */
async function noFiles(
  git: Git,
  purpose: Text,
  { code, errors, ...options }: GitOptions & Pick<ProgramResult, "code" | "errors">,
): Promise<ReasonixError> {
  if (/not a git repository/.test(errors)) {
    return new ReasonixError(message`${purpose}: it is in no git repository`, {
      remedy: message`use a directory of a repository, or make one with \`git init\``,
    });
  }
  const kind = await git.run(["rev-parse", "--is-bare-repository", "--is-inside-work-tree"], options);
  const [bare, inside] = kind.text.split("\n");
  if (kind.code !== 0 || inside === "true") {
    return gitFailure(purpose, { code, errors });
  }
  const problem = bare === "true"
    ? message`${purpose}: the repository is bare, so there are no files to work on`
    : message`${purpose}: it is inside of git's own directory`;
  return new ReasonixError(problem, { remedy: message`use a directory with checked-out files` });
}

/** Files below a directory as git sees them: nothing behind a link is one. */
export class DiskFiles {
  readonly #top: string;
  readonly #directories = new Map<string, boolean>([["", true]]);

  constructor(top: string) {
    this.#top = top;
  }

  kindOf(path: string): "file" | "directory" | "missing" {
    const cut = path.lastIndexOf("/");
    if (!this.#isDirectory(cut < 0 ? "" : path.slice(0, cut))) return "missing";
    const info = attempt(() => lstatSync(`${this.#top}/${path}`));
    if (!info) return "missing";
    return info.isDirectory() ? "directory" : info.isFile() || info.isSymbolicLink() ? "file" : "missing";
  }

  #isDirectory(path: string): boolean {
    let known = this.#directories.get(path);
    if (known === undefined) {
      known = this.kindOf(path) === "directory";
      this.#directories.set(path, known);
    }
    return known;
  }
}
