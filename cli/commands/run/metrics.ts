import {
  errorMessage,
  type Event,
  type EventOf,
  isMessage,
  ReasonixError,
  type ToolCall,
} from "../../../src/core/mod.ts";
import { type Refusal, resultObject, type RunResult } from "../../../src/frontend/mod.ts";

interface ToolCount {
  calls: number;
  failed: number;
  blocked: number;
  durationMs: number;
}

/** Figures of one run, counted from its events. */
export class Metrics {
  /** Messages of the model so far. */
  replies = 0;
  /** Time spent waiting for the model. */
  modelMs = 0;
  readonly refusals: Refusal[] = [];
  /** The latest plan that was proposed or changed. */
  plan: RunResult["plan"];
  /** The goal that the run was about. */
  goal: RunResult["goal"];
  readonly #verified = new LastVerification();
  readonly #calls = new Map<string, ToolCall>();
  readonly #tools = new Map<string, ToolCount>();
  readonly #started = performance.now();
  #requests = 0;
  #retries = 0;
  #firstTextMs: number | undefined;
  #added = 0;
  #removed = 0;

  readonly #file: string | undefined;

  /**
   * Figures for `file`, or for nobody. Throws a ReasonixError when the file cannot be written: better now
   * than after the work.
   */
  constructor(file?: string) {
    this.#file = file;
    if (file !== undefined) writing(file, () => Deno.openSync(file, { append: true, create: true }).close());
  }

  /** What tested the changes of the run; undefined where nothing did. */
  get verification(): RunResult["verification"] {
    return this.#verified.result;
  }

  event(event: Event): void {
    switch (event.type) {
      case "verification":
        return this.#verified.add(event);
      case "message.start":
        this.#requests += 1;
        return;
      case "message.retry":
        this.#retries += 1;
        return;
      case "message.end":
        // Step 0 is a summary.
        if (event.step > 0 && isMessage(event)) this.replies += 1;
        this.modelMs += event.durationMs;
        return;
      case "message.delta":
        this.#firstTextMs ??= performance.now() - this.#started;
        return;
      case "goal.change": {
        const { state, objective, turns, note, limit, checks = [], results = [], research, report } = event;
        const checked = checks.map((command) => ({
          command,
          passed: results.find((result) => result.command === command)?.passed ?? null,
        }));
        this.goal = { state, objective, turns, note, limit, checks: checked, research, report };
        return;
      }
      case "notice":
        if (event.code !== "goal" || !this.goal || this.goal.state === "active" || this.goal.news) return;
        this.goal = { ...this.goal, news: event.text, said: event.said };
        return;
      case "plan.change": {
        const { text = "", file } = this.plan ?? {};
        const now = { text: event.plan ?? text, state: event.state };
        const saved = event.file ?? file;
        this.plan = saved === undefined ? now : { ...now, file: saved };
        return;
      }
      case "tool.start":
        this.#calls.set(event.call.id, event.call);
        return;
      case "tool.end": {
        const count = this.#tools.get(event.name) ?? { calls: 0, failed: 0, blocked: 0, durationMs: 0 };
        count.calls += 1;
        count.durationMs += event.durationMs;
        if (event.outcome === "error") count.failed += 1;
        if (event.outcome === "blocked") count.blocked += 1;
        const call = this.#calls.get(event.callId);
        this.#calls.delete(event.callId);
        if (call && (event.outcome === "blocked" || event.refused)) {
          this.refusals.push({ call, reason: event.summary });
        }
        this.#tools.set(event.name, count);
        for (const change of event.changes ?? []) {
          this.#added += change.added;
          this.#removed += change.removed;
        }
      }
    }
  }

  /** Writes the figures as JSON, where a file was named. */
  write(result: RunResult): void {
    const file = this.#file;
    if (file === undefined) return;
    const figures = {
      ...resultObject(result),
      type: "metrics",
      requests: this.#requests,
      retries: this.#retries,
      first_text_ms: this.#firstTextMs === undefined ? null : Math.round(this.#firstTextMs),
      lines_added: this.#added,
      lines_removed: this.#removed,
      tools: Object.fromEntries(
        [...this.#tools].map(([name, { calls, failed, blocked, durationMs }]) => [
          name,
          { calls, failed, blocked, duration_ms: durationMs },
        ]),
      ),
    };
    writing(file, () => Deno.writeTextFileSync(file, `${JSON.stringify(figures, null, 2)}\n`));
  }
}

function writing(file: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new ReasonixError(`Cannot write the metrics to ${file}: ${errorMessage(error)}`, {
      exit: "usage",
      remedy: "name a file in an existing, writable directory",
    });
  }
}

/** The last round of the commands that test what a run changed. */
class LastVerification {
  #commands: EventOf<"verification">[] = [];

  add(event: EventOf<"verification">): void {
    // Without files it belongs to a goal, whose result has its checks.
    if (!event.files) return;
    if (event.round !== this.#commands[0]?.round) this.#commands = [];
    this.#commands = [...this.#commands.filter(({ command }) => command !== event.command), event];
  }

  get result(): RunResult["verification"] {
    const commands = this.#commands;
    const failed = commands.find(({ outcome }) => outcome === "failed" || outcome === "timeout");
    const skipped = commands.filter(({ outcome }) => outcome === "skipped");
    if (failed) {
      const { command, exitCode } = failed;
      const how = exitCode === undefined ? "no end in time" : `exit code ${exitCode}`;
      return { state: "failed", reason: `\`${command}\` failed (${how})`, commands };
    }
    if (skipped.length > 0) {
      return { state: "not_verified", reason: skipped.map(({ text = "" }) => text).join("; "), commands };
    }
    return commands.length > 0 ? { state: "passed", commands } : undefined;
  }
}
