/**
 * An environment variable, or undefined where the program may not read it (a worker with narrow permissions).
 */
export function readEnv(name: string): string | undefined {
  try {
    return Deno.env.get(name) || undefined;
  } catch {
    return undefined;
  }
}

/** The whole environment; empty where the program may not read it. */
export function processEnvironment(): Record<string, string> {
  try {
    return Deno.env.toObject();
  } catch {
    return {};
  }
}
