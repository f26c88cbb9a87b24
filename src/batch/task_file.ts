import { isVendorVariable } from "../config/mod.ts";
import { errorMessage, message, usageError } from "../core/mod.ts";
import { isAbsolute, normalize } from "../path/lexical.ts";
import { isDirectory } from "../path/probe.ts";
import { isWithheldVariable } from "../path/read_env.ts";
import { defined, isRecord } from "../util/json.ts";
import { suggestNames } from "../util/suggest.ts";
import { isServerAddress } from "../worktree/mod.ts";
import { readSweBench } from "./swe_bench.ts";
import {
  type BatchTask,
  type Fields,
  Invalid,
  isText,
  linesOf,
  readEntries,
  type TaskLimits,
} from "./task.ts";

const FIELDS = [
  ...["id", "prompt", "task", "dir", "model", "check"],
  ...["repo", "ref", "setup", "image", "env", "limits"],
];

const MAX_ID = 200;
export interface ReadOptions {
  /** The name of the file in errors. */
  readonly file: string;
  readonly cwd: string;
  /** The tasks run on other machines: whether their directories are there is not looked up here. */
  readonly elsewhere?: boolean;
}

/**
 * The tasks of a JSON Lines text; empty lines count for nothing. Throws a ReasonixError (usage) that lists
 * every line that is wrong: a batch begins with all of its tasks or not at all.
 */
export function readTasks(text: string, options: ReadOptions): BatchTask[] {
  const plain = text.replace(/^\ufeff/, "");
  const source = { file: options.file, text: plain };
  return readEntries(linesOf(plain), source, (fields, line) => readTask(fields, line, options));
}

function readTask(fields: Fields, line: number, options: ReadOptions): BatchTask {
  const { value } = fields;
  for (const name of Object.keys(value)) {
    if (!FIELDS.includes(name)) fields.refuse([name], unknownName("a task", name, FIELDS));
  }
  const { id: given = line } = value;
  const id = typeof given === "number" ? String(given) : given;
  if (!isText(id) || id.length > MAX_ID || /\p{Cc}/u.test(id)) {
    fields.refuse(["id"], `the id is no text of at most ${MAX_ID} characters`);
  }
  if (value.task !== undefined && value.prompt !== undefined) {
    fields.refuse(["task"], "it has both a prompt and a task, which are the same");
  }
  const prompt = fields.text(value.task === undefined ? "prompt" : "task");
  const model = fields.take("model", (model) => isText(model) ? model : new Invalid("the model is no name"));
  const repo = fields.take("repo", (repo) => repositoryOf(repo, options));
  const inRepository = value.repo !== undefined;
  const dir = fields.take("dir", (dir) => inRepository ? pathBelow(dir) : directoryOf(dir, options));
  const checks = fields.take("check", (lines) => commandsOf(lines, "the check"));
  const ref = fields.take("ref", (ref) => {
    if (!inRepository) return new Invalid('a ref is one of a repository: "repo" is missing');
    return isText(ref) && isRef(ref) ? ref : new Invalid("the ref is no commit, branch or tag");
  });
  const setup = fields.take("setup", (lines) => commandsOf(lines, "the setup"));
  const image = fields.take(
    "image",
    (image) =>
      typeof image === "string" && IMAGE.test(image) ? image : new Invalid("the image is no name of one"),
  );
  const env = fields.take("env", variablesOf);
  const limits = fields.take("limits", limitsOf);
  return {
    id: String(id),
    prompt,
    dir: dir ?? (inRepository ? "" : options.cwd),
    checks: checks ?? [],
    ...defined({ model, repo, ref, setup, image, env, limits }),
  };
}

function unknownName(what: string, name: string, names: readonly string[]): string {
  const [near] = suggestNames(name, names, 1);
  return `${what} has no field "${name}"${near === undefined ? "" : `; "${near}" is one`}`;
}

function commandsOf(value: unknown, what: string): readonly string[] | Invalid {
  const list = Array.isArray(value) ? value : [value];
  return list.every(isText) ? list : new Invalid(`${what} is neither a command line nor a list of them`);
}

function directoryOf(value: unknown, { cwd, elsewhere }: ReadOptions): string | Invalid {
  const missing = new Invalid(`there is no directory ${JSON.stringify(value)}`);
  if (!isText(value)) return missing;
  const path = isAbsolute(value) ? value : `${cwd}/${value}`;
  if (elsewhere) return normalize(path);
  return isDirectory(path) ? Deno.realPathSync(path) : missing;
}

function pathBelow(value: unknown): string | Invalid {
  if (isText(value) && !isAbsolute(value) && !/(?:^|[\\/])(?:\.\.|\.git)(?:[\\/]|$)/i.test(value)) {
    return normalize(value).replace(/^\.$/, "");
  }
  return new Invalid(`${JSON.stringify(value)} is no directory in the repository`);
}

