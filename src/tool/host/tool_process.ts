import { errorMessage, ReasonixError } from "../../core/mod.ts";
import { SYMBOL_EDITS } from "../edit/symbol_edits.ts";
import { EditorError } from "../file/client_files.ts";
import { FILE_WRITERS } from "../file_writers.ts";
import {
  type ClientFiles,
  failure,
  type FileReadTracker,
  type FileVersion,
  type Tool,
  type ToolResult,
  type WorkspacePolicy,
} from "../tool.ts";
import { unlessAborted } from "../../util/timer.ts";
import { type LinePort, readLines, sendMessage } from "./worker.ts";
import type { FileAnswer, HostMessage, SeenChanges, ToolMessage } from "./process_host.ts";

export interface ToolProcessDeps {
  readonly paths: (data: unknown) => WorkspacePolicy | Promise<WorkspacePolicy>;
  /** The tools it runs; absent: all that run in a worker. */
  readonly tools?: readonly Tool[];
}

type Call = Extract<HostMessage, { type: "call" }>;

export async function runToolProcess(parts: ToolProcessDeps, port: LinePort): Promise<void> {
  const server = new ToolServer(parts, port);
  for await (const message of readLines<HostMessage>(port.input)) await server.take(message);
}

class ToolServer {
  readonly #parts: ToolProcessDeps;
  readonly #port: LinePort;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #seen = new Map<string, FileVersion>();
  readonly #running = new Map<number, AbortController>();
  /** Requests about files that the host has not answered yet. */
  readonly #asked = new Map<number, PromiseWithResolvers<string | undefined>>();
  #requests = 0;
  #paths: WorkspacePolicy | undefined;

  constructor(parts: ToolProcessDeps, port: LinePort) {
    this.#parts = parts;
    this.#port = port;
    const tools = parts.tools ?? [...FILE_WRITERS, ...SYMBOL_EDITS];
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  async take(message: HostMessage): Promise<void> {
    if (message.type === "start") {
      this.#paths = await this.#parts.paths(message.data);
      this.#send({ type: "ready" });
      void this.#warm();
    } else if (message.type === "file") this.#answer(message);
    else if (message.type === "abort") this.#running.get(message.id)?.abort();
    else void this.#run(message);
  }

  async #warm(): Promise<void> {
    for (const tool of FILE_WRITERS) {
      if (!this.#tools.has(tool.name)) continue;
      await tool.warm().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  async #run(call: Call): Promise<void> {
    const controller = new AbortController();
    this.#running.set(call.id, controller);
    for (const stamp of call.seen.set) this.#seen.set(stamp.path, stamp);
    for (const path of call.seen.delete) this.#seen.delete(path);
    const seen = recorded(this.#seen);
    try {
      const result = await this.#execute(call, controller.signal, seen);
      this.#send({ type: "done", id: call.id, result, seen: seen.changes() });
    } catch (error) {
      if (controller.signal.aborted) this.#send({ type: "aborted", id: call.id });
      else {
        const result = failure(`${call.tool} failed: ${errorMessage(error)}`);
        this.#send({ type: "done", id: call.id, result, seen: seen.changes() });
      }
    } finally {
      this.#running.delete(call.id);
    }
  }

  /** The files of the session's client, which the host asks. */
  #filesOf({ id, files }: Call): ClientFiles | undefined {
    if (!files) return undefined;
    const ask = async (path: string, signal: AbortSignal, text?: string): Promise<string | undefined> => {
      signal.throwIfAborted();
      const request = ++this.#requests;
      const answer = Promise.withResolvers<string | undefined>();
      this.#asked.set(request, answer);
      this.#send({ type: "file", id, request, path, ...(text === undefined ? {} : { text }) });
      return await unlessAborted(answer.promise, signal);
    };
    return {
      directories: files.directories,
      ...(files.read ? { read: async (path, signal) => await ask(path, signal) } : {}),
      ...(files.write ? { write: async (path, text, signal) => void await ask(path, signal, text) } : {}),
    };
  }

  #answer(answer: FileAnswer): void {
    const asked = this.#asked.get(answer.request);
    this.#asked.delete(answer.request);
    if (!("problem" in answer)) asked?.resolve(answer.text);
    else if (answer.kind) asked?.reject(new EditorError(answer.problem, answer.kind));
    else asked?.reject(new ReasonixError(answer.problem, { exit: "blocked" }));
  }

  #send(message: ToolMessage): void {
    sendMessage(this.#port, message);
  }

  async #execute(call: Call, signal: AbortSignal, seen: FileReadTracker): Promise<ToolResult> {
    const tool = this.#tools.get(call.tool);
    if (!tool || !this.#paths) return failure(`Cannot run ${call.tool} here: the process does not have it`);
    return await tool.execute(call.args, {
      ...call.context,
      paths: this.#paths,
      jail: NO_COMMANDS,
      seen,
      signal,
      files: this.#filesOf(call),
      progress: (text) => this.#send({ type: "progress", id: call.id, text }),
    });
  }
}

/** Commands run in the main process, in the jail. */
const NO_COMMANDS = {
  wrap(argv: readonly string[]): never {
    throw new TypeError(`Cannot run ${argv[0] ?? "a command"} in the tool process`);
  },
};

/** The files seen, with a record of what one call changes, to be sent to the host with its result. */
function recorded(base: FileReadTracker): FileReadTracker & { changes(): SeenChanges } {
  const changed = new Map<string, FileVersion | undefined>();
  return {
    get: (path) => base.get(path),
    values: () => base.values(),
    set(path, version) {
      base.set(path, version);
      changed.set(path, version);
    },
    delete(path) {
      base.delete(path);
      changed.set(path, undefined);
    },
    changes: () => ({
      set: [...changed.values()].filter((stamp) => stamp !== undefined),
      delete: [...changed].filter(([, stamp]) => !stamp).map(([path]) => path),
    }),
  };
}
