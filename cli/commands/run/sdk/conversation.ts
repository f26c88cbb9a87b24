import type { AnswerSchema } from "../../../../src/agent/mod.ts";
import { assemble, type Assembly, redactorOf } from "../../../../src/assembly/mod.ts";
import { modelReferences, requireProvider, resolveModel } from "../../../../src/config/mod.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import type { Output, Printer, RunResult } from "../../../../src/frontend/mod.ts";
import type { CliContext } from "../../../terminal/process.ts";
import { runPaths } from "../../../terminal/working_directory.ts";
import { claudeMode } from "../claude_names.ts";
import { answerSchemaOf, loadNonInteractiveConfig, runOptions } from "../config.ts";
import type { RunFlags } from "../../../run_flags.ts";
import { commandNames, executeLine } from "../line.ts";
import { Metrics } from "../metrics.ts";
import { failedResult, redacted, reportResult, resultOf } from "../result.ts";
import { ControlChannel, type Fields, type UserLine } from "./control_channel.ts";
import { type ControlledConversation, requestHandlers } from "./control_requests.ts";
import { RemoteApprover } from "./remote_approver.ts";

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
export async function converse(
  context: CliContext,
  flags: RunFlags,
  { out, printer, signal, secrets }: ConversationDeps,
): Promise<number> {
  if (flags.file) {
    throw new ReasonixError("Cannot use --file together with --input-format stream-json", {
      exit: "usage",
      remedy: "write @FILE in a message, or send the content as a block of it",
    });
  }
  const channel = new ControlChannel(out);
  const conversation = new Conversation(context, flags, { channel, printer, secrets });
  channel.handlers = requestHandlers(conversation);
  void channel.read(Deno.stdin.readable);
  let exitCode = 0;
  try {
    for (;;) {
      const line = await channel.next(signal);
      if (line === undefined) return exitCode;
      const result = line instanceof ReasonixError
        ? redacted(failedResult(line), secrets)
        : await conversation.turn(line, signal);
      await printer.result(result);
      exitCode = conversation.interrupted ? 0 : result.exitCode;
    }
  } finally {
    await conversation.close();
  }
}

interface Surroundings extends Pick<ConversationDeps, "printer" | "secrets"> {
  readonly channel: ControlChannel;
}

/** One session with its turns. Its assembly is made for the first message, and anew when flags change. */
class Conversation implements ControlledConversation {
  assembly: Assembly | undefined;
  readonly turns = new Map<string, number>();
  readonly #context: CliContext;
  readonly #channel: ControlChannel;
  readonly #printer: Printer;
  readonly #secrets: ConversationDeps["secrets"];
  readonly #approver: RemoteApprover | undefined;
  readonly #first: RunFlags;
  #flags: RunFlags;
  #schema: AnswerSchema | undefined;
  #changed = true;
  #metrics = new Metrics();
  #turn: AbortController | undefined;
  /** Settings that are being taken: the first message may be right behind them. */
  #initializing: Promise<void> = Promise.resolve();