/** An address that git reads without another program deciding how, or a path made absolute. */
function repositoryOf(value: unknown, { cwd, elsewhere }: ReadOptions): string | Invalid {
  if (!isText(value) || /\p{Cc}/u.test(value) || value.startsWith("-")) {
    return new Invalid("the repo is neither an address nor a path of a git repository");
  }
  if (isServerAddress(value) || /^file:\/\/[^-]/i.test(value)) return value;
  if (/^[a-z][a-z0-9+.-]*:(?::|\/\/)/i.test(value)) {
    return new Invalid("the repo is no address of https, http, ssh or file");
  }
  const path = normalize(isAbsolute(value) ? value : `${cwd}/${value}`);
  return elsewhere || isDirectory(path)
    ? path
    : new Invalid(`there is no directory ${JSON.stringify(value)}`);
}

/** Accepts names as `git check-ref-format` does, and commits. */
function isRef(ref: string): boolean {
  return /^[^\s~^:?*[\\\p{Cc}-][^\s~^:?*[\\\p{Cc}]*$/u.test(ref) &&
    !/\.\.|@\{|\/\/|^[/.]|[/.]$|\/\.|\.lock(?:\/|$)|^@$/.test(ref);
}

/** `[host[:port]/]path[:tag][@digest]`. */
const IMAGE =
  /^(?:[A-Za-z0-9.-]+(?::\d+)?\/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;

/** Variables that the program sets for commands, or that nothing works without. */
const OURS =
  /^(?:REASONIX|AI_AGENT|PATH|HOME|USER|LOGNAME|SHELL|PWD|IFS|TERM|(?:GIT_|MAN)?PAGER|GIT_(?:EDITOR|TERMINAL_PROMPT|OPTIONAL_LOCKS|DIR|WORK_TREE|EXEC_PATH|CONFIG.*))$/i;

function variablesOf(value: unknown): Readonly<Record<string, string>> | Invalid {
  if (!isRecord(value)) return new Invalid("the env is no object of texts");
  for (const [name, text] of Object.entries(value)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      return new Invalid(`${JSON.stringify(name)} is no name of a variable`, name);
    }
    if (typeof text !== "string" || text.includes("\0")) return new Invalid(`${name} is no text`, name);
    if (isWithheldVariable(name.toUpperCase()) || OURS.test(name)) {
      return new Invalid(`${name} is not for commands: it would change how programs run`, name);
    }
    if (isVendorVariable(name.toUpperCase())) {
      return new Invalid(`${name} is a key of a model's vendor, which commands never get`, name);
    }
  }
  return value as Record<string, string>;
}

const LIMITS = ["steps", "seconds", "cost", "cpus", "memory"];
const UNITS = "KMGT";

function limitsOf(value: unknown): TaskLimits | Invalid {
  if (!isRecord(value)) return new Invalid("the limits are no object");
  for (const [name, limit] of Object.entries(value)) {
    if (!LIMITS.includes(name)) return new Invalid(unknownName("limits", name, LIMITS), name);
    const number = name === "memory" ? bytesOf(limit) : limit;
    if (typeof number !== "number" || !Number.isFinite(number) || number <= 0) {
      const wanted = name === "memory" ? 'bytes, or a text such as "4Gi"' : "a number above zero";
      return new Invalid(`the limit ${name} is not ${wanted}`, name);
    }
    if (name === "steps" && !Number.isSafeInteger(number)) {
      return new Invalid("the limit steps is no whole number", name);
    }
  }
  return value.memory === undefined ? value : { ...value, memory: bytesOf(value.memory) };
}

/** Bytes, or a text with the suffixes of Kubernetes: M is 10⁶, Mi is 2²⁰. */
function bytesOf(value: unknown): number {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : NaN;
  const [, amount = "", unit = "", binary] = /^(\d+(?:\.\d+)?)(?:([KMGT])(i)?B?)?$/i.exec(String(value)) ??
    [];
  const power = unit === "" ? 0 : UNITS.indexOf(unit.toUpperCase()) + 1;
  return amount === "" ? NaN : Math.round(Number(amount) * (binary === undefined ? 1000 : 1024) ** power);
}

/** A file of tasks: its text, the tasks, and where it came from. */
export interface TaskFile {
  readonly tasks: readonly BatchTask[];
  readonly text: string;
  readonly shown: string;
  /** Real path; of standard input a name that belongs to the directory. */
  readonly path: string;
}

export interface TaskFlags {
  /** The file; `-`: standard input. */
  readonly tasks: string;
  /** The format of the file, where it is not JSON Lines of tasks. */
  readonly tasksFrom?: "swe-bench" | undefined;
}

/** Reads a file of tasks. Throws a ReasonixError (usage) when it cannot be used. */
export async function readTaskFile(
  { tasks: file, tasksFrom }: TaskFlags,
  options: Omit<ReadOptions, "file">,
): Promise<TaskFile> {
  const source = await readTaskText(file, options.cwd);
  const read = tasksFrom === undefined ? readTasks : readSweBench;
  return { ...source, tasks: read(source.text, { ...options, file: source.shown }) };
}

/** Reads a file, or standard input for `-`. Throws a ReasonixError (usage) when it cannot be read. */
async function readTaskText(path: string, cwd: string): Promise<Omit<TaskFile, "tasks">> {
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
