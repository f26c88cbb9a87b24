import { imageType } from "../../../path/reference_text.ts";
import { isFile } from "../../../path/probe.ts";
import { lineCount, type Piece } from "./parts.ts";

/** A paste that is longer is shown as a mark. */
const MAX_LINES = 10;
const MAX_CHARACTERS = 1000;
/** What drops of files bring is shorter. */
const MAX_PATHS = 8192;

export interface PasteEnvironment {
  /** The user's home directory, where it is known. */
  readonly home?: string | undefined;
}

/**
 * What a pasted text becomes. Its line ends are unified to LF, since terminals send CR for all of them;
 * everything else stays as it is. Absolute paths of images that exist are these images, a long text is one
 * part.
 */
export function readPaste(pasted: string, surroundings: PasteEnvironment): Piece[] {
  const text = pasted.replace(/\r\n?/g, "\n").toWellFormed();
  if (text === "") return [];
  const images = text.length <= MAX_PATHS ? imagePaths(text, surroundings) : undefined;
  if (images) return images.flatMap((path) => [{ kind: "file", path } as const, " "]);
  const isLong = text.length > MAX_CHARACTERS || lineCount(text) > MAX_LINES;
  return [isLong ? { kind: "paste", content: text } : text];
}

/** The paths, when the text is nothing else than absolute paths of images; else undefined. */
function imagePaths(text: string, surroundings: PasteEnvironment): string[] | undefined {
  if (!/\.\w{3,4}['"]?\s*$/.test(text)) return undefined;
  const whole = imagePath(text.trim(), surroundings);
  if (whole !== undefined) return [whole];
  const paths = wordsOf(text).map((word) => imagePath(word, surroundings));
  return paths.length > 0 && paths.every((path) => path !== undefined) ? paths : undefined;
}

/** Words as terminals write the names of files that are dropped on them: quoted, or with backslashes. */
function wordsOf(text: string): string[] {
  return text.match(/(?:'[^'\n]*'|"[^"\n]*"|\\.|[^\s'"\\])+/g) ?? [];
}

function imagePath(written: string, { home }: PasteEnvironment): string | undefined {
  for (const path of readings(written)) {
    const full = path.startsWith("~/") && home !== undefined ? `${home}${path.slice(1)}` : path;
    const isAbsolute = full.startsWith("/") || /^(?:[A-Za-z]:[\\/]|\\\\)/.test(full);
    const [found] = isAbsolute && imageType(full) !== undefined ? places(full).filter(isFile) : [];
    if (found !== undefined && !/["\n]/.test(found)) return found;
  }
  return undefined;
}

/** What a written path can mean: as it stands, as a URL, without its quotes, without its backslashes. */
function readings(written: string): string[] {
  if (/^file:\/\//i.test(written)) {
    const path = fileUrlPath(written);
    return path === undefined ? [] : [path];
  }
  const quoted = /^(['"])([^\n]*)\1$/.exec(written)?.[2];
  const plain = written.replace(
    /'([^']*)'|"([^"]*)"|\\(.)/g,
    (_, single, double, escaped) => single ?? double ?? escaped,
  );
  return [written, ...(quoted === undefined ? [] : [quoted]), plain];
}

function fileUrlPath(written: string): string | undefined {
  try {
    const { host, pathname } = new URL(written);
    if (host !== "" && host !== "localhost") return undefined;
    return decodeURIComponent(pathname).replace(/^\/([A-Za-z]:)/, "$1");
  } catch {
    return undefined;
  }
}

/** Where a path can lie; a drive of Windows is a directory for programs in its Linux. */
function places(path: string): string[] {
  const [, drive, rest = ""] = /^([A-Za-z]):[\\/](.*)$/.exec(path) ?? [];
  if (drive === undefined || Deno.build.os === "windows") return [path];
  return [`/mnt/${drive.toLowerCase()}/${rest.replaceAll("\\", "/")}`];
}
