import { isWithheldVariable } from "../../path/read_env.ts";

export interface EnvironmentOptions {
  /** The environment of this process; read once when absent. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Dropped variables: those with provider keys, and those with secret names that the user does not pass on.
   */
  readonly secretNames?: readonly string[];
  /** Secrets; a variable that holds one is dropped whatever its name. */
  readonly secretValues?: readonly string[];
  /** Variables in addition, which the user named for these children. */
  readonly added?: Readonly<Record<string, string>> | undefined;
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

/** Variables that nothing works without; a secret in one of them is not protected. */
const ESSENTIAL = /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|TMPDIR|LANG)$/i;

/** Shorter values are too common to be distinguished from ordinary settings. */
const SHORTEST_SECRET = 8;

export function childEnvironment(options: EnvironmentOptions = {}): Record<string, string> {
  const source = options.env ?? Deno.env.toObject();
  const names = new Set(options.secretNames?.map((name) => name.toUpperCase()));
  const values = new Set(options.secretValues?.filter((value) => value.length >= SHORTEST_SECRET));
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (name === "" || names.has(name.toUpperCase()) || isWithheldVariable(name)) continue;
    if (value.includes("\0") || (!ESSENTIAL.test(name) && holdsSecret(value, values))) continue;
    result[name] = value;
  }
  for (const [name, value] of Object.entries(options.added ?? {})) {
    if (!holdsSecret(value, values)) result[name] = value;
  }
  return Object.assign(result, FIXED);
}

function holdsSecret(value: string, secrets: ReadonlySet<string>): boolean {
  if (secrets.has(value)) return true;
  for (const secret of secrets) if (value.includes(secret)) return true;
  return false;
}

/** It is private to the jail's network namespace, so it can be the same everywhere. */
export const PROXY_PORT = 3128;

/** Names are left to the proxy as well, so nothing asks a name server. */
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
