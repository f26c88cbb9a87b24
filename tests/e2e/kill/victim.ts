import { assert, assertStringIncludes } from "../../support/assert.ts";
import { childrenOf, gone, isAlive, type Living, processesWith } from "../../support/processes.ts";
import type { World } from "../../support/program.ts";
import type { Event } from "../../../src/core/mod.ts";

/** The program, run until it ends or is killed. */
export class Victim {
  readonly args: readonly string[];
  /** Whole lines of standard output, as they were read. */
  readonly lines: string[] = [];
  /** Requests of the conversation that reached the server, and how many of them got a first byte back. */
  asked = 0;
  begun = 0;
  summaries = 0;
  stderr = "";
  /** The signal that ended it; undefined for a normal exit. */
  signal: string | undefined;
  code = -1;
  readonly ended: Promise<void>;
  readonly #child: Deno.ChildProcess;
  #children: readonly Living[] = [];

  private constructor(child: Deno.ChildProcess, args: readonly string[], onLine: (line: string) => void) {
    this.#child = child;
    this.args = args;
    this.ended = this.#run(onLine);
  }

  static async start(world: World, args: readonly string[], onLine: (line: string) => void): Promise<Victim> {
    return new Victim(await world.spawn(args), args, onLine);
  }

  get pid(): number {
    return this.#child.pid;
  }

  kill(): void {
    if (this.code >= 0) return;
    this.#children = childrenOf(this.pid);
    try {
      this.#child.kill("SIGKILL");
    } catch { /* it has already ended */ }
  }

  /** Shown events, without live ones, whose number is 0. */
  shown(): Event[] {
    const values = this.lines.filter((line) => line.startsWith('{"v":1,')).map((line) => JSON.parse(line));
    return values.filter(({ seq }) => seq > 0);
  }

  /** Returns its child processes that are still alive. */
  orphans(): Living[] {
    return this.#children.filter(isAlive);
  }

  async #run(onLine: (line: string) => void): Promise<void> {
    const [status] = await Promise.all([this.#child.status, this.#read(onLine), this.#errors()]);
    this.signal = status.signal ?? undefined;
    this.code = status.code;
  }

  async #read(onLine: (line: string) => void): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const part of this.#child.stdout) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        this.lines.push(line);
        onLine(line);
      }
    }
  }

  async #errors(): Promise<void> {
    this.stderr = await new Response(this.#child.stderr).text();
  }
}

/** Waits until the program and its children have ended; returns the survivors. */
export function settled(victims: readonly Victim[], mark: string): Promise<Living[]> {
  return gone(async () => [
    ...victims.flatMap((victim) => victim.orphans()),
    ...await processesWith(mark),
  ]);
}

/** Checks the message of a program that was refused because another one has the session. */
export function checkRefusals(victims: readonly Victim[]): void {
  for (const { stderr, lines, code } of victims) {
    const said = stderr + lines.join("\n");
    if (!said.includes("has it open")) continue;
    assert(victims.length > 1 && code !== 0, `refused without another process: ${said}`);
    assertStringIncludes(said, "--copy");
  }
}
