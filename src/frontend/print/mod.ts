import type { Output } from "../output.ts";
import type { OutputFormat, Printer } from "../result.ts";
import { JsonlPrinter, JsonPrinter } from "./json.ts";
import { StreamJsonPrinter } from "./stream_json.ts";
import { TextPrinter } from "./text.ts";

export interface PrinterOptions {
  readonly format: OutputFormat;
  readonly out: Output;
  readonly err: Output;
  readonly showThinking: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
  readonly terminal: boolean;
  readonly permissionMode: string;
}

/** The reader of events for one output format. */
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
