import { defineBuiltin } from "../../builtin_tool.ts";
import description from "./description.md" with { type: "text" };

export const JOBS = defineBuiltin({
  name: "jobs",
  description,
  late: true,
  schema: { type: "object", properties: {}, additionalProperties: false },
  readOnly: true,
  title: () => "list jobs",
  load: async () => (await import("../../shell/jobs/job_tools.ts")).jobs,
});
