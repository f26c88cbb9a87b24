import type { ConfiguredHook, LoadedConfig } from "../../config/mod.ts";
import { errorMessage, type LocalizedMessage, message, type NewEventOf, newNotice } from "../../core/mod.ts";
import { contains } from "../../path/lexical.ts";
import { isFile } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";
import { type RunContext, type RunPaths, secretsOf } from "../../run/mod.ts";
import { type Jail, serverEnvironment, type Workspace } from "../../sandbox/mod.ts";
import { loadProcesses, type ProcessGuard, type SpawnPlan } from "../../tool/mod.ts";
import { filesOf } from "../../trust/mod.ts";
import { isRecord, parseJson } from "../../util/json.ts";
import { lazy } from "../../util/lazy.ts";
import { feed, shellCommand } from "../../util/process.ts";
import { after } from "../../util/timer.ts";
import { factsOf, type Hook, type HookEvent, hookTitle } from "./hook.ts";

export type HookRun =
  | { readonly kind: "exit"; readonly code: number; readonly signal?: string | undefined } & Printed
  | { readonly kind: "timeout"; readonly seconds: number }
  | { readonly kind: "aborted" }
  /** It was not started, or could not be. */
  | { readonly kind: "unstarted"; readonly why: string };

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly overflow?: boolean | undefined;
}

/** The decisions of hooks about a call, the strongest first. */
const DECISIONS = ["deny", "defer", "ask", "allow"] as const;
type HookDecision = typeof DECISIONS[number];

interface HookEffect {
  readonly outcome: "ok" | "blocked" | "failed" | "timeout" | "aborted";
  /** Of a refusal of anything else than a call: `deny`. */
  readonly decision?: HookDecision;
  readonly reason?: string;
  /** For the model. */
  readonly context?: string;
  /** Plain text that guides a summary. */
  readonly guide?: string;
  readonly updatedInput?: Readonly<Record<string, unknown>>;
  /** The run is to end, and why. */
  readonly stop?: string;
  /** For the user. */
  readonly message?: string;
  /** Why it failed, for the user. */
  readonly problem?: string;
}

/** Characters of a reason and of a context that are passed on. */
const MAX_REASON = 4_000;
const MAX_CONTEXT = 10_000;

/** Reads what a hook's end and output mean at this event. */
export function readRun(event: HookEvent, run: HookRun): HookEffect {
  switch (run.kind) {
    case "aborted":
      return { outcome: "aborted" };
    case "timeout":
      return { outcome: "timeout", problem: `it was ended after ${run.seconds} s` };
    case "unstarted":
      return { outcome: "failed", problem: run.why };
    case "exit":
      break;
  }
  const errors = short(run.stderr.trim(), MAX_REASON);
  if (run.code === 2) {
    if (factsOf(event).refuses === undefined) {
      return { outcome: "failed", problem: `nothing can be refused at ${event}${behind(errors)}` };
    }
    return { outcome: "blocked", decision: "deny", reason: errors || "it gave no reason" };
  }
  if (run.signal !== undefined) return { outcome: "failed", problem: `it was ended by ${run.signal}` };
  if (run.code !== 0) return { outcome: "failed", problem: `${exitWords(run.code)}${behind(errors)}` };
  if (run.overflow) return { outcome: "failed", problem: "it printed more than 1 MiB" };
  return readOutput(event, run.stdout.trim());
}

/** A line that ends with such a code has most likely a slip of the pen in it. */
function exitWords(code: number): string {
  if (code === 127) return "its command was not found (exit code 127)";
  if (code === 126) return "its command cannot be executed (exit code 126)";
  return `it ended with exit code ${code}`;
}

function behind(text: string): string {
  return text === "" ? "" : `: ${short(text.replace(/\s+/g, " "), 300)}`;
}

function readOutput(event: HookEvent, text: string): HookEffect {
  if (text === "") return { outcome: "ok" };
  if (!text.startsWith("{")) return { outcome: "ok", ...plain(event, text) };
  const value = parseJson(text);
  if (!isRecord(value)) return { outcome: "failed", problem: "what it printed begins like JSON and is none" };
  try {
    return readAnswer(event, value);
  } catch (error) {
    if (error instanceof TypeError) return { outcome: "failed", problem: lowered(error.message) };
    throw error;
  }
}

