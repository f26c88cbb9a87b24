import { errorMessage, ReasonixError, type Text } from "../../core/mod.ts";
import { ABORT_GRACE_MS, LocalToolHost, type ToolHost } from "../host.ts";
import { LineProcess, type SelfCommand } from "./worker.ts";
import type { ProcessGuard } from "../shell/process.ts";
import { EditorError } from "../file/client_files.ts";
import {
  type ClientFiles,
  failure,
  type FileReadTracker,
  type FileVersion,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../tool.ts";

export { pluginCommand, type SelfCommand, selfCommand, type SelfOptions } from "./worker.ts";

export interface ProcessHostOptions {
  /** Its permission flags limit what tools may touch. */
  readonly command: SelfCommand;
  readonly data: unknown;
  /** A file that the command reads at each start; removed at the end. */
  readonly file?: string | undefined;
  /** Longest call, in milliseconds; 0 = no limit. */
  readonly callTimeoutMs?: number;
  readonly timer?: (ms: number, task: () => void) => () => void;
  /** Finds the process by its mark when the program is killed while a tool is in a loop. */
  readonly guard?: ProcessGuard;
  /** Called once when tools run in the main process since the other one cannot be started. */
  readonly onProblem?: (problem: string) => void;
}

interface Pending {
  readonly tool: Tool;
  readonly args: Record<string, unknown>;
  readonly context: ToolContext;
  readonly settle: PromiseWithResolvers<ToolResult>;
}

const CALL_TIMEOUT_MS = 120_000;

/** A process without work ends after this time; the next call starts another. */
const IDLE_MS = 60_000;

/** A process that ends this often before its first result is not tried again. */
const MAX_FAILED_STARTS = 2;

/**
 * Runs file tools in a process that is killed when a call does not end: an abort or a deadline takes effect
 * even in a busy loop, and the session continues with a new process. A process that has had nothing to do for
 * a minute ends as well.
 */
export class ProcessToolHost implements ToolHost {
  readonly #options: ProcessHostOptions;
  readonly #local = new LocalToolHost();
  readonly #pending = new Map<number, Pending>();
  #process: LineProcess<HostMessage, ToolMessage> | undefined;
  /** The files seen, as the process knows them. */
  #known = new Map<string, FileVersion>();
  #calls = 0;
  #failedStarts = 0;
  /** The process has reported that it runs: only then can a call have begun. */
  #ready = false;
  #disposed = false;
  #ending: Promise<unknown> = Promise.resolve();
  #cancelIdleEnd: (() => void) | undefined;

  constructor(options: ProcessHostOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  warm(): void {
    this.#ensureStarted();
    if (this.#ready) this.#awaitWork();
  }

  async execute(tool: Tool, args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
    context.signal.throwIfAborted();
    this.#ensureStarted();
    if (!this.#process) return await this.#local.execute(tool, args, context);
    this.#cancelIdleEnd?.();
    const id = ++this.#calls;
    const call: Pending = { tool, args, context, settle: Promise.withResolvers() };
    this.#pending.set(id, call);
    this.#send(id, call);
    return await this.#wait(id, call);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#cancelIdleEnd?.();
    this.#end(this.#process);
    for (const [id, call] of this.#pending) {
      this.#finish(id, failure(`${call.tool.name} was stopped with the session`));
    }
    await this.#ending;
    const { file } = this.#options;
    if (file !== undefined) await Deno.remove(file).catch(() => {});
  }

  async #wait(id: number, call: Pending): Promise<ToolResult> {
    const { signal } = call.context;
    const limit = this.#options.callTimeoutMs ?? CALL_TIMEOUT_MS;
    let grace: ReturnType<typeof setTimeout> | undefined;
    const aborted = () => {
      this.#process?.send({ type: "abort", id });
      // Time for the tool to stop; then the process is ended.
      grace = setTimeout(
        () => this.#giveUp(id, () => call.settle.reject(signal.reason)),
        ABORT_GRACE_MS - 30,
      );
    };
    const deadline = limit === 0 ? undefined : setTimeout(() => {
      const problem = `${call.tool.name} was stopped: it had not ended after ${limit / 1000} s`;
      this.#giveUp(id, () => call.settle.resolve(failure(problem, "ask for less at once")));
    }, limit);
    signal.addEventListener("abort", aborted, { once: true });
    if (signal.aborted) aborted();
    try {
      return await call.settle.promise;
    } finally {
      clearTimeout(deadline);
      clearTimeout(grace);
      signal.removeEventListener("abort", aborted);
      this.#pending.delete(id);
      this.#awaitWork();
    }
  }

  /** Ends the process when no call comes for a while. No call can begin between the check and the release. */
  #awaitWork(): void {
    this.#cancelIdleEnd?.();
    if (!this.#process || this.#pending.size > 0) return;
    this.#cancelIdleEnd = (this.#options.timer ?? unreferenced)(IDLE_MS, () => {
      const process = this.#process;
      if (!process || this.#pending.size > 0) return;
      this.#end(process);
    });
  }

  #end(process: LineProcess<HostMessage, ToolMessage> | undefined): void {
    this.#process = undefined;
    if (process) this.#ending = Promise.all([this.#ending, process.kill()]);
  }

  #send(id: number, call: Pending): void {
    const { callId, cwd, settings, outputDir, seen, files } = call.context;
    this.#process?.send({
      type: "call",
      id,
      tool: call.tool.name,
      args: call.args,
      context: { callId, cwd, settings, outputDir },
      ...(files
        ? {
          files: {
            directories: files.directories,
            read: files.read !== undefined,
            write: files.write !== undefined,
          },
        }
        : {}),
      seen: this.#unknownOf(seen),
    });
  }

  #ensureStarted(): void {
    if (!this.#process && !this.#disposed && this.#failedStarts < MAX_FAILED_STARTS) this.#start();
  }

  #start(): void {
    const { command, guard } = this.#options;
    guard?.start();
    try {
      const process = new LineProcess<HostMessage, ToolMessage>(
        { ...command, env: { ...command.env, ...guard?.mark } },
        {
          onMessage: (message) => this.#take(message),
          onEnd: (errorOutput) => this.#crashed(process, errorOutput),
        },
      );
      this.#process = process;
      this.#ready = false;
      this.#known = new Map();
      process.send({ type: "start", data: this.#options.data });
    } catch (error) {
      this.#failedStarts = MAX_FAILED_STARTS;
      this.#options.onProblem?.(errorMessage(error));
    }
  }

  #take(message: ToolMessage): void {
    this.#ready = true;
    // The first timer loads a module of the runtime, for which a call must not wait.
    if (message.type === "ready") return this.#awaitWork();
    const call = this.#pending.get(message.id);
    if (!call) return;
    if (message.type === "file") void this.#askClient(message, call.context);
    else if (message.type === "progress") call.context.progress(message.text);
    else if (message.type === "aborted") call.settle.reject(call.context.signal.reason);
    else {
      this.#failedStarts = 0;
      this.#apply(call.context.seen, message.seen);
      call.settle.resolve(message.result);
    }
  }

  /** Asks the client of the session about a file, for a call in the process. */
  async #askClient(
    { id, request, path, text }: FileRequest,
    { files, signal }: ToolContext,
  ): Promise<void> {
    const process = this.#process;
    const answer =
      await (text === undefined
        ? files?.read?.(path, signal).then((read) => read === undefined ? {} : { text: read })
        : files?.write?.(path, text, signal).then(() => ({})))
        ?.catch(problemOf);
    process?.send({ type: "file", id, request, ...answer ?? {} });
  }

  #unknownOf(seen: FileReadTracker): SeenChanges {
    const now = new Map([...seen.values()].map((stamp) => [stamp.path, stamp]));
    const before = this.#known;
    this.#known = now;
    return {
      set: [...now.values()].filter((stamp) => before.get(stamp.path) !== stamp),
      delete: [...before.keys()].filter((path) => !now.has(path)),
    };
  }

  #apply(seen: FileReadTracker, changes: SeenChanges): void {
    for (const stamp of changes.set) {
      seen.set(stamp.path, stamp);
      this.#known.set(stamp.path, stamp);
    }
    for (const path of changes.delete) {
      seen.delete(path);
      this.#known.delete(path);
    }
  }

  #giveUp(id: number, settle: () => void): void {
    if (!this.#pending.delete(id)) return;
    settle();
    this.#end(this.#process);
    this.#endOthers();
  }

  #crashed(process: LineProcess<HostMessage, ToolMessage>, errorOutput: string): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    const reason = lastError(errorOutput);
    if (++this.#failedStarts >= MAX_FAILED_STARTS) this.#options.onProblem?.(reason);
    this.#endOthers(this.#ready ? undefined : reason);
  }

  /** Reports the other calls, which may have taken effect; not where the process has not started. */
  #endOthers(notStarted?: string): void {
    for (const [id, { tool, context, settle }] of this.#pending) {
      if (context.signal.aborted) settle.reject(context.signal.reason);
      else this.#finish(id, unfinished(tool, notStarted));
    }
  }

  #finish(id: number, result: ToolResult): void {
    this.#pending.get(id)?.settle.resolve(result);
    this.#pending.delete(id);
  }
}

