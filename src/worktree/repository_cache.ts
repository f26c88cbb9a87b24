import { lstatSync, mkdirSync, rmSync } from "node:fs";
import { message, ReasonixError, type Text, textOf, usageError } from "../core/mod.ts";
import { connectionEnvironment, entries, Git, type GitOptions, problemOf } from "../git/mod.ts";
import { baseName, isAbsolute } from "../path/lexical.ts";
import { isFile, sortedEntries } from "../path/probe.ts";
import { realPath } from "../path/real_path.ts";
import { attempt } from "../util/lazy.ts";
import { FileLock } from "../util/lock.ts";
import { sha256 } from "../util/digest.ts";

/** A commit in the copy of a repository that all its tasks share. */
export interface CachedCommit {
  /** Real path of the bare copy. */
  readonly mirror: string;
  readonly commit: string;
}

/** A commit with those of its submodules, of which each follows the one that it is in. */
export interface CachedTree extends CachedCommit {
  readonly submodules: readonly (CachedCommit & { readonly path: string })[];
}

interface RepositoryCacheOptions {
  /** Reasonix home. */
  readonly home: string;
  /** Hears that a branch or tag could not be looked up again, and what is left out of a repository. */
  readonly notify: (text: string) => void;
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const ALL = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
const DEFAULT = "refs/reasonix/HEAD";
const FETCH = [
  // A server that says nothing is given up.
  ...["-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60"],
  ...["fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-recurse-submodules"],
  ...["--no-write-fetch-head", "--update-shallow", "--"],
];
const MAX_SUBMODULES = 200;
const HOUR_MS = 60 * 60 * 1000;

/**
 * Copies of git repositories in the Reasonix home: one for each address, made and updated under a lock. A
 * commit is fetched once; branches and tags are looked up once in the life of this object.
 */
export class RepositoryCache {
  readonly #options: RepositoryCacheOptions;
  readonly #updates = new Map<string, Promise<void>>();
  readonly #noted = new Set<string>();

  constructor(options: RepositoryCacheOptions) {
    this.#options = options;
  }

  /**
   * Finds the commit that a ref names; without one, that of the default branch. Throws a ReasonixError: usage
   * for a ref that is not there, else where the repository or a submodule cannot be fetched.
   */
  async find(repo: string, name: string | undefined, signal: AbortSignal): Promise<CachedTree> {
    const top = await this.#find(repo, name, signal);
    const found = [{ ...top, repo, path: "" }];
    for (const parent of found) {
      const mirror = new Mirror(this.#options.home, parent.repo);
      if (await mirror.hasLargeFiles(parent.commit, signal)) {
        this.#note(`${mirror.shown}: files of Git LFS are not fetched; tasks find their pointers`);
      }
      for (const { url, commit, path: below } of await mirror.submodulesOf(parent.commit, signal)) {
        const path = parent.path === "" ? below : `${parent.path}/${below}`;
        const address = submoduleAddress(url, parent.repo);
        if (address === undefined) {
          const shown = shownRepository(url);
          this.#note(
            `${mirror.shown}: the submodule ${below} is left out; ${shown} is no https, http or ssh`,
          );
          continue;
        }
        const fail = (reason: Text) =>
          new ReasonixError(message`Cannot fetch the submodule ${below} of ${mirror.shown}: ${reason}`, {
            remedy:
              message`check its address in ${".gitmodules"}, and whether git can read it without a prompt`,
          });
        if (found.length > MAX_SUBMODULES) throw fail(message`there are more than ${MAX_SUBMODULES}`);
        const cached = await this.#find(address, commit, signal).catch((error) => {
          throw error instanceof ReasonixError ? fail(error.texts.message) : error;
        });
        found.push({ ...cached, repo: address, path });
      }
    }
    return { ...top, submodules: found.slice(1) };
  }

  #note(text: string): void {
    if (!this.#noted.has(text)) this.#options.notify(text);
    this.#noted.add(text);
  }

  async #find(repo: string, name: string | undefined, signal: AbortSignal): Promise<CachedCommit> {
    const ref = name === "HEAD" ? undefined : name;
    const mirror = new Mirror(this.#options.home, repo);
    const isCommit = ref !== undefined && COMMIT.test(ref);
    let commit = isCommit ? await mirror.commitOf(ref, signal) : undefined;
    if (commit === undefined) {
      const wanted = ref === undefined
        ? [`+HEAD:${DEFAULT}`]
        : /^refs\/(?!heads|tags)/.test(ref)
        ? [`+${ref}:${ref}`]
        : [];
      try {
        await this.#update(mirror, [...ALL, ...wanted], signal);
        commit = await mirror.commitOf(ref, signal);
      } catch (error) {
        signal.throwIfAborted();
        commit = await mirror.commitOf(ref, signal);
        if (commit === undefined) throw error;
        this.#options.notify(
          `${mirror.shown} cannot be reached; ${ref ?? "its default branch"} is ${commit} as before`,
        );
      }
    }
    // Not every commit is in a branch.
    if (commit === undefined && isCommit) {
      await mirror.update([`+${ref}:refs/reasonix/${ref}`], signal).catch(() => signal.throwIfAborted());
      commit = await mirror.commitOf(ref, signal);
    }
    if (commit !== undefined) return { mirror: mirror.path, commit };
    throw usageError(
      message`Cannot find ${ref ?? "the default branch"} in ${mirror.shown}`,
      message`name a commit, branch or tag of the repository as "ref"`,
    );
  }

  #update(mirror: Mirror, refs: readonly string[], signal: AbortSignal): Promise<void> {
    const key = [mirror.path, ...refs].join("\0");
    let update = this.#updates.get(key);
    if (!update) this.#updates.set(key, update = mirror.update(refs, signal));
    update.catch(() => this.#updates.delete(key));
    return update;
  }
}

