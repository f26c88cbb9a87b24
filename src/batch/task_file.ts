import { errorMessage, formatLocation, message, ReasonixError, usageError } from "../core/mod.ts";
import { isAbsolute } from "../path/lexical.ts";
import { isDirectory } from "../path/probe.ts";
import { isRecord } from "../util/json.ts";
import { suggestNames } from "../util/suggest.ts";

export interface BatchTask {
  readonly id: string;
  readonly prompt: string;
  /** Real path of the directory that it works in. */
  readonly dir: string;
  readonly model?: string;
  /** Command lines whose exit codes decide whether it is done. */
  readonly checks: readonly string[];
}

const FIELDS = ["id", "prompt", "task", "dir", "model", "check"] as const;
type Field = (typeof FIELDS)[number];

const MAX_ID = 200;
const MAX_LISTED = 20;

interface Wrong {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

/**
 * The tasks of a JSON Lines text; empty lines count for nothing. Throws a ReasonixError (usage) that lists
 * every line that is wrong: a batch begins with all of its tasks or not at all.
 */
export function readTasks(
  text: string,
  { file, cwd }: { readonly file: string; readonly cwd: string },
): BatchTask[] {
  const wrong: Wrong[] = [];
  const tasks: BatchTask[] = [];
  const lines = new Map<string, number>();
  for (const [at, raw] of text.replace(/^\ufeff/, "").split("\n").entries()) {
    const line = at + 1;
    if (raw.trim() === "") continue;
    const read = readLine(raw, line, cwd);
    if (!("id" in read)) {
      wrong.push(...read.map((each) => ({ line, ...each })));
      continue;
    }
    const first = lines.get(read.id);
    if (first === undefined) {
      lines.set(read.id, line);
      tasks.push(read);
    } else {
      const own = raw.includes('"id"') ? "" : ", and a line without an id has its number";
      const problem = `the id ${JSON.stringify(read.id)} is that of line ${first} already${own}`;
      wrong.push({ line, column: columnOf(raw, "id"), problem });
    }
  }
  if (wrong.length > 0) throw unusable(file, wrong);
  if (tasks.length > 0) return tasks;
  throw usageError(
    message`Cannot run the tasks of ${file}: there are none in it`,
    message`write one a line: {"prompt": "what to do"}`,
  );
}

function unusable(file: string, wrong: readonly Wrong[]): ReasonixError {
  const listed = wrong.slice(0, MAX_LISTED).map(({ line, column, problem }) =>
    `\n  ${formatLocation({ file, line, column })}: ${problem}`
  );
  const more = wrong.length > MAX_LISTED ? `\n  and ${wrong.length - MAX_LISTED} more` : "";
  const what = wrong.length === 1 ? "a line is wrong" : `${wrong.length} things are wrong`;
  return usageError(
    message`Cannot run the tasks of ${file}: ${what}${listed.join("")}${more}`,
    message`correct them and run the command again; nothing was started`,
  );
}

type LineProblem = Omit<Wrong, "line">;

function readLine(raw: string, line: number, cwd: string): BatchTask | LineProblem[] {
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch (error) {
    return [jsonProblem(raw, errorMessage(error))];
  }
  if (!isRecord(value)) return [{ column: raw.search(/\S/) + 1, problem: "it is not a JSON object" }];
  const problems: LineProblem[] = [];
  const complain = (field: string, problem: string) =>
    void problems.push({ column: columnOf(raw, field), problem });
  for (const name of Object.keys(value)) {
    if ((FIELDS as readonly string[]).includes(name)) continue;
    const [near] = suggestNames(name, FIELDS, 1);
    complain(name, `a task has no field "${name}"${near === undefined ? "" : `; "${near}" is one`}`);
  }
  const { id: given = line } = value;
  const id = typeof given === "number" ? String(given) : given;
  if (!isText(id) || id.length > MAX_ID || /\p{Cc}/u.test(id)) {
    complain("id", `the id is no text of at most ${MAX_ID} characters`);
  }
  const name = value.task === undefined ? "prompt" : "task";
  const prompt = value[name];
  if (value.task !== undefined && value.prompt !== undefined) {
    complain("task", "it has both a prompt and a task, which are the same");
  } else if (!isText(prompt)) {
    complain(name, prompt === undefined ? "the prompt is missing" : `the ${name} is no text`);
  }
  if (value.model !== undefined && !isText(value.model)) complain("model", "the model is no name");
  const dir = directoryOf(value.dir, cwd);
  if (dir === undefined) complain("dir", `there is no directory ${JSON.stringify(value.dir)}`);
  const checks = checksOf(value.check);
  if (!checks) complain("check", "the check is neither a command line nor a list of them");
  if (problems.length > 0 || dir === undefined || !checks) return problems;
  const { model } = value;
  return { id: id as string, prompt: prompt as string, dir, checks, ...(isText(model) ? { model } : {}) };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function checksOf(value: unknown): readonly string[] | undefined {
  if (value === undefined) return [];
  const list = Array.isArray(value) ? value : [value];
  return list.every(isText) ? list : undefined;
}

function directoryOf(value: unknown, cwd: string): string | undefined {
  if (value === undefined) return cwd;
  if (!isText(value)) return undefined;
  const path = isAbsolute(value) ? value : `${cwd}/${value}`;
  return isDirectory(path) ? Deno.realPathSync(path) : undefined;
}

/** Column where a field begins; the first of the object where it has none. */
function columnOf(raw: string, field: Field | (string & Record<never, never>)): number {
  const at = raw.indexOf(`${JSON.stringify(field)}`);
  return (at < 0 ? raw.search(/\S/) : at) + 1;
}

/** Puts the place that the parser names into columns. */
function jsonProblem(raw: string, message: string): LineProblem {
  const at = /at position (\d+)/.exec(message)?.[1];
  const column = at === undefined ? raw.trimEnd().length + 1 : Number(at) + 1;
  const what = message.replace(/ (?:in JSON )?at position.*$| in JSON$/, "").replace(
    /, "[^]*" is not valid JSON$/,
    "",
  );
  return { column, problem: `it is not JSON: ${what}` };
}

/** The text of a task file and where it came from. */
export interface TaskSource {
  readonly text: string;
  readonly shown: string;
  /** Real path; of standard input a name that belongs to the directory. */
  readonly path: string;
}

/** Reads a file, or standard input for `-`. Throws a ReasonixError (usage) when it cannot be read. */
export async function readTaskText(path: string, cwd: string): Promise<TaskSource> {
  try {
    const shown = path === "-" ? "standard input" : path;
    const bytes = path === "-"
      ? new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer())
      : await Deno.readFile(path);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, shown, path: path === "-" ? `${cwd}/-` : await Deno.realPath(path) };
  } catch (error) {
    const reason = error instanceof TypeError ? "it is not UTF-8 text" : errorMessage(error);
    throw usageError(
      message`Cannot read the tasks of ${path}: ${reason}`,
      message`give --tasks a JSON Lines file, or - for standard input`,
    );
  }
}
