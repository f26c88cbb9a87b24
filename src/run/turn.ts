import type { Limits, Stop, StopReason, TurnOutcome } from "../agent/mod.ts";
import type { Config } from "../config/mod.ts";
import {
  type CompactionHooks,
  loadReferences,
  loadRoughTokens,
  type ReferenceOptions,
  type References,
  type ResourceText,
} from "../context/mod.ts";
import type { ControlledDeps, Recorder } from "../control/mod.ts";
import {
  message,
  newNotice,
  type PreparedCall,
  ReasonixError,
  type Spending,
  usageError,
  type UserInput,
} from "../core/mod.ts";
import { detectLocale, loadTexts } from "../i18n/mod.ts";
import { contains } from "../path/lexical.ts";
import type { Gate, PermissionGate } from "../permission/mod.ts";
import type { ModelInfo, ToolMode } from "../provider/mod.ts";
import type { Workspace } from "../sandbox/mod.ts";
import { findSession, loadEvents } from "../session/mod.ts";
import { type Asker, type ClientFiles, loadTextFiles, type ToolContext } from "../tool/mod.ts";
import { userText } from "../util/user_text.ts";
import { grouped } from "../view/mod.ts";
import { type PromptInputs, turnPrompts } from "./context/prompt_inputs.ts";
import type { AdmitImages, PluginDeps, TurnExtension } from "./run_features.ts";
import { takesImages } from "./tools/toolbox.ts";
import type { AssemblyOptions, RunPaths, TurnInput, Verification } from "./run_options.ts";

/** The extensions of a run; features may add more while it runs. */
export class TurnExtensions implements Limits {
  /** The amount spent when the latest turn began, by currency. */
  costsBefore: Spending["costs"] = {};
  /** Absent where another run tests the changes. */
  verification: (() => Promise<Verification>) | undefined;
  readonly #recorder: Pick<Recorder, "follow">;
  readonly #limits: Limits;
  readonly #list: TurnExtension[] = [];
  #spent: Spending[] = [];
  #updates: string[] = [];

