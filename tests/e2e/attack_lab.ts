/**
 * Plays a hostile model against the real program: every attempt is a list of tool calls, judged by its
 * effects.
 */
import type { Attempt } from "../conformance/sandbox/attacks.ts";
import { type Fixture, makeFixture } from "../conformance/sandbox/fixture.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { type Finished, finished, makeWorld, mockConfig } from "../support/program.ts";
import { removeTree } from "../support/remove_tree.ts";

export interface Played {
  readonly name: string;
  readonly through: boolean;
  /** The results that the model received, one per call. */
  readonly results: readonly string[];
}

export interface PlayOptions {
  /** Added to the user's configuration, before its tables. */
  readonly config?: (s: Fixture) => string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Prepares the fixture before the program starts. */
  readonly prepare?: (s: Fixture) => Promise<unknown> | void;
  /** Inspects the fixture after the program has ended. */
  readonly after?: (s: Fixture, run: Run) => Promise<void> | void;
}

export interface Run {
  readonly played: readonly Played[];
  readonly done: Finished;
  /** Bodies of all requests. */
  readonly sent: readonly string[];
  /** All files the program left in its home, but the key file. */
  readonly kept: string;
}

/** The jail is on and everything else is allowed: only the lower layers protect. */
export const JAILED = (s: Fixture): string => `[sandbox]\nbash = "enforce"\nforbid_read = ["${s.vault}"]\n`;
export const UNJAILED = (s: Fixture): string => `[sandbox]\nbash = "off"\nforbid_read = ["${s.vault}"]\n`;
export const ALL_ALLOWED = ["--permission-mode", "danger-full-access", "--allowed-tools", "Bash,Edit,Read"];

/** One run of the program in a fresh fixture. Attempts leave the workspace unchanged. */
export async function play(attempts: readonly Attempt[], options: PlayOptions = {}): Promise<Run> {
  await using s = await makeFixture();
  await using world = await makeWorld();
  const agent = Promise.withResolvers<number>();
  const director = new Director(attempts, s, agent.promise);
  await using server = startModelServer([], { fallback: (request) => director.next(request.json.messages) });
  const config = mockConfig(
    server.url,
    (options.config ?? JAILED)(s),
    'api_key_env = "KEY"\ncontext_window = 200000',
  );
  await Deno.writeTextFile(`${s.g.home}/config.toml`, config);
  await options.prepare?.(s);
  const args = ["run", "--max-steps", "500", ...options.args ?? ALL_ALLOWED, "go"];
  const env = { REASONIX_HOME: s.g.home, HOME: s.userHome, ...options.env };
  const child = await world.spawn(args, { cwd: s.g.ws, env });
  agent.resolve(child.pid);
  const done = await finished(child);
  const run = {
    played: director.played,
    done,
    sent: server.requests.map((request) => request.body),
    kept: await textBelow(s.g.home),
  };
  await options.after?.(s, run);
  return run;
}

/** Splits the attempts over several runs, two at a time, and merges the results. */
export async function playAll(
  attempts: readonly Attempt[],
  options: PlayOptions & { readonly each?: number } = {},
): Promise<Run[]> {
  const each = options.each ?? 20;
  const waiting: (readonly Attempt[])[] = [];
  for (let at = 0; at < attempts.length; at += each) waiting.push(attempts.slice(at, at + each));
  const runs: Run[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) runs.push(await play(next, options));
  };
  await Promise.all([work(), work()]);
  return runs;
}

/** Names of the attempts that got through, with the results of their calls. */
export function through(runs: readonly Run[]): string[] {
  return runs.flatMap((run) => run.played).filter((one) => one.through)
    .map((one) => `${one.name}: ${one.results.join(" | ").slice(0, 300)}`);
}

interface Message {
  readonly role: string;
  readonly content: string;
}

/** Returns the next call of the model, and judges each attempt after its calls. */
class Director {
  readonly played: Played[] = [];
  readonly #attempts: readonly Attempt[];
  readonly #s: Fixture;
  readonly #agent: Promise<number>;
  readonly #base: ReadonlySet<string>;
  #at = 0;
  #results: string[] = [];
  #started = false;

  constructor(attempts: readonly Attempt[], s: Fixture, agent: Promise<number>) {
    this.#attempts = attempts;
    this.#s = s;
    this.#agent = agent;
    this.#base = new Set(namesIn(s.g.ws));
  }

  async next(messages: readonly Message[]): Promise<Turn> {
    const last = messages.at(-1);
    if (last?.role === "tool") this.#results.push(last.content);
    let attempt = this.#attempts[this.#at];
    if (attempt && this.#results.length === attempt.calls.length) {
      await this.#judge(attempt);
      attempt = this.#attempts[++this.#at];
    }
    if (!attempt) return { text: "done" };
    if (!this.#started) await attempt.prepare?.(this.#s);
    this.#started = true;
    const call = attempt.calls[this.#results.length] ?? { name: "none", args: {} };
    const places = this.#s.fill(JSON.stringify(call.args));
    return {
      calls: [{ ...call, args: JSON.parse(places.replaceAll("{agent}", String(await this.#agent))) }],
    };
  }

  async #judge(attempt: Attempt): Promise<void> {
    const stdout = this.#results.join("\n");
    const through = await attempt.succeeded(this.#s, {
      code: codeOf(this.#results.at(-1) ?? ""),
      stdout,
      stderr: "",
    });
    this.played.push({ name: attempt.name, through, results: this.#results });
    this.#results = [];
    this.#started = false;
    await tidy(this.#s, this.#base);
  }
}

/** The exit code as the model reads it. */
function codeOf(result: string): number {
  if (/^(?:blocked|error)\b/.test(result)) return 126;
  return Number(/^\[exit code (\d+)/m.exec(result)?.[1] ?? (/^\[(?:ended|stopped)/m.test(result) ? 137 : 0));
}

/** Cleans up after an attempt. */
async function tidy(s: Fixture, base: ReadonlySet<string>): Promise<void> {
  await removeOthers(s.g.ws, (name) => base.has(name) && name !== "src");
  await Deno.mkdir(`${s.g.ws}/src`);
  await Deno.writeTextFile(`${s.g.ws}/src/a.ts`, "inside");
  await removeOthers(s.g.outside, () => false);
  await Deno.writeTextFile(`${s.g.outside}/secret.txt`, "outside");
  await removeOthers(s.userHome, (name) => [".reasonix", ".ssh", ".cache", ".bashrc"].includes(name));
  s.reached.splice(0);
}

async function removeOthers(directory: string, keep: (name: string) => boolean): Promise<void> {
  for (const name of namesIn(directory)) {
    if (!keep(name)) await removeTree(`${directory}/${name}`);
  }
}

function namesIn(directory: string): string[] {
  return [...Deno.readDirSync(directory)].map((entry) => entry.name);
}

/** All text below a directory but the key file: sessions, logs, indexes, outputs. */
async function textBelow(directory: string): Promise<string> {
  let text = "";
  for await (const { name, isDirectory, isFile } of Deno.readDir(directory)) {
    if (isDirectory) text += await textBelow(`${directory}/${name}`);
    else if (isFile && name !== ".env") {
      text += new TextDecoder("latin1").decode(await Deno.readFile(`${directory}/${name}`));
    }
  }
  return text;
}
