import type { TurnState } from "../../control/mod.ts";
import { type Event, type EventOf, PersonWaits } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { oneLine, terminalSafe } from "../../util/terminal_text.ts";
import type { Printer, RunResult, RunStart } from "../result.ts";
import { callLines, callTitle, type CallView, planText, retryText } from "../../view/mod.ts";
import { type AnswerOptions, AnswerOutput } from "./answer.ts";
import { ChangedFiles, failureText, tokenLine } from "./run_summary.ts";
import { agentLine, agentUpdate, ServerUpdates } from "../server_updates.ts";
import { SilenceNotifier } from "./silence_notifier.ts";
import { type StreamOptions, TwoStreams, WHOLE } from "./two_streams.ts";

export interface TextOptions extends AnswerOptions, StreamOptions {
  /** The words of the user's language, as far as it is known by now. */
  readonly texts: () => Texts["run"];
  readonly showThinking: boolean;
  readonly verbose: boolean;
}

/** The answer on standard output, everything else on standard error. */
export class TextPrinter implements Printer {
  readonly #options: TextOptions;
  readonly #streams: TwoStreams;
  readonly #view: CallView;
  readonly #answer: AnswerOutput;
  readonly #waiting: SilenceNotifier | undefined;
  readonly #running = new Map<string, { readonly title: string; readonly since: number }>();
  readonly #waits = new PersonWaits();
  readonly #servers = new ServerUpdates();
  readonly #changed = new ChangedFiles();
  #model = "";
  #cwd = "";
  #retryReason = "";
  /** The end of a goal: not shown where the result says the same. */
  #goalEnd: EventOf<"notice"> | undefined;

