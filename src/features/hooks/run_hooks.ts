import type { ConfiguredHook } from "../../config/mod.ts";
import {
  type HookEvent,
  type HookOutcome,
  Hooks,
  hookToolInput,
  hookToolName,
  hookToolNames,
  readHooks,
} from "../../hook/mod.ts";
import type { NewEvent, PreparedCall } from "../../core/mod.ts";
import type { RunContext, RunPaths } from "../../run/mod.ts";
import { HookPrograms, type TrustedContents, trustedContents } from "./hook_programs.ts";

/** The agent that works on a part of the task, where it is one. */
export interface HookedAgent {
  readonly id: string;
  readonly type: string;
}

interface HookSources {
  readonly configured: readonly ConfiguredHook[];
  /** Where the project is; an agent may work somewhere else. */
  readonly paths: RunPaths;
  /** Absent: as they are now. */
  readonly contents?: TrustedContents;
}

/** Something that happens, as its hooks see it. */
interface Occasion {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly names?: readonly string[];
  readonly signal?: AbortSignal;
  readonly callId?: string;
}

/** Permission modes by the names that hooks know. */
const MODES = {
  plan: "plan",
  "read-only": "default",
  "workspace-write": "default",
  "danger-full-access": "bypassPermissions",
} as const;

const APPROVALS = { ask: undefined, auto: "acceptEdits", yolo: "bypassPermissions" } as const;

/** The hooks of one run, from its assembling on. They run once it is there. */
export class RunHooks {
  readonly configured: readonly ConfiguredHook[];
  readonly problems: ReturnType<typeof readHooks>["problems"];
  readonly agent: HookedAgent | undefined;
  /** Calls that are being judged or run, by their id. */
  readonly calls = new Map<string, PreparedCall>();
  /** Arguments that a hook allowed a call with; an empty text once they were taken. */
  readonly #amended = new Map<string, string>();
  readonly #ready: ReturnType<typeof readHooks<ConfiguredHook>>["hooks"];
  #begun: { readonly run: RunContext; readonly hooks: Hooks<ConfiguredHook> } | undefined;

  readonly #sources: HookSources;

  constructor(sources: HookSources, agent?: HookedAgent) {
    const { configured, paths } = sources;
    this.#sources = { ...sources, contents: sources.contents ?? trustedContents(configured, paths) };
    this.configured = configured;
    this.agent = agent;
    const { hooks, problems } = readHooks(configured);
    this.#ready = hooks;
    this.problems = problems;
  }

  /** The hooks of another agent's run. */
  forAgent(agent: HookedAgent): RunHooks {
    return new RunHooks(this.#sources, agent);
  }

  /** The run they belong to. */
  get run(): RunContext {
    if (!this.#begun) throw new TypeError("Cannot run hooks: there is no run yet");
    return this.#begun.run;
  }

  begin(run: RunContext): void {
    const { paths, loaded, workspace, session, recorder, tools: { guard, openJail } } = run;
    const { paths: { cwd: project }, contents } = this.#sources;
    const programs = new HookPrograms({
      paths,
      project,
      contents,
      loaded,
      workspace,
      session: session.id,
      guard,
      openJail,
    });
    const record = (event: NewEvent) => recorder.record(event);
    this.#begun = { run, hooks: new Hooks({ hooks: this.#ready, launch: programs.launch, record }) };
  }

  /** Those that can run. */
  get ready(): readonly ConfiguredHook[] {
    return this.#ready.map(({ source }) => source);
  }

  wants(event: HookEvent): boolean {
    return this.#ready.some((hook) => hook.event === event);
  }

  /** Runs the hooks of an event; undefined when none is meant. */
  async fire(event: HookEvent, occasion: Occasion = {}): Promise<HookOutcome | undefined> {
    if (!this.#begun || !this.wants(event)) return undefined;
    const { input = {}, names, signal = new AbortController().signal, callId } = occasion;
    return await this.#begun.hooks.fire(event, {
      input: { ...this.#common(), ...input },
      names,
      signal,
      callId,
    });
  }

  /** Runs the hooks that notify the user. */
  async notify(kind: string, message: string, signal?: AbortSignal): Promise<void> {
    await this.fire("Notification", {
      names: [kind],
      input: { notification_type: kind, message, title: "Reasonix" },
      ...(signal ? { signal } : {}),
    });
  }

  /** Lets a call run with other arguments, once: they are judged like its own, hooks included. */
  amend(callId: string, args: string): void {
    if (!this.#amended.has(callId)) this.#amended.set(callId, args);
  }

  /** Takes the arguments that a hook allowed a call with. */
  takeAmended(callId: string): string | undefined {
    const args = this.#amended.get(callId) || undefined;
    if (args !== undefined) this.#amended.set(callId, "");
    return args;
  }

  /** The turn is over: no call is judged any more. */
  forgetCalls(): void {
    this.calls.clear();
    this.#amended.clear();
  }

  async record(event: NewEvent): Promise<void> {
    await this.run.recorder.record(event);
  }

  #common(): Record<string, unknown> {
    const { session, paths, modes } = this.run;
    const { agent } = this;
    return {
      session_id: session.id,
      transcript_path: session.paths.path,
      cwd: paths.cwd,
      permission_mode: modes.permission === "plan"
        ? "plan"
        : APPROVALS[modes.approval] ?? MODES[modes.permission],
      ...(agent ? { agent_id: agent.id, agent_type: agent.type } : {}),
    };
  }
}

/** A call as its hooks see it, and the names by which they may mean it. */
export function occasion(call: PreparedCall, { run: { paths: { cwd } } }: RunHooks) {
  return {
    names: hookToolNames(call),
    callId: call.call.id,
    input: {
      tool_name: hookToolName(call.tool),
      tool_input: hookToolInput(call, cwd),
      tool_use_id: call.call.id,
    },
  };
}
