/** Readers of events and what they share. */
export {
  type ApprovalLines,
  FRONTENDS,
  type Person,
  type PrinterOptions,
  type QuestionInLines,
} from "./frontends.ts";
export { Output } from "./output.ts";
export {
  argumentsOf,
  honestAnswer,
  OUTPUT_FORMATS,
  type OutputFormat,
  type Printer,
  type Refusal,
  resultObject,
  type RunResult,
  SDK_SERVER_STATES,
  SHOWN_TEXTS,
  type ShownTexts,
} from "./result.ts";
