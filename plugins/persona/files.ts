/** Files that a call names, and the prompts, which files of the user replace. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { type PluginContext, PluginError } from "../common/plugin.ts";

const MAX_BYTES = 256 * 1024;

/** Reads a text file of the workspace that the session may read. */
export async function readText(path: string, { workspace, hidden }: PluginContext): Promise<string> {
  const absolute = resolve(workspace, path);
  const [root, real] = await Promise.all([
    Deno.realPath(workspace),
    isOutside(workspace, absolute) ? "/" : Deno.realPath(absolute).catch((error) => refuse(path, error)),
  ]);
  if (isOutside(root, real)) throw new PluginError(`Cannot read ${path}: it is outside of ${workspace}`);
  if (hidden.length > 0) {
    const { hiddenPaths } = await import("../common/files.ts");
    const isHidden = hiddenPaths(hidden, root, root);
    if (
      [relative(root, real), relative(workspace, absolute)].some((each) =>
        each !== "" && isHidden(slashed(each))
      )
    ) {
      throw new PluginError(`Cannot read ${path}: the session may not read this file`);
    }
  }
  return await read(real, path);
}

const slashed = (path: string) => path.split(sep).join("/");

function isOutside(directory: string, path: string): boolean {
  const below = relative(directory, path);
  return below.startsWith("..") || isAbsolute(below);
}

/** A file `prompts/personas/NAME.md` or `.txt` of the Reasonix home replaces the prompt. */
export async function readPrompt(name: string, builtIn: string, { home }: PluginContext): Promise<string> {
  if (home === "") return builtIn;
  for (const ending of [".md", ".txt"]) {
    const path = join(home, "prompts", "personas", `${name}${ending}`);
    const isThere = await Deno.stat(path).then(() => true, (error) => {
      if (error instanceof Deno.errors.NotFound) return false;
      return refuse(path, error);
    });
    if (isThere) return await read(path, path);
  }
  return builtIn;
}

async function read(path: string, shown: string): Promise<string> {
  const { size, isFile } = await Deno.stat(path);
  if (!isFile) throw new PluginError(`Cannot read ${shown}: it is no file`);
  if (size > MAX_BYTES) {
    throw new PluginError(
      `Cannot read ${shown}: it has ${size} bytes`,
      `use files of at most ${MAX_BYTES} bytes`,
    );
  }
  const bytes = await Deno.readFile(path).catch((error) => refuse(shown, error));
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // It is refused below.
  }
  throw new PluginError(`Cannot read ${shown}: it is no text in UTF-8`, "convert it to Markdown first");
}

function refuse(path: string, error: unknown): never {
  if (error instanceof Deno.errors.NotFound) throw new PluginError(`There is no file ${path}`);
  throw new PluginError(`Cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
}
