import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const JOB_OUTPUT = defineBuiltin({
  name: "job_output",
  description,
  late: true,
  schema: {
    type: "object",
    properties: {
      job_id: { type: "string" },
      wait_seconds: {
        type: "integer",
        minimum: 0,
        maximum: 300,
        description: "Wait for its end",
      },
    },
    required: ["job_id"],
    additionalProperties: false,
  },
  readOnly: true,
  title: ({ job_id }) => `output of job ${job_id}`,
  synonyms: { id: "job_id", bash_id: "job_id", shell_id: "job_id", wait: "wait_seconds" },
  subjects: ({ job_id }) => texts(job_id),
  load: async () => (await import("../../shell/jobs/job_tools.ts")).jobOutput,
});
