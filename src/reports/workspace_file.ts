import { message, ReasonixError } from "../core/mod.ts";
import { MAX_IMAGE_FILE_BYTES } from "../path/reference_text.ts";
import type { Assembly } from "../run/mod.ts";
import { imageInfo } from "../util/image/image_info.ts";
import { attempt } from "../util/lazy.ts";
import { languageOf } from "../view/mod.ts";

/** A file or a directory of a workspace, to be shown. */
export type WorkspaceFile =
  | { readonly kind: "file"; readonly text: string; readonly language?: string; readonly truncated?: true }
  | { readonly kind: "image"; readonly mime: string; readonly data: string }
  | { readonly kind: "directory"; readonly entries: readonly WorkspaceEntry[]; readonly truncated?: true };

interface WorkspaceEntry {
  readonly name: string;
  readonly kind: "file" | "directory";
}

type Reader = Pick<Assembly, "readable" | "redact" | "workspace" | "cwd">;

const [MAX_TEXT_BYTES, MAX_ENTRIES, MAX_SEEN] = [512 * 1024, 2000, 20_000];

/**
 * Names of files that hold keys, and git's own. They are not shown, whatever the rules say: a person may have
 * shared a view of the session.
 */
const PRIVATE = new RegExp(
  "(?:^|/)(?:\\.git|\\.ssh|\\.gnupg|\\.aws|\\.env(?:\\.(?!example$|sample$|template$|dist$)[^/]*)?|\\.envrc|" +
    "\\.netrc|_netrc|\\.npmrc|\\.pypirc|\\.git-credentials|\\.htpasswd|credentials(?:\\.json)?|id_(?:rsa|dsa|ecdsa|ed25519)|" +
    "[^/]*\\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk))(?:/|$)",
  "i",
);

/** Reports whether a path of a workspace names what is not shown. */
export function isPrivatePath(path: string): boolean {
  return PRIVATE.test(path.replaceAll("\\", "/"));
}

/** Reads what a path names under the read rules of the session. Throws a ReasonixError with the reason. */
export async function workspaceFile(session: Reader, path: string): Promise<WorkspaceFile> {
  const refused = (why: ReturnType<typeof message>, remedy?: ReturnType<typeof message>) =>
    new ReasonixError(message`Cannot show ${path}: ${why}`, remedy ? { remedy } : {});
  const real = await session.readable(path);
  const root = session.workspace.roots.find((each) => real.startsWith(each)) ?? "";
  if (isPrivatePath(path) || isPrivatePath(real.slice(root.length))) {
    throw refused(message`it may hold keys`, message`look at it on the machine itself`);
  }
  const info = attempt(() => Deno.lstatSync(real));
  if (!info) throw refused(message`it does not exist`);
  if (info.isDirectory) return directory(session, real, root);
  if (!info.isFile) throw refused(message`it is no regular file`);
  using file = await Deno.open(real, { read: true });
  await session.workspace.verifyOpened(file, real);
  const bytes = new Uint8Array(Math.min(info.size, MAX_IMAGE_FILE_BYTES));
  const head = bytes.subarray(0, await fill(file, bytes.subarray(0, MAX_TEXT_BYTES)));
  const image = imageInfo(head);
  if (image) {
    if (info.size > bytes.length) throw refused(message`the image has ${info.size} bytes`);
    const rest = await fill(file, bytes.subarray(head.length));
    return { kind: "image", mime: image.mime, data: bytes.subarray(0, head.length + rest).toBase64() };
  }
  if (head.subarray(0, 8192).includes(0)) throw refused(message`it is a binary file of ${info.size} bytes`);
  const text = session.redact(new TextDecoder().decode(head, { stream: true }));
  const language = languageOf(real);
  return {
    kind: "file",
    text,
    ...(language === "" ? {} : { language }),
    ...(info.size > head.length ? { truncated: true } : {}),
  };
}

async function fill(file: Deno.FsFile, bytes: Uint8Array): Promise<number> {
  let filled = 0;
  while (filled < bytes.length) {
    const count = await file.read(bytes.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return filled;
}

/** The entries that may be shown, directories first; links are left out. */
function directory({ workspace }: Reader, real: string, root: string): WorkspaceFile {
  const all: WorkspaceEntry[] = [];
  let seen = 0;
  for (const { name, isDirectory, isFile } of Deno.readDirSync(real)) {
    if (++seen > MAX_SEEN) break;
    const path = `${real}/${name}`;
    if (!(isDirectory || isFile) || isPrivatePath(path.slice(root.length)) || workspace.hidden(path)) {
      continue;
    }
    all.push({ name, kind: isDirectory ? "directory" : "file" });
  }
  const rank = ({ kind }: WorkspaceEntry) => kind === "directory" ? 0 : 1;
  const collator = new Intl.Collator(undefined, { numeric: true });
  all.sort((a, b) => rank(a) - rank(b) || collator.compare(a.name, b.name));
  const entries = all.slice(0, MAX_ENTRIES);
  return {
    kind: "directory",
    entries,
    ...(all.length > entries.length || seen > MAX_SEEN ? { truncated: true } : {}),
  };
}
