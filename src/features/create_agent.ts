import type { TurnOutcome } from "../agent/mod.ts";
import { type ConfigInput, type EnvLookup, nonInteractive, reasonixHome } from "../config/mod.ts";
import type { Controller, FileReport, RewindScope } from "../control/mod.ts";
import { type EventSink, message, usageError } from "../core/mod.ts";
import { realDirectory } from "../path/real_path.ts";
import type { Approver, Gate } from "../permission/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { Asker, Tool } from "../tool/mod.ts";
import { assemble } from "./features.ts";
import {
  type Assembly,
  type InternalRequest,
  type InternalResult,
  loadTrustedConfig,
  type PlanReviewer,
  type RunOptions,
  type TurnInput,
} from "../run/mod.ts";

/** The parts of an agent in a separate program. */
export interface AgentOptions
  extends Omit<RunOptions, "continue" | "resume" | "copy" | "record" | "sessionId"> {
  /**
   * Settings by the names of docs/config.md, or "load" to read the user's and the project's files as the
   * program does. Default: the defaults alone; no file is read.
   */
  readonly config?: ConfigInput | "load";
  /** Talks to the model. Default: as the configuration says. */
  readonly provider?: Provider;
  /** Your tools, in addition to the built-in ones. */
  readonly tools?: readonly Tool[];
  /**
   * Working directory, and with the default settings the only one that can be written. Default: the current
   * one.
   */
  readonly cwd?: string;
  /**
   * Directory of keys, skills, saved facts and sessions. Default: the Reasonix home where the configuration
   * is loaded, else a private one that goes with the agent.
   */
  readonly home?: string;
  /**
   * The store of the conversation: in memory (the default), in a new file of `home`, or in the
   * file named.
   */
  readonly session?: "memory" | "file" | { readonly resume: string };
  /** Judges every call. Default: the permission rules of the configuration. */
  readonly gate?: Gate;
  /**
   * Answers approvals. Default: none, which refuses the call unless `onAsk` says otherwise.
   */
  readonly approver?: Approver;
  /** Answers questions of the model and of MCP servers. Default: none. */
  readonly asker?: Asker;
  /** Decides about plans in plan mode. Default: none; a plan is the answer of its turn. */
  readonly planReviewer?: PlanReviewer;
  /** Receives everything that happens. */
  readonly onEvent?: EventSink;
}

/** An agent with one conversation. Dispose of it: it may have started processes. */
export interface EmbeddedAgent extends AsyncDisposable {
  readonly controller: Controller;
  /**
   * Runs one turn; the signal interrupts it. Rejects only for misuse and for a signal that was aborted before
   * the turn began; see {@linkcode TurnOutcome} for how it ended.
   */
  run(input: string | TurnInput, signal?: AbortSignal): Promise<TurnOutcome>;
  /**
   * Makes a run outside of the conversation: one reply without tools, or with `steps` the work of an agent.
   * It has the confinement, the rules and the remaining budget of this one, never prompts, and its cost
   * counts here. Rejects with a {@linkcode ReasonixError} when it cannot begin, and when the signal aborts.
   */
  runInternal(request: InternalRequest): Promise<InternalResult>;
  /**
   * Brings files, conversation or both (the default) back to the end of a turn; 0 is before the first.
   * Rejects with a {@linkcode ReasonixError} when there is no such finished turn.
   */
  rewind(turn: number, scope?: RewindScope): Promise<FileReport>;
  /** Interrupts a turn that is running, ends what runs in the background and closes the session. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Builds an agent with the built-in tools and your own. What the permission rules ask about is refused unless
 * `approver`, `onAsk` or an allow rule says otherwise; nothing is allowed only because no prompt was
 * possible.
 *
 * Throws a {@linkcode ReasonixError} when the configuration has errors, names no usable model, or when a jail
 * is enforced and none works.
 */
export async function createAgent(options: AgentOptions = {}): Promise<EmbeddedAgent> {
  const home = homeOf(options);
  try {
    const assembly = await assembleAgent(options, home.path);
    if (options.onEvent) assembly.controller.subscribe(options.onEvent);
    return {
      controller: assembly.controller,
      run: (input, signal) => assembly.run(input, signal),
      runInternal: (request) => assembly.runInternal(request),
      rewind: (turn, scope) => assembly.rewind(turn, scope),
      async [Symbol.asyncDispose]() {
        await assembly[Symbol.asyncDispose]();
        home.remove();
      },
    };
  } catch (error) {
    home.remove();
    throw error;
  }
}

/**
 * Makes one run without a front end, for programs and helpers that need a completion or the work of an agent:
 * outside of the conversation of `agent`, or with options in a separate session that ends with it. Rejects as
 * {@linkcode EmbeddedAgent.runInternal} does.
 */
export async function runInternal(
  agent: EmbeddedAgent | AgentOptions,
  request: InternalRequest,
): Promise<InternalResult> {
  if ("runInternal" in agent) return await agent.runInternal(request);
  const own = await createAgent(agent);
  try {
    return await own.runInternal(request);
  } finally {
    await own[Symbol.asyncDispose]();
  }
}

async function assembleAgent(options: AgentOptions, home: string): Promise<Assembly> {
  const { config = {}, session = "memory", cwd = Deno.cwd(), onEvent: _sink, ...rest } = options;
  const paths = { cwd: realDirectory(cwd, `work in ${cwd}`), home, env };
  const files = config === "load" ? {} : { flags: config, noFiles: true };
  const loaded = nonInteractive(await loadTrustedConfig({ ...paths, ...files }, options));
  return await assemble({
    onAsk: "deny",
    steps: loaded.config.agent_mode.default_steps,
    ...rest,
    paths,
    loaded,
    inMemory: session === "memory",
    ...(typeof session === "object" ? { resume: session.resume } : {}),
  });
}

const env: EnvLookup = (name) => Deno.env.get(name);

function homeOf(
  { home, config, session = "memory" }: AgentOptions,
): { readonly path: string; remove(): void } {
  const kept = home ?? (config === "load" ? reasonixHome(env, Deno.cwd()) : undefined);
  if (kept !== undefined) return { path: kept, remove() {} };
  if (session !== "memory") {
    throw usageError(
      message`Cannot keep a session file: the agent has no home`,
      message`name \`home\`, or load the configuration`,
    );
  }
  const path = Deno.makeTempDirSync({ prefix: "reasonix-home-" });
  return { path, remove: () => Deno.removeSync(path, { recursive: true }) };
}
