import { isDirectory } from "../path/probe.ts";
import { memoryIndexText } from "./index_text.ts";

export interface MemoryPaths {
  /** Reasonix home. */
  readonly home: string;
  /** Folder kept for the project, `<home>/projects/<slug>`. */
  readonly project: string;
}

/**
 * The message about what is saved, for the start of a session. Where nothing was ever saved, this costs two
 * stat calls.
 */
export async function openingMemory(paths: MemoryPaths): Promise<string | undefined> {
  if (!isDirectory(`${paths.home}/memory`) && !isDirectory(`${paths.project}/memory`)) return undefined;
  const { FactStore } = await import("./store.ts");
  return memoryIndexText(await new FactStore(paths).list());
}
