import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { message, ReasonixError } from "../core/mod.ts";
import { problemOf } from "../git/mod.ts";
import { isDirectory } from "../path/probe.ts";
import { attempt } from "../util/lazy.ts";
import { type ProgramResult, runProgram } from "../util/process.ts";
import { oneLine } from "../util/terminal_text.ts";
import { after, unlessAborted } from "../util/timer.ts";
import {
  addressOf,
  type Draft,
  type PullRequestOptions,
  readRemotes,
  reasonOf,
  type Remotes,
  serviceOf,
  withoutPassword,
} from "./pull_request.ts";
import { runUserGit, userEnvironment, userProgram } from "./writing.ts";
import { sha256 } from "../util/digest.ts";

/** A patch that becomes a pull request. */
export interface PatchRequest {
  readonly id: string;
  /** Part of the name of its branch. */
  readonly name: string;
  readonly file: string;
  /** The commit that it changes. */
  readonly base: string | undefined;
  /** Address or path of its repository; absent: that of the command. */
  readonly repo: string | undefined;
  /** Date of the commit, RFC 3339: the same patch is the same commit. */
  readonly date: string;
  readonly title: string;
  /** The text for a repository by its address, `host/owner/name/`. */
  readonly body: (home: string) => string;
}

export interface PatchRequestOptions extends Omit<PullRequestOptions, "hint"> {
  readonly requests: readonly PatchRequest[];
  /** Pull requests a minute. */
  readonly rate: number;
}

/** Commits and branches of the repositories of patches. The trees of the user stay as they are. */
class PatchRequests {
  opened = 0;
  present = 0;
  failed = 0;
  readonly #options: PatchRequestOptions;
  readonly #repositories = new Map<string, Promise<Remotes>>();
  readonly #clones = mkdtempSync(`${tmpdir()}/reasonix-pr-`);
  #next = 0;

  constructor(options: PatchRequestOptions) {
    this.#options = options;
  }

