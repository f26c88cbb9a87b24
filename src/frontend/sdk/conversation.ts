import { type ClaudeMode, claudeMode, isClaudeMode } from "../claude_names.ts";
import { commandList, commandNames, executeLine } from "../line.ts";
import {
  failedResult,
  Metrics,
  type Printer,
  redacted,
  reportResult,
  resultOf,
  type RunResult,
} from "../result.ts";
import type { Output } from "../output.ts";
import { personOf } from "../session/person.ts";
import { Questions } from "../session/questions.ts";
import { SessionHost } from "../session/session_host.ts";
import { RemoteApprover } from "./approver.ts";
import type { AnswerSchema } from "../../agent/mod.ts";
import { assemble } from "../../features/mod.ts";
import { type Assembly, contextReportOf, redactorOf, type RunOptions, type RunPaths } from "../../run/mod.ts";
import { type LoadedConfig, modelReferences, requireProvider, resolveModel } from "../../config/mod.ts";
import { type Event, message, ReasonixError } from "../../core/mod.ts";
import { SDK_SERVER_STATES } from "../claude_names.ts";
import type { PermissionMode } from "../../permission/mod.ts";
import { ControlChannel, type Fields, type RequestHandlers, type UserLine } from "./channel.ts";
import type { McpServer } from "../../mcp/mod.ts";
import { VERSION } from "../../util/version.ts";

/** The settings that an SDK changes; absent: as the command line says. */
export interface SdkSettings {
  readonly model?: string;
  readonly permissionMode?: PermissionMode | ClaudeMode;
  readonly systemPrompt?: string;
  readonly appendSystemPrompt?: string;
  /** JSON Schema of the answers, as text. */
  readonly jsonSchema?: string;
  readonly resume?: string;
}

/** A run as its command line describes it, and what the settings change of it. */
export interface SdkHost {
  readonly paths: RunPaths;
  readonly permissionMode: SdkSettings["permissionMode"];
  readonly asks: boolean;
  load(settings: SdkSettings): Promise<LoadedConfig>;
  options(settings: SdkSettings): RunOptions;
  schema(settings: SdkSettings): Promise<AnswerSchema | undefined>;
}

interface ConversationDeps {
  readonly out: Output;
  readonly printer: Printer;
  readonly signal: AbortSignal;
  readonly secrets: { redact: (text: string) => string };
}

/**
 * `--input-format stream-json`: a turn for each line of the user, until the input ends. Every turn, and every
 * line that cannot be used, gets its result. Returns the exit code of the last.
 */
export async function converse(host: SdkHost, { out, signal, ...deps }: ConversationDeps): Promise<number> {
  const channel = new ControlChannel(out);
  const conversation = new Conversation(host, channel, deps);
  channel.handlers = requestHandlers(conversation);
  void channel.read(Deno.stdin.readable);
  let exitCode = 0;
  try {
    for (;;) {
      const line = await channel.next(signal);
      if (line === undefined) return exitCode;
      const result = line instanceof ReasonixError
        ? redacted(failedResult(line), deps.secrets)
        : await conversation.turn(line, signal);
      await deps.printer.result(result);
      exitCode = conversation.interrupted ? 0 : result.exitCode;
    }
  } finally {
    await conversation.close();
  }
}

/** One session with its turns. Its run is assembled for the first message, and again when settings change. */
class Conversation {
  assembly: Assembly | undefined;
  /** Turns before each message of the user, by the name of the message. */
  readonly turns = new Map<string, number>();
  readonly #host: SdkHost;
  readonly #channel: ControlChannel;
  readonly #deps: Pick<ConversationDeps, "printer" | "secrets">;
  readonly #approver: RemoteApprover | undefined;
  readonly #questions = new Questions();
  readonly #sessions: SessionHost;
  #settings: SdkSettings = {};
  #schema: AnswerSchema | undefined;
  #changed = true;
  #metrics = new Metrics();
  #turn: AbortController | undefined;
  /** Settings that are being read: the first message may be right behind them. */
  #initializing: Promise<void> = Promise.resolve();

