import { type EmitPlan, MAX_RETRIES, NO_RETRY, unitCommand } from "./plan.ts";

/** Writes the manifest of Indexed Jobs. */
export function kubernetes(plan: EmitPlan): string {
  const { name, groups } = plan;
  return groups.map((group, at) =>
    JSON.stringify({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: at === 0 ? name : `${name}-${at + 1}` },
      spec: {
        completionMode: "Indexed",
        completions: group.shards,
        backoffLimitPerIndex: MAX_RETRIES,
        podFailurePolicy: {
          rules: [{ action: "FailIndex", onExitCodes: { operator: "In", values: NO_RETRY } }],
        },
        template: {
          spec: {
            restartPolicy: "Never",
            containers: [{
              name: "reasonix",
              image: group.image,
              command: ["sh", "-c", `exec ${unitCommand(plan, group, "$JOB_COMPLETION_INDEX").join(" ")}`],
            }],
          },
        },
      },
    })
  ).join("\n---\n") + "\n";
}
