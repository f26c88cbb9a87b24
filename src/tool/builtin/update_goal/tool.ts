import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import type { GoalReport } from "../../services.ts";
import { failure } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const UPDATE_GOAL = defineBuiltin({
  name: "update_goal",
  description,
  late: true,
  properties: {
    status: { type: "string", enum: ["progress", "blocked", "complete"] },
    note: { type: "string" },
    entry: { type: "string", enum: ["hypothesis", "experiment", "result", "decision"] },
  },
  required: ["status", "note"],
  readOnly: true,
  title: ({ status, note }) => message`goal ${String(status)}: ${String(note)}`,
  subjects: () => [],
  synonyms: { reason: "note", message: "note", summary: "note" },
  load: () =>
    Promise.resolve(async (args, { services, signal }) => {
      if (!services?.goals) return failure("Cannot report: this session has no goals");
      const status = args.status as GoalReport["status"];
      const entry = args.entry as GoalReport["entry"];
      const report = { status, note: String(args.note), ...(entry ? { entry } : {}) };
      const content = await (await services.goals()).report(report, signal);
      return { content, summary: entry ? `${status}, ${entry}` : status };
    }),
});
