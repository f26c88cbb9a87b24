/** Readers of events and what they share. */
export {
  FRONTENDS,
  type Person,
  type PrinterOptions,
  type SdkHost,
  type SdkSettings,
  type WebPage,
  type WebPageOptions,
} from "./frontends.ts";
export { Output } from "./output.ts";
export { CLAUDE_MODES, claudeMode, isClaudeMode } from "./claude_names.ts";
export { commandNames, executeLine } from "./line.ts";
export {
  deliveryFailure,
  failedResult,
  Metrics,
  OUTPUT_FORMATS,
  type OutputFormat,
  type Printer,
  redacted,
  reportResult,
  resultOf,
  type RunResult,
  SHOWN_TEXTS,
  type ShownTexts,
  type TurnFacts,
  unsavedLine,
  withDelivery,
} from "./result.ts";
