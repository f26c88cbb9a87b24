import type { ProviderEntry } from "../../config/mod.ts";
import {
  errorMessage,
  type LocalizedMessage,
  message,
  type ProviderError,
  type Text,
} from "../../core/mod.ts";
import type { Fetch } from "../../util/network/fetch.ts";
import { helperOutput, shellCommand } from "../../util/process.ts";
import { learnSecret } from "../../util/redact.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { atMost, unlessAborted } from "../../util/timer.ts";
import { readEnv } from "../../path/read_env.ts";
import { providerError, ProviderFailure } from "../errors.ts";
import type { Connection } from "../kind.ts";
import { attempt } from "../../util/lazy.ts";

const LIMIT_MS = 30_000;
/** Longest wait for a command that was ended. */
const END_MS = 1_000;
const LONGEST_KEY = 16 * 1024;
const LONGEST_LINE = 80;

/** Placeholder of the key until a request is sent: the kind writes it, this module replaces it. */
const STAND_IN = `key-${crypto.randomUUID()}`;

const REFUSED: readonly number[] = [401, 403];

type KeyOwner = Pick<ProviderEntry, "name" | "base_url" | "api_key_command" | "api_key_ttl_seconds">;

/**
 * The same connection with the key that the command prints. The command runs again for a refused key: when it
 * prints another one, a POST fails with an error that is retried, and other requests are sent again.
 */
export function withCommandKey(entry: KeyOwner, { fetch, now = Date.now }: Connection): Connection {
  const keys = keysOf(entry);
  const send: Fetch = async (input, init) => {
    // A warm-up goes nowhere and needs no key.
    if (String(input).startsWith("data:")) return await fetch(input, init);
    const signal = init?.signal ?? undefined;
    for (let renewed = false;; renewed = true) {
      const key = await keys.current(now, signal);
      const response = await fetch(withKey(String(input), key), filled(init, key));
      if (response.ok) keys.accepted();
      if (!REFUSED.includes(response.status) || renewed) return response;
      if (!await keys.renew(key, now, signal)) return response;
      await response.body?.cancel();
      if (init?.method === "POST") throw refusal(entry, response.status);
    }
  };
  return { fetch: send, apiKey: STAND_IN, now };
}

function filled(init: RequestInit | undefined, key: string): RequestInit {
  const headers = new Headers(init?.headers);
  for (const [name, value] of [...headers]) headers.set(name, withKey(value, key));
  return { ...init, headers };
}

function withKey(text: string, key: string): string {
  return text.replaceAll(STAND_IN, key);
}

function refusal({ name, base_url }: KeyOwner, status: number): ProviderFailure {
  const host = URL.parse(base_url)?.host ?? "";
  const text =
    message`Provider "${name}" at ${host} refused the key with status ${status}; api_key_command printed another one`;
  return failure(text, { status, retryAfterMs: 0 });
}

function failure(text: LocalizedMessage, facts: Pick<ProviderError, "status" | "retryAfterMs"> = {}) {
  return new ProviderFailure(providerError("auth", text, facts), facts.retryAfterMs !== undefined);
}

const known = new Map<string, CommandKeys>();

/**
 * All providers of this process with the same server and command share its key: the command runs in the
 * user's home with the environment of the process, so that no session affects it.
 */
function keysOf({ name, base_url, api_key_command, api_key_ttl_seconds }: KeyOwner): CommandKeys {
  const entry = { name, base_url, api_key_command, api_key_ttl_seconds };
  const id = JSON.stringify(entry);
  const keys = known.get(id) ?? new CommandKeys(entry);
  known.set(id, keys);
  return keys;
}

/** One run of the command for all requests that wait for it; it ends with the last of them. */
interface SharedRun {
  readonly stop: AbortController;
  readonly key: Promise<string>;
  waiting: number;
}

/** The key that a command prints, kept in memory only. */
class CommandKeys {
  readonly #owner: KeyOwner;
  #key: { readonly value: string; readonly until: number } | undefined;
  #run: SharedRun | undefined;
  #isRenewed = false;