  constructor(host: SdkHost, channel: ControlChannel, deps: Pick<ConversationDeps, "printer" | "secrets">) {
    this.#host = host;
    this.#channel = channel;
    this.#deps = deps;
    this.#sessions = new SessionHost(() => this.#open(), (event) => this.#event(event));
    if (!host.asks) return;
    this.#approver = new RemoteApprover(channel, {
      questions: this.#questions,
      mode: () => claudeMode(this.#mode),
      interrupt: () => this.interrupt(),
    });
  }

  get #mode(): SdkSettings["permissionMode"] {
    return this.#settings.permissionMode ?? this.#host.permissionMode;
  }

  /** The latest turn was stopped by the SDK. */
  get interrupted(): boolean {
    return this.#turn?.signal.aborted ?? false;
  }

  /** Never rejects: what goes wrong is the result. */
  async turn(line: UserLine, signal: AbortSignal): Promise<RunResult> {
    this.#turn = new AbortController();
    try {
      const stopped = AbortSignal.any([signal, this.#turn.signal]);
      const assembly = await this.#ready();
      return redacted(await this.#answer(line, assembly, stopped), assembly);
    } catch (error) {
      return redacted(failedResult(error), this.assembly ?? this.#deps.secrets);
    }
  }

  async #answer(
    { text, images, uuid }: UserLine,
    assembly: Assembly,
    signal: AbortSignal,
  ): Promise<RunResult> {
    const { state } = assembly.controller.recorder;
    if (uuid !== undefined) this.turns.set(uuid, state.turns.at(-1)?.turn ?? 0);
    this.#metrics = new Metrics();
    const permissionMode = claudeMode(this.#mode);
    const commands = () => commandNames(assembly);
    await this.#deps.printer.begin?.({ ...await assembly.open(), commands, permissionMode });
    const line = await executeLine(text, assembly, { signal });
    if (!line.input) return reportResult(line.report, assembly);
    const outcome = await assembly.run({ ...line.input, images }, signal);
    return resultOf(outcome, assembly, { metrics: this.#metrics, schema: this.#schema });
  }

  /** The run by the settings of the moment; another one continues the session. */
  async #ready(): Promise<Assembly> {
    // What is wrong with them was the answer to the SDK's request.
    await this.#initializing.catch(() => {});
    if (this.assembly && !this.#changed) return this.assembly;
    const before = this.assembly?.session;
    if (before && before.state.lastSeq > 0) this.#settings = { ...this.#settings, resume: before.id };
    this.assembly = undefined;
    this.assembly = await this.#sessions.renew({});
    this.#changed = false;
    return this.assembly;
  }

  async #open(): Promise<Assembly> {
    const loaded = await this.#host.load(this.#settings);
    this.#deps.secrets.redact = redactorOf(loaded);
    await requireProvider(loaded, "en");
    this.#schema = await this.#host.schema(this.#settings);
    const approver = this.#approver;
    const person = personOf(this.#questions, {
      stop: () => this.interrupt(),
      say() {},
      speak: () => Promise.resolve(),
    });
    return await assemble({
      ...this.#host.options(this.#settings),
      ...(approver
        ? { approver: person.approver, planReviewer: person.planReviewer, amended: approver.amended }
        : {}),
      answerForm: this.#schema,
      paths: this.#host.paths,
      loaded,
    });
  }

  #event(event: Event): void | Promise<void> {
    if (event.type === "tool.start") this.#approver?.began(event.call);
    if (event.type === "plan.change" && event.state === "approved") this.#leavePlanMode(event.acceptEdits);
    this.#metrics.event(event);
    return this.#deps.printer.event(event);
  }

  async close(): Promise<void> {
    await this.#sessions.close();
  }

  /** Another model from the next turn on; none: the one it began with. Rejects when there is none such. */
  async changeModel(model: string | undefined): Promise<void> {
    const { model: _model, ...rest } = this.#settings;
    const next = model === undefined ? rest : { ...rest, model };
    resolveModel((await this.#host.load(next)).config);
    this.#settings = next;
    this.#changed = true;
  }

  /** Another permission mode from the next turn on; for questions at once. */
  changeMode(permissionMode: NonNullable<SdkSettings["permissionMode"]>): void {
    this.#settings = { ...this.#settings, permissionMode };
    this.#changed = true;
  }

  /** The session has left plan mode; its next run must not begin in it again. */
  #leavePlanMode(acceptEdits = false): void {
    if (this.#mode !== "plan") return;
    this.#settings = { ...this.#settings, permissionMode: acceptEdits ? "acceptEdits" : "default" };
  }

  /** Takes the fields of `initialize`. Rejects when they cannot be used. */
  initialize(fields: Fields): Promise<void> {
    // In order, so that the last one counts however long each takes.
    return this.#initializing = this.#initializing.catch(() => {}).then(() => this.#takeSettings(fields));
  }

  async #takeSettings({ systemPrompt, appendSystemPrompt, jsonSchema }: Fields): Promise<void> {
    // System prompts are not on the command line of every SDK.
    const prompt = Array.isArray(systemPrompt) ? systemPrompt.join("\n\n") : systemPrompt;
    const schema = jsonSchema == null ? {} : { jsonSchema: JSON.stringify(jsonSchema) };
    if ("jsonSchema" in schema) await this.#host.schema(schema);
    this.#settings = {
      ...this.#settings,
      ...schema,
      ...(typeof prompt === "string" ? { systemPrompt: prompt } : {}),
      ...(typeof appendSystemPrompt === "string" ? { appendSystemPrompt } : {}),
    };
    this.#changed = true;
  }

  interrupt(): void {
    this.#turn?.abort("interrupted");
  }

  /** Names of waiting messages; with `drop` they will not be answered. */
  queued(drop: boolean): readonly string[] {
    const names = this.#channel.queued();
    if (drop) this.#channel.dropQueued();
    return names;
  }

  /** Models of the configuration, `provider/model`; what is wrong with one is an error of the next turn. */
  async models(): Promise<readonly string[]> {
    const loaded = await this.#host.load(this.#settings).catch(() => undefined);
    return loaded ? modelReferences(loaded.config) : [];
  }
}

/** The requests that are handled; every other one is answered with an error. */
function requestHandlers(conversation: Conversation): RequestHandlers {
  return {
    async initialize(fields) {
      await conversation.initialize(fields);
      return {
        commands: (await commandList()).map(({ name, brief, argumentHint = "" }) => ({
          name,
          description: brief,
          argumentHint,
        })),
        agents: [],
        output_style: "default",
        available_output_styles: ["default"],
        models: modelInfos(await conversation.models()),
        account: {},
        ...(fields.hooks ? { hooks_applied: false } : {}),
      };
    },
    interrupt({ cancel_queued }) {
      const names = conversation.queued(cancel_queued === true);
      conversation.interrupt();
      return cancel_queued === true ? { still_queued: [], cancelled: names } : { still_queued: names };
    },
    async set_model({ model }) {
      const named = typeof model === "string" && model !== "default";
      await conversation.changeModel(named ? model : undefined);
      return {};
    },
    set_permission_mode({ mode }) {
      const name = String(mode);
      if (name !== "plan" && !isClaudeMode(name)) {
        throw new ReasonixError(
          message`Cannot change to the permission mode "${name}": there is no such mode`,
        );
      }
      conversation.changeMode(name);
      return { mode: claudeMode(name) };
    },
    set_max_thinking_tokens({ max_thinking_tokens }) {
      if (max_thinking_tokens == null) return {};
      throw new ReasonixError(message`Cannot set a number of thinking tokens: models are given an effort`, {
        remedy: message`start with --effort`,
      });
    },
    ...serverRequests(conversation),
    list_models: async () => ({ models: modelInfos(await conversation.models()) }),
    get_binary_version: () => ({ version: VERSION }),
    get_context_usage: () => contextUsage(begun(conversation)),
    async rename_session({ title }) {
      if (typeof title !== "string" || title.trim() === "") {
        throw new ReasonixError(message`Cannot rename the session: the title is empty`);
      }
      await begun(conversation).controller.recorder.record({ type: "session.rename", title: title.trim() });
      return {};
    },
    rewind_files: ({ user_message_id, dry_run }) =>
      rewindFiles(conversation, String(user_message_id), dry_run === true),
  };
}

function begun({ assembly }: Conversation): Assembly {
  if (assembly) return assembly;
  throw new ReasonixError(message`Cannot tell before the first message: the conversation has not begun`);
}

function modelInfos(names: readonly string[]): Fields[] {
  return names.map((value) => ({ value, displayName: value, description: "" }));
}

async function contextUsage({ loaded, inputs, session, servers }: Assembly): Promise<Fields> {
  const report = await contextReportOf({ loaded, inputs, state: session.state, servers });
  const { tokens, window, percent, compactsAt } = report;
  return {
    categories: report.categories.map((row) => ({ ...row, color: "", kind: "used" })),
    totalTokens: tokens,
    maxTokens: window,
    rawMaxTokens: window,
    percentage: percent ?? 0,
    gridRows: [],
    model: report.model,
    memoryFiles: report.loaded.filter(({ kind }) => kind.endsWith("instructions"))
      .map((file) => ({ path: file.from ?? file.name, type: file.kind, tokens: file.tokens })),
    mcpTools: [],
    agents: [],
    isAutoCompactEnabled: compactsAt !== undefined,
    ...(compactsAt === undefined ? {} : { autoCompactThreshold: compactsAt }),
    apiUsage: null,
  };
}

/** Brings files back to before the message of that name. */
async function rewindFiles(
  conversation: Conversation,
  message: string,
  dryRun: boolean,
): Promise<Fields> {
  const turn = conversation.turns.get(message);
  if (turn === undefined) {
    return { canRewind: false, error: `There is no message of the user with the uuid ${message}` };
  }
  if (dryRun) return { canRewind: true };
  const { restored, failed } = await begun(conversation).rewind(turn, "code");
  const filesChanged = restored.map(({ path }) => path);
  if (failed.length === 0) return { canRewind: true, filesChanged };
  const names = failed.map(({ path }) => path).join(", ");
  return { canRewind: filesChanged.length > 0, filesChanged, error: `Not brought back: ${names}` };
}

/** Requests about MCP servers: their states, a restart, off and on. */
function serverRequests(conversation: Conversation): RequestHandlers {
  return {
    mcp_status: () => ({ mcpServers: (conversation.assembly?.servers?.servers ?? []).map(stateOf) }),
    async mcp_reconnect({ serverName }) {
      await serverOf(conversation, serverName).restart();
      return {};
    },
    async mcp_toggle({ serverName, enabled }) {
      await serverOf(conversation, serverName).setEnabled(enabled === true);
      return {};
    },
  };
}

function stateOf({ status, listing, spec }: McpServer): Fields {
  const tools = listing.tools.filter(({ name }) => spec.offers(name));
  return {
    name: status.name,
    status: SDK_SERVER_STATES[status.state],
    ...(status.about ? { serverInfo: { name: status.about.name, version: status.about.version } } : {}),
    ...(status.detail === undefined ? {} : { error: status.detail }),
    tools: tools.map(({ name, description, claimsToRead: readOnly }) => ({
      name,
      description,
      annotations: { readOnly },
    })),
  };
}

function serverOf(conversation: Conversation, name: unknown): McpServer {
  const { servers } = begun(conversation);
  if (typeof name !== "string") {
    throw new ReasonixError(message`Cannot tell which MCP server is meant: no serverName`);
  }
  if (servers) return servers.named(name);
  throw new ReasonixError(message`Cannot find the MCP server "${name}": none is configured`);
}
