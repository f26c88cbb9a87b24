import { errorMessage, ReasonixError } from "../../../../src/core/mod.ts";
import { Output } from "../../../../src/frontend/mod.ts";
import { existingRealPath } from "../../../../src/path/real_path.ts";
import type { TaskResult } from "./result.ts";

/** Where results go, one line each: standard output, or a file that is written anew. */
export class ResultSink {
  /** Directory of the file; patches lie beside it. */
  readonly directory: string | undefined;
  readonly #output: Output;
  readonly #file: Deno.FsFile | undefined;

  private constructor(output: Output, file?: Deno.FsFile, directory?: string) {
    this.#output = output;
    this.#file = file;
    this.directory = directory;
  }

  /** Throws a ReasonixError (usage) for a file that cannot be written, or that holds the tasks. */
  static async open(
    path: string | undefined,
    { tasks, onBroken }: { readonly tasks: string; readonly onBroken: () => void },
  ): Promise<ResultSink> {
    if (path === undefined) return new ResultSink(new Output(Deno.stdout, onBroken));
    if (existingRealPath(path) === tasks) throw unwritable(path, "it holds the tasks");
    try {
      const file = await Deno.open(path, { write: true, create: true, truncate: true });
      const real = await Deno.realPath(path);
      return new ResultSink(new Output(file, onBroken), file, real.slice(0, real.lastIndexOf("/")) || "/");
    } catch (error) {
      throw unwritable(path, errorMessage(error));
    }
  }

  async write(result: TaskResult): Promise<void> {
    await this.#output.write(`${JSON.stringify(result)}\n`);
    if (this.#file) await this.#output.flush();
  }

  async close(): Promise<void> {
    await this.#output.flush();
    this.#file?.close();
  }
}

function unwritable(path: string, reason: string): ReasonixError {
  return new ReasonixError(`Cannot write results to ${path}: ${reason}`, {
    exit: "usage",
    remedy: "give --results another file",
  });
}