  constructor(options: TextOptions) {
    const { quiet, live, clock, texts } = options;
    this.#options = options;
    this.#streams = new TwoStreams(options);
    this.#answer = new AnswerOutput(options);
    const { fit, width, columns, verbose } = options;
    this.#view = {
      palette: this.#streams.palette,
      texts,
      layout: live ? { columns, fit, width } : undefined,
      verbose,
    };
    if (!quiet && !live) {
      this.#waiting = new SilenceNotifier(
        (seconds) => void this.#streams.note(`· ${texts().stillWaiting(seconds)}`),
        clock,
      );
    }
  }

  begin(start: RunStart): void {
    this.#cwd = start.cwd;
    this.#model = start.model;
    this.#answer.choose(start.output);
  }

  event(event: Event): void | Promise<void> {
    this.#waits.take(event, this.#now());
    switch (event.type) {
      case "turn.start":
        return this.#turnStart();
      case "turn.state":
        return this.#enter(event.to);
      case "message.start":
        if (event.step === 0) return;
        this.#waiting?.begin();
        this.#answer.warm();
        return this.#streams.live?.show(this.#texts.waitingFor(oneLine(event.model || this.#modelName, 40)));
      case "message.delta":
        this.#waiting?.end();
        return this.#delta(event);
      case "message.end":
        this.#waiting?.end();
        return this.#messageEnd(event);
      case "message.retry":
        this.#waiting?.begin();
        return this.#retry(event);
      case "tool.start":
        this.#running.set(event.call.id, { title: callTitle(event, this.#texts), since: this.#now() });
        return this.#showRunning();
      case "tool.end":
        return this.#toolEnd(event);
      case "context.prefix":
        return event.reason === "start" ? undefined : this.#newPrefix(event);
      case "notice":
        return this.#notice(event);
      case "mcp.server": {
        const update = this.#servers.of(event, this.#texts);
        return update && this.#streams.notice(update.level, update.text);
      }
      case "subagent.start":
      case "subagent.end": {
        const { level, text } = agentUpdate(event, this.#texts);
        return this.#streams.note(
          `  · ${text}`,
          WHOLE,
          level === "warning" ? this.#streams.palette.warning : undefined,
        );
      }
      case "subagent.progress":
        return this.#streams.live?.show(
          agentLine(event, this.#texts),
          this.#running.get(event.callId ?? "")?.since,
        );
      case "plan.change":
        return this.#plan(event);
      case "turn.end":
        this.#waiting?.end();
        this.#streams.live?.hide();
        this.#answer.turnEnded(event.answer);
        return this.#streams.endThinking();
    }
  }

  #newPrefix({ reason, detail }: EventOf<"context.prefix">): void | Promise<void> {
    const { prefixRebuilt, prefixChanged } = this.#texts;
    return this.#streams.note(`· ${prefixRebuilt(reason, detail ?? prefixChanged)}`, WHOLE);
  }

  /** Shows what is being waited for, where nothing else shows it. */
  #enter(state: TurnState): void {
    if (state === "compacting" || state === "verifying") this.#streams.live?.show(this.#texts.states[state]);
    else if (state === "awaiting_approval" || state === "awaiting_answer") this.#streams.live?.hide();
    else if (state === "running_tools") this.#showRunning();
  }

  async result(result: RunResult): Promise<void> {
    this.#streams.live?.hide();
    await this.#streams.endThinking();
    await this.#showGoalEnd(result.exit === "done" ? undefined : result.detail);
    await this.#streams.text(await this.#answer.rest(result.answer, result.report === true));
    const changed = this.#changed.describe(this.#cwd, this.#texts);
    if (changed !== "") await this.#streams.note(`· ${this.#texts.changed(changed)}`, WHOLE);
    if (result.steps > 0 || result.usage.inputTokens > 0) {
      await this.#streams.note(`· ${tokenLine(result, this.#texts, this.#options)}`, WHOLE);
    }
    if (result.exit !== "done") await this.#streams.err(failureText(result, this.#texts, this.#view));
    await this.#streams.flush();
  }

  /** A plan is shown like an answer, and where it is kept. */
  async #plan(event: EventOf<"plan.change">): Promise<void> {
    await this.#streams.text(await this.#answer.separate(event.plan ?? ""));
    await this.#streams.note(`· ${planText(event, this.#texts.plan)}`, WHOLE);
  }

  #delta(event: EventOf<"message.delta">): void | Promise<void> {
    if (event.channel === "reasoning") {
      if (!this.#options.showThinking || this.#options.quiet) {
        return this.#streams.live?.show(this.#texts.thinking(this.#modelName));
      }
      return this.#streams.think(terminalSafe(event.text));
    }
    if (!this.#answer.streams) return this.#streams.live?.show(this.#texts.writing(this.#modelName));
    const text = this.#answer.push(event.text);
    return typeof text === "string"
      ? this.#streams.text(text)
      : text.then((shown) => this.#streams.text(shown));
  }

  async #messageEnd(event: EventOf<"message.end">): Promise<void> {
    this.#streams.live?.hide();
    // Step 0 is a summary: paid for, but never shown or said.
    if (event.step === 0) return;
    await this.#streams.endThinking();
    const calls = (event.calls?.length ?? 0) > 0;
    const text = await this.#answer.end(event.interrupted ? "" : event.content, calls);
    if (this.#answer.streams) return await this.#streams.text(text);
    // Only the last message is the answer; what is said on the way is progress.
    if (calls && !this.#answer.silent) await this.#progress(event.content);
  }

  async #progress(text: string): Promise<void> {
    if (text.trim() === "") return;
    for (const line of text.trim().split("\n")) await this.#streams.note(line, WHOLE);
  }

  async #turnStart(): Promise<void> {
    await this.#showGoalEnd();
    await this.#progress(this.#answer.superseded());
  }

  async #showGoalEnd(known?: string): Promise<void> {
    const event = this.#goalEnd;
    this.#goalEnd = undefined;
    if (event && event.text !== known) {
      await this.#streams.notice(event.level, this.#texts.written(event.said, event.text));
    }
  }

  async #notice(event: EventOf<"notice">): Promise<void> {
    await this.#showGoalEnd();
    if (event.code === "goal" && event.level === "warning") {
      this.#goalEnd = event;
      return;
    }
    // A further turn begins, so that the last answer was none.
    if (event.code === "turn") await this.#progress(this.#answer.superseded());
    const [said = "", ...lines] = this.#texts.written(event.said, event.text).split(
      event.code === "planner" ? "\n" : /$^/,
    );
    await this.#streams.notice(event.level, said);
    // A plan has a line for each step.
    for (const line of lines) if (line.trim() !== "") await this.#streams.note(`  ${line}`, WHOLE);
  }

  async #retry(event: EventOf<"message.retry">): Promise<void> {
    await this.#streams.endThinking();
    await this.#streams.text(await this.#answer.end());
    if (event.discarded) await this.#streams.note(`! ${this.#texts.brokeOff}`);
    const text = retryText(event, this.#texts, this.#retryReason);
    this.#retryReason = event.reason;
    await this.#streams.notice("warning", text);
    this.#streams.live?.show(this.#texts.waitingToTry(event.attempt, event.maxAttempts));
  }

  async #toolEnd(event: EventOf<"tool.end">): Promise<void> {
    this.#changed.add(event.changes);
    const { title = event.name } = this.#running.get(event.callId) ?? {};
    this.#running.delete(event.callId);
    await this.#streams.line(callLines(title, event, this.#view).join("\n"));
    this.#showRunning();
  }

  #showRunning(): void {
    const [first, ...others] = this.#running;
    if (!first) return this.#streams.live?.hide();
    const [id, { title, since }] = first;
    const more = others.length;
    const began = since + this.#waits.since(since, this.#now(), id);
    this.#streams.live?.show(more > 0 ? this.#texts.andMore(title, more) : title, began);
  }

  get #texts(): Texts["run"] {
    return this.#options.texts();
  }

  get #modelName(): string {
    return this.#model || this.#texts.theModel;
  }

  #now(): number {
    return this.#options.clock?.now() ?? performance.now();
  }
}
