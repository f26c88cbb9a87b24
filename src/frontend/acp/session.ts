import type * as acp from "@agentclientprotocol/sdk";
import type { Assembly } from "../../run/mod.ts";
import { type Event, ReasonixError } from "../../core/mod.ts";
import { loadTexts } from "../../i18n/mod.ts";
import { SessionWatcher } from "../session/facts.ts";
import type { FrontEnd, LiveSession } from "../session/live_session.ts";
import type { QuestionEvent } from "../session/questions.ts";
import type { DraftEnd } from "../session/submissions.ts";
import { promptInput } from "./content.ts";
import { modeState } from "./modes.ts";
import { configOptions, factUpdates } from "./options.ts";
import { type EditorOptions, EditorPresenter } from "./permissions.ts";
import { fenced } from "../../view/mod.ts";
import { Updates } from "./updates.ts";

interface SessionOptions extends EditorOptions {
  /** The client reads more slowly than is written. */
  readonly isBehind: () => boolean;
  readonly send: (sessionId: string, update: acp.SessionUpdate) => void;
  /** The request that opens the session. */
  readonly requestId: acp.RequestId;
}

interface Joined {
  readonly id: string;
  readonly live: LiveSession;
  readonly updates: Updates;
  readonly facts: SessionWatcher;
}

