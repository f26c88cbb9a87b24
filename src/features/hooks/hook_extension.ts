import type { CallOpinion, Stop } from "../../agent/mod.ts";
import { type ConfiguredHook, loadHookConfig } from "../../config/mod.ts";
import type { CompactionHooks } from "../../context/mod.ts";
import {
  type ApprovalAnswer,
  message,
  type NewEvent,
  newNotice,
  type PreparedCall,
  ReasonixError,
  textOf,
} from "../../core/mod.ts";
import type { ApprovalRequest, Approver } from "../../permission/mod.ts";
import type { AssemblyOptions, RunContext, RunPaths, TurnExtension, TurnInput } from "../../run/mod.ts";
import { type Asker, claudeToolName, type ToolResult } from "../../tool/mod.ts";
import { after } from "../../util/timer.ts";
import {
  formatHookProblem,
  type HookEvent,
  hookToolInput,
  hookToolNames,
  missingCommands,
  ownArguments,
  readHooks,
} from "./hook.ts";
import {
  type Firing,
  hookNote,
  type HookOutcome,
  HookPrograms,
  Hooks,
  type TrustedContents,
  trustedContents,
} from "./hook_runs.ts";

interface HookedAgent {
  readonly id: string;
  readonly type: string;
}

interface HookSources {
  readonly configured: readonly ConfiguredHook[];
  /** The directories of the project; an agent may work in others. */
  readonly paths: RunPaths;
  /** Absent: as they are now. */
  readonly contents?: TrustedContents;
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
class RunHooks {
  readonly problems: ReturnType<typeof readHooks>["problems"];
  readonly agent: HookedAgent | undefined;
  /** Calls that are being judged or run, by their id. */
  readonly calls = new Map<string, PreparedCall>();
  /** Arguments that a hook allowed a call with; an empty text once they were taken. */
  readonly #amended = new Map<string, string>();
  readonly #ready: ReturnType<typeof readHooks>["hooks"];
  #begun: { readonly run: RunContext; readonly hooks: Hooks } | undefined;

  readonly #sources: HookSources;

  constructor(sources: HookSources, agent?: HookedAgent) {
    const { configured, paths } = sources;
    this.#sources = { ...sources, contents: sources.contents ?? trustedContents(configured, paths) };
    this.agent = agent;
    const { hooks, problems } = readHooks(configured);
    this.#ready = hooks;
    this.problems = problems;
  }

  ofAgent(agent: HookedAgent): RunHooks {
    return new RunHooks(this.#sources, agent);
  }

  get run(): RunContext {
    if (!this.#begun) throw new TypeError("Cannot run hooks: there is no run yet");
    return this.#begun.run;
  }

  begin(run: RunContext): void {
    const { paths, loaded, workspace, session, recorder, tools: { guard, openJail, trace } } = run;
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
      trace,
    });
    const record = (event: NewEvent) => recorder.record(event);
    this.#begun = { run, hooks: new Hooks({ hooks: this.#ready, launch: programs.launch, record }) };
  }

  get ready(): readonly ConfiguredHook[] {
    return this.#ready.map(({ source }) => source);
  }

  wants(event: HookEvent): boolean {
    return this.#ready.some((hook) => hook.event === event);
  }

  async fire(event: HookEvent, occasion: Partial<Firing> = {}): Promise<HookOutcome | undefined> {
    if (!this.#begun || !this.wants(event)) return undefined;
    const { input = {}, names, signal = new AbortController().signal, callId } = occasion;
    return await this.#begun.hooks.fire(event, {
      input: { ...this.#common(), ...input },
      names,
      signal,
      callId,
    });
  }

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
function occasion(call: PreparedCall, { run: { paths: { cwd } } }: RunHooks) {
  return {
    names: hookToolNames(call),
    callId: call.call.id,
    input: {
      tool_name: claudeToolName(call.tool),
      tool_input: hookToolInput(call, cwd),
      tool_use_id: call.call.id,
    },
  };
}

/** At most this many times hooks can keep a turn from ending. */
const MOST_ENDS = 5;
/** Time without a new message after which the user seems to be elsewhere. */
const IDLE_MS = 60_000;

/**
 * The hooks of a run: the start of the session, prompts, ends that a hook does not let pass, calls, whatever
 * the tool, and compactions.
 */
class HookExtension implements TurnExtension {
  readonly compaction: CompactionHooks;
  readonly #hooks: RunHooks;
  readonly #attended: boolean;
  #starting: Promise<HookOutcome | undefined> | undefined;
  /** The texts of the start hooks have reached the model. */
  #hasStarted = false;
  /** Ends that hooks did not let pass since the last prompt. */
  #kept = 0;
  #stopIdling = () => {};

