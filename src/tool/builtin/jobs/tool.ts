import { message } from "../../../core/mod.ts";
import jobsText from "./description.md" with { type: "text" };
import jobKillText from "./job_kill.md" with { type: "text" };
import jobOutputText from "./job_output.md" with { type: "text" };
import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";

export const JOBS = defineBuiltin({
  name: "jobs",
  description: jobsText,
  late: true,
  properties: {},
  readOnly: true,
  title: () => message`list jobs`,
  load: async () => (await import("../../shell/jobs/job_tools.ts")).jobs,
});

export const JOB_OUTPUT = defineBuiltin({
  name: "job_output",
  description: jobOutputText,
  late: true,
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
  readOnly: true,
  title: ({ job_id }) => message`output of job ${String(job_id)}`,
  synonyms: { id: "job_id", bash_id: "job_id", shell_id: "job_id", wait: "wait_seconds" },
  subjects: ({ job_id }) => texts(job_id),
  load: async () => (await import("../../shell/jobs/job_tools.ts")).jobOutput,
});

export const JOB_KILL = defineBuiltin({
  name: "job_kill",
  description: jobKillText,
  late: true,
  properties: { job_id: { type: "string" } },
  required: ["job_id"],
  readOnly: false,
  title: ({ job_id }) => message`stop job ${String(job_id)}`,
  synonyms: { id: "job_id", shell_id: "job_id" },
  writes: () => [],
  subjects: ({ job_id }) => texts(job_id),
  load: async () => (await import("../../shell/jobs/job_tools.ts")).jobKill,
});
