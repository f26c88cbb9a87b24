import type { Event, EventOf } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { oneLine, terminalSafe } from "../../util/terminal_text.ts";
import type { Output } from "../output.ts";
import type { Printer, RunResult, RunStart } from "../result.ts";
import {
  callLines,
  callTitle,
  type CallView,
  type MeasureWidth,
  noticeText,
  type Palette,
  palette,
  planText,
  Refusals,
  StreamWrap,
  wrapText,
} from "../../view/mod.ts";
import { type AnswerOptions, AnswerOutput } from "./answer.ts";
import { type Clock, LiveLine } from "./live_line.ts";
import { ChangedFiles, failureText, tokenLine } from "./run_summary.ts";
import { agentLine, agentNews, ServerNews } from "../news.ts";
import { SilenceNotifier } from "./silence_notifier.ts";

/** Room for what says what to do next: a reason that is cut loses its remedy. */
const WHOLE = 1000;

/** The words about a run, and about what was found of its calls. */
type RunTexts = Texts["run"] & Texts["reasons"];

export interface TextOptions extends AnswerOptions {
  /** The words of the user's language, as far as it is known by now. */
  readonly texts: () => RunTexts;
  readonly out: Output;
  readonly err: Output;
  readonly showThinking: boolean;
  /** Whole diffs and outputs. */
  readonly verbose: boolean;
  /** Colours on standard error. */
  readonly color: boolean;
  /** Standard error is a terminal that can write over a line. */
  readonly live: boolean;
  /** Fits a text to a number of columns. */
  readonly fit: (text: string, columns: number) => string;
  readonly width: MeasureWidth;
  /** The source of the time; the clock when absent. */
  readonly clock?: Clock;
}

/** The answer on standard output, everything else on standard error. */
export class TextPrinter implements Printer {
  readonly #options: TextOptions;
  readonly #palette: Palette;
  readonly #view: CallView;
  readonly #answer: AnswerOutput;
  readonly #live: LiveLine | undefined;
  readonly #waiting: SilenceNotifier | undefined;
  readonly #running = new Map<string, { readonly title: string; readonly since: number }>();
  readonly #refusals = new Refusals();
  readonly #servers = new ServerNews();
  readonly #changed = new ChangedFiles();
  #model = "";
  #thinking: StreamWrap | undefined;
  #cwd = "";
  /** What the last thing on the terminal was, so that thoughts, texts and calls stand apart. */
  #last: "nothing" | "thinking" | "text" | "line" = "nothing";
  #retryReason = "";

