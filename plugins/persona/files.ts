/** Files that a call names, and the prompts, which files of the user replace. */
import { join, relative, resolve } from "node:path";
import { type PluginContext, PluginError } from "../common/plugin.ts";

const MAX_BYTES = 256 * 1024;

/** Reads a text file of the workspace that the session may read. */
export async function readText(path: string, { workspace }: PluginContext): Promise<string> {
  const real = await Deno.realPath(resolve(workspace, path)).catch((error) => refuse(path, error));
  const below = relative(await Deno.realPath(workspace), real);
  if (below.startsWith("..")) throw new PluginError(`Cannot read ${path}: it is outside of ${workspace}`);
  return await read(real, path);
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
