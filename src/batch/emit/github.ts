import { type EmitPlan, MAX_RETRIES, RETRY, unitLines } from "./plan.ts";

/** Jobs of a matrix, at most. */
export const MAX_MATRIX = 256;

const CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1";
const NODE = "actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0";
const UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0";
const DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1";

/** Writes a workflow: a job of a matrix for each index, and one that merges their results. */
export function github(plan: EmitPlan): string {
  const { name, tasks, groups, jobs, keys } = plan;
  const images = groups.flatMap(({ image, shards }) => Array.from({ length: shards }, () => image ?? ""));
  const isContained = images.some((image) => image !== "");
  const results = scalar(plan.resultsDir);
  const unit = [
    "# No line of the output is a command to the runner.",
    `stop="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')"`,
    'echo "::stop-commands::$stop"',
    "for attempt in 0 1 2 3; do",
    "  code=0",
    ...unitLines(plan, () => []).map((line) => `  ${line} || code=$?`),
    `  case $code in ${RETRY.join(" | ")}) sleep 30 ;; *) break ;; esac`,
    "done",
    'exit "$code"',
  ];
  return `name: ${name}
on: workflow_dispatch
permissions:
  contents: read
jobs:
  run:
    runs-on: ubuntu-latest
    timeout-minutes: 360
`;
}
