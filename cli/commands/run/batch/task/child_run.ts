import { loadShellProcess, loadSpawnSession, type ProcessGuard } from "../../../../../src/tool/mod.ts";
import { isRecord, parseJson } from "../../../../../src/util/json.ts";
import { startFlagsFor } from "../../../../terminal/start_flags.ts";

/** A run of this program in a process of its own. */
export interface ChildRunOptions {
  readonly args: readonly string[];
  /** Goes to standard input: a task may be longer than an argument can be. */
  readonly prompt: string;
  readonly cwd: string;
  readonly guard: ProcessGuard;
  readonly signal: AbortSignal;
  /** Hears of money as it is spent, and of steps as they are taken. */
  readonly onProgress: (progress: { readonly cost?: number; readonly step?: true }) => void;
}

export interface ChildRunEnd {
  /** The result object of the run; absent: it ended before it could give one. */
  readonly result?: Readonly<Record<string, unknown>>;
  /** How it ended without one. */
  readonly crash: string;
}

/** Time that a run has to end by itself when it is stopped, and to write down that it was. */
const STOP_MS = 120;
const TAIL = 2000;

/** Starts a run and waits for its end; an abort ends it with everything that it started. */
export async function childRun(options: ChildRunOptions): Promise<ChildRunEnd> {
  const { guard, signal, cwd, onProgress } = options;
  const { spawnSession } = await loadSpawnSession();
  const { ShellProcess } = await loadShellProcess();
  if (signal.aborted) return { crash: "it was not started" };
  const lines = new LineReader((line) => {
    if (line.includes('"type":"result"')) result = resultIn(line) ?? result;
    else if (line.includes('"cost":{') || line.includes('"type":"message.end"')) report(line, onProgress);
  });
  let result: Readonly<Record<string, unknown>> | undefined;
  let errors = "";
  const decoder = new TextDecoder();
  const plan = { ...ownProgram(options.args), env: Deno.env.toObject() };
  const child = spawnSession(plan, { cwd, guard, stdin: "piped" });
  const process = new ShellProcess(child, {
    guard,
    lasting: true,
    onOutput: (chunk) => lines.push(chunk),
    onSide: (chunk) => errors = (errors + decoder.decode(chunk, { stream: true })).slice(-TAIL),
  });
  const stop = () => void process.kill(STOP_MS);
  signal.addEventListener("abort", stop, { once: true });
  await Promise.all([feed(child.stdin, options.prompt), process.ended]);
  signal.removeEventListener("abort", stop);
  const { code, signal: by } = await process.ended;
  const how = by === undefined ? `it ended with ${code}` : `it was ended by ${by}`;
  const said = errors.trim().split("\n").at(-1) ?? "";
  return { ...(result ? { result } : {}), crash: said === "" ? how : `${how}: ${said}` };
}

async function feed(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
  try {
    const writer = stream.getWriter();
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch {
    // It ended before it had read everything, and says why.
  }
}

function resultIn(line: string): Record<string, unknown> | undefined {
  const value = parseJson(line);
  return isRecord(value) && value.type === "result" ? value : undefined;
}

/** What a turn cost is the sum of what its parts did. */
function report(line: string, onProgress: ChildRunOptions["onProgress"]): void {
  const event = parseJson(line);
  if (!isRecord(event) || event.type === "turn.end") return;
  const amount = isRecord(event.cost) ? event.cost.amount : undefined;
  onProgress({
    ...(typeof amount === "number" ? { cost: amount } : {}),
    ...(event.type === "message.end" ? { step: true } : {}),
  });
}

class LineReader {
  readonly #take: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #parts: string[] = [];

  constructor(take: (line: string) => void) {
    this.#take = take;
  }

  push(chunk: Uint8Array): void {
    const [first = "", ...rest] = this.#decoder.decode(chunk, { stream: true }).split("\n");
    this.#parts.push(first);
    for (const next of rest) {
      this.#take(this.#parts.join(""));
      this.#parts = [next];
    }
  }
}

/** Program and arguments that start this very program once more, in whichever form it runs. */
function ownProgram(
  args: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args };
  const program = Deno.mainModule;
  // The sources need their import map, and a bundle must not take one from where it happens to lie.
  const own = program.endsWith(".ts") ? [] : ["--no-config"];
  return { command, args: ["run", ...startFlagsFor(program), ...own, program, ...args] };
}
