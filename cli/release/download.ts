/** Fetches the files of a release from GitHub, a mirror or a server of the user, and verifies each. */
import { createHash } from "node:crypto";
import { decided, PUBLIC_KEY, REPOSITORY } from "../identity.ts";
import { cannotWrite } from "./store.ts";
import { entryOf, verifySums } from "./verify.ts";
import { message, ReasonixError, type Text } from "../../src/core/mod.ts";
import { attempt } from "../../src/util/lazy.ts";
import { networkFailure, programFetch } from "../../src/util/network/fetch.ts";
import { writeFully } from "../../src/util/atomic_write.ts";

/** A server that sends nothing for this long has failed. */
const IDLE_MS = 60_000;
const MAX_HOPS = 5;
/** More than a release needs, for checksums, signatures and versions. */
const MAX_TEXT_BYTES = 1 << 20;

/** A release whose checksums are verified. */
export interface Release {
  /** Address of the directory with its files. */
  readonly directory: string;
  readonly sums: Uint8Array<ArrayBuffer>;
  readonly version: string;
  /** False where no key is decided: nothing but the server vouches for the files then. */
  readonly isSigned: boolean;
}

/** Reports the order of two versions (SemVer 2): negative where `a` is older. */
export function compareVersions(a: string, b: string): number {
  const [coreA = "", pre = ""] = splitVersion(a);
  const [coreB = "", preB = ""] = splitVersion(b);
  const order = compareParts(coreA.split("."), coreB.split("."));
  if (order !== 0 || pre === preB) return order;
  // A version without a name is newer than its previews.
  if (pre === "" || preB === "") return pre === "" ? 1 : -1;
  return compareParts(pre.split("."), preB.split("."));
}

function splitVersion(version: string): readonly string[] {
  const at = version.indexOf("-");
  return at < 0 ? [version] : [version.slice(0, at), version.slice(at + 1)];
}

function compareParts(a: readonly string[], b: readonly string[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const [one, other] = [a[at], b[at]];
    if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
    if (one === other) continue;
    const isNumber = [one, other].map((part) => /^\d+$/.test(part));
    if (isNumber[0] && isNumber[1]) return Number(one) - Number(other);
    if (isNumber[0] || isNumber[1]) return isNumber[0] ? -1 : 1;
    return one < other ? -1 : 1;
  }
  return 0;
}

/** The address of all releases: the mirror of the user, the one of the installation, or GitHub. */
export function releaseBase(mirror: string | undefined): string | undefined {
  if (mirror) return mirror.replace(/\/+$/, "");
  const repository = decided(REPOSITORY);
  return repository && `https://github.com/${repository}/releases`;
}

/** Address of the directory of a version. */
export function releaseDirectory(base: string, version: string): string {
  return base.startsWith("https://github.com/") ? `${base}/download/v${version}` : `${base}/v${version}`;
}

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/**
 * Asks for the latest version: a text or, from GitHub, a redirect to the page of its tag. The answer is not
 * signed: the signature of its files decides.
 */
