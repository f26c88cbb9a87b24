import type { OutputFormat, Printer } from "../result.ts";
import { JsonlPrinter, JsonPrinter } from "./json.ts";
import { StreamJsonPrinter } from "./stream_json.ts";
import { type TextOptions, TextPrinter } from "./text.ts";

export interface PrinterOptions extends TextOptions {
  readonly format: OutputFormat;
  readonly permissionMode: string;
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
      return new StreamJsonPrinter(options.out, options.permissionMode);
  }
}
