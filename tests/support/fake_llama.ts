/** Model files and the program of the fake llama-server (fake_llama_server.ts). */

export const MAGIC = "GGUF";
export const contentType = "text/event-stream";

/** The behavior of the fake, read from the model file. */
export interface FakeModel {
  /** Milliseconds of "Loading model". */
  readonly loadMs?: number;
  /** Ends with an error after this many milliseconds. */
  readonly diesLoading?: number;
  /** Ports that it does not get. */
  readonly takenPorts?: readonly number[];
  /** A version that does not know --no-webui. */
  readonly old?: boolean;
  /** Number of starts in which it is killed during its first reply. */
  readonly crashingStarts?: number;
  /** Tokens of its window. */
  readonly window?: number;
  /** Megabytes that it writes to its log at a request. */
  readonly noise?: number;
  /** Redirects conversations with this status to the same path at this origin. */
  readonly redirect?: readonly [status: number, origin: string];
  /** Base URL of the server whose replies it passes on. */
  readonly upstream?: string;
}

export interface FakeLlama {
  readonly binary: string;
  readonly model: string;
  /** Process numbers and ports of all starts so far. */
  starts(): readonly { readonly pid: number; readonly port: number }[];
  /** Environment and arguments of the latest start. */
  seen(): readonly [env: Readonly<Record<string, string>>, args: readonly string[]];
}

/** Puts the program and a model file into a directory. */
export function fakeLlama(directory: string, behaviour: FakeModel = {}): FakeLlama {
  const script = new URL("fake_llama_server.ts", import.meta.url).pathname;
  const binary = `${directory}/llama-server`;
  const model = `${directory}/tiny.gguf`;
  const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
  const run =
    `DENO_DIR='${cache}' exec '${Deno.execPath()}' run -A --no-check --quiet --no-config '${script}' "$@"`;
  Deno.writeTextFileSync(binary, `#!/bin/sh\n${run}\n`, { mode: 0o755 });
  Deno.writeTextFileSync(model, MAGIC + JSON.stringify(behaviour));
  return {
    binary,
    model,
    starts: () =>
      textOf(`${model}.starts`).trim().split("\n").filter(Boolean).map((line) => {
        const [pid = 0, port = 0] = line.split(" ").map(Number);
        return { pid, port };
      }),
    seen: () => JSON.parse(textOf(`${model}.env`)),
  };
}

function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
