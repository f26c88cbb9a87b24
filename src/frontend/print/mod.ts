import type { OutputFormat, Printer } from "../result.ts";
import { JsonlPrinter, JsonPrinter } from "./json.ts";
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
      return new JsonPrinter(options.out);
    case "jsonl":
      return new JsonlPrinter(options.out);
    case "stream-json":
      return new StreamJsonPrinter(options.out, options);
  }
}