  constructor(hooks: RunHooks, attended: boolean) {
    this.#hooks = hooks;
    this.#attended = attended;
    this.compaction = compactionHooks(hooks);
  }

  /** The session is open. What its hooks say reaches the model with the first turn. */
  readonly opened = (): void => {
    const { problems, ready, run: { recorder, paths } } = this.#hooks;
    for (const text of [...problems.map(formatHookProblem), ...missingCommands(ready, paths)]) {
      void recorder.record(newNotice("warning", "hook", text));
    }
    this.#start();
  };

  #start(): void {
    const { agent, run: { recorder, provider } } = this.#hooks;
    if (agent) {
      this.#starting ??= this.#hooks.fire("SubagentStart", { names: [agent.type] });
      return;
    }
    const source = recorder.state.turns.length > 0 ? "resume" : "startup";
    this.#starting ??= this.#hooks.fire("SessionStart", {
      names: [source],
      input: { source, model: provider.model.id },
    });
  }

  readonly before = async (input: TurnInput, signal: AbortSignal): Promise<TurnInput> => {
    this.#stopIdling();
    this.#start();
    const started = await this.#starting;
    const why = refusalOf(started);
    if (why !== undefined) throw refusal(why);
    const notes: string[] = [];
    if (input.origin !== "continue" && !this.#hooks.agent) {
      this.#kept = 0;
      notes.push(...await this.#submit(input.text, signal));
    }
    // Said once: it is part of the conversation then.
    if (!this.#hasStarted) {
      notes.unshift(...(started?.contexts ?? []).map((text) => hookNote(this.#startEvent, text)));
    }
    this.#hasStarted = true;
    return notes.length === 0 ? input : { ...input, references: [...input.references ?? [], ...notes] };
  };

  async #submit(prompt: string, signal: AbortSignal): Promise<string[]> {
    const outcome = await this.#hooks.fire("UserPromptSubmit", { signal, input: { prompt } });
    const why = refusalOf(outcome);
    if (why !== undefined) throw refusal(why);
    return (outcome?.contexts ?? []).map((text) => hookNote("UserPromptSubmit", text));
  }

  readonly reviewAnswer = async (answer: string, signal: AbortSignal): Promise<string | Stop | undefined> => {
    const { agent } = this.#hooks;
    const event = agent ? "SubagentStop" : "Stop";
    const outcome = await this.#hooks.fire(event, {
      ...(agent ? { names: [agent.type] } : {}),
      signal,
      input: { stop_hook_active: this.#kept > 0, last_assistant_message: answer },
    });
    if (!outcome || signal.aborted) return undefined;
    if (outcome.stop !== undefined) {
      return { reason: "blocked", detail: `Stopped by a hook: ${outcome.stop}` };
    }
    if (outcome.decision !== "deny") return undefined;
    const notes = [outcome.reason ?? "", ...outcome.contexts];
    this.#kept += 1;
    if (this.#kept <= MOST_ENDS) return notes.map((text) => hookNote(event, text)).join("\n\n");
    await this.#hooks.record(
      newNotice(
        "warning",
        "hook",
        message`${event} hooks have prevented the end of this turn ${MOST_ENDS} times; it ends now`,
      ),
    );
    return undefined;
  };

  readonly beforeCall = async (call: PreparedCall, signal: AbortSignal): Promise<CallOpinion | undefined> => {
    const hooks = this.#hooks;
    const { id } = call.call;
    if (hooks.wants("PermissionRequest")) hooks.calls.set(id, call);
    const outcome = await hooks.fire("PreToolUse", { ...occasion(call, hooks), signal });
    return outcome && await opinionOf(hooks, call, outcome);
  };

  readonly afterCall = async (
    call: PreparedCall,
    result: ToolResult,
    signal: AbortSignal,
  ): Promise<Pick<CallOpinion, "stop" | "notes"> | undefined> => {
    const hooks = this.#hooks;
    const { id } = call.call;
    hooks.calls.delete(id);
    if (signal.aborted) return undefined;
    const event = result.isError ? "PostToolUseFailure" : "PostToolUse";
    const { input, ...rest } = occasion(call, hooks);
    const outcome = await hooks.fire(event, {
      ...rest,
      signal,
      input: {
        ...input,
        ...(result.isError ? { error: result.content } : {}),
        tool_response: responseOf(call, result),
      },
    });
    if (!outcome) return undefined;
    const { decision, reason = "", contexts, stop } = outcome;
    const texts = [...(decision === "deny" ? [reason] : []), ...contexts];
    return {
      notes: texts.map((text) => hookNote(event, text)),
      ...(stop === undefined ? {} : { stop: `Stopped by a hook: ${stop}` }),
    };
  };

  readonly after = (): Promise<undefined> => {
    this.#hooks.forgetCalls();
    if (this.#attended && this.#hooks.wants("Notification")) {
      this.#stopIdling = after(IDLE_MS, () => {
        this.#hooks.notify("idle_prompt", "Reasonix is waiting for your input").catch(() => {});
      });
    }
    return Promise.resolve(undefined);
  };

  readonly close = async (): Promise<void> => {
    this.#stopIdling();
    // A session that was not opened has not begun either.
    if (!this.#starting) return;
    await this.#starting;
    if (!this.#hooks.agent) {
      await this.#hooks.fire("SessionEnd", { names: ["other"], input: { reason: "other" } });
    }
  };

  get #startEvent() {
    return this.#hooks.agent ? "SubagentStart" as const : "SessionStart" as const;
  }
}

