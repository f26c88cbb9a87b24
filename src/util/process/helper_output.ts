import { after } from "../timer.ts";

const MAX_BYTES = 64 * 1024;
const WINDOWS = Deno.build.os === "windows";

/** What a short-lived helper of the user's printed. */
export interface HelperOutput {
  readonly code: number;
  /** Without the white space around it. */
  readonly output: string;
  readonly errors: string;
  /** It did not end in time; everything else says nothing then. */
  readonly late: boolean;
}

export interface HelperOptions {
  readonly limitMs: number;
  /** Ends what is left of it, with all that it started. */
  readonly end: () => Promise<void>;
  /** Ends it before its time, as if it had been late. */
  readonly signal?: AbortSignal;
}

/** Program and arguments by which the shell of this system runs a line. */
export function shellCommand(line: string): [program: string, ...args: string[]] {
  return WINDOWS ? ["cmd.exe", "/d", "/s", "/c", line] : ["/bin/sh", "-c", line];
}

/**
 * Waits for a helper whose outputs are piped, and ends it when it takes too long. What it left running in the
 * background is not waited for.
 */
export async function helperOutput(
  child: Deno.ChildProcess,
  { limitMs, end, signal }: HelperOptions,
): Promise<HelperOutput> {
  const limit = Promise.withResolvers<"late">();
  const stop = () => limit.resolve("late");
  const clear = after(limitMs, stop);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const texts = Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  try {
    const status = await Promise.race([child.status, limit.promise]);
    await end();
    const read = await Promise.race([texts, limit.promise]);
    if (status === "late" || read === "late") return { code: 0, output: "", errors: "", late: true };
    return { code: status.code, output: read[0].trim(), errors: read[1], late: false };
  } finally {
    clear();
    signal?.removeEventListener("abort", stop);
  }
}

async function textOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    if (text.length < MAX_BYTES) text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