  constructor(owner: KeyOwner) {
    this.#owner = owner;
  }

  /** The current key. Throws a ProviderFailure when the command prints none. */
  async current(now: () => number, signal: AbortSignal | undefined): Promise<string> {
    if (this.#key && now() < this.#key.until) return this.#key.value;
    signal?.throwIfAborted();
    const run = this.#run ??= this.#begin();
    run.waiting++;
    try {
      const value = await unlessAborted(run.key, signal);
      const seconds = this.#owner.api_key_ttl_seconds;
      this.#key = { value, until: seconds > 0 ? now() + seconds * 1000 : Infinity };
      return value;
    } finally {
      if (--run.waiting === 0) {
        run.stop.abort();
        if (this.#run === run) this.#run = undefined;
        // Who gives up knows that nothing of it runs any more.
        await run.key.catch(() => {});
      }
    }
  }

  /** Runs the command again after a refusal, once in a row; reports whether the key changed. */
  async renew(refused: string, now: () => number, signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#key && this.#key.value !== refused) return true;
    this.#key = undefined;
    const again = !this.#isRenewed;
    this.#isRenewed = again;
    return again && await this.current(now, signal) !== refused;
  }

  accepted(): void {
    this.#isRenewed = false;
  }

  #begin(): SharedRun {
    const stop = new AbortController();
    const key = printedKey(this.#owner, stop.signal);
    key.catch(() => {});
    return { stop, key, waiting: 0 };
  }
}

/**
 * Runs the command in the user's home, so that no project affects it. Messages never quote its output.
 *
 * Contract: nothing of it runs when this settles, nor when the process has left.
 */
export async function printedKey(owner: KeyOwner, signal: AbortSignal): Promise<string> {
  const command = owner.api_key_command ?? "";
  const [program, ...args] = typeof command === "string" ? shellCommand(command) : command.map(fromHome);
  const failed = (what: Text, remedy: Text) =>
    failure(
      message`No API key for provider "${owner.name}": api_key_command (${
        shown(command)
      }) failed: ${what}; ${remedy}`,
    );
  const see = message`run it in a terminal to see its output`;
  const onlyKey = message`it has to print the key and nothing else`;
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program ?? "", {
      args,
      ...(HOME === undefined ? {} : { cwd: HOME }),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
  } catch (error) {
    const what = error instanceof Deno.errors.NotFound
      ? message`there is no such program`
      : errorMessage(error);
    throw failed(what, message`give the full path of the program`);
  }
  const leave = () => endGroup(child.pid);
  globalThis.addEventListener("unload", leave);
  const end = async () => {
    leave();
    await atMost(END_MS, child.status);
  };
  const { code, output, late } = await helperOutput(child, { limitMs: LIMIT_MS, end, signal })
    .finally(() => globalThis.removeEventListener("unload", leave));
  signal.throwIfAborted();
  if (late) throw failed(message`it did not end within ${LIMIT_MS / 1000} s`, see);
  if (code !== 0) throw failed(message`it ended with exit code ${code}`, see);
  if (output === "") throw failed(message`it printed nothing`, onlyKey);
  if (output.length > LONGEST_KEY || !/^[\x21-\x7e]+$/.test(output)) {
    throw failed(message`its output is not a key`, onlyKey);
  }
  learnSecret(output);
  return output;
}

const HOME = readEnv("HOME") ?? readEnv("USERPROFILE");

function fromHome(word: string, index: number): string {
  return index === 0 && HOME !== undefined ? word.replace(/^~(?=\/)/, HOME) : word;
}

function shown(command: string | readonly string[]): string {
  const line = oneLine(typeof command === "string" ? command : command.join(" "));
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE).toWellFormed()}…` : line;
}

function endGroup(pid: number): void {
  // Nothing may be left of it.
  attempt(() => Deno.kill(Deno.build.os === "windows" ? pid : -pid, "SIGKILL"));
}
