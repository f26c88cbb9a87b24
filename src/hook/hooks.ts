import { type LocalizedMessage, message, type NewEventOf, textFields } from "../core/mod.ts";
import type { HookEvent } from "./events.ts";
import { type Hook, type HookSource, hookTitle } from "./hook.ts";
import { DECISIONS, type HookDecision, type HookEffect, type HookRun, readRun } from "./read_run.ts";

/** Starts the program of a hook and waits for its end. Contract: never rejects. */
export type HookLauncher<S extends HookSource> = (
  source: S,
  input: string,
  signal: AbortSignal,
) => Promise<HookRun>;

export interface HooksOptions<S extends HookSource> {
  readonly hooks: readonly Hook<S>[];
  readonly launch: HookLauncher<S>;
  readonly record: (event: NewEventOf<"hook"> | NewEventOf<"notice">) => void | Promise<void>;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}

/** The input of an event besides what all have. */
export type HookInput = Readonly<Record<string, unknown>>;

export interface Firing {
  readonly input: HookInput;
  /** What matchers are compared with; absent: they are not asked. */
  readonly names?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  readonly callId?: string | undefined;
}

/** What all hooks of an event said together. */
export interface HookOutcome {
  /** The strongest, with its reasons in the order of the hooks. */
  readonly decision?: HookDecision;
  readonly reason?: string;
  /** The run is to end. */
  readonly stop?: string;
  readonly updatedInput?: Readonly<Record<string, unknown>>;
  /** For the model, in the order of the hooks. */
  readonly contexts: readonly string[];
  /** What a summary should keep. */
  readonly guide?: string;
}

interface Ran {
  readonly title: string;
  readonly effect: HookEffect;
}

/** The hooks of a run. Those of one event run at the same time; their answers count in their order. */
export class Hooks<S extends HookSource> {
  readonly #options: HooksOptions<S>;
  readonly #events: ReadonlySet<HookEvent>;
  /** Problems that the user was told of. */
  readonly #reported = new Set<string>();

  constructor(options: HooksOptions<S>) {
    this.#options = options;
    this.#events = new Set(options.hooks.map(({ event }) => event));
  }

  /** Whether there is any hook for the event. */
  wants(event: HookEvent): boolean {
    return this.#events.has(event);
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
      const run = await this.#options.launch(source, `${input}\n`, firing.signal);
      return { source, effect: withFailure(event, source, run), durationMs: Math.round(now() - started) };
    }));
    const ran: Ran[] = [];
    for (const { source, effect, durationMs } of runs) {
      await this.#report(event, source, { effect, durationMs, callId: firing.callId });
      ran.push({ title: hookTitle(source), effect });
    }
    return await this.#combine(ran);
  }

  async #report(
    event: HookEvent,
    source: S,
    { effect, durationMs, callId }: { effect: HookEffect; durationMs: number; callId: string | undefined },
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
    const refuses = decision === "deny";
    await this.#notice(
      "warning",
      refuses
        ? message`The ${event} hook ${title} failed: ${problem}; so it refuses`
        : message`The ${event} hook ${title} failed: ${problem}; it had no effect`,
    );
  }

  async #notice(level: "info" | "warning", text: LocalizedMessage): Promise<void> {
    await this.#options.record({ type: "notice", level, code: "hook", ...textFields(text) });
  }

  async #combine(ran: readonly Ran[]): Promise<HookOutcome> {
    const effects = ran.map(({ effect }) => effect);
    const decision = DECISIONS.find((each) => effects.some((effect) => effect.decision === each));
    const reasons = effects.filter((effect) => effect.decision === decision).map(({ reason = "" }) => reason);
    const changed = ran.filter(({ effect }) => effect.updatedInput !== undefined);
    const last = changed.at(-1);
    if (last && changed.length > 1) {
      const others = changed.slice(0, -1).map(({ title }) => title);
      await this.#notice(
        "warning",
        message`${changed.length} hooks changed the arguments of one call: those of ${last.title} are used, not those of ${others}`,
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
function withFailure(event: HookEvent, source: HookSource, run: HookRun): HookEffect {
  const effect = readRun(event, run);
  if (source.failure === "open" || effect.problem === undefined) return effect;
  return { ...effect, decision: "deny", reason: `a hook that must not fail has failed: ${effect.problem}` };
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

/** A text of a hook for the model. */
export function hookNote(event: HookEvent, text: string): string {
  return `<hook event="${event}">\n${text}\n</hook>`;
}