function refusalOf(outcome: HookOutcome | undefined): string | undefined {
  return outcome?.stop ?? (outcome?.decision === "deny" ? outcome.reason : undefined);
}

function refusal(why: string): ReasonixError {
  return new ReasonixError(message`A hook refused the prompt, and it was not sent to the model: ${why}`, {
    exit: "blocked",
  });
}

async function opinionOf(hooks: RunHooks, call: PreparedCall, outcome: HookOutcome): Promise<CallOpinion> {
  const { decision, reason = "", stop, updatedInput, contexts } = outcome;
  const notes = contexts.map((text) => hookNote("PreToolUse", text));
  if (stop !== undefined) {
    return { notes, stop: `Stopped by a hook: ${stop}`, ...await refuse(hooks, call, stop) };
  }
  if (decision === "deny") {
    return { notes, ...await refuse(hooks, call, `a hook refuses this call: ${reason}`) };
  }
  if (decision === "defer") {
    const why = `a hook leaves this call to the user: ${reason}`;
    return {
      notes,
      ...await refuse(hooks, call, `${why}; it was not executed`),
      stop: `Stopped, since ${why}`,
    };
  }
  return {
    notes,
    ...(updatedInput ? { arguments: ownArguments(call, updatedInput, hooks.run.paths.cwd) } : {}),
    ...(decision === undefined ? {} : { word: { word: decision, reason: askReason(reason) } }),
  };
}

async function refuse(hooks: RunHooks, call: PreparedCall, reason: string): Promise<{ deny: string }> {
  const { id } = call.call;
  hooks.calls.delete(id);
  await hooks.record({ type: "approval.decision", callId: id, decision: "deny", source: "hook", reason });
  return { deny: reason };
}

function askReason(reason: string): string {
  return reason === "" ? "a hook asks about it" : `a hook asks about it: ${reason}`;
}

/** Characters of a result that hooks get. */
const MAX_RESPONSE = 1 << 20;

/** The result in our words, and in those that hooks for commands and files expect. */
function responseOf({ family, writes = [] }: PreparedCall, result: ToolResult): Record<string, unknown> {
  const content = result.content.slice(0, MAX_RESPONSE).toWellFormed();
  const { exitCode } = result;
  return {
    content,
    is_error: result.isError === true,
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(family === "Bash" ? { stdout: content, stderr: "", interrupted: false } : {}),
    ...(family === "Edit"
      ? { filePath: result.changes?.[0]?.path ?? writes[0], success: !result.isError }
      : {}),
  };
}

/** The hooks around a compaction; what those at the start of a session say is said again after it. */
function compactionHooks(hooks: RunHooks): CompactionHooks {
  let guide: string | undefined;
  return {
    async before(trigger, hint, signal) {
      const outcome = await hooks.fire("PreCompact", {
        names: [trigger],
        signal,
        input: { trigger, custom_instructions: hint ?? "" },
      });
      guide = [outcome?.guide, ...outcome?.contexts ?? []].filter((text) => text).join("\n") || undefined;
      return outcome?.stop ?? (outcome?.decision === "deny" ? outcome.reason : undefined);
    },
    guide: () => guide,
    async after(trigger, signal) {
      guide = undefined;
      await hooks.fire("PostCompact", { names: [trigger], signal, input: { trigger } });
      if (hooks.agent) return;
      const input = { source: "compact" };
      const outcome = await hooks.fire("SessionStart", { names: ["compact"], signal, input });
      for (const text of outcome?.contexts ?? []) {
        await hooks.record({
          type: "message.user",
          content: hookNote("SessionStart", text),
          origin: "context",
        });
      }
    },
  };
}

