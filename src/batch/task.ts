import { findNodeAtLocation, parseTree } from "jsonc-parser";
import { errorMessage, formatLocation, message, type ReasonixError, usageError } from "../core/mod.ts";
import { isRecord } from "../util/json.ts";

export interface BatchTask {
  readonly id: string;
  readonly prompt: string;
  /** Real path of the directory that it works in; with `repo` the way from its top, "" for the top. */
  readonly dir: string;
  readonly model?: string;
  /** Command lines whose exit codes decide whether it is done. */
  readonly checks: readonly string[];
  /** URL or absolute path of a git repository, of which it gets a separate clone. May hold credentials. */
  readonly repo?: string;
  /** Commit, branch or tag of `repo`; absent: its default branch. */
  readonly ref?: string;
  /** Command lines that run before the agent; what they change is not in the patch. */
  readonly setup?: readonly string[];
  /** Container image for other machines. */
  readonly image?: string;
  /** Variables of `setup`, of the agent's commands and of the checks. */
  readonly env?: Readonly<Record<string, string>>;
  readonly limits?: TaskLimits;
}

export interface TaskLimits {
  readonly steps?: number;
  /** Of the agent's work. */
  readonly seconds?: number;
  readonly cost?: number;
  /** Processors and bytes of memory, for other machines. */
  readonly cpus?: number;
  readonly memory?: number;
}

/** Tasks at the same time. */
export const DEFAULT_JOBS = 4;

const MAX_LISTED = 20;

/** One JSON object of a file of tasks. */
export interface Entry {
  readonly raw: string;
  /** Its beginning in the file. */
  readonly offset: number;
}

export function linesOf(text: string): Entry[] {
  let offset = 0;
  return text.split("\n").map((raw) => {
    const entry = { raw, offset };
    offset += raw.length + 1;
    return entry;
  });
}

/** The tasks of entries; blank ones count for nothing. `read` gets the number of the entry, from 1. */
export function readEntries(
  entries: readonly Entry[],
  { text, file }: { readonly text: string; readonly file: string },
  read: (fields: Fields, number: number) => BatchTask,
): BatchTask[] {
  const wrong: Problem[] = [];
  const tasks: BatchTask[] = [];
  const begun = new Map<string, number>();
  for (const [at, { raw, offset }] of entries.entries()) {
    if (raw.trim() === "") continue;
    const fields = parseEntry(raw);
    const task = fields.problems.length === 0 ? read(fields, at + 1) : undefined;
    if (task && fields.problems.length === 0) {
      const first = begun.get(task.id);
      if (first === undefined) {
        begun.set(task.id, offset);
        tasks.push(task);
      } else {
        const own = raw.includes('"id"') || raw.includes('"instance_id"')
          ? ""
          : ", and a line without an id has its number";
        const line = lineAt(text, first);
        fields.refuse(["id"], `the id ${JSON.stringify(task.id)} is that of line ${line} already${own}`);
      }
    }
    wrong.push(...fields.problems.map((each) => ({ ...each, offset: offset + each.offset })));
  }
  if (wrong.length > 0) throw unusable(text, file, wrong);
  if (tasks.length > 0) return tasks;
  throw usageError(
    message`Cannot run the tasks of ${file}: there are none in it`,
    message`write one a line: {"prompt": "what to do"}`,
  );
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function unusable(text: string, file: string, wrong: readonly Problem[]): ReasonixError {
  const listed = wrong.slice(0, MAX_LISTED).map(({ offset, problem }) => {
    const column = offset - (offset === 0 ? -1 : text.lastIndexOf("\n", offset - 1));
    return `\n  ${formatLocation({ file, line: lineAt(text, offset), column })}: ${problem}`;
  });
  const more = wrong.length > MAX_LISTED ? `\n  and ${wrong.length - MAX_LISTED} more` : "";
  const what = wrong.length === 1 ? "a line is wrong" : `${wrong.length} things are wrong`;
  return usageError(
    message`Cannot run the tasks of ${file}: ${what}${listed.join("")}${more}`,
    message`correct them and run the command again; nothing was started`,
  );
}

/** A fault, and its place: an offset into the entry, or into the whole file. */
interface Problem {
  readonly offset: number;
  readonly problem: string;
}

/** A value that a field cannot have, and the names that lead to it from there. */
export class Invalid {
  readonly problem: string;
  readonly path: readonly string[];

  constructor(problem: string, ...path: readonly string[]) {
    this.problem = problem;
    this.path = path;
  }
}

/** The fields of an entry, and what is wrong with them. */
export class Fields {
  readonly value: Readonly<Record<string, unknown>>;
  readonly problems: Problem[] = [];
  readonly #raw: string;

  constructor(raw: string, value: Readonly<Record<string, unknown>>, problems: readonly Problem[] = []) {
    this.#raw = raw;
    this.value = value;
    this.problems.push(...problems);
  }

  /** Notes a problem at a field, given by the names that lead to it; the entry begins where there is none. */
  refuse(path: readonly string[], problem: string): void {
    this.problems.push({ offset: offsetOf(this.#raw, path), problem });
  }

  /** The value of a field as `read` gives it; undefined if it is absent or invalid. */
  take<T>(name: string, read: (value: unknown) => T | Invalid): T | undefined {
    const value = this.value[name];
    const taken = value === undefined ? undefined : read(value);
    if (!(taken instanceof Invalid)) return taken;
    this.refuse([name, ...taken.path], taken.problem);
    return undefined;
  }

  /** A text that is not blank, which has to be there. */
  text(name: string): string {
    const value = this.value[name];
    if (isText(value)) return value;
    this.refuse([name], value === undefined ? `the ${name} is missing` : `the ${name} is no text`);
    return "";
  }
}

function parseEntry(raw: string): Fields {
  try {
    const value: unknown = JSON.parse(raw);
    if (isRecord(value)) return new Fields(raw, value);
    const problem = "it is not a JSON object";
    return new Fields(raw, {}, [{ offset: raw.search(/\S/), problem }]);
  } catch (error) {
    return new Fields(raw, {}, [jsonProblem(raw, errorMessage(error))]);
  }
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** The beginning of a field, given by the names that lead to it; of the object where it has none. */
function offsetOf(raw: string, path: readonly string[]): number {
  const root = parseTree(raw);
  const field = root && findNodeAtLocation(root, [...path])?.parent;
  return (field ?? root)?.offset ?? 0;
}

/** Puts the place that the parser names into an offset. */
function jsonProblem(raw: string, message: string): Problem {
  const at = /at position (\d+)/.exec(message)?.[1];
  const offset = at === undefined ? raw.trimEnd().length : Number(at);
  const what = message.replace(/ (?:in JSON )?at position.*$| in JSON$/, "").replace(
    /, "[^]*" is not valid JSON$/,
    "",
  );
  return { offset, problem: `it is not JSON: ${what}` };
}
