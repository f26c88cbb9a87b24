import type { Message } from "../../core/mod.ts";
import type { SessionPaths } from "../paths.ts";

/**
 * Writes the messages a compaction takes out of the conversation, one a line, and returns the file's path.
 * The session file keeps them too; this copy is for people and other programs.
 */
export function writeArchive(paths: SessionPaths, messages: readonly Message[], now: Date): string {
  const directory = `${paths.dir}/archive`;
  Deno.mkdirSync(directory, { recursive: true, mode: 0o700 });
  const stamp = now.toISOString().replace(/[-:]/g, "").replace(".", "-").replace("Z", "");
  const path = `${directory}/${stamp}.jsonl`;
  const text = messages.map((message) => `${JSON.stringify(message)}\n`).join("");
  Deno.writeTextFileSync(path, text, { mode: 0o600 });
  return path;
}
