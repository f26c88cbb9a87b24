const LIMIT_MS = 10_000;
const PAUSE_MS = 20;

/** Codes of errors that a process causes while it ends: it adds an entry, or has not left its mount. */
const PASSING: readonly unknown[] = ["ENOTEMPTY", "EBUSY", "EEXIST"];

/** Removes a temporary directory, and waits for what still writes below it; names the rest when it stays. */
export async function removeTree(path: string): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    try {
      return await Deno.remove(path, { recursive: true });
    } catch (error) {
      const isPassing = error instanceof Error && "code" in error && PASSING.includes(error.code);
      if (!isPassing) throw error;
      if (performance.now() > end) {
        throw new Error(`These stay: ${[...entriesBelow(path)].join(" ")}`, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

function* entriesBelow(directory: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    yield `${directory}/${name}`;
    if (isDirectory) yield* entriesBelow(`${directory}/${name}`);
  }
}
