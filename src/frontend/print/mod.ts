import type { Output } from "../output.ts";
import { type OutputFormat, type Printer, resultObject } from "../result.ts";
import { type StreamJsonOptions, StreamJsonPrinter } from "./stream_json.ts";
import { type TextOptions, TextPrinter } from "./text.ts";

export interface PrinterOptions extends TextOptions, StreamJsonOptions {
  readonly format: OutputFormat;
}

/** The receiver of events for one output format. */
export function createPrinter(options: PrinterOptions): Printer {
  switch (options.format) {
    case "text":
      return new TextPrinter(options);
    case "json":
      return jsonPrinter(options.out, "result");
    case "jsonl":
      return jsonPrinter(options.out, "events");
    case "stream-json":
      return new StreamJsonPrinter(options.out, options);
  }
}

/** Lines of JSON: nothing but the result, or every event as it happens and then the result. */
function jsonPrinter(out: Output, what: "result" | "events"): Printer {
  const write = (value: object) => out.write(`${JSON.stringify(value)}\n`);
  return {
    event: what === "events" ? write : () => {},
    async result(result) {
      await write({ ...(what === "events" ? { v: 1 } : {}), ...resultObject(result) });
      await out.flush();
    },
  };
}
