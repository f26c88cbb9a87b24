import { message } from "../../../core/mod.ts";
import { defineBuiltin } from "../../builtin_tool.ts";
import { texts } from "../../tool.ts";
import description from "./description.md" with { type: "text" };

export const HISTORY = defineBuiltin({
  name: "history",
  description,
  properties: {
    operation: { type: "string", enum: ["search", "around"] },
    query: { type: "string", description: "search: a few rare words" },
    scope: { type: "string", enum: ["project", "global"] },
    session: { type: "string", description: "around: of a hit" },
    seq: { type: "integer", minimum: 0, description: "around: of a hit" },
    before: { type: "integer", minimum: 0, maximum: 50 },
    after: { type: "integer", minimum: 0, maximum: 50 },
  },
  required: ["operation"],
  unoffered: { limit: { type: "integer", minimum: 1, maximum: 50 } },
  readOnly: true,
  title: ({ query, session }) =>
    query === undefined
      ? message`read session ${String(session)}`
      : message`search sessions for "${String(query)}"`,
  optional: true,
  synonyms: { op: "operation", q: "query", session_id: "session" },
  subjects: ({ query, session }) => texts(query, session),
  load: async () => (await import("./history.ts")).history,
});
