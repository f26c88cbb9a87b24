/** Reviews of changes: what agents find in parts of them, checked against the change. */
export {
  ANSWER_SCHEMA,
  type CheckedFinding,
  checkFinding,
  type Dropped,
  type Finding,
  lineOfQuote,
  mergeFindings,
  PRIORITIES,
  type Priority,
  readReport,
  type ReviewFinding,
  reviewFinding,
  type ReviewReport,
} from "./findings.ts";
export { type Format, formatReview, FORMATS, type TextForm } from "./formats.ts";
export { objectTools } from "./object_tools.ts";
