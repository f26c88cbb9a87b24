import type { Event } from "../../core/mod.ts";
import type { Output } from "../output.ts";
import { type Printer, resultObject, type RunResult } from "../result.ts";

/** `json`: nothing but the result object. */
export class JsonPrinter implements Printer {
  readonly #out: Output;

  constructor(out: Output) {
    this.#out = out;
  }

  event(): void {}

  async result(result: RunResult): Promise<void> {
    await this.#out.write(`${JSON.stringify(resultObject(result))}\n`);
    await this.#out.flush();
  }
}

/** `jsonl`: every event as it happens, then the result. */
export class JsonlPrinter implements Printer {
  readonly #out: Output;

  constructor(out: Output) {
    this.#out = out;
  }

  event(event: Event): void | Promise<void> {
    return this.#out.write(`${JSON.stringify(event)}\n`);
  }

  async result(result: RunResult): Promise<void> {
    await this.#out.write(`${JSON.stringify({ v: 1, ...resultObject(result) })}\n`);
    await this.#out.flush();
  }
}