function plain(event: HookEvent, text: string): Pick<HookEffect, "context" | "guide"> {
  const { plainText } = factsOf(event);
  if (plainText === "context") return { context: short(text, MAX_CONTEXT) };
  return plainText === "guide" ? { guide: short(text, MAX_CONTEXT) } : {};
}

/** Throws a TypeError where the answer says something that cannot be understood. */
function readAnswer(event: HookEvent, value: Readonly<Record<string, unknown>>): HookEffect {
  const specific = value.hookSpecificOutput ?? {};
  if (!isRecord(specific)) throw new TypeError("Its hookSpecificOutput is no object");
  const named = specific.hookEventName;
  if (named !== undefined && named !== event) {
    throw new TypeError(`Its hookSpecificOutput is for ${String(named)}, not for ${event}`);
  }
  const { decision, reason, updatedInput, stop } = event === "PermissionRequest"
    ? permissionAnswer(specific.decision)
    : callAnswer(value, specific);
  if (decision === "deny" && factsOf(event).refuses === undefined) {
    throw new TypeError(`Nothing can be refused at ${event}`);
  }
  const context = textOf(specific, "additionalContext") ?? textOf(value, "additionalContext");
  const message = textOf(value, "systemMessage");
  const ending = value.continue === false
    ? short(textOf(value, "stopReason") ?? reason ?? "it gave no reason", MAX_REASON)
    : stop;
  return {
    outcome: decision === "deny" || ending !== undefined ? "blocked" : "ok",
    ...(decision === undefined ? {} : { decision, reason: short(reason ?? "it gave no reason", MAX_REASON) }),
    ...(context === undefined ? {} : { context: short(context, MAX_CONTEXT) }),
    ...(updatedInput === undefined ? {} : { updatedInput }),
    ...(ending === undefined ? {} : { stop: ending }),
    ...(message === undefined ? {} : { message: short(message, MAX_REASON) }),
  };
}

interface Answer {
  readonly decision?: HookDecision | undefined;
  readonly reason?: string | undefined;
  readonly updatedInput?: Readonly<Record<string, unknown>> | undefined;
  readonly stop?: string | undefined;
}

/** The form of all events, and the older one with `decision`. */
function callAnswer(
  value: Readonly<Record<string, unknown>>,
  specific: Readonly<Record<string, unknown>>,
): Answer {
  const { permissionDecision } = specific;
  const updatedInput = inputOf(specific);
  if (permissionDecision !== undefined) {
    const decision = DECISIONS.find((each) => each === permissionDecision);
    if (!decision) {
      throw new TypeError(
        `Its permissionDecision ${JSON.stringify(permissionDecision)} is none of ${DECISIONS.join(", ")}`,
      );
    }
    return { decision, reason: textOf(specific, "permissionDecisionReason"), updatedInput };
  }
  const reason = textOf(value, "reason");
  if (value.decision === undefined) return { updatedInput, reason };
  if (value.decision === "block" || value.decision === "deny") return { decision: "deny", reason };
  if (value.decision === "approve" || value.decision === "allow") {
    return { decision: "allow", reason, updatedInput };
  }
  throw new TypeError(`Its decision ${JSON.stringify(value.decision)} is none of block, approve`);
}

/** `{ behavior: "allow", updatedInput }` or `{ behavior: "deny", message, interrupt }`. */
function permissionAnswer(decision: unknown): Answer {
  if (decision === undefined) return {};
  if (!isRecord(decision)) throw new TypeError("Its decision is no object");
  if (decision.behavior === "allow") return { decision: "allow", updatedInput: inputOf(decision) };
  if (decision.behavior !== "deny") {
    throw new TypeError(`Its behavior ${JSON.stringify(decision.behavior)} is neither allow nor deny`);
  }
  const reason = textOf(decision, "message") ?? "it gave no reason";
  return { decision: "deny", reason, ...(decision.interrupt === true ? { stop: reason } : {}) };
}

function inputOf({ updatedInput }: Readonly<Record<string, unknown>>): Answer["updatedInput"] {
  if (updatedInput === undefined || updatedInput === null) return undefined;
  if (!isRecord(updatedInput)) throw new TypeError("Its updatedInput is no object");
  return updatedInput;
}