  constructor(options: TextOptions) {
    const { quiet, live, clock, texts } = options;
    this.#options = options;
    this.#palette = palette(options.color);
    this.#answer = new AnswerOutput(options);
    const { fit, width, columns, verbose } = options;
    this.#view = {
      palette: this.#palette,
      texts,
      layout: live ? { columns, fit, width } : undefined,
      verbose,
    };
    if (live && !quiet) {
      const fitted = (text: string) => fit(text, Math.max(1, columns() - 1));
      this.#live = new LiveLine((text) => void this.#err(text), fitted, clock);
    } else if (!quiet) {
      this.#waiting = new SilenceNotifier(
        (seconds) => void this.#note(`· ${texts().stillWaiting(seconds)}`),
        clock,
      );
    }
  }

  begin(start: RunStart): void {
    this.#cwd = start.cwd;
    this.#model = start.model;
  }

  event(event: Event): void | Promise<void> {
    switch (event.type) {
      case "message.start":
        this.#waiting?.begin();
        this.#answer.warm();
        return this.#live?.show(this.#texts.waitingFor(oneLine(event.model || this.#modelName, 40)));
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
        this.#running.set(event.call.id, { title: callTitle(event), since: this.#now() });
        return this.#showRunning();
      case "tool.end":
        return this.#toolEnd(event);
      case "context.prefix":
        if (event.reason === "start") return;
        return this.#note(
          `· ${this.#texts.prefixRebuilt(event.reason, event.detail ?? this.#texts.prefixChanged)}`,
          WHOLE,
        );
      case "notice":
        return this.#remark(event.level, noticeText(event, this.#texts));
      case "mcp.server": {
        const news = this.#servers.of(event, this.#texts);
        return news && this.#remark(news.level, news.text);
      }
      case "subagent.start":
      case "subagent.end": {
        const { level, text } = agentNews(event, this.#texts);
        return this.#note(`  · ${text}`, WHOLE, level === "warning" ? this.#palette.warning : undefined);
      }
      case "subagent.progress":
        return this.#live?.show(agentLine(event, this.#texts), this.#running.get(event.callId ?? "")?.since);
      case "approval.decision":
        return this.#refusals.note(event);
      case "plan.change":
        return this.#plan(event);
      case "turn.end":
        this.#waiting?.end();
        this.#live?.hide();
        this.#answer.turnEnded(event.answer);
        return this.#endThinking();
    }
  }

  async result(result: RunResult): Promise<void> {
    this.#live?.hide();
    await this.#endThinking();
    await this.#text(await this.#answer.rest(result.answer, result.report === true));
    const changed = this.#changed.describe(this.#cwd, this.#texts);
    if (changed !== "") await this.#note(`· ${this.#texts.changed(changed)}`, WHOLE);
    if (result.steps > 0 || result.usage.inputTokens > 0) {
      await this.#note(`· ${tokenLine(result, this.#texts, this.#options)}`, WHOLE);
    }
    if (result.exit !== "done") await this.#err(failureText(result, this.#texts, this.#view));
    await this.#options.out.flush();
    await this.#options.err.flush();
  }

  /** A plan is shown like an answer, and where it is kept. */
  async #plan(event: EventOf<"plan.change">): Promise<void> {
    await this.#text(await this.#answer.beside(event.plan ?? ""));
    await this.#note(`· ${planText(event, this.#texts.plan)}`, WHOLE);
  }

  #delta(event: EventOf<"message.delta">): void | Promise<void> {
    if (event.channel === "reasoning") {
      if (!this.#options.showThinking || this.#options.quiet) {
        return this.#live?.show(this.#texts.thinking(this.#modelName));
      }
      return this.#think(terminalSafe(event.text));
    }
    if (!this.#answer.streams) return this.#live?.show(this.#texts.writing(this.#modelName));
    const text = this.#answer.push(event.text);
    return typeof text === "string" ? this.#text(text) : text.then((shown) => this.#text(shown));
  }

  async #messageEnd(event: EventOf<"message.end">): Promise<void> {
    this.#live?.hide();
    // Step 0 is a summary: paid for, but never shown or said.
    if (event.step === 0) return;
    await this.#endThinking();
    const text = await this.#answer.end(event.interrupted ? "" : event.content);
    if (this.#answer.streams) return await this.#text(text);
    // Only the last message is the answer; what is said on the way is progress.
    if (event.calls?.length && event.content.trim() !== "") {
      for (const line of event.content.trim().split("\n")) await this.#note(line, WHOLE);
    }
  }

  #think(text: string): void | Promise<void> {
    const { columns, width, live } = this.#options;
    this.#live?.hide();
    const gap = this.#thinking ? "" : this.#gap("thinking");
    this.#thinking ??= new StreamWrap(live ? columns : () => Infinity, width);
    return this.#err(gap + this.#palette.dim(this.#thinking.push(text)));
  }

  #endThinking(): void | Promise<void> {
    if (!this.#thinking) return;
    const rest = this.#thinking.end();
    this.#thinking = undefined;
    return this.#err(`${this.#palette.dim(rest)}\n`);
  }

  async #retry(event: EventOf<"message.retry">): Promise<void> {
    await this.#endThinking();
    await this.#text(await this.#answer.end());
    if (event.discarded) await this.#note(`! ${this.#texts.brokeOff}`);
    const known = event.reason === this.#retryReason;
    this.#retryReason = event.reason;
    const { attempt, maxAttempts } = event;
    const next = this.#texts.attempt(attempt, maxAttempts, (event.waitMs / 1000).toFixed(1));
    const why = this.#texts.said(event.said, event.reason);
    await this.#remark("warning", known ? next : this.#texts.because(next, why));
    this.#live?.show(this.#texts.waitingToTry(attempt, maxAttempts));
  }

  async #toolEnd(event: EventOf<"tool.end">): Promise<void> {
    this.#changed.add(event.changes);
    const { title = event.name } = this.#running.get(event.callId) ?? {};
    this.#running.delete(event.callId);
    const end = this.#refusals.translated(event, this.#texts.refused);
    await this.#line(callLines(title, end, this.#view).join("\n"));
    this.#showRunning();
  }

  #showRunning(): void {
    const [first, ...others] = this.#running.values();
    if (!first) return this.#live?.hide();
    const more = others.length;
    this.#live?.show(more > 0 ? this.#texts.andMore(first.title, more) : first.title, first.since);
  }

  /** A text of the model, apart from the lines about calls where both are on one terminal. */
  #text(text: string): void | Promise<void> {
    if (text === "") return;
    this.#live?.hide();
    return this.#out(this.#gap("text") + text);
  }

  #remark(level: "info" | "warning", text: string): void | Promise<void> {
    const [mark, colour] = level === "warning" ? ["!", this.#palette.warning] : ["·", this.#palette.dim];
    return this.#note(`${mark} ${text}`, WHOLE, colour);
  }

  #note(text: string, max?: number, colour = this.#palette.dim): void | Promise<void> {
    const line = (/^ */.exec(text)?.[0] ?? "") + oneLine(text, max);
    const { live, columns, width } = this.#options;
    const lines = live ? wrapText(line, columns(), width, "  ") : [line];
    return this.#line(lines.map(colour).join("\n"));
  }

  #line(text: string): void | Promise<void> {
    if (this.#options.quiet) return;
    this.#live?.erase();
    return this.#err(`${this.#gap("line")}${text}\n`);
  }

  /** A blank line between things of two kinds, where a person sees both of them on one terminal. */
  #gap(next: "thinking" | "text" | "line"): string {
    const last = this.#last;
    this.#last = next;
    const { terminal, live } = this.#options;
    const together = live && (terminal || (last !== "text" && next !== "text"));
    return together && last !== "nothing" && last !== next ? "\n" : "";
  }

  get #texts(): RunTexts {
    return this.#options.texts();
  }

  get #modelName(): string {
    return this.#model || this.#texts.theModel;
  }

  #now(): number {
    return this.#options.clock?.now() ?? performance.now();
  }

  /**
   * Both streams may be the same terminal, so one waits until the other has been taken: the order is what the
   * user sees.
   */
  #out(text: string): void | Promise<void> {
    const { out, err } = this.#options;
    return err.busy ? err.flush().then(() => out.write(text)) : out.write(text);
  }

  #err(text: string): void | Promise<void> {
    const { out, err } = this.#options;
    return out.busy ? out.flush().then(() => err.write(text)) : err.write(text);
  }
}