  constructor(recorder: Pick<Recorder, "follow">, { agent }: Pick<Config, "agent">) {
    const { max_steps, time_limit_seconds, max_cost } = agent;
    this.#recorder = recorder;
    this.#limits = {
      ...(max_steps > 0 ? { maxSteps: max_steps } : {}),
      ...(time_limit_seconds > 0 ? { timeMs: time_limit_seconds * 1000 } : {}),
      ...(max_cost > 0 ? { cost: max_cost } : {}),
    };
  }

  /** Adds an extension after the others. */
  add(extension: TurnExtension): void {
    this.#list.push(extension);
    if (extension.onEvent) this.#recorder.follow((event) => extension.onEvent?.(event));
  }

  /** Counts the spending of others for the turn that runs, else for the next one. */
  spend(spent: Spending): void {
    this.#spent.push(spent);
  }

  /** Notifies the model with its next request. */
  notify(text: string): void {
    this.#updates.push(text);
  }

  drainUpdates(): readonly string[] {
    return this.#updates.length === 0 ? [] : this.#updates.splice(0);
  }

  opened(): void {
    for (const extension of this.#list) extension.opened?.();
  }

  async before(input: TurnInput, signal: AbortSignal): Promise<TurnInput> {
    let given = input;
    for (const extension of [...this.#list]) given = await extension.before?.(given, signal) ?? given;
    return given;
  }

  async after(outcome: TurnOutcome, signal: AbortSignal): Promise<TurnInput | undefined> {
    for (const extension of [...this.#list]) {
      const next = await extension.after?.(outcome, signal);
      if (next) return next;
    }
  }

  async failed(error: unknown): Promise<void> {
    for (const extension of [...this.#list]) await extension.failed?.(error);
  }

  commandFailed(error: unknown): void {
    for (const extension of this.#list) extension.commandFailed?.(error);
  }

  interrupted(reason: StopReason): void {
    for (const extension of this.#list) extension.interrupted?.(reason);
  }

  async close(): Promise<void> {
    await Promise.all(this.#list.map((extension) => extension.close?.()));
  }

  get compaction(): CompactionHooks | undefined {
    return this.#list.find(({ compaction }) => compaction)?.compaction;
  }

  get maxSteps(): number | undefined {
    return this.#least("maxSteps");
  }

  get timeMs(): number | undefined {
    return this.#least("timeMs");
  }

  get cost(): number | undefined {
    return this.#least("cost");
  }

  /** The tightest bound; undefined where there is none. */
  #least(key: keyof Limits): number | undefined {
    const all = [this.#limits, ...this.#list.map((extension) => extension.limits?.() ?? {})];
    const given = all.flatMap((limits) => limits[key] ?? []);
    return given.length === 0 ? undefined : Math.min(...given);
  }

  /** The rules of each turn: its limits, how it ends, and what the extensions contribute. */
  rules(config: Config, { amended, answerForm }: AssemblyOptions, toolMode?: ToolMode): TurnRules {
    const { max_calls_per_step, send_tool_choice, submit } = config.agent;
    const calls = this.#list.find(({ beforeCall }) => beforeCall);
    return {
      limits: this,
      // A model without tools cannot call the one that ends the turn.
      submit: submit && toolMode !== "none",
      turnPrompt: (turn, model) => turnPrompt(config, turn, model),
      ...(calls?.beforeCall ? { beforeCall: calls.beforeCall } : {}),
      ...(calls?.afterCall ? { afterCall: calls.afterCall } : {}),
      ...(amended ? { amended } : {}),
      ...(answerForm ? { answerForm } : {}),
      ...(send_tool_choice ? { toolChoice: "auto" as const } : {}),
      ...(max_calls_per_step > 0 ? { maxCallsPerStep: max_calls_per_step } : {}),
      takeSpent: () => this.#spent.length === 0 ? [] : this.#spent.splice(0),
      reviewAnswer: (answer, signal) => this.#reviewAnswer(answer, signal),
    };
  }

  async #reviewAnswer(answer: string, signal: AbortSignal): Promise<string | Stop | undefined> {
    for (const extension of [...this.#list]) {
      const found = await extension.reviewAnswer?.(answer, signal);
      if (found !== undefined) return found;
    }
  }
}

type TurnRules = Pick<
  ControlledDeps,
  | "limits"
  | "maxCallsPerStep"
  | "toolChoice"
  | "submit"
  | "amended"
  | "beforeCall"
  | "afterCall"
  | "answerForm"
  | "turnPrompt"
  | "reviewAnswer"
  | "takeSpent"
>;

/** The text after the user's message of a turn; a name in double braces becomes its value. */
function turnPrompt(config: Config, turn: number, model: ModelInfo): string | undefined {
  const prompts = turnPrompts(config, model);
  if (prompts.length === 0) return undefined;
  const values: Readonly<Record<string, () => string>> = {
    turn: () => String(turn),
    model: () => `${model.provider}/${model.id}`,
    date: () => new Date().toISOString().slice(0, 10),
    time: () => new Date().toISOString().slice(11, 16),
  };
  return prompts.map(({ text }) => text).join("\n\n")
    .replace(/\{\{(turn|model|date|time)\}\}/g, (_, name: string) => values[name]?.() ?? "");
}

interface TurnInputDeps extends Pick<PluginDeps, "paths" | "loaded" | "provider" | "recorder"> {
  readonly cwd: string;
  readonly workspace: Workspace;
  readonly gate: Gate;
  /** Tokens that a conversation of the model can have, where declared; 0 or absent: unknown. */
  readonly window: number | undefined;
  /** Reads a resource of an MCP server; absent: there are none. */
  readonly resource: ReferenceOptions["resource"] | undefined;
  readonly document: ReferenceOptions["document"] | undefined;
  /** Absent: no prompt. */
  readonly asker?: Asker | undefined;
  /** Looks at the images of the message. */
  readonly admit: AdmitImages;
  readonly files: ClientFiles | undefined;
  readonly signal: AbortSignal;
}

/** Returns the unsaved text of an editor. A problem with the file itself shows when it is read. */
async function unsavedIn(
  path: string,
  context: Pick<ToolContext, "files" | "paths" | "signal">,
): Promise<string | undefined> {
  const { unsavedText } = await loadTextFiles();
  return await unsavedText(context, path).catch(() => undefined);
}

const NO_REFERENCES: References = { blocks: [], images: [], notices: [] };

/** Records the instructions of the skill and adds what the text refers to. */
export async function resolveInput(input: TurnInput, deps: TurnInputDeps): Promise<UserInput> {
  const { cwd, workspace, provider: { model }, recorder, gate, resource, document, files, signal } = deps;
  const { skill, references = [], images = [], ...given } = input;
  const { readOnly: _mode, rules: _rules, model: _model, literal = false, ...rest } = given;
  if (skill !== undefined) await recorder.record({ type: "message.user", content: skill, origin: "context" });
  const found = literal || !input.text.includes("@")
    ? NO_REFERENCES
    : await (await loadReferences()).resolveReferences(input.text, {
      cwd,
      read: attachmentReader(gate, workspace),
      hidden: (path) => workspace.hidden(path),
      vision: takesImages(model, deps.loaded),
      ...(resource ? { resource } : {}),
      ...(document ? { document } : {}),
      ...(files?.read ? { unsaved: (path) => unsavedIn(path, { files, paths: workspace, signal }) } : {}),
    });
  for (const text of found.notices) {
    await recorder.record(newNotice("warning", "reference", text));
  }
  if (images.length > 0 && !takesImages(model, deps.loaded)) {
    const { id } = model;
    const text =
      message`${id} takes no images: it only learns that there was one (set \`vision = true\` of the provider if it takes images)`;
    await recorder.record(newNotice("warning", "reference", text));
  }
  const admitted = await deps.admit([...images, ...found.images], model, deps.signal);
  const blocks = [...references, ...found.blocks, ...admitted.notes];
  await requireRoom([rest.text, ...blocks], deps);
  return {
    ...rest,
    references: blocks,
    images: admitted.images,
  };
}

/** The sources of `@agent:NAME` and `@session:ID`. */
interface MentionDeps {
  readonly paths: RunPaths;
  readonly inputs: PromptInputs;
}

/** Reads `@agent:NAME` and `@session:ID`; undefined for everything else. */
export function mentioned(
  kind: string,
  name: string,
  deps: MentionDeps,
): Promise<ResourceText> | undefined {
  if (!/^[\w.-]+$/.test(name)) return undefined;
  if (kind === "agent") return agentText(name, deps);
  return kind === "session" ? Promise.try(() => sessionText(name, deps)) : undefined;
}

async function agentText(name: string, { inputs }: MentionDeps): Promise<ResourceText> {
  const { agentNamed } = await import("./agents.ts");
  const agent = await agentNamed(name, inputs);
  if (typeof agent === "string") throw new ReasonixError(agent);
  const tool = agent.readOnly ? "task or read_only_task" : "task";
  return { text: `The user wants the agent "${agent.name}" to do this: call ${tool} with it.`, images: [] };
}

const MAX_TURNS = 10;
const MAX_PROMPT = 1_000;
const MAX_ANSWER = 3_000;

function sessionText(ref: string, { paths: { home, cwd } }: MentionDeps): ResourceText {
  const { path } = findSession(home, ref, { cwd });
  const { state } = loadEvents(path, undefined, "messages");
  const cut = (text: string, most: number) =>
    text.length > most ? `${text.slice(0, most).toWellFormed()} […]` : text;
  const turns = state.turns.slice(-MAX_TURNS).map(({ turn, prompt, answer = "", reason = "unfinished" }) =>
    `## Turn ${turn} (${reason})\nUser: ${cut(userText(prompt).trim(), MAX_PROMPT)}\nAnswer: ${
      cut(answer.trim(), MAX_ANSWER)
    }`
  );
  const head = `Session ${state.session} of ${state.cwd}, last changed ${state.updated}: the latest ` +
    `${turns.length} of ${state.turns.length} turns, shortened. The tool history reads the rest.`;
  return { text: [head, ...turns].join("\n\n"), images: [] };
}

/** Refuses what cannot fit the model's window, and what is large unless the user confirms it. */
async function requireRoom(texts: readonly string[], deps: TurnInputDeps): Promise<void> {
  const { window = 0, provider, loaded: { config: { agent: { large_input_tokens: limit } } } } = deps;
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  const least = Math.min(...[window, limit].filter((bound) => bound > 0));
  // No script takes more than three tokens for a character.
  if (length * 3 < least) return;
  const { roughTokens } = await loadRoughTokens();
  const tokens = texts.reduce((sum, text) => sum + roughTokens(text), 0);
  if (limit > 0 && tokens > limit && !(window > 0 && tokens >= window)) {
    return await confirmLarge(grouped(tokens), grouped(limit), deps);
  }
  if (!window || tokens < window) return;
  throw usageError(
    message`The input is too long for ${provider.model.id}: about ${grouped(tokens)} tokens of ${
      grouped(window)
    }`,
    message`write it to a file and name the file in the task, so that parts of it can be read`,
  );
}

/** Asks whether a large input is sent; throws a ReasonixError where it is not. */
async function confirmLarge(
  tokens: string,
  limit: string,
  { asker, paths, loaded, signal }: TurnInputDeps,
): Promise<void> {
  if (asker) {
    const { locale } = detectLocale({ env: paths.env, language: loaded.config.language });
    const { largeInput: { question, send, keep } } = await loadTexts("setting_commands", locale);
    const options = [{ label: send }, { label: keep }];
    const answers = await asker.ask([{ question: question(tokens), options, multiple: false }], signal);
    signal.throwIfAborted();
    if (answers?.[0]?.[0] === send) return;
  }
  throw usageError(
    message`The input is large and was not sent: about ${tokens} tokens, more than agent.large_input_tokens (${limit})`,
    message`write it to a file and name the file in the task, or raise agent.large_input_tokens`,
  );
}

/**
 * Resolves a file that the user's message names to its real path. Rejects when the workspace hides it, or
 * when the gate would not let a tool read it: what is attached goes to the model as well.
 */
function attachmentReader(gate: Gate, workspace: Workspace): (path: string) => Promise<string> {
  return async (path) => {
    const real = await workspace.read(path);
    const decision = await gate.check(readOf(path), new AbortController().signal);
    if (decision.decision === "allow") return real;
    throw new ReasonixError(
      decision.reason ? message`blocked: ${decision.reason}` : message`refused by the permission policy`,
    );
  };
}

interface ReadRules {
  readonly gate: Partial<Pick<PermissionGate, "explain">>;
  readonly workspace: Workspace;
}

/**
 * Returns the real path of a file or directory of the workspace that may be read without a prompt. Rejects
 * with the reason. Nothing is recorded.
 */
export async function readablePath(path: string, { gate, workspace }: ReadRules): Promise<string> {
  const real = await workspace.read(path);
  const reason = !workspace.roots.some((root) => contains(root, real))
    ? message`it is outside the workspace`
    : workspace.hidden(real)
    ? message`a rule hides it`
    : (await gate.explain?.(readOf(path)))?.decision !== "allow"
    ? message`refused by the permission policy`
    : undefined;
  if (reason === undefined) return real;
  throw new ReasonixError(message`Cannot read ${path}: ${reason}`, { exit: "blocked" });
}

/**
 * Reports whether the settings or a rule forbid reading a path, which need not exist. Nothing is recorded.
 */
export async function deniesReading(path: string, { gate, workspace }: ReadRules): Promise<boolean> {
  const real = await workspace.read(path).catch(() => undefined);
  if (real === undefined || workspace.hidden(real) || workspace.hidden(path)) return true;
  const explained = await gate.explain?.(readOf(path));
  return explained !== undefined && explained.headless !== "allow";
}

function readOf(path: string): PreparedCall {
  return {
    call: { id: "attachment", name: "read_file", arguments: JSON.stringify({ path }) },
    tool: "read_file",
    args: { path },
    title: `read ${path}`,
    family: "Read",
    readOnly: true,
    planSafe: true,
    reads: [path],
    writes: [],
    subjects: [],
    runsIn: "main",
  };
}
