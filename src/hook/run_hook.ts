import { errorMessage } from "../core/mod.ts";
import { loadShellProcess, loadSpawnSession, type ProcessGuard, type SpawnPlan } from "../tool/mod.ts";
import { feed } from "../util/process.ts";
import { after } from "../util/timer.ts";
import type { HookRun } from "./read_run.ts";

export interface HookProcessOptions {
  readonly cwd: string;
  /** Ends its group when the program is gone. */
  readonly guard: ProcessGuard | undefined;
  /** What it reads on standard input. */
  readonly input: string;
  /** 0: no limit. */
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** Bytes of an output that are kept. */
const MAX_OUTPUT = 1 << 20;

/**
 * Runs the program of a hook in a process group of its own. Nothing of the group is left when this resolves.
 *
 * Contract: never rejects.
 */
export async function runHook(plan: SpawnPlan, options: HookProcessOptions): Promise<HookRun> {
  const { cwd, guard, input, seconds, signal } = options;
  if (signal.aborted) return { kind: "aborted" };
  const [{ spawnSession }, { ShellProcess }] = await Promise.all([loadSpawnSession(), loadShellProcess()]);
  let child: Deno.ChildProcess;
  try {
    guard?.start();
    child = spawnSession(plan, { cwd, guard, stdin: "piped" });
  } catch (error) {
    return { kind: "unstarted", why: `it cannot be started: ${errorMessage(error)}` };
  }
  const output = new BoundedText();
  const errors = new BoundedText();
  const process = new ShellProcess(child, {
    guard,
    onOutput: (chunk) => output.add(chunk),
    onSide: (chunk) => errors.add(chunk),
  });
  let early: HookRun | undefined;
  const end = (why: HookRun) => {
    early ??= why;
    void process.kill();
  };
  const onAbort = () => end({ kind: "aborted" });
  signal.addEventListener("abort", onAbort, { once: true });
  const clear = seconds > 0 ? after(seconds * 1000, () => end({ kind: "timeout", seconds })) : () => {};
  // A hook that does not read its input closes the pipe, which is no failure.
  const written = feed(child.stdin, new TextEncoder().encode(input));
  try {
    const { code, signal: ended } = await process.ended;
    await written;
    return early ?? {
      kind: "exit",
      code,
      ...(ended === undefined ? {} : { signal: ended }),
      stdout: output.text,
      stderr: errors.text,
      ...(output.overflow ? { overflow: true } : {}),
    };
  } catch (error) {
    return { kind: "unstarted", why: errorMessage(error) };
  } finally {
    clear();
    signal.removeEventListener("abort", onAbort);
  }
}

class BoundedText {
  overflow = false;
  readonly #decoder = new TextDecoder();
  readonly #parts: string[] = [];
  #bytes = 0;

  add(chunk: Uint8Array<ArrayBuffer>): void {
    const room = MAX_OUTPUT - this.#bytes;
    if (chunk.length > room) this.overflow = true;
    if (room <= 0) return;
    this.#bytes += Math.min(room, chunk.length);
    this.#parts.push(this.#decoder.decode(chunk.subarray(0, room), { stream: true }));
  }

  get text(): string {
    return this.#parts.join("") + this.#decoder.decode();
  }
}
