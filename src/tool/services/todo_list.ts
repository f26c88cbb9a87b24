import type { TodoItem } from "./services.ts";

const MARKS = { pending: " ", in_progress: "~", completed: "x" } as const;

/** The list as a checklist: `[ ]` pending, `[~]` in progress, `[x]` completed. */
export function checklist(items: readonly TodoItem[]): string {
  if (items.length === 0) return "The todo list is empty";
  return items.map((item) => `[${MARKS[item.status]}] ${item.content}`).join("\n");
}

/** Such as "2/5 done". */
export function progressOf(items: readonly TodoItem[]): string {
  return `${items.filter((item) => item.status === "completed").length}/${items.length} done`;
}
