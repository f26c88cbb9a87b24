import { errorMessage, ReasonixError } from "../../src/core/mod.ts";
import { after } from "../../src/util/timer.ts";

/** The task of the command line. */
export interface Task {
  readonly text: string;
  /** Standard input that came beside a task of its own, if any; to be asked for as late as can be. */
  piped(): Promise<string | undefined>;
}

const MAX_STDIN_BYTES = 16 * 1024 * 1024;
/** Time that a pipe may be silent before it is left alone, and after which the user is told of the wait. */
const FIRST_BYTE_MS = 3000;
const TELL_MS = 1000;

/**
 * The task from the arguments. Standard input is the task when there is none; `-` waits for it for ever.
 * With `optional` the text may be empty: there is something else to do. Beside a task a file or a pipe is
 * context, read when its first byte comes within 3 s after it was asked for: a pipe that nobody writes to
 * hangs nothing. `tell` takes lines for the user.
 */
export async function readTask(
  words: readonly string[],
  tell: (text: string) => void,
  { optional = false }: { readonly optional?: boolean } = {},
): Promise<Task> {
  const text = words.filter((word) => word !== "-").join(" ").trim();
  const dash = words.includes("-");
  if (text === "" && !dash && !optional && Deno.stdin.isTerminal()) throw noTask("No task given");
  const wanted = dash || (text === "" && !optional);
  if (!wanted) {
    const offered = Deno.stdin.isTerminal() ? undefined : new OfferedInput(tell);
    return { text, piped: async () => textOf(await offered?.text() ?? "", tell) };
  }
  const input = textOf(await readAll(), tell);
  if (text !== "") return { text, piped: () => Promise.resolve(input) };
  if (input === undefined) throw noTask("No task given: standard input is empty");
  return { text: input, piped: () => Promise.resolve(undefined) };
}

/** Returns what was read without the space around it; undefined when that is nothing. */
function textOf(input: string, tell: (text: string) => void): string | undefined {
  const text = input.trim();
  if (text.includes("\ufffd")) {
    tell("Standard input is not valid UTF-8; what cannot be read is shown as \ufffd");
  }
  return text === "" ? undefined : text;
}

function noTask(message: string): ReasonixError {
  return new ReasonixError(message, {
    exit: "usage",
    remedy: 'say what to do: reasonix run "fix the failing test"',
  });
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;
type FirstPart = ReturnType<Reader["read"]>;

/** Everything on standard input, however long it takes. */
async function readAll(): Promise<string> {
  const reader = Deno.stdin.readable.getReader();
  return await readRest(reader, reader.read());
}

/**
 * What a file or a pipe offers beside a task. Reading begins at once: by the time that somebody asks it has
 * told without a wait whether there is anything.
 */
class OfferedInput {
  readonly #reader = Deno.stdin.readable.getReader();
  /** A read that waits keeps nothing alive: the program ends by itself. */
  readonly #first = this.#reader.read();
  readonly #tell: (text: string) => void;
  #text: Promise<string> | undefined;

  constructor(tell: (text: string) => void) {
    this.#tell = tell;
    this.#first.catch(() => {});
  }

  /** Empty when it is something else, or when nothing comes in time. */
  text(): Promise<string> {
    return this.#text ??= this.#read();
  }

  async #read(): Promise<string> {
    if (await endsAtOnce(this.#first) || !await isFileOrPipe()) return "";
    return await comesInTime(this.#first, this.#tell) ? await readRest(this.#reader, this.#first) : "";
  }
}

/** Time in which the end of no input at all is seen, on a busy machine too. */
const END_MS = 5;

/**
 * Without input (the null device, a closed descriptor) the end comes at once, and nothing else is looked at.
 */
async function endsAtOnce(first: FirstPart): Promise<boolean> {
  const waited = new Promise<undefined>((resolve) => after(END_MS, () => resolve(undefined)));
  return (await Promise.race([first.catch(() => ({ done: true })), waited]))?.done === true;
}

/**
 * Terminals, sockets and devices are never read unasked. What can tell takes as long to load as the program.
 */
async function isFileOrPipe(): Promise<boolean> {
  const { fstatSync } = await import("node:fs");
  const kind = fstatSync(0);
  return kind.isFile() || kind.isFIFO();
}

async function readRest(reader: Reader, first: FirstPart): Promise<string> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for (let part = await first; !part.done; part = await reader.read()) {
      parts.push(part.value as Uint8Array<ArrayBuffer>);
      length += part.value.length;
      if (length > MAX_STDIN_BYTES) throw tooLarge();
    }
  } catch (error) {
    if (error instanceof ReasonixError) throw error;
    throw new ReasonixError(`Cannot read standard input: ${errorMessage(error)}`, { exit: "usage" });
  }
  return new TextDecoder().decode(await new Blob(parts).arrayBuffer());
}

function tooLarge(): ReasonixError {
  return new ReasonixError(`Standard input is larger than ${MAX_STDIN_BYTES / 1024 / 1024} MB`, {
    exit: "usage",
    remedy: "write it to a file and name the file in the task",
  });
}

/** Reports whether something comes before the pipe is left alone. */
function comesInTime(first: FirstPart, tell: (text: string) => void): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const notTold = after(TELL_MS, () => tell("Waiting for standard input, which is a pipe …"));
    const notLate = after(FIRST_BYTE_MS, () => {
      tell("Nothing came on standard input; going on without it (- waits for it)");
      resolve(false);
    });
    first.then(() => {
      notTold();
      notLate();
      resolve(true);
    }, reject);
  });
}
