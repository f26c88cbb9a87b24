import { errorMessage, ReasonixError } from "../../core/mod.ts";
import type { ServerProcess } from "../../tool/mod.ts";
import { RunningServer } from "./running_server.ts";
import type { ServerSpec } from "./specs.ts";

export interface ServerParts {
  readonly spec: ServerSpec;
  /** Full path of its program. */
  readonly program: string;
  /** The project that it serves. */
  readonly root: string;
  readonly spawn: StartProcess;
  /** Hears once, for the user, that the server is not started any more. */
  readonly givenUp: (server: string, why: string) => void;
  /** Time without a request after which its process is ended. */
  readonly idleMs: number;
}

/** Starts a process in the jail for language servers. Rejects with a ReasonixError that says why not. */
export type StartProcess = (
  server: { readonly name: string; readonly root: string },
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
) => Promise<ServerProcess>;

/** So often a server may be lost, or not come up, in one session. */
const MAX_LOSSES = 3;

/** A language server of a project: started when it is needed, ended when it is not. */
export class LanguageServer {
  readonly spec: ServerSpec;
  readonly root: string;
  readonly #parts: ServerParts;
  #running: Promise<RunningServer> | undefined;
  #process: ServerProcess | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #losses = 0;
  #why = "";
  #closed = false;

  constructor(parts: ServerParts) {
    this.spec = parts.spec;
    this.root = parts.root;
    this.#parts = parts;
  }

  /** False: it was lost too often, and is left alone. */
  get isUsable(): boolean {
    return !this.#closed && this.#losses < MAX_LOSSES;
  }

  /** The server, running and initialized. Rejects with a ReasonixError that says why there is none. */
  async running(): Promise<RunningServer> {
    if (!this.isUsable) {
      throw new ReasonixError(`The language server ${this.spec.name} is not started again: ${this.#why}`);
    }
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.stop(), this.#parts.idleMs);
    Deno.unrefTimer(this.#idle);
    return await (this.#running ?? this.#start());
  }

  /** Ends the process; the next request starts another. */
  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    this.#running = undefined;
    const process = this.#process;
    // One that is still starting has nothing to put in order; whoever waits for it hears that it is gone.
    await process?.end(0);
    const server = await running?.catch(() => undefined);
    await server?.connection.end();
  }

  /** Ends a server that does not do its work, which counts as a loss. */
  async giveUp(server: RunningServer, why: string): Promise<void> {
    await server.connection.end(why);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.stop();
  }

  #start(): Promise<RunningServer> {
    const { spec, program, root, spawn } = this.#parts;
    const lost = (why: string) => {
      // One that was stopped has made room for the next already.
      if (this.#running !== own) return;
      this.#running = undefined;
      this.#lost(why);
    };
    const start = async () => {
      const process = await spawn({ name: spec.name, root }, [program, ...spec.args], spec.env);
      this.#process = process;
      if (this.#running !== own) await process.end(0);
      return await RunningServer.start({ spec, root, process, ended: lost });
    };
    const own = this.#running = start();
    own.catch((error) => lost(errorMessage(error)));
    return own;
  }

  #lost(why: string): void {
    if (this.#closed) return;
    this.#why = why;
    if (++this.#losses === MAX_LOSSES) this.#parts.givenUp(this.spec.name, why);
  }
}
