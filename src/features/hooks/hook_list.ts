/** Hooks outside of a run: which there are, and what one says of a made-up event. */
import { type ConfiguredHook, type LoadedConfig, loadHookConfig } from "../../config/mod.ts";
import { message, type NewEventOf, type SourceLocation, usageError } from "../../core/mod.ts";
import {
  factsOf,
  HOOK_EVENTS,
  type HookEvent,
  isHookEvent,
  missingCommands,
  readHooks,
  sampleInput,
} from "./hook.ts";
import { type HookOutcome, HookPrograms, Hooks, isConfined, trustedContents } from "./hook_runs.ts";
import { parseJson } from "../../util/json.ts";
import { suggestNames } from "../../util/suggest.ts";
import { buildWorkspace, type RunPaths, withJail } from "../../run/mod.ts";

/** A hook that the files describe, whether or not it runs. */
export interface HookRow {
  readonly event: string;
  readonly matcher: string;
  readonly command: string;
  readonly source: string;
  readonly place?: SourceLocation;
  readonly state: "on" | "untrusted" | "broken";
  /** Why it does not run, or will fail. */
  readonly why?: string;
  readonly timeoutSeconds: number;
  readonly failure: "open" | "closed";
  /** It runs in the jail of commands. */
  readonly confined: boolean;
}

/** Lists the hooks in the order in which they count, then those that wait for trust. */
export async function hookRows(loaded: LoadedConfig, paths: RunPaths): Promise<HookRow[]> {
  const configured = (await loadHookConfig()).configuredHooks(loaded, paths);
  const { problems } = readHooks(configured);
  const { roots } = buildWorkspace(paths, loaded.config);
  const rows = configured.map((hook): HookRow => {
    const problem = problems.find(({ source }) => source === hook);
    const [missing] = missingCommands([hook], paths);
    const why = problem ? `${problem.message}; ${problem.remedy}` : missing;
    return {
      ...shownOf(hook),
      source: hook.source,
      ...(hook.place ? { place: hook.place } : {}),
      state: problem ? "broken" : "on",
      ...(why === undefined ? {} : { why }),
      confined: isConfined(hook, roots),
    };
  });
  const waiting = loaded.needsTrust.filter(({ kind }) => kind === "hook").map((
    { definition, place },
  ): HookRow => ({
    ...shownOf(parseJson(String(definition)) as Partial<ConfiguredHook>),
    source: "project",
    place,
    state: "untrusted",
    why: "look at it with `reasonix trust`",
    confined: true,
  }));
  return [...rows, ...waiting];
}

function shownOf({ event = "", matcher = "", command = "", ...rest }: Partial<ConfiguredHook>) {
  const { timeout_seconds: timeoutSeconds = 60, failure = "open" } = rest;
  return { event, matcher, command, timeoutSeconds, failure };
}

/** A made-up event to try hooks with. */
export interface HookTrial {
  readonly event: string;
  readonly tool?: string | undefined;
  /** JSON that is laid over the sample: the arguments of the tool, or fields of the event. */
  readonly input?: string | undefined;
}

export interface TriedHooks {
  readonly input: Readonly<Record<string, unknown>>;
  readonly runs: readonly NewEventOf<"hook">[];
  readonly notices: readonly string[];
  /** Absent: no hook is meant. */
  readonly verdict?: HookOutcome;
}

/** Runs the hooks that are meant by a made-up event, as a session would. Throws ReasonixError (usage). */
export async function tryHooks(
  trial: HookTrial,
  { loaded, paths, signal }: {
    readonly loaded: LoadedConfig;
    readonly paths: RunPaths;
    readonly signal: AbortSignal;
  },
): Promise<TriedHooks> {
  const event = requireEvent(trial.event);
  const { cwd } = paths;
  const { input, names } = sampleInput(event, { cwd, tool: trial.tool, given: given(trial.input) });
  const configured = (await loadHookConfig()).configuredHooks(loaded, paths);
  const { hooks } = readHooks(configured);
  const workspace = buildWorkspace(paths, loaded.config);
  const runs: NewEventOf<"hook">[] = [];
  const notices: string[] = [];
  return await withJail({ paths, loaded, workspace }, async (jail) => {
    const programs = new HookPrograms({
      paths,
      project: cwd,
      contents: trustedContents(configured, paths),
      loaded,
      workspace,
      session: String(input.session_id),
      guard: undefined,
      openJail: () => Promise.resolve(jail),
    });
    const record = (recorded: NewEventOf<"hook"> | NewEventOf<"notice">) => {
      if (recorded.type === "hook") runs.push(recorded);
      else notices.push(recorded.text);
    };
    const outcome = await new Hooks({ hooks, launch: programs.launch, record }).fire(event, {
      input,
      ...(factsOf(event).matches === undefined ? {} : { names }),
      signal,
    });
    return { input, runs, notices, ...(outcome ? { verdict: outcome } : {}) };
  });
}

function requireEvent(name: string): HookEvent {
  if (isHookEvent(name)) return name;
  const known = Object.keys(HOOK_EVENTS);
  const [near] = suggestNames(name, known, 1);
  throw usageError(
    message`There is no event "${name}"`,
    near ? message`did you mean ${near}?` : message`choose one of ${known.join(", ")}`,
  );
}

function given(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  const value = parseJson(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw usageError(
    message`Cannot read --input ${text.slice(0, 80)}: it is no JSON object`,
    message`write it like --input '{"command": "ls"}'`,
  );
}
