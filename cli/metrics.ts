import { errorMessage, type Event, ReasonixError } from "../src/core/mod.ts";
import { resultObject, type RunResult } from "../src/frontend/mod.ts";

interface ToolCount {
  calls: number;
  failed: number;
  blocked: number;
  durationMs: number;
}

/** Figures of one run, counted from its events. */
export class Metrics {
  readonly refusals: { readonly tool: string; readonly reason: string }[] = [];
  readonly #tools = new Map<string, ToolCount>();
  readonly #started = performance.now();
  #requests = 0;
  #retries = 0;
  #firstTextMs: number | undefined;
  #added = 0;
  #removed = 0;

  event(event: Event): void {
    switch (event.type) {
      case "message.start":
        this.#requests += 1;
        return;
      case "message.retry":
        this.#retries += 1;
        return;
      case "message.delta":
        this.#firstTextMs ??= performance.now() - this.#started;
        return;
      case "tool.end": {
        const count = this.#tools.get(event.name) ?? { calls: 0, failed: 0, blocked: 0, durationMs: 0 };
        count.calls += 1;
        count.durationMs += event.durationMs;
        if (event.outcome === "error") count.failed += 1;
        if (event.outcome === "blocked") {
          count.blocked += 1;
          this.refusals.push({ tool: event.name, reason: event.summary });
        }
        this.#tools.set(event.name, count);
        for (const change of event.changes ?? []) {
          this.#added += change.added;
          this.#removed += change.removed;
        }
      }
    }
  }

  /** Writes the figures as JSON. Throws a ReasonixError when the file cannot be written. */
  write(file: string, result: RunResult): void {
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
    try {
      Deno.writeTextFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
    } catch (error) {
      throw new ReasonixError(`Cannot write the metrics to ${file}: ${errorMessage(error)}`, {
        remedy: "name a file in an existing, writable folder",
      });
    }
  }
}