function textOf(value: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const text = value[key];
  if (text === undefined || text === null || text === "") return undefined;
  if (typeof text !== "string") throw new TypeError(`Its ${key} is no text`);
  return text;
}

function short(text: string, max: number): string {
  return text.length > max
    ? `${text.slice(0, max).toWellFormed()}… (${text.length - max} more characters)`
    : text;
}

/** A sentence as the rest of another one. */
function lowered(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

/** Starts the program of a hook and waits for its end. Contract: never rejects. */
export type HookLauncher = (
  source: ConfiguredHook,
  input: string,
  signal: AbortSignal,
  callId?: string,
) => Promise<HookRun>;

interface HooksOptions {
  readonly hooks: readonly Hook[];
  readonly launch: HookLauncher;
  readonly record: (event: NewEventOf<"hook"> | NewEventOf<"notice">) => void | Promise<void>;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}

/** An occurrence of an event, as its hooks see it. */
export interface Firing {
  readonly input: Readonly<Record<string, unknown>>;
  /** The values that matchers are compared with; absent: every hook runs. */
  readonly names?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  readonly callId?: string | undefined;
}

/** The combined outcome of all hooks of an event: the strongest decision, with its reasons in their order. */
export interface HookOutcome
  extends Pick<HookEffect, "decision" | "reason" | "stop" | "updatedInput" | "guide"> {
  /** For the model, in the order of the hooks. */
  readonly contexts: readonly string[];
}

interface FinishedHook {
  readonly source: ConfiguredHook;
  readonly effect: HookEffect;
  readonly durationMs: number;
}

/** The hooks of a run. Those of one event run at the same time; their answers count in their order. */
export class Hooks {
  readonly #options: HooksOptions;
  /** Problems that the user was notified of. */
  readonly #reported = new Set<string>();

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  /** Runs the hooks of an event; undefined when none is meant. */
  async fire(event: HookEvent, firing: Firing): Promise<HookOutcome | undefined> {
    const meant = this.#options.hooks.filter((hook) =>
      hook.event === event && (firing.names === undefined || hook.matches(firing.names))
    );
    if (meant.length === 0) return undefined;
    const input = JSON.stringify({ ...firing.input, hook_event_name: event });
    const now = this.#options.now ?? performance.now.bind(performance);
    const runs = await Promise.all(meant.map(async ({ source }) => {
      const started = now();
      const run = await this.#options.launch(source, `${input}\n`, firing.signal, firing.callId);
      return { source, effect: withFailure(event, source, run), durationMs: Math.round(now() - started) };
    }));
    for (const run of runs) await this.#report(event, run, firing.callId);
    return await this.#combine(runs);
  }

  async #report(
    event: HookEvent,
    { source, effect, durationMs }: FinishedHook,
    callId: string | undefined,
  ): Promise<void> {
    const { record } = this.#options;
    const { outcome, decision, reason, stop, message: report, problem } = effect;
    const shown = problem ?? stop ?? reason ?? report;
    await record({
      type: "hook",
      event,
      command: source.command,
      outcome: outcome === "aborted" ? "failed" : outcome,
      ...(decision === undefined ? {} : { decision }),
      durationMs,
      ...(shown === undefined ? {} : { text: shown }),
      ...(effect.updatedInput === undefined ? {} : { updatedInput: JSON.stringify(effect.updatedInput) }),
      ...(callId === undefined ? {} : { callId }),
    });
    if (report !== undefined) {
      await this.#notice("info", message`${event} hook: ${report}`);
    }
    if (problem === undefined) return;
    const title = hookTitle(source);
    const key = JSON.stringify([title, event, problem]);
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    await this.#notice(
      "warning",
      decision === "deny"
        ? message`The ${event} hook ${title} failed: ${problem}; so it refuses`
        : message`The ${event} hook ${title} failed: ${problem}; it had no effect`,
    );
  }

  async #notice(level: "info" | "warning", text: LocalizedMessage): Promise<void> {
    await this.#options.record(newNotice(level, "hook", text));
  }

  async #combine(runs: readonly FinishedHook[]): Promise<HookOutcome> {
    const effects = runs.map(({ effect }) => effect);
    const decision = DECISIONS.find((each) => effects.some((effect) => effect.decision === each));
    const reasons = effects.filter((effect) => effect.decision === decision).map(({ reason = "" }) => reason);
    const changed = runs.filter(({ effect }) => effect.updatedInput !== undefined);
    const last = changed.at(-1);
    if (last && changed.length > 1) {
      const others = changed.slice(0, -1).map(({ source }) => hookTitle(source));
      await this.#notice(
        "warning",
        message`${changed.length} hooks changed the arguments of one call: those of ${
          hookTitle(last.source)
        } are used, not those of ${others}`,
      );
    }
    const stop = effects.map((effect) => effect.stop).filter((each) => each !== undefined);
    const guides = effects.flatMap(({ guide }) => guide ?? []);
    return {
      ...(decision === undefined ? {} : { decision, reason: unique(reasons).join("\n") }),
      ...(stop.length === 0 ? {} : { stop: unique(stop).join("\n") }),
      ...(last?.effect.updatedInput ? { updatedInput: last.effect.updatedInput } : {}),
      contexts: effects.flatMap(({ context }) => context ?? []),
      ...(guides.length === 0 ? {} : { guide: guides.join("\n") }),
    };
  }
}

