/** Facts that outlive a session. */
import { isDirectory } from "../path/probe.ts";
import type { MemoryEntry, MemoryPort } from "../tool/mod.ts";
import { lazy } from "../util/lazy.ts";
import type { FactStoreOptions } from "./store.ts";

export type { FactStore, FactStoreOptions, StoredFact } from "./store.ts";

/** Opens what the tools `memory`, `remember` and `forget` work with, when the first of them is called. */
export function memoryPort(options: FactStoreOptions): () => Promise<MemoryPort> {
  return lazy(async () => new (await import("./store.ts")).FactStore(options));
}

export interface MemoryPaths {
  /** Reasonix home. */
  readonly home: string;
  /** Directory kept for the project, `<home>/projects/<slug>`. */
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

const MAX_CHARS = 4_000;

/**
 * The `<memory>` block about saved facts: the pinned facts by name, and how many more there
 * are. A message, never part of the prefix. Undefined when nothing is saved.
 */
function memoryIndexText(entries: readonly MemoryEntry[]): string | undefined {
  if (entries.length === 0) return undefined;
  const lines: string[] = [];
  let left = MAX_CHARS;
  for (const entry of entries.filter((one) => one.pinned)) {
    const line = `- ${entry.name}: ${entry.description}`;
    if ((left -= line.length) < 0) break;
    lines.push(line);
  }
  const more = entries.length - lines.length;
  const head = lines.length > 0 ? ["Facts saved earlier; the memory tool reads them whole:", ...lines] : [];
  const tail = more > 0
    ? [`${more} ${lines.length > 0 ? "more " : ""}saved; search them with the memory tool.`]
    : [];
  return `<memory>\n${[...head, ...tail].join("\n")}\n</memory>`;
}
