/** Files that a call names, and the prompts, which files of the user replace. */
import { type PluginContext, PluginError } from "../common/plugin.ts";

const MAX_BYTES = 256 * 1024;

/** Reads a text file of the workspace that the session may read. */
export async function readText(path: string, context: PluginContext): Promise<string> {
  const { workspaceFile } = await import("../common/files.ts");
  return await read(workspaceFile(path, context).file, path);
}

/** A file `prompts/personas/NAME.md` or `.txt` of the Reasonix home replaces the prompt. */
export async function readPrompt(name: string, builtIn: string, { home }: PluginContext): Promise<string> {
  for (const ending of home === "" ? [] : [".md", ".txt"]) {
    const path = `${home}/prompts/personas/${name}${ending}`;
    const info = await Deno.stat(path).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    if (info) return await read(path, path);
  }
  return builtIn;
}

async function read(path: string, shown: string): Promise<string> {
  const cannot = (why: string, remedy?: string) => new PluginError(`Cannot read ${shown}: ${why}`, remedy);
  const { size } = await Deno.stat(path);
  if (size > MAX_BYTES) throw cannot(`it has ${size} bytes`, `use files of at most ${MAX_BYTES} bytes`);
  const text = new TextDecoder().decode(await Deno.readFile(path));
  if (!/[\0\uFFFD]/.test(text)) return text;
  throw cannot("it is no text in UTF-8", "convert it to Markdown first");
}