/** A hook that must not fail refuses when it does. */
function withFailure(event: HookEvent, source: ConfiguredHook, run: HookRun): HookEffect {
  const effect = readRun(event, run);
  if (source.failure === "open" || effect.problem === undefined) return effect;
  return { ...effect, decision: "deny", reason: `a hook that must not fail has failed: ${effect.problem}` };
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

export function hookNote(event: HookEvent, text: string): string {
  return `<hook event="${event}">\n${text}\n</hook>`;
}

interface HookProcessOptions {
  readonly cwd: string;
  /** Ends its group when the program is gone. */
  readonly guard: ProcessGuard | undefined;
  readonly input: string;
  /** 0: no limit. */
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** Limit of a stored output, in bytes. */
const MAX_OUTPUT = 1 << 20;

/**
 * Runs the program of a hook in a separate process group. Nothing of the group is left when this resolves.
 *
 * Contract: never rejects.
 */
export async function runHook(plan: SpawnPlan, options: HookProcessOptions): Promise<HookRun> {
  const { cwd, guard, input, seconds, signal } = options;
  if (signal.aborted) return { kind: "aborted" };
  const { ShellProcess } = await loadProcesses();
  const output = new BoundedText();
  const errors = new BoundedText();
  let process: InstanceType<typeof ShellProcess>;
  try {
    process = new ShellProcess(plan, {
      cwd,
      guard,
      stdin: "piped",
      onOutput: (chunk) => output.add(chunk),
      onErrorOutput: (chunk) => errors.add(chunk),
    });
  } catch (error) {
    return { kind: "unstarted", why: `it cannot be started: ${errorMessage(error)}` };
  }
  let early: HookRun | undefined;
  const end = (why: HookRun) => {
    early ??= why;
    void process.kill();
  };
  const onAbort = () => end({ kind: "aborted" });
  signal.addEventListener("abort", onAbort, { once: true });
  const clear = seconds > 0 ? after(seconds * 1000, () => end({ kind: "timeout", seconds })) : () => {};
  // A hook that does not read its input closes the pipe, which is no failure.
  const written = feed(process.stdin, new TextEncoder().encode(input));
  try {
    const { code, signal: ended } = await process.ended;
    await written;
    return early ?? {
      kind: "exit",
      code,
      ...(ended === undefined ? {} : { signal: ended }),
      stdout: output.text,
      stderr: errors.text,
      ...(output.overflow ? { overflow: true } : {}),
    };
  } catch (error) {
    return { kind: "unstarted", why: errorMessage(error) };
  } finally {
    clear();
    signal.removeEventListener("abort", onAbort);
  }
}

class BoundedText {
  overflow = false;
  readonly #decoder = new TextDecoder();
  readonly #parts: string[] = [];
  #bytes = 0;

  add(chunk: Uint8Array<ArrayBuffer>): void {
    const left = MAX_OUTPUT - this.#bytes;
    if (chunk.length > left) this.overflow = true;
    if (left <= 0) return;
    this.#bytes += Math.min(left, chunk.length);
    this.#parts.push(this.#decoder.decode(chunk.subarray(0, left), { stream: true }));
  }

  get text(): string {
    return this.#parts.join("") + this.#decoder.decode();
  }
}

interface HookEnvironment {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly workspace: Pick<Workspace, "roots">;
  readonly session: string;
  readonly guard: ProcessGuard | undefined;
  readonly openJail: () => Promise<Jail>;
  /** Returns the variables of the span of a call; absent: there is no telemetry. */
  readonly trace?: RunContext["tools"]["trace"];
  /** Directory of the project; the run may work in a copy of it. */
  readonly project: string;
  readonly contents: TrustedContents | undefined;
}

/** Digests of the project's files that its hooks name, as they were when the run began. */
export type TrustedContents = ReadonlyMap<ConfiguredHook, Promise<ReadonlyMap<string, string>>>;

export function trustedContents(hooks: readonly ConfiguredHook[], paths: RunPaths): TrustedContents {
  return new Map(
    hooks.flatMap((hook) => hook.item ? [[hook, digests(filesOf(hook.item, paths.cwd))] as const] : []),
  );
}

/**
 * Starts the programs of hooks. The user's own run as the user does; those that a project brings, and those
 * whose line names a file that tools may write, run in the jail of commands.
 */
export class HookPrograms {
  readonly #sources: HookEnvironment;
  readonly #environment = lazy(() => this.#makeEnvironment());

  constructor(sources: HookEnvironment) {
    this.#sources = sources;
  }

  readonly launch: HookLauncher = async (hook, input, signal, callId) => {
    const { paths: { cwd }, guard } = this.#sources;
    let plan: SpawnPlan;
    try {
      const changed = await this.#changed(hook);
      if (changed !== undefined) return unstarted(`${changed} has changed since this run began`);
      plan = await this.#plan(hook, callId);
    } catch (error) {
      return unstarted(errorMessage(error));
    }
    return await runHook(plan, { cwd, guard, input, signal, seconds: hook.timeout_seconds });
  };

  async #plan(hook: ConfiguredHook, callId: string | undefined): Promise<SpawnPlan> {
    const { paths: { cwd }, project, openJail, session, workspace, trace } = this.#sources;
    const argv = shellCommand(hook.command);
    const marks = {
      CLAUDE_PROJECT_DIR: project,
      REASONIX_PROJECT_DIR: project,
      REASONIX_SESSION_ID: session,
      ...(hook.root === undefined ? {} : { CLAUDE_PLUGIN_ROOT: hook.root }),
      ...trace?.(callId),
    };
    if (isConfined(hook, workspace.roots)) {
      return (await openJail()).wrap(argv, { cwd, env: marks });
    }
    const [command, ...args] = argv;
    return { command, args, env: { ...await this.#environment(), ...marks } };
  }

  async #makeEnvironment(): Promise<Record<string, string>> {
    const { keyNames, heldBack, values } = secretsOf(this.#sources.loaded);
    return await serverEnvironment({ secretNames: [...keyNames, ...heldBack], secretValues: values });
  }

  /** A file that changed since the user's decision was looked up. */
  async #changed(hook: ConfiguredHook): Promise<string | undefined> {
    const known = await this.#sources.contents?.get(hook);
    if (!known) return undefined;
    const now = await digests([...known.keys()]);
    return [...known].find(([path, digest]) => now.get(path) !== digest)?.[0];
  }
}

/**
 * Reports whether a hook runs in the command jail, since others than the user may have written its program.
 */
export function isConfined({ source, paths }: ConfiguredHook, roots: readonly string[]): boolean {
  return source === "project" || paths.some((path) => {
    if (!isFile(path)) return false;
    const real = existingRealPath(path) ?? path;
    return roots.some((root) => contains(root, path) || contains(existingRealPath(root) ?? root, real));
  });
}

function unstarted(why: string): HookRun {
  return { kind: "unstarted", why };
}

async function digests(files: readonly string[]): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(files.map(async (path) => [path, await digest(path)] as const)));
}

async function digest(path: string): Promise<string> {
  try {
    return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(path))).toHex();
  } catch {
    return "";
  }
}
