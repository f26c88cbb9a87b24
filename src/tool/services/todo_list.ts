import { checklistLine } from "../../view/mod.ts";
import type { TodoItem } from "./services.ts";

/** The list as a checklist: `[ ]` pending, `[~]` in progress, `[x]` completed. */
export function checklist(items: readonly TodoItem[]): string {
  if (items.length === 0) return "The todo list is empty";
  return items.map(checklistLine).join("\n");
}

/** Such as "2/5 done". */
export function progressOf(items: readonly TodoItem[]): string {
  return `${items.filter((item) => item.status === "completed").length}/${items.length} done`;
}