/** Returns an address or path without what may be secret in it: credentials and parameters. */
export function shownRepository(repo: string): string {
  return repo.replace(/([a-z][a-z0-9+.-]*:\/\/)(?:[^/?#\s]*@)?([^?#\s']*)(?:[?#][^\s']*)?/gi, "$1$2");
}

/** The bare copy of one repository. */
class Mirror {
  readonly shown: string;
  readonly path: string;
  readonly #repo: string;
  readonly #git: Git;

  constructor(home: string, repo: string) {
    this.shown = shownRepository(repo);
    const name = baseName(this.shown.replace(/\/+$/, "")).replace(/\.git$/, "").replace(/[^\w.-]+/g, "-")
      .slice(-48);
    const digest = sha256(this.shown).slice(0, 12);
    this.path = `${realPath(home)}/repositories/${name.replace(/^\./, "_")}-${digest}.git`;
    this.#repo = repo;
    this.#git = Git.find(this.path);
  }

  /** The commit that a ref names by now; undefined without one. */
  async commitOf(ref: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    if (!isFile(`${this.path}/HEAD`)) return undefined;
    const names = ref === undefined
      ? [DEFAULT]
      : COMMIT.test(ref) || ref.startsWith("refs/")
      ? [ref]
      : [`refs/heads/${ref}`, `refs/tags/${ref}`, ...(/^[0-9a-f]{7,}$/.test(ref) ? [ref] : [])];
    for (const name of names) {
      const found = await this.#run(["rev-parse", "--quiet", "--verify", `${name}^{commit}`], { signal });
      if (found.code === 0) return found.text.trim();
    }
  }

  /** The submodules of a commit that it has a commit of; the addresses are as they are written there. */
  async submodulesOf(
    commit: string,
    signal: AbortSignal,
  ): Promise<{ readonly path: string; readonly url: string; readonly commit: string }[]> {
    const keys = String.raw`^submodule\..*\.(path|url|update)$`;
    const reading = ["config", "--blob", `${commit}:.gitmodules`, "-z", "--get-regexp", keys];
    const modules = new Map<string, Record<string, string>>();
    for (const entry of entries((await this.#run(reading, { signal })).text)) {
      const [, name = "", key = "", value = ""] = /^submodule\.([^]*?)\.([a-z]+)\n([^]*)$/.exec(entry) ?? [];
      modules.set(name, { ...modules.get(name), [key]: value });
    }
    const used = [...modules.values()].filter(({ path, update }) => path && update !== "none");
    if (used.length === 0) return [];
    const listing = ["ls-tree", "-z", commit, "--", ...used.map(({ path = "" }) => path)];
    const purpose = message`Cannot read the submodules of ${this.shown}`;
    const listed = await this.#git.ask(purpose, listing, this.#options({ signal }));
    const commits = new Map(
      entries(listed).map((entry) => {
        const [, id = "", path = ""] = /^160000 commit ([0-9a-f]+)\t([^]*)$/.exec(entry) ?? [];
        return [path, id];
      }),
    );
    return used.flatMap(({ path = "", url = "" }) => {
      const id = commits.get(path);
      return id === undefined || path === "" ? [] : [{ path, url, commit: id }];
    });
  }

  /** Reports whether attributes in a commit name Git LFS. */
  async hasLargeFiles(commit: string, signal: AbortSignal): Promise<boolean> {
    const looking = ["grep", "--quiet", "--fixed-strings", "filter=lfs", commit, "--"];
    return (await this.#run([...looking, ":(glob)**/.gitattributes"], { signal })).code === 0;
  }

  async update(refs: readonly string[], signal: AbortSignal): Promise<void> {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    using _lock = await this.#lock(signal);
    const purpose = message`Cannot fetch ${this.shown}`;
    await this.#requireWhole();
    // What was begun by a killed process is completed.
    await this.#git.ask(purpose, ["init", "--quiet", "--bare", "--template="], this.#options({ signal }));
    this.#removeLeftovers();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(HOUR_MS)]);
    const env = connectionEnvironment(protocolsOf(this.#repo));
    for (let attempt = 0;; attempt++) {
      const { code, errors } = await this.#run([...FETCH, this.#repo, ...refs], { env, signal: limit });
      // A ref that the server does not have is no failure of the server.
      if (code === 0 || /couldn't find remote ref/.test(errors)) return;
      if (attempt < ATTEMPTS && await isFreed(errors, this.path)) continue;
      throw new ReasonixError(
        message`${purpose}: ${shownRepository(textOf(problemOf(code, errors)))}`,
        {
          remedy: message`check the address, and whether git can read it without a prompt`,
        },
      );
    }
  }

  /** Waits for other processes, as long as nothing ends the run. */
  async #lock(signal: AbortSignal): Promise<FileLock> {
    for (;;) {
      const taken = FileLock.tryAcquire(`${this.path}.lock`);
      if (taken.held) return taken.lock;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      signal.throwIfAborted();
    }
  }

  /** A partial clone on this machine would fetch from elsewhere, by the settings of that repository. */
  async #requireWhole(): Promise<void> {
    if (!this.#repo.startsWith("/")) return;
    const keys = ["config", "--get-regexp", String.raw`^(extensions\.partialclone|remote\..*\.promisor)$`];
    const { code } = await this.#git.run(keys, { cwd: this.#repo });
    if (code !== 0) return;
    throw usageError(
      message`Cannot fetch ${this.shown}: it is a partial clone`,
      message`name the repository that it was cloned from`,
    );
  }

  #removeLeftovers(): void {
    const packs = `${this.path}/objects/pack`;
    for (const { name } of sortedEntries(packs)) {
      if (name.startsWith("tmp_") && ageOf(`${packs}/${name}`) > HOUR_MS) {
        attempt(() => rmSync(`${packs}/${name}`));
      }
    }
  }

  #run(args: readonly string[], options: Omit<GitOptions, "cwd">) {
    return this.#git.run(args, this.#options(options));
  }

  #options({ env, ...options }: Omit<GitOptions, "cwd">): GitOptions {
    return { ...options, cwd: this.path, env: { ...env, GIT_DIR: this.path } };
  }
}

/**
 * A redirect may lead to protocols of the same or a better kind. Only a setting of the user (`insteadOf`)
 * leads to files: a mirror on this machine.
 */
function protocolsOf(repo: string): string {
  const scheme = /^([a-z]+):\/\//i.exec(repo)?.[1]?.toLowerCase();
  if (scheme === "http") return "http:https:ssh:file";
  return scheme === "file" || repo.startsWith("/") ? "file" : "https:ssh:file";
}

/** The address of a submodule, relative to its repository or whole; undefined for one of no server. */
function submoduleAddress(url: string, repo: string): string | undefined {
  let [address, rest] = ["", url];
  for (let step = /^\.\.?\/+/.exec(rest); step; step = /^\.\.?\/+/.exec(rest)) {
    address ||= repo.replace(/\/+$/, "");
    if (step[0].startsWith("..")) address = address.replace(/\/[^/]*$|(?<=:)[^/:]*$/, "");
    rest = rest.slice(step[0].length);
  }
  const whole = address === "" || address.endsWith(":") ? `${address}${rest}` : `${address}/${rest}`;
  return isServerAddress(whole) ? whole : undefined;
}

/** Reports whether git reads a text as the address of a server, which no other program interprets. */
export function isServerAddress(text: string): boolean {
  if (/\p{Cc}/u.test(text)) return false;
  const url = /^(?:https?|ssh):\/\//i.test(text) ? URL.parse(text) : null;
  if (url) return !`${url.username}${url.hostname}`.startsWith("-");
  // `git@host:path`, as ssh and git write it.
  return /^(?:[\w.-]+@)?\w[\w.-]*:(?!:|\/\/)/.test(text) && !isAbsolute(text);
}

const ATTEMPTS = 30;
const PAUSE_MS = 500;
const ABANDONED_MS = 10_000;

/** Reports whether git may try again: the lock of a killed git is old, or that of another one goes away. */
async function isFreed(errors: string, mirror: string): Promise<boolean> {
  const file = /Unable to create '(.+\.lock)': File exists/.exec(errors)?.[1];
  if (file === undefined || !file.startsWith(`${mirror}/`)) return false;
  if (ageOf(file) > ABANDONED_MS) attempt(() => rmSync(file));
  else await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return true;
}

function ageOf(path: string): number {
  return attempt(() => Date.now() - lstatSync(path).mtimeMs) ?? 0;
}