export async function latestVersion(base: string): Promise<string> {
  const address = `${base}/latest`;
  const { bytes, url } = await content(address);
  const answer = /\/tag\/v([^/?#]+)$/.exec(url)?.[1] ?? new TextDecoder().decode(bytes).trim();
  if (isVersion(answer)) return answer;
  throw new ReasonixError(message`Cannot determine the latest version: ${address} names none`, {
    remedy: message`name one: reasonix update VERSION`,
  });
}

/** Fetches the checksums of a release and verifies their signature. */
export async function openRelease(directory: string, wanted?: string): Promise<Release> {
  const { bytes: sums } = await content(`${directory}/SHA256SUMS`);
  const key = decided(PUBLIC_KEY);
  if (key === undefined) {
    return { directory, sums, version: wanted ?? await versionAt(directory), isSigned: false };
  }
  const signature = new TextDecoder().decode((await content(`${directory}/SHA256SUMS.minisig`)).bytes);
  return { directory, sums, version: verifySums(sums, signature, key, wanted).version, isSigned: true };
}

/** The version in the first line of the program at an address. */
async function versionAt(directory: string): Promise<string> {
  const address = `${directory}/reasonix.js`;
  const { response, watch } = await request(address);
  watch.end();
  const reader = response.body?.getReader();
  const head = new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  const version = /^\/\/ Reasonix (\S+)/m.exec(head)?.[1] ?? "";
  if (isVersion(version)) return version;
  throw new ReasonixError(message`Cannot determine the version of ${address}: its first lines name none`, {
    remedy: message`check the address`,
  });
}

/** Writes a file of a release to a path, where nothing remains of a file that is not the right one. */
export async function download(
  { directory, sums }: Release,
  name: string,
  path: string,
  { mode = 0o644, signal }: { readonly mode?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const expected = entryOf(sums, name);
  const address = `${directory}/${name}`;
  const { response, watch } = await request(address, signal);
  const hash = createHash("sha256");
  try {
    using file = openNew(path, mode);
    for await (const chunk of response.body ?? []) {
      watch.refresh();
      hash.update(chunk);
      try {
        writeFully(file, chunk);
      } catch (error) {
        throw cannotWrite(path, error);
      }
    }
  } catch (error) {
    attempt(() => Deno.removeSync(path));
    throw requestFailure(address, error);
  } finally {
    watch.end();
  }
  if (hash.digest("hex") === expected) return;
  attempt(() => Deno.removeSync(path));
  throw new ReasonixError(message`Cannot use ${address}: its SHA-256 is not the one of the release`, {
    remedy: message`try again; if this remains, the server has other files than its release`,
  });
}

function openNew(path: string, mode: number): Deno.FsFile {
  try {
    return Deno.openSync(path, { write: true, createNew: true, mode });
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

interface Content {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The address after redirects. */
  readonly url: string;
}

async function content(address: string): Promise<Content> {
  const { response, watch, url } = await request(address);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      watch.refresh();
      size += chunk.length;
      if (size > MAX_TEXT_BYTES) {
        throw cannotFetch(address, message`it has more than ${MAX_TEXT_BYTES} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw requestFailure(address, error);
  } finally {
    watch.end();
  }
  return { bytes: new Uint8Array(await new Blob(chunks).arrayBuffer()), url };
}

/** Follows redirects to other servers: the requests hold no secret, and the content is verified. */
async function request(address: string, signal?: AbortSignal) {
  const control = new AbortController();
  const watch = idleWatch(() => control.abort(new Error(`No data for ${IDLE_MS / 1000} seconds`)));
  try {
    let url = address;
    for (let hops = 0;; hops++) {
      const stop = signal ? AbortSignal.any([signal, control.signal]) : control.signal;
      const response = await programFetch(url, { redirect: "manual", signal: stop });
      const location = response.status >= 300 && response.status < 400
        ? response.headers.get("location")
        : null;
      if (location === null) {
        if (response.ok) return { response, watch, url };
        await response.body?.cancel();
        throw cannotFetch(address, `${response.status} ${response.statusText}`.trim());
      }
      await response.body?.cancel();
      const to = URL.parse(location, url);
      const isSafe = to?.protocol === "https:" || (to?.protocol === "http:" && url.startsWith("http:"));
      if (to === null || !isSafe || hops === MAX_HOPS) {
        throw cannotFetch(address, message`it leads to ${location}, which is not followed`);
      }
      url = to.href;
    }
  } catch (error) {
    watch.end();
    throw requestFailure(address, error);
  }
}

function idleWatch(act: () => void) {
  let timer = setTimeout(act, IDLE_MS);
  return {
    refresh() {
      clearTimeout(timer);
      timer = setTimeout(act, IDLE_MS);
    },
    end: () => clearTimeout(timer),
  };
}

function cannotFetch(
  address: string,
  reason: Text,
  remedy = message`check the network and the address, and try again; nothing was changed`,
  cause?: unknown,
): ReasonixError {
  return new ReasonixError(message`Cannot fetch ${address}: ${reason}`, { remedy, cause });
}

/** The error of a request that failed, or the one that it found. */
function requestFailure(address: string, error: unknown): ReasonixError {
  if (error instanceof ReasonixError) return error;
  const { unknownName, detail, remedy } = networkFailure(error, "REASONIX_BASE_URL");
  return cannotFetch(address, unknownName ? message`its server has no address` : detail, remedy, error);
}