  [Symbol.dispose](): void {
    attempt(() => rmSync(this.#clones, { recursive: true, force: true }));
  }

  async own(): Promise<Remotes> {
    return await this.#repository(undefined);
  }

  /** Pushes the branch of a patch and opens its pull request, unless there is one. */
  async open(request: PatchRequest): Promise<void> {
    const { host } = this.#options;
    const remotes = await this.#repository(request.repo);
    const branch = branchOf(request);
    const service = await serviceOf({ ...remotes, name: branch }, this.#options, "all");
    if (service.existing !== undefined) {
      this.present += 1;
      host.show(`${request.id}: ${service.existing}`);
      return;
    }
    const { target: { address, name, url } } = remotes;
    if (!service.create || !address) {
      throw new ReasonixError(
        message`Cannot open pull requests of ${name} (${url}): that takes gh or glab, installed and logged in`,
        {
          exit: "config",
          remedy: message`run ${"gh auth login"} for GitHub, ${"glab auth login"} for GitLab`,
        },
      );
    }
    await this.#push(await this.#commit(request, remotes), branch, remotes);
    await this.#wait();
    const body = request.body(`${address.host}/${address.path}/`);
    const made = await service.create({ branch, title: request.title, body } satisfies Draft);
    this.#next = performance.now() + 60_000 / this.#options.rate;
    if (made.code !== 0) throw refused(request, made);
    this.opened += 1;
    host.show(`${request.id}: ${made.text.trim()}`);
  }

  /** Waits until the next pull request may be created: services limit the rate of each user. */
  async #wait(): Promise<void> {
    const { signal } = this.#options;
    const ms = this.#next - performance.now();
    if (ms <= 0) return;
    await unlessAborted(new Promise<void>((resolve) => void after(Math.ceil(ms), resolve)), signal);
  }

  async #repository(repo: string | undefined): Promise<Remotes> {
    const key = repo ?? "";
    const found = this.#repositories.get(key) ?? this.#find(repo);
    this.#repositories.set(key, found);
    return await found;
  }

  async #find(repo: string | undefined): Promise<Remotes> {
    if (repo === undefined) return await readRemotes(this.#options);
    if (isDirectory(repo)) return await readRemotes({ ...this.#options, cwd: repo });
    const own = await this.#repository(undefined).catch(() => undefined);
    const wanted = addressOf(repo);
    const isSame = ({ address }: Remotes["push"]) =>
      address?.host === wanted?.host && address?.path === wanted?.path;
    if (own && wanted && (isSame(own.push) || isSame(own.target))) return own;
    const cwd = `${this.#clones}/${this.#repositories.size}`;
    // Nothing is checked out: no filter of the repository runs.
    const words = ["clone", "--quiet", "--no-checkout", "--", repo, cwd];
    const code = await runUserGit(words, this.#clones, { ...this.#options, hint: "" });
    if (code === 0) return await readRemotes({ ...this.#options, cwd });
    throw new ReasonixError(
      message`Cannot clone ${withoutPassword(repo)}: git clone ended with exit code ${code}`,
    );
  }

  /** Makes the commit in the objects of the repository: no file of it, index, hook or filter is involved. */
  async #commit({ id, file, base, date, title }: PatchRequest, remotes: Remotes): Promise<string> {
    const { git, top, target, base: branch } = remotes;
    const { host, signal } = this.#options;
    const fail = (reason: string | ReturnType<typeof message>, remedy?: ReturnType<typeof message>) =>
      new ReasonixError(message`Cannot commit the patch of ${id}: ${reason}`, remedy ? { remedy } : {});
    if (base === undefined) throw fail(message`its result names no commit that it changes`);
    const known = ["merge-base", "--is-ancestor", base, `refs/remotes/${target.name}/${branch}`];
    if ((await git.run(known, { cwd: top, signal })).code !== 0) {
      throw fail(
        message`${target.name}/${branch} does not contain the commit ${base} that it changes`,
        message`push that commit, run ${`git fetch ${target.name}`}, or name its branch with --base`,
      );
    }
    const index = `${this.#clones}/index`;
    const env = { GIT_INDEX_FILE: index };
    const run = async (...args: readonly string[]) => {
      const made = await git.run(args, { cwd: top, env, signal });
      if (made.code !== 0) throw fail(problemOf(made.code, made.errors));
      return made.text.trim();
    };
    try {
      await run("read-tree", base);
      await run("apply", "--cached", "--whitespace=nowarn", "--", file);
      const tree = await run("write-tree");
      // Name, address and signature are the user's.
      const settings = { ...userEnvironment(host), GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
      const ask = (args: readonly string[], input?: string) =>
        runProgram([userProgram("git", top, host) ?? "git", ...args], {
          ...{ cwd: top, env: settings, signal, input },
        });
      const signs = (await ask(["config", "--type=bool", "--get", "commit.gpgSign"])).text.trim() === "true";
      const sign = signs ? ["-S"] : [];
      const made = await ask(["commit-tree", ...sign, "-p", base, "-F", "-", tree], `${title}\n`);
      if (made.code !== 0) throw fail(problemOf(made.code, made.errors));
      return made.text.trim();
    } finally {
      rmSync(index, { force: true });
    }
  }

  async #push(commit: string, branch: string, { top, push }: Remotes): Promise<void> {
    const { host, signal } = this.#options;
    const ref = `refs/heads/${branch}`;
    const words = ["push", "--quiet", push.name, `${commit}:${ref}`];
    const code = await runUserGit(words, top, { ...this.#options, hint: "" });
    if (code === 0) return;
    signal.throwIfAborted();
    // A branch of this name has this patch. A signature makes another commit of it each time.
    const git = userProgram("git", top, host) ?? "git";
    const env = userEnvironment(host);
    const listed = await runProgram([git, "ls-remote", push.name, ref], { cwd: top, env, signal });
    if (listed.code === 0 && listed.text.trim() !== "") return;
    throw new ReasonixError(
      message`Cannot push ${branch} to ${push.name}: git push ended with exit code ${code}`,
    );
  }
}

function branchOf({ name, file }: PatchRequest): string {
  const digest = sha256(readFileSync(file)).slice(0, 8);
  return `reasonix/${name.replace(/\.{2,}/g, ".")}-${digest}`;
}

const LIMITED = /rate limit|submitted too quickly|abuse detection|too many requests|\b429\b/i;

function refused({ id }: PatchRequest, made: ProgramResult): ReasonixError {
  const text = message`Cannot open the pull request of ${id}: ${reasonOf(made)}`;
  if (!LIMITED.test(`${made.errors}${made.text}`)) return new ReasonixError(text);
  return new ReasonixError(text, {
    exit: "provider",
    remedy: message`wait, and run the command again with a lower --rate; it continues there`,
  });
}

/**
 * Opens a pull request for each patch, one after the other, with the user's git and `gh` or `glab`. The next
 * call finds those that are there by their branch. Returns false where one could not be opened, or the user
 * left. Throws a ReasonixError for what would stop all others, too.
 */
export async function openPatchRequests(options: PatchRequestOptions): Promise<boolean> {
  const { requests, host, yes, signal } = options;
  using work = new PatchRequests(options);
  const repos = new Set(requests.map(({ repo }) => repo));
  const own = repos.delete(undefined) ? await work.own() : undefined;
  const others = [...repos].map((repo) => withoutPassword(repo ?? ""));
  const names = oneLine([...own ? [`${own.push.name} (${own.push.url})`] : [], ...others].join(", "), 300);
  const question = message`Push ${requests.length} branches to ${names}, and open a pull request for each?`;
  const agreed = yes || await host.choose(question, [
    { label: message`push and open`, key: "y", value: true },
    { label: message`leave`, key: "n", value: false },
  ]);
  if (!agreed) return false;
  for (const request of requests) {
    try {
      await work.open(request);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ReasonixError) || error.exit === "config" || error.exit === "provider") {
        throw error;
      }
      work.failed += 1;
      const { message: text, remedy } = error.texts;
      host.report(remedy === undefined ? text : message`${text}; ${remedy}`);
    }
  }
  const { opened, present, failed } = work;
  host.report(message`Pull requests: ${opened} opened, ${present} were there, ${failed} failed`);
  return failed === 0;
}
