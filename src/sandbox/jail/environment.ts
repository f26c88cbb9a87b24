/** The environment that a child process sees, and its limits. */
export interface EnvironmentOptions {
  /** The environment of this process; read once when absent. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Variables that are dropped: those that hold provider keys, or whose names look secret and that the user
   * does not pass on.
   */
  readonly secretNames?: readonly string[];
  /** Secrets; a variable that holds one is dropped whatever its name. */
  readonly secretValues?: readonly string[];
}

/** Set in every child: nothing pages, prompts or edits, git only looks, and programs see who runs them. */
const FIXED: Readonly<Record<string, string>> = {
  REASONIX: "1",
  AI_AGENT: "reasonix",
  TERM: "dumb",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  GIT_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
};

/**
 * Ours (settings, telemetry, the runtime's credentials), what makes a dynamic loader or a starting shell run
 * other code, and what belongs to the terminal the user sits at. Shell functions exported by bash count as
 * the latter.
 */
const DROPPED =
  /^(?:REASONIX|OTEL|LD|DYLD)_|^DENO_(?:AUTH_TOKENS|V8_FLAGS|SERVE_ADDRESS|KV_ACCESS_TOKEN|TLS_CA_STORE)$|^(?:BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS4|COLORTERM|TERMCAP|STY|TMUX|TMUX_PANE|WINDOWID|SSH_TTY|FORCE_COLOR|CLICOLOR_FORCE|GIT_ASKPASS|SSH_ASKPASS|SUDO_ASKPASS)$|^BASH_FUNC_|^NODE_CHANNEL_/;

/** Variables that nothing works without; whoever keeps a secret in it has told everyone. */
const ESSENTIAL = /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|TMPDIR|LANG)$/i;

/** Shorter values are too common to be told apart from ordinary settings. */
const SHORTEST_SECRET = 8;

/** The whole environment of a child process. */
export function childEnvironment(options: EnvironmentOptions = {}): Record<string, string> {
  const source = options.env ?? Deno.env.toObject();
  const names = new Set(options.secretNames?.map((name) => name.toUpperCase()));
  const values = new Set(options.secretValues?.filter((value) => value.length >= SHORTEST_SECRET));
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (name === "" || names.has(name.toUpperCase()) || DROPPED.test(name)) continue;
    if (value.includes("\0") || (!ESSENTIAL.test(name) && holdsSecret(value, values))) continue;
    result[name] = value;
  }
  return Object.assign(result, FIXED);
}

function holdsSecret(value: string, secrets: ReadonlySet<string>): boolean {
  if (secrets.has(value)) return true;
  for (const secret of secrets) if (value.includes(secret)) return true;
  return false;
}

/**
 * The place where the proxy appears inside a jail. The port is private to the jail's network namespace, so it
 * can be the same everywhere.
 */
export const PROXY_PORT = 3128;

/**
 * Variables by which programs find the proxy. Names are left to it as well, so nothing asks a name server.
 */
export function proxyEnvironment(port: number): Record<string, string> {
  const http = `http://127.0.0.1:${port}`;
  const socks = `socks5h://127.0.0.1:${port}`;
  const local = "localhost,127.0.0.1,::1";
  return {
    HTTP_PROXY: http,
    http_proxy: http,
    HTTPS_PROXY: http,
    https_proxy: http,
    ALL_PROXY: socks,
    all_proxy: socks,
    NO_PROXY: local,
    no_proxy: local,
  };
}