/** A session of this process, as one client sees it. */
export class EditorSession implements FrontEnd {
  readonly name = "editor";
  readonly commands = { oneSession: true };
  readonly #options: SessionOptions;
  readonly #presenter: EditorPresenter;
  #joined: Joined | undefined;
  /** Texts for a client that does not know the session yet. */
  #early: string[] | undefined = [];
  /** A prompt that was sent before a cancel is cancelled, also where its turn has not begun. */
  #cancels = 0;
  /** Prompts of this client without an answer. */
  #prompts = 0;
  /** Stops showing questions, and events. */
  #asking: (() => void) | undefined;
  #detach = () => {};
  /** The client has left the session to other front ends. */
  readonly #left = Promise.withResolvers<void>();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#presenter = new EditorPresenter({
      ...options,
      scope: () => this.#joined ? { sessionId: this.#joined.id } : { requestId: options.requestId },
      cwd: () => this.live.assembly?.cwd ?? "",
      send: (update) => this.#send(update),
      callUpdateOf: (callId) => this.#joined?.updates.callUpdateOf(callId) ?? { toolCallId: callId },
      say: (text) => this.said(text),
      stop: () => this.#joined?.live.submissions.stop("interrupted", this),
      failed: (error) => this.failed(error),
    });
  }

  get live(): LiveSession {
    return this.#known.live;
  }

  get #known(): Joined {
    if (this.#joined) return this.#joined;
    throw new TypeError("Cannot use a session before it is open");
  }

  /** The modes and options of the session. */
  async settings() {
    const { live, facts } = this.#known;
    const settings = await facts.settings(await live.host.current());
    return { modes: modeState(settings), configOptions: configOptions(settings) };
  }

  /** Shows the questions of opening a session; those of one that is open already wait for `join`. */
  asks(live: LiveSession): void {
    this.#asking?.();
    this.#asking = live.assembly ? undefined : live.questions.attach(this.#presenter);
  }

  /** Joins a session under the client's name for it; `replays`: with its conversation so far. */
  async join(live: LiveSession, id: string, replays: boolean): Promise<Assembly> {
    const { capabilities: { session, _meta: meta }, send, texts } = this.#options;
    const assembly = await live.host.current();
    const run = await loadTexts("run", texts.locale);
    const toClient = (update: acp.SessionUpdate) => send(id, update);
    const client = {
      terminalOutput: meta?.terminal_output === true,
      notices: session?.notices != null,
      compaction: session?.compaction != null,
    };
    const { isBehind: behind } = this.#options;
    const updates = new Updates({ cwd: assembly.cwd, client, behind, send: toClient, texts: () => run });
    const facts = new SessionWatcher({
      locale: () => texts.locale,
      changed: (...fact) => factUpdates(...fact).forEach(toClient),
    });
    this.#joined = { id, live, updates, facts };
    if (replays) {
      updates.replay(live.history(0));
      facts.title(assembly);
    }
    updates.snapshot(live.snapshot());
    this.#detach = live.attach(this);
    this.#asking ??= live.questions.attach(this.#presenter);
    return assembly;
  }

  /** Sends what follows the answer that made the session known to the client. */
  async begin(assembly: Assembly): Promise<void> {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const text of early) this.said(text);
    const { live, updates, facts } = this.#known;
    await facts.opened(assembly);
    live.submissions.warm(() => updates.warmUpSink());
  }

  leave(): void {
    this.#joined?.updates.flush();
    this.#asking?.();
    this.#joined?.facts.close();
    this.#detach();
  }

  /** Stops the turn and frees the session, unless another front end has it. */
  async close(): Promise<void> {
    this.cancel("interrupted", true);
    this.leave();
    await this.live.close();
  }

  opened(assembly: Assembly): void {
    void this.#joined?.facts.opened(assembly);
  }

  event(event: Event | QuestionEvent): void {
    if (event.type === "question.state" || !this.#joined) return;
    const { updates, facts } = this.#joined;
    updates.event(event);
    facts.event(event);
  }

  said(text: string, form?: "plain"): void {
    if (this.#early) return void this.#early.push(text);
    const content = { type: "text", text: `${form === "plain" ? fenced(text) : text}\n\n` } as const;
    this.#send({ sessionUpdate: "agent_message_chunk", content });
  }

  failed(error: unknown): void {
    this.said(this.#options.texts.problem(error));
  }

  /** Runs a prompt when its turn comes. */
  async prompt(blocks: unknown, signal: AbortSignal): Promise<acp.PromptResponse> {
    const { live } = this;
    const cancels = this.#cancels;
    const { cwd, attachments: { vision }, provider: { model } } = await live.host.current();
    const input = promptInput(blocks, { cwd, model: model.id, vision });
    if (signal.aborted || cancels < this.#cancels) return { stopReason: "cancelled" };
    const id = crypto.randomUUID();
    this.#joined?.updates.sent.add(id);
    this.#prompts++;
    const ending = live.submissions.finish({ ...input, id, steer: false, by: this }, signal);
    const end = await Promise.race([ending, this.#left.promise]) ?? { stopped: true };
    this.#prompts--;
    this.#joined?.updates.flush();
    return { stopReason: await this.#stopReason(end) };
  }

  /** Stops the turn, unless the client leaves it to others. Returns whether this client waits for one. */
  cancel(reason?: "interrupted" | "terminated", leaves = false): boolean {
    this.#cancels++;
    const { submissions, frontEnds = [] } = this.#joined?.live ?? {};
    if (!leaves || frontEnds.length < 2) submissions?.stop(reason, this);
    else this.#left.resolve(submissions?.returnWaiting(this));
    return this.#prompts > 0;
  }

  async #stopReason({ outcome, error, stopped, finish }: DraftEnd): Promise<acp.StopReason> {
    if (stopped) return "cancelled";
    if (error !== undefined) throw error;
    if (!outcome || outcome.reason === "done") return "end_turn";
    const { reason, detail = reason, said } = outcome;
    if (reason === "limit") return "max_turn_requests";
    if (reason === "interrupted" || reason === "terminated") return "cancelled";
    if (finish === "length") return "max_tokens";
    if (finish === "content_filter") return "refusal";
    const { written } = await loadTexts("run", this.#options.texts.locale);
    throw new ReasonixError(written(said, detail), { exit: reason });
  }

  #send(update: acp.SessionUpdate): void {
    if (this.#joined) this.#options.send(this.#joined.id, update);
  }
}
