/** Sources of bundles: directories of this machine, and git repositories, of which nothing is executed. */
import { lstat, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { isLoopback } from "../vendors.ts";
import { bundleFiles, checkName, checkSize } from "./bundle.ts";
import { message, ReasonixError, usageError } from "../../core/mod.ts";
import { absolutePath, join, normalize, parentOf } from "../../path/lexical.ts";
import { isDirectory } from "../../path/probe.ts";
import { findGit } from "../../util/process.ts";
import { connectionEnvironment, firstLine, Git } from "../../git/mod.ts";

export interface BundleSource {
  /** An absolute path, or a git address without a ref. */
  readonly source: string;
  readonly isGit: boolean;
  readonly ref?: string;
}

export interface FetchedBundle {
  readonly commit?: string;
  /** Links and submodules, which are left out. */
  readonly leftOut: readonly string[];
}

const ADDRESS = /^([a-z][a-z0-9+.-]*):\/\/|^[\w.-]+@[\w.-]+:/i;
const REF = /^[A-Za-z0-9_][\w./+-]{0,199}$/;
const SECONDS = 300;

/** Parses `DIR` or `GIT-URL[@REF]`. Throws a usage error for an address that is not fetched. */
export function parseSource(text: string, cwd: string): BundleSource {
  const scheme = ADDRESS.exec(text);
  if (!scheme) {
    const source = normalize(absolutePath(text, { cwd }));
    if (isDirectory(source)) return { source, isGit: false };
    throw usageError(
      message`Cannot install from ${JSON.stringify(text)}: there is no such directory`,
      message`name a directory, or an address that begins with https://, ssh:// or git@`,
    );
  }
  const path = text.indexOf("/", scheme[1] === undefined ? 0 : scheme[0].length);
  const at = path < 0 ? -1 : text.indexOf("@", path);
  const [source, ref] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  const refuse = (why: ReturnType<typeof message>, remedy = message`use an https or ssh address`) =>
    usageError(message`Cannot install from ${JSON.stringify(source)}: ${why}`, remedy);
  if (ref !== undefined && (!REF.test(ref) || ref.includes(".."))) {
    throw refuse(message`${JSON.stringify(ref)} is no branch, tag or commit`, message`write ADDRESS@REF`);
  }
  if (scheme[1] !== undefined) {
    const url = URL.parse(source);
    if (!url || !/^[\w.[\]:-]*$/.test(url.hostname) || url.hostname.startsWith("-")) {
      throw refuse(message`it is no address`);
    }
    if (url.password !== "" || (url.username !== "" && url.protocol !== "ssh:")) {
      throw refuse(message`it has credentials`, message`remove them, and use a credential helper of git`);
    }
    const isUsed = ["https:", "ssh:"].includes(url.protocol) ||
      (url.protocol === "file:" && url.hostname === "") ||
      (url.protocol === "http:" && isLoopback(source));
    if (!isUsed) throw refuse(message`the protocol ${url.protocol} is not used`);
  }
  return { source, isGit: true, ...(ref === undefined ? {} : { ref }) };
}

/** Copies a bundle into a new directory. Modes are kept; links, submodules and `.git` are left out. */
export async function fetchBundle(from: BundleSource, target: string): Promise<FetchedBundle> {
  await mkdir(target, { recursive: true, mode: 0o700 });
  if (from.isGit) return await fetchCommit(from, target);
  const { files, links } = bundleFiles(from.source);
  for (const file of files) {
    const path = join(from.source, file);
    const { mode } = await lstat(path);
    await write(join(target, file), await readFile(path), (mode & 0o100) !== 0);
  }
  return { leftOut: links };
}

async function write(path: string, bytes: Uint8Array, isExecutable: boolean): Promise<void> {
  await mkdir(parentOf(path), { recursive: true, mode: 0o700 });
  await writeFile(path, bytes, { mode: isExecutable ? 0o700 : 0o600, flag: "wx" });
}

/**
 * Fetches one commit into an empty repository and reads its objects: without a work tree there is no hook, no
 * filter, no submodule and no link.
 */
async function fetchCommit({ source, ref = "HEAD" }: BundleSource, target: string): Promise<FetchedBundle> {
  if (findGit(target) === undefined) {
    throw new ReasonixError(message`Cannot fetch ${source}: there is no git`, {
      remedy: message`install git`,
    });
  }
  const git = Git.find(target);
  const repository = join(target, ".git");
  const env = { ...connectionEnvironment("https:ssh:file:http"), GIT_DIR: repository };
  const signal = AbortSignal.timeout(SECONDS * 1000);
  const ask = async (args: readonly string[], input?: string) => {
    const options = { cwd: target, env, signal, input };
    const { code, stdout, errors } = await git.run(args, options);
    if (code === 0) return stdout;
    throw new ReasonixError(message`Cannot fetch ${ref} of ${source}: ${firstLine(errors)}`, {
      remedy: message`check the address and the ref, and whether git can read it`,
    });
  };
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  await ask(["init", "--quiet", "--bare", "--template=", repository]);
  await ask(["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", source, ref]);
  const commit = text(await ask(["rev-parse", "--verify", "FETCH_HEAD^{commit}"])).trim();
  const rows = text(await ask(["ls-tree", "-r", "-z", "--long", commit])).split("\0").filter((row) =>
    row !== ""
  );
  const leftOut: string[] = [];
  const blobs: { readonly path: string; readonly id: string; readonly isExecutable: boolean }[] = [];
  let bytes = 0;
  for (const row of rows) {
    const [, mode = "", , id = "", size = "0", path = ""] =
      /^(\d+) (\w+) (\w+) +(\d+|-)\t([^]*)$/.exec(row) ?? [];
    checkName(path, source);
    if (!mode.startsWith("100")) leftOut.push(path);
    else blobs.push({ path, id, isExecutable: mode === "100755" });
    checkSize(blobs.length, bytes += Number(size) || 0, source);
  }
  const contents = await ask(["cat-file", "--batch"], blobs.map(({ id }) => `${id}\n`).join(""));
  let at = 0;
  for (const { path, id, isExecutable } of blobs) {
    const end = contents.indexOf(10, at);
    const [found, kind, size] = text(contents.subarray(at, end)).split(" ");
    if (found !== id || kind !== "blob") {
      throw new ReasonixError(message`Cannot fetch ${source}: ${path} is missing`);
    }
    at = end + 1 + Number(size);
    await write(join(target, path), contents.subarray(end + 1, at), isExecutable);
    at++;
  }
  await rm(repository, { recursive: true });
  return { commit, leftOut };
}
