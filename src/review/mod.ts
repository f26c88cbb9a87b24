/** Reviews of changes: what agents find in parts of them, checked against the change. */
export { PRIORITIES, type ReviewFinding, type ReviewReport } from "./findings.ts";
export { formatReview, FORMATS } from "./formats.ts";
export { publishReview } from "./publish.ts";
export {
  emptyReport,
  performReview,
  prepareReview,
  pullRequestNumber,
  readReviewLine,
} from "./review_request.ts";
