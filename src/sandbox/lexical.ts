import { ReasonixError } from "../core/mod.ts";

/** How a path string is read before the file system is asked. */
export interface PathStyle {
  readonly cwd: string;
  /** What a leading `~` stands for; without it `~` is an ordinary name. */
  readonly userHome?: string | undefined;
  readonly windows: boolean;
}

const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;
const DRIVE = /^[a-z]:[\\/]/i;

function refuse(path: string, why: string, remedy: string): never {
  throw new ReasonixError(`Cannot use the path ${JSON.stringify(path)}: ${why}`, { exit: "blocked", remedy });
}

/** Forms of the Windows name space that mean something else than the file they seem to name. */
function checkWindows(path: string): void {
  const form = path.replaceAll("/", "\\");
  if (form.startsWith("\\\\?\\") || form.startsWith("\\\\.\\") || form.startsWith("\\??\\")) {
    refuse(path, "it is a device path", "write it as C:\\folder\\file");
  }
  if (/^[a-z]:(?![\\/])/i.test(path)) {
    refuse(path, "it counts from the current folder of a drive", "write it as C:\\folder\\file");
  }
  const names = form.replace(/^[a-z]:/i, "").split("\\");
  for (const name of names) {
    if (name.includes(":")) refuse(path, "it names an alternate data stream", "leave out the colon");
    if (RESERVED.test(name)) refuse(path, `${name} is a device name`, "choose another file name");
    if (/[. ]$/.test(name) && !/^\.{1,2}$/.test(name)) {
      refuse(path, "Windows drops dots and spaces at the end of a name", "leave them out");
    }
  }
}

function joinWindows(cwd: string, path: string): string {
  if (DRIVE.test(path) || /^[\\/]{2}/.test(path)) return path.replaceAll("/", "\\");
  const drive = /^(?:[a-z]:|\\\\[^\\]+\\[^\\]+)/i.exec(cwd)?.[0] ?? "";
  if (/^[\\/]/.test(path)) return drive + path.replaceAll("/", "\\");
  return `${cwd.replace(/[\\/]+$/, "")}\\${path.replaceAll("/", "\\")}`;
}

/**
 * The absolute form of a path as the model wrote it. `..` is left in place: what it means depends on symlinks,
 * so only {@linkcode realPathOf} may take it away.
 *
 * Contract: throws a `ReasonixError` for NUL bytes, an empty path, and Windows forms that name something else than a file.
 */
export function absolutePath(path: string, style: PathStyle): string {
  if (path === "") refuse(path, "it is empty", "name a file or folder");
  if (path.includes("\0")) refuse(path, "it contains a NUL byte", "leave the byte out");
  let text = path;
  const tilde = style.windows ? /^~(?:[\\/]|$)/ : /^~(?:\/|$)/;
  if (style.userHome !== undefined && tilde.test(text)) text = style.userHome + text.slice(1);
  if (style.windows) {
    checkWindows(text);
    return joinWindows(style.cwd, text);
  }
  if (text.startsWith("/")) return text;
  return style.cwd === "/" ? `/${text}` : `${style.cwd}/${text}`;
}

/** Takes `.`, `..` and doubled separators away without asking the file system. */
export function normalizeLexically(path: string, windows: boolean): string {
  const { root, names } = splitPath(path, windows);
  const kept: string[] = [];
  for (const name of names) {
    if (name === "..") kept.pop();
    else kept.push(name);
  }
  return root + kept.join(windows ? "\\" : "/");
}

/** The root of an absolute path (ending in a separator) and its names, `.` and empty ones left out. */
export function splitPath(path: string, windows: boolean): { root: string; names: string[] } {
  const root = windows
    ? /^(?:[a-z]:[\\/]|[\\/]{2}[^\\/]+[\\/]+[^\\/]+[\\/]?|[\\/])/i.exec(path)?.[0] ?? ""
    : path.startsWith("/")
    ? "/"
    : "";
  const names = path.slice(root.length).split(windows ? /[\\/]/ : "/");
  const rootText = windows && root !== "" ? root.replaceAll("/", "\\").replace(/\\?$/, "\\") : root;
  return { root: rootText, names: names.filter((name) => name !== "" && name !== ".") };
}
