import type { EventBodies } from "../core/event_schema.ts";

type TodoItem = EventBodies["todo.update"]["items"][number];

const MARKS = { pending: " ", in_progress: "~", completed: "x" } as const;

/** A todo as a line of a checklist: `[ ]` pending, `[~]` in progress, `[x]` completed. */
export function checklistLine({ status, content }: TodoItem): string {
  return `[${MARKS[status]}] ${content}`;
}
