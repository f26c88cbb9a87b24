/** Spreads the chunks of the program over its files by what runs of it executed. */
import { executedChunks } from "./eager.ts";
import { SPREAD } from "./files.ts";
import { type Chunk, type Parts, reachedFrom, startsOf } from "./pack.ts";
import type { Executed } from "./trace.ts";

/**
 * Stay with the program with all they can load: the process that changes files may load nothing from the
 * address that a program came from.
 */
const WHOLE = ["applyPatch", "deleteRange", "editFile", "moveFile", "notebookEdit", "writeFile"];
/** What worker processes begin with. */
const WORKERS = [
  "runWorker",
  "createWorkspace",
  "runWorkerProcess",
  "runToolProcess",
  "runSearchProcess",
  "runSchemaProcess",
];
/**
 * Stay with the program with what they import: work of processes of their own, commands that run where files
 * may be missing (in the jail, or to find out what is wrong), and what every run does while the model thinks.
 */
const STARTS = [
  ...WORKERS,
  "discoverWindow",
  "sandboxCommands",
  "doctorCommand",
  "installCommand",
  "docsCommand",
];

const [TASKS, CHINESE, SELDOM] = SPREAD;

/**
 * Adds to the parts what of the program (`file`, with this code) no start executed: what a task did execute
 * goes to one part, everything else to others.
 */
export function spread(
  chunks: readonly Chunk[],
  parts: Parts,
  { code, file, start, task }: {
    readonly code: string;
    readonly file: string;
    readonly start: Executed;
    readonly task: Executed;
  },
): Parts {
  const apart = new Set([...parts.values()].flat().map(({ id }) => id));
  const withoutLazy = chunks.map((chunk) => ({ ...chunk, lazy: [] }));
  const stays = new Set([
    ...executedChunks(code, start.get(file)),
    ...reachedFrom(startsOf(WHOLE, chunks), chunks, [...apart]),
    ...reachedFrom(startsOf(STARTS, chunks), withoutLazy, [...apart]),
  ]);
  const used = new Set(executedChunks(code, task.get(file)));
  const free = chunks.filter((chunk) => !stays.has(chunk.id) && !apart.has(chunk.id) && canLeave(chunk));
  const unused = free.filter(({ id }) => !used.has(id));
  const add = (name: string, list: readonly Chunk[]) => [name, [...parts.get(name) ?? [], ...list]] as const;
  return new Map([
    ...parts,
    add(TASKS, free.filter(({ id }) => used.has(id))),
    add(CHINESE, unused.filter(isChinese)),
    add(SELDOM, unused.filter((chunk) => !isChinese(chunk))),
  ]);
}

/** A chunk that asks for its own address has to be in the program. */
function canLeave({ body }: Chunk): boolean {
  return !body.includes("import.meta");
}

/** A word or two may stand anywhere. */
function isChinese({ body }: Chunk): boolean {
  return (body.match(/\p{Script=Han}|\\u[4-9][0-9a-f]{3}/giu)?.length ?? 0) > 50;
}
