import { errorMessage, message, ReasonixError, usageError } from "../../src/core/mod.ts";
import type { Texts } from "../../src/i18n/mod.ts";
import { after } from "../../src/util/timer.ts";

export interface Task {
  readonly text: string;
  /** Standard input in addition to the task, if any; to be read as late as possible. */
  piped(): Promise<string | undefined>;
}

export interface InputReporter {
  readonly texts: Texts["run"]["input"];
  report(text: string): void;
}

const MAX_STDIN_BYTES = 16 * 1024 * 1024;
/** Time that a pipe may be silent before it is left alone, and time after which a wait is reported. */
const FIRST_BYTE_MS = 3000;
const REPORT_MS = 1000;

/**
 * The task from the arguments. Standard input is the task when there is none; `-` waits for it without a
 * limit. With `optional` the text may be empty: there is something else to do. In addition to a task a file,
 * a pipe or a socket is context, read when its first byte comes within 3 s after `piped` was called: an input
 * that is open and silent hangs nothing.
 */
export async function readTask(
  words: readonly string[],
  reporter: InputReporter,
  { optional = false }: { readonly optional?: boolean } = {},
): Promise<Task> {
  const text = words.filter((word) => word !== "-").join(" ").trim();
  const dash = words.includes("-");
  const terminal = Deno.stdin.isTerminal();
  if (text === "" && !dash && !optional && terminal) throw noTask("No task given");
  const wanted = dash || (text === "" && !optional);
  if (!wanted) {
    const offered = terminal ? undefined : new InputReader(reporter);
    return { text, piped: async () => textOf(await offered?.offered() ?? "", reporter) };
  }
  // A person at a terminal knows who is waited for.
  const waits = terminal ? { ...reporter, report: () => {} } : reporter;
  const input = textOf(await new InputReader(waits).all(), reporter);
  if (text !== "") return { text, piped: () => Promise.resolve(input) };
  if (input === undefined) throw noTask("No task given: standard input is empty");
  return { text: input, piped: () => Promise.resolve(undefined) };
}

/** Returns what was read without the space around it; undefined when that is nothing. */
function textOf(input: string, { texts, report }: InputReporter): string | undefined {
  const text = input.trim();
  if (text.includes("\ufffd")) report(texts.notText);
  return text === "" ? undefined : text;
}

function noTask(problem: string): ReasonixError {
  return usageError(problem, message`say what to do: reasonix run "fix the failing test"`);
}

/**
 * Reads standard input. Reading begins at once: when the text is needed, an input that is there has
 * arrived without a wait.
 */
class InputReader {
  readonly #reader = Deno.stdin.readable.getReader();
  /** A pending read keeps nothing alive: the program can end. */
  readonly #first = this.#reader.read();
  readonly #reporter: InputReporter;
  #offered: Promise<string> | undefined;

  constructor(reporter: InputReporter) {
    this.#reporter = reporter;
    this.#first.catch(() => {});
  }

  /** The whole input, however long it takes. A wait is reported before and after the first byte. */
  async all(): Promise<string> {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let length = 0;
    const { texts, report } = this.#reporter;
    let arrived = after(REPORT_MS, () => report(texts.waiting));
    try {
      for (let part = await this.#first; !part.done; part = await this.#reader.read()) {
        if (length === 0) {
          arrived();
          arrived = after(REPORT_MS, () => report(texts.stillOpen(length)));
        }
        parts.push(part.value as Uint8Array<ArrayBuffer>);
        length += part.value.length;
        if (length > MAX_STDIN_BYTES) throw tooLarge();
      }
    } catch (error) {
      if (error instanceof ReasonixError) throw error;
      throw usageError(message`Cannot read standard input: ${errorMessage(error)}`);
    } finally {
      arrived();
    }
    return new TextDecoder().decode(await new Blob(parts).arrayBuffer());
  }

  /** The input in addition to a task; empty when it is a device, or when nothing comes in time. */
  offered(): Promise<string> {
    return this.#offered ??= this.#readOffered();
  }

  async #readOffered(): Promise<string> {
    if (await this.#endsAtOnce() || !await isFilePipeOrSocket()) return "";
    return await this.#comesInTime() ? await this.all() : "";
  }

  /** Reports whether there is no input (the null device, a closed descriptor): nothing else is looked at. */
  async #endsAtOnce(): Promise<boolean> {
    const waited = new Promise<undefined>((resolve) => after(END_MS, () => resolve(undefined)));
    return (await Promise.race([this.#first.catch(() => ({ done: true })), waited]))?.done === true;
  }

  /** Reports whether something comes before an open input is left alone. */
  #comesInTime(): Promise<boolean> {
    const { texts, report } = this.#reporter;
    return new Promise((resolve) => {
      const reported = after(REPORT_MS, () => report(texts.waiting));
      const late = after(FIRST_BYTE_MS, () => {
        report(texts.nothing);
        resolve(false);
      });
      const arrived = () => {
        reported();
        late();
        resolve(true);
      };
      this.#first.then(arrived, arrived);
    });
  }
}

/** Time in which the end of no input at all is seen, on a busy machine too. */
const END_MS = 5;

/** Terminals and devices are never read unasked. The module that knows loads as long as the program. */
async function isFilePipeOrSocket(): Promise<boolean> {
  const { fstatSync } = await import("node:fs");
  const kind = fstatSync(0);
  return kind.isFile() || kind.isFIFO() || kind.isSocket();
}

function tooLarge(): ReasonixError {
  return usageError(
    message`Standard input is larger than ${MAX_STDIN_BYTES / 1024 / 1024} MB`,
    message`write it to a file and name the file in the task`,
  );
}
