import { message, ReasonixError } from "../core/mod.ts";
import { mayHoldKeys } from "../path/key_files.ts";
import { isDirectory as isDirectoryPath } from "../path/probe.ts";
import { MAX_IMAGE_FILE_BYTES } from "../path/reference_text.ts";
import type { Assembly } from "../run/mod.ts";
import { loadTextFiles } from "../tool/mod.ts";
import { imageInfo } from "../util/image/image_info.ts";
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

const [MAX_TEXT_BYTES, MAX_ENTRIES, MAX_SEEN, READING_MS] = [512 * 1024, 2000, 20_000, 10_000];

/** Reports whether the content of a file may be shown; it may be deleted. */
export async function isShown(session: Pick<Reader, "readable">, path: string): Promise<boolean> {
  return !mayHoldKeys(path) && await session.readable(path).then(() => true, () => false);
}

/** Reads what a path names under the read rules of the session. Throws a ReasonixError with the reason. */
export async function workspaceFile(session: Reader, path: string): Promise<WorkspaceFile> {
  const refused = (why: ReturnType<typeof message>, remedy?: ReturnType<typeof message>) =>
    new ReasonixError(message`Cannot show ${path}: ${why}`, remedy ? { remedy } : {});
  const real = await session.readable(path);
  const root = session.workspace.roots.find((each) => real.startsWith(each)) ?? "";
  if (mayHoldKeys(path) || mayHoldKeys(real.slice(root.length))) {
    throw refused(message`it may hold keys`, message`look at it on the machine itself`);
  }
  if (isDirectoryPath(real)) return await directory(session, real, root);
  const { readBytes, statRegular } = await loadTextFiles();
  const file = await statRegular({ path: real, shown: path });
  const { size } = file.info;
  if (size > MAX_IMAGE_FILE_BYTES) throw refused(message`it has ${size} bytes`);
  const signal = AbortSignal.timeout(READING_MS);
  const bytes = await readBytes(file, { signal, paths: session.workspace });
  const image = imageInfo(bytes);
  if (image) return { kind: "image", mime: image.mime, data: bytes.toBase64() };
  if (bytes.subarray(0, 8192).includes(0)) {
    throw refused(message`it is a binary file of ${bytes.length} bytes`);
  }
  const head = bytes.subarray(0, MAX_TEXT_BYTES);
  const language = languageOf(real);
  return {
    kind: "file",
    text: session.redact(new TextDecoder().decode(head, { stream: true })),
    ...(language === "" ? {} : { language }),
    ...(bytes.length > head.length ? { truncated: true } : {}),
  };
}

/** The entries that may be shown, directories first; links are left out. */
async function directory({ workspace }: Reader, real: string, root: string): Promise<WorkspaceFile> {
  // The modules of Node take 4 MB, which no file needs.
  const { opendirSync } = await import("node:fs");
  const all: WorkspaceEntry[] = [];
  let seen = 0;
  using entriesOf = opendirSync(real);
  for (let entry = entriesOf.readSync(); entry && ++seen <= MAX_SEEN; entry = entriesOf.readSync()) {
    const { name } = entry;
    const isDirectory = entry.isDirectory();
    const path = `${real}/${name}`;
    if (
      !(isDirectory || entry.isFile()) || mayHoldKeys(path.slice(root.length)) || workspace.hidden(path)
    ) {
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
