import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const JOB_KILL = defineBuiltin({
  name: "job_kill",
  description,
  late: true,
  schema: {
    type: "object",
    properties: { job_id: { type: "string" } },
    required: ["job_id"],
    additionalProperties: false,
  },
  readOnly: false,
  title: ({ job_id }) => `stop job ${job_id}`,
  synonyms: { id: "job_id", shell_id: "job_id" },
  writes: () => [],
  subjects: ({ job_id }) => texts(job_id),
  load: async () => (await import("../../shell/jobs/job_tools.ts")).jobKill,
});
