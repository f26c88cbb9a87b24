/** Reviews of changes: what agents find in parts of them, checked against the change. */
import { lazy } from "../util/lazy.ts";

export {
  emptyReport,
  openOf,
  PRIORITIES,
  readable,
  type ReviewFinding,
  type ReviewReport,
} from "./findings.ts";
export { formatReview, FORMATS } from "./formats.ts";
export {
  performReview,
  prepareReview,
  publishSavedReview,
  pullRequestNumber,
  readReviewLine,
} from "./review_request.ts";

/** Makes Markdown of a model safe to publish. */
export const loadPublish = lazy(() => import("./publish.ts"));