  constructor(context: CliContext, flags: RunFlags, { channel, printer, secrets }: Surroundings) {
    this.#context = context;
    this.#channel = channel;
    this.#printer = printer;
    this.#secrets = secrets;
    this.#first = flags;
    this.#flags = flags;
    if (flags.permissionPromptTool !== "stdio") return;
    this.#approver = new RemoteApprover(channel, {
      mode: () => claudeMode(this.#flags.permissionMode),
      interrupt: () => this.interrupt(),
    });
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
      return redacted(failedResult(error), this.assembly ?? this.#secrets);
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
    const permissionMode = claudeMode(this.#flags.permissionMode);
    const commands = () => commandNames(assembly);
    await this.#printer.begin?.({ ...await assembly.open(), commands, permissionMode });
    const line = await executeLine(text, assembly, { signal });
    if (!line.input) return reportResult(line.report, assembly);
    const outcome = await assembly.run({ ...line.input, images }, signal);
    return resultOf(outcome, assembly, { metrics: this.#metrics, schema: this.#schema });
  }

  /** The assembly by the flags of the moment; another one goes on with the session. */
  async #ready(): Promise<Assembly> {
    // The SDK was told what was wrong with them.
    await this.#initializing.catch(() => {});
    if (this.assembly && !this.#changed) return this.assembly;
    const { copy: _copy, forkSession: _fork, sessionId: _id, continue: _continue, ...rest } = this.#flags;
    const before = this.assembly?.session;
    const flags = before && before.state.lastSeq > 0 ? { ...rest, resume: before.id } : this.#flags;
    await this.close();
    const paths = runPaths(this.#context, flags.dir);
    const loaded = await loadNonInteractiveConfig(paths, flags);
    this.#secrets.redact = redactorOf(loaded);
    await requireProvider(loaded, "en");
    this.#schema = await answerSchemaOf(flags);
    const approver = this.#approver;
    const assembly = await assemble({
      ...runOptions(flags),
      ...(approver ? { approver, planReviewer: approver, amended: approver.amended } : {}),
      answerForm: this.#schema,
      paths,
      loaded,
    });
    assembly.controller.subscribe((event) => {
      if (event.type === "tool.start") approver?.began(event.call);
      if (event.type === "plan.change" && event.state === "approved") this.#leavePlanMode(event.acceptEdits);
      this.#metrics.event(event);
      return this.#printer.event(event);
    });
    this.#changed = false;
    return this.assembly = assembly;
  }

  async close(): Promise<void> {
    await this.assembly?.[Symbol.asyncDispose]();
    this.assembly = undefined;
  }

  async changeModel(model: string | undefined): Promise<void> {
    const { model: _model, preferModel: _preferred, ...rest } = this.#flags;
    const { model: first, preferModel } = this.#first;
    const next = model !== undefined ? { ...rest, model } : {
      ...rest,
      ...(first === undefined ? {} : { model: first }),
      ...(preferModel === undefined ? {} : { preferModel }),
    };
    resolveModel((await loadNonInteractiveConfig(runPaths(this.#context, next.dir), next)).config);
    this.#flags = next;
    this.#changed = true;
  }

  changeMode(permissionMode: NonNullable<RunFlags["permissionMode"]>): void {
    this.#flags = { ...this.#flags, permissionMode };
    this.#changed = true;
  }

  /** The session has left plan mode by itself, and its next assembly must not begin in it again. */
  #leavePlanMode(acceptEdits = false): void {
    if (this.#flags.permissionMode !== "plan") return;
    this.#flags = { ...this.#flags, permissionMode: acceptEdits ? "acceptEdits" : "default" };
  }

  initialize(fields: Fields): Promise<void> {
    // In order, so that the last one counts however long each takes.
    return this.#initializing = this.#initializing.catch(() => {}).then(() => this.#takeSettings(fields));
  }

  async #takeSettings({ systemPrompt, appendSystemPrompt, jsonSchema }: Fields): Promise<void> {
    // System prompts are not on the command line of every SDK.
    const own = Array.isArray(systemPrompt) ? systemPrompt.join("\n\n") : systemPrompt;
    const schema = jsonSchema == null ? {} : { jsonSchema: JSON.stringify(jsonSchema) };
    await answerSchemaOf(schema);
    this.#flags = {
      ...this.#flags,
      ...schema,
      ...(typeof own === "string" ? { systemPrompt: own } : {}),
      ...(typeof appendSystemPrompt === "string" ? { appendSystemPrompt } : {}),
    };
    this.#changed = true;
  }

  interrupt(): void {
    this.#turn?.abort("interrupted");
  }

  queued(drop: boolean): readonly string[] {
    const names = this.#channel.queued();
    if (drop) this.#channel.dropQueued();
    return names;
  }

  async models(): Promise<readonly string[]> {
    // What is wrong with a configuration is said where it is put to use.
    const paths = runPaths(this.#context, this.#flags.dir);
    const loaded = await loadNonInteractiveConfig(paths, this.#flags).catch(() => undefined);
    return loaded ? modelReferences(loaded.config) : [];
  }
}
