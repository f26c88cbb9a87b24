import { errorMessage, ReasonixError } from "../../src/core/mod.ts";

/** The task of the command line. */
export interface Task {
  readonly text: string;
  /** Standard input that came with a task of its own. */
  readonly piped?: string;
}

const MAX_STDIN_BYTES = 4 * 1024 * 1024;

/**
 * The task from the arguments. Standard input is read when there is none, or where `-` stands; a pipe that
 * never closes can therefore not hang a run that has its task.
 */
export async function readTask(words: readonly string[]): Promise<Task> {
  const text = words.filter((word) => word !== "-").join(" ").trim();
  const dash = words.includes("-");
  if (!dash && text !== "") return { text };
  if (!dash && Deno.stdin.isTerminal()) {
    throw new ReasonixError("No task given", {
      exit: "usage",
      remedy: 'say what to do: reasonix run "fix the failing test"',
    });
  }
  const piped = (await readStdin()).trim();
  if (text !== "") return piped === "" ? { text } : { text, piped };
  if (piped === "") {
    throw new ReasonixError("No task given: standard input is empty", {
      exit: "usage",
      remedy: 'say what to do: reasonix run "fix the failing test"',
    });
  }
  return { text: piped };
}

async function readStdin(): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of Deno.stdin.readable) {
      parts.push(part);
      length += part.length;
      if (length > MAX_STDIN_BYTES) {
        throw new ReasonixError(`Standard input is larger than ${MAX_STDIN_BYTES} bytes`, {
          exit: "usage",
          remedy: "write it to a file and name the file in the task",
        });
      }
    }
  } catch (error) {
    if (error instanceof ReasonixError) throw error;
    throw new ReasonixError(`Cannot read standard input: ${errorMessage(error)}`, { exit: "usage" });
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return new TextDecoder().decode(whole);
}