export function attach(run: RunContext): void {
  const { hooks, approver } = run.options;
  if (!(hooks instanceof RunHooks)) return;
  hooks.begin(run);
  run.extensions.add(new HookExtension(hooks, approver !== undefined));
}

/**
 * The options of a run with its hooks. Throws a ReasonixError (config) for a hook that must not fail and can
 * never run.
 */
export async function withHooks(options: AssemblyOptions): Promise<AssemblyOptions> {
  const { approver, asker, amended, loaded, paths, parent, sessionId } = options;
  // Another agent's run is made of the options of the run it belongs to.
  const hooks = options.hooks instanceof RunHooks && parent
    ? options.hooks.ofAgent({ id: sessionId ?? "", type: parent.link.agent ?? "" })
    : new RunHooks({ configured: (await loadHookConfig()).configuredHooks(loaded, paths), paths });
  const broken = hooks.problems.find(({ source }) => source.failure === "closed");
  if (broken) {
    throw new ReasonixError(formatHookProblem(broken), {
      exit: "config",
      ...(broken.source.place ? { place: broken.source.place } : {}),
      remedy: message`correct the hook: with failure = "closed" nothing may run without it`,
    });
  }
  return {
    ...options,
    hooks,
    ...(approver ? { approver: approverWithHooks(approver, hooks) } : {}),
    ...(asker && !hooks.agent ? { asker: askerWithHooks(asker, hooks) } : {}),
    amended: (callId) => hooks.takeAmended(callId) ?? amended?.(callId),
  };
}

/** Asks hooks before the person, and notifies them of the prompt. */
function approverWithHooks(approver: Approver, hooks: RunHooks): Approver {
  return {
    async ask(request, signal) {
      const answer = await answerOfHooks(request, hooks, signal);
      if (answer) return answer;
      // The parent run notifies them of the prompt.
      if (hooks.agent) return await approver.ask(request, signal);
      const waiting = hooks.notify(
        "permission_prompt",
        `Your permission is needed to use ${request.tool}`,
        signal,
      );
      const given = await approver.ask(request, signal);
      await waiting;
      return given;
    },
  };
}

/** Informs hooks that the model or a server asks the user something. */
function askerWithHooks(asker: Asker, hooks: RunHooks): Asker {
  return {
    async ask(questions, signal) {
      const waiting = hooks.notify(
        "elicitation_dialog",
        questions[0]?.question ?? "You are asked something",
        signal,
      );
      const given = await asker.ask(questions, signal);
      await waiting;
      return given;
    },
  };
}

async function answerOfHooks(
  request: ApprovalRequest,
  hooks: RunHooks,
  signal: AbortSignal,
): Promise<ApprovalAnswer | undefined> {
  const call = hooks.calls.get(request.callId);
  // Calls of another agent may have the same name.
  if (call?.tool !== request.tool) return undefined;
  const { input, names } = occasion(call, hooks);
  const outcome = await hooks.fire("PermissionRequest", {
    names,
    callId: request.callId,
    signal,
    input: { ...input, message: textOf(request.reason) },
  });
  if (outcome?.decision === "deny") {
    const { reason: note = "", stop } = outcome;
    return { allow: false, scope: "once", note, by: "hook", ...(stop === undefined ? {} : { stop: true }) };
  }
  if (outcome?.decision !== "allow" || !mayAnswer(request)) return undefined;
  const { updatedInput } = outcome;
  if (updatedInput) hooks.amend(request.callId, ownArguments(call, updatedInput, hooks.run.paths.cwd));
  return { allow: true, scope: "once", by: "hook" };
}

/** A hook never answers what a rule, a destructive command or a protected file asks about. */
function mayAnswer(request: ApprovalRequest): boolean {
  const { unruled, readOnlyClaim, personOnly, destructive, escape } = request;
  return (unruled || readOnlyClaim) === true && !personOnly && !destructive && !escape;
}
