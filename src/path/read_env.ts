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

/** Those of these variables that are set. */
export function environmentOf(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => {
    const value = readEnv(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

/** The whole environment; empty where the program may not read it. */
export function processEnvironment(): Record<string, string> {
  try {
    return Deno.env.toObject();
  } catch {
    return {};
  }
}

/**
 * Variables that no command gets: ours (settings, telemetry, credentials of the runtime), those that make a
 * loader or shell run other code, and those of the user's terminal, exported shell functions included.
 */
const WITHHELD =
  /^(?:REASONIX|OTEL|LD|DYLD)_|^DENO_(?:AUTH_TOKENS|V8_FLAGS|SERVE_ADDRESS|KV_ACCESS_TOKEN|TLS_CA_STORE)$|^(?:BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS4|COLORTERM|TERMCAP|STY|TMUX|TMUX_PANE|WINDOWID|SSH_TTY|FORCE_COLOR|CLICOLOR_FORCE|GIT_ASKPASS|SSH_ASKPASS|SUDO_ASKPASS)$|^BASH_FUNC_|^NODE_CHANNEL_/;

export function isWithheldVariable(name: string): boolean {
  return WITHHELD.test(name);
}