function unreferenced(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms);
  Deno.unrefTimer(timer);
  return () => clearTimeout(timer);
}

function unfinished({ name }: Tool, notStarted?: string): ToolResult {
  return notStarted === undefined
    ? failure(
      `${name} did not finish: its worker process ended`,
      "read the file to see whether it took effect",
    )
    : failure(
      `${name} could not run, its worker process did not start (${notStarted})`,
      "nothing was changed; inform the user",
    );
}

/** Returns the last error that a process wrote; a stack may follow it. */
function lastError(errorOutput: string): string {
  const lines = errorOutput.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return lines.findLast((line) => line.startsWith("error:"))?.slice("error:".length).trim() ?? lines.at(-1) ??
    "it ended early and without a word";
}

export interface SeenChanges {
  readonly set: readonly FileVersion[];
  readonly delete: readonly string[];
}

/** An {@linkcode EditorError}, or another one, in the form of a message. */
interface FileProblem {
  readonly problem: Text;
  readonly kind?: EditorError["kind"];
}

function problemOf(error: unknown): FileProblem {
  const problem = error instanceof ReasonixError ? error.texts.message : errorMessage(error);
  return error instanceof EditorError ? { problem, kind: error.kind } : { problem };
}

export interface FileRequest {
  readonly type: "file";
  readonly id: number;
  readonly request: number;
  readonly path: string;
  /** Absent: the file is read. */
  readonly text?: string;
}

export type FileAnswer =
  & { readonly type: "file"; readonly id: number; readonly request: number }
  & (
    | FileProblem
    | { readonly text?: string }
  );

export type PlainContext = Pick<ToolContext, "callId" | "cwd" | "settings" | "outputDir">;

export type HostMessage =
  /** The first message: what the process needs for its path policy. */
  | { readonly type: "start"; readonly data: unknown }
  | {
    readonly type: "call";
    readonly id: number;
    readonly tool: string;
    readonly args: Record<string, unknown>;
    readonly context: PlainContext;
    readonly seen: SeenChanges;
    /** The offer of the client of the session. */
    readonly files?: Record<"read" | "write", boolean> & Pick<ClientFiles, "directories">;
  }
  | FileAnswer
  | { readonly type: "abort"; readonly id: number };

export type ToolMessage =
  | { readonly type: "ready" }
  | FileRequest
  | { readonly type: "progress"; readonly id: number; readonly text: string }
  | { readonly type: "done"; readonly id: number; readonly result: ToolResult; readonly seen: SeenChanges }
  | { readonly type: "aborted"; readonly id: number };
