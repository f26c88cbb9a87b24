import type { Cost, Event, EventOf, Usage } from "../../core/mod.ts";
import type { Output } from "../output.ts";
import type { Printer, RunResult, RunStart } from "../result.ts";
import { oneLine, terminalSafe } from "../../util/terminal_text.ts";
import { SilenceNotifier, type Timer } from "./silence_notifier.ts";

/** Room for what says what to do next: a reason that is cut loses its remedy. */
const WHOLE = 1000;

export interface TextOptions {
  readonly out: Output;
  readonly err: Output;
  readonly showThinking: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
  /** Standard output is a terminal: control characters of the model are not passed on. */
  readonly terminal: boolean;
  /** What tells the time while the model is silent; the clock when absent. */
  readonly timer?: Timer;
}

/** The answer on standard output as it streams, everything else on standard error. */
export class TextPrinter implements Printer {
  readonly #options: TextOptions;
  /** The last thing on standard output was not a newline. */
  #midLine = false;
  #thinking = false;
  #cwd = "";
  readonly #changed = new ChangedFiles();
  readonly #waiting: SilenceNotifier;

  constructor(options: TextOptions) {
    this.#options = options;
    this.#waiting = new SilenceNotifier(
      (seconds) => void this.#note(`· Still waiting for the model: nothing for ${seconds} s`),
      options.timer,
    );
  }

  begin(start: RunStart): void {
    this.#cwd = start.cwd;
  }

  event(event: Event): void | Promise<void> {
    switch (event.type) {
      case "message.start":
        return this.#waiting.begin();
      case "message.delta":
        this.#waiting.end();
        return this.#delta(event);
      case "message.end":
        this.#waiting.end();
        // Step 0 is a summary: paid for, but never shown or said.
        return event.step === 0 ? undefined : this.#endLine();
      case "message.retry":
        this.#waiting.begin();
        return this.#retry(event);
      case "tool.start":
        this.#waiting.end();
        return this.#note(`→ ${event.call.name} ${event.summary}`);
      case "tool.end":
        return this.#toolEnd(event);
      case "context.prefix":
        if (event.reason === "start") return;
        return this.#note(
          `· The cached prefix begins anew: ${event.reason} ${event.detail ?? "changed"}`,
          WHOLE,
        );
      case "notice":
        return this.#note(`${event.level === "warning" ? "!" : "·"} ${event.text}`, WHOLE);
      case "turn.end":
        this.#waiting.end();
        return this.#endLine();
    }
  }

  async result(result: RunResult): Promise<void> {
    await this.#endLine();
    if (result.report) await this.#out(this.#options.terminal ? terminalSafe(result.answer) : result.answer);
    const changed = this.#changed.describe(this.#cwd);
    if (changed !== "") await this.#note(`· changed ${changed}`, WHOLE);
    if (result.steps > 0 || result.usage.inputTokens > 0) {
      await this.#note(`· ${tokenLine(result)}`);
    }
    if (result.exit !== "done") {
      const remedy = result.remedy ? `\n       ${terminalSafe(result.remedy)}` : "";
      await this.#err(`error: ${terminalSafe(result.detail ?? result.exit)}${remedy}\n`);
    }
    await this.#options.out.flush();
    await this.#options.err.flush();
  }

  #delta(event: EventOf<"message.delta">): void | Promise<void> {
    if (event.channel === "reasoning") {
      if (!this.#options.showThinking) return;
      this.#thinking = true;
      return this.#err(this.#dim(terminalSafe(event.text)));
    }
    this.#endThinking();
    const text = this.#options.terminal ? terminalSafe(event.text) : event.text;
    if (text === "") return;
    this.#midLine = !text.endsWith("\n");
    return this.#out(text);
  }

  #endThinking(): void {
    if (!this.#thinking) return;
    this.#thinking = false;
    void this.#err("\n");
  }

  #endLine(): void | Promise<void> {
    this.#endThinking();
    if (!this.#midLine) return;
    this.#midLine = false;
    return this.#out("\n");
  }

  async #retry(event: EventOf<"message.retry">): Promise<void> {
    await this.#endLine();
    if (event.discarded) await this.#note("! the reply broke off; what was shown of it does not count");
    const seconds = (event.waitMs / 1000).toFixed(1);
    await this.#note(
      `! attempt ${event.attempt} of ${event.maxAttempts} in ${seconds} s: ${event.reason}`,
      WHOLE,
    );
  }

  #toolEnd(event: EventOf<"tool.end">): void | Promise<void> {
    this.#changed.add(event.changes);
    const mark = {
      ok: "✓",
      error: "✗",
      blocked: "⊘ blocked:",
      aborted: "✗ stopped:",
      skipped: "– skipped:",
    }[event.outcome];
    return this.#note(`  ${mark} ${event.summary}`, event.outcome === "ok" ? undefined : WHOLE);
  }

  #note(text: string, max?: number): void | Promise<void> {
    if (this.#options.quiet) return;
    const indent = /^ */.exec(text)?.[0] ?? "";
    return this.#err(`${this.#dim(indent + oneLine(text, max))}\n`);
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

  #dim(text: string): string {
    return this.#options.color ? `\x1b[2m${text}\x1b[22m` : text;
  }
}

/** Tokens, money and time of a run, for people. */
function tokenLine(result: { steps: number; usage: Usage; cost?: Cost; durationMs: number }): string {
  const { usage } = result;
  const number = (value: number) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
  const hit = usage.inputTokens > 0 ? Math.round((100 * usage.cachedTokens) / usage.inputTokens) : 0;
  return [
    `${result.steps} ${result.steps === 1 ? "step" : "steps"}`,
    ...(usage.inputTokens + usage.outputTokens === 0 ? ["tokens unknown"] : [
      `in ${number(usage.inputTokens)} (${number(usage.cachedTokens)} cached, ${hit} %)`,
      `out ${number(usage.outputTokens)}`,
    ]),
    result.cost ? money(result.cost) : "cost unknown",
    `${(result.durationMs / 1000).toFixed(1)} s`,
  ].join(" · ");
}

function money({ amount, currency }: Cost): string {
  return amount > 0 && amount < 0.0001 ? `<0.0001 ${currency}` : `${amount.toFixed(4)} ${currency}`;
}

type Change = NonNullable<EventOf<"tool.end">["changes"]>[number];

const SHOWN = 6;

/** Adds up what the file tools changed, file by file. */
class ChangedFiles {
  readonly #files = new Map<string, { added: number; removed: number }>();

  add(changes: readonly Change[] = []): void {
    for (const { path, change, written, added, removed } of changes) {
      if (change === "unchanged" || written === false) continue;
      const before = this.#files.get(path) ?? { added: 0, removed: 0 };
      this.#files.set(path, { added: before.added + added, removed: before.removed + removed });
    }
  }

  /** "a.txt +2 −0, b.txt +1 −1" with paths as seen from a folder, or nothing. */
  describe(cwd: string): string {
    const files = [...this.#files].map(([path, { added, removed }]) => {
      const shown = path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
      return `${shown} +${added} −${removed}`;
    });
    const more = files.length - SHOWN;
    return files.slice(0, SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
  }
}
