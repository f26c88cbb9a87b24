import { detectLocale, loadTexts } from "../../i18n/mod.ts";
import type { TodoItem } from "../../session/mod.ts";
import { checklist } from "../../tool/mod.ts";
import type { JoinedRun } from "../joined_run.ts";
import { isComplexTask } from "./complex_task.ts";
import { planSteps } from "./steps.ts";

/** Begins a todo list for a complex task of a session that has none; the model makes it its own. */
export function join({ assembly, options, registry, tools: { todos } }: JoinedRun): void {
  const { modes, turnParts, controller: { recorder } } = assembly;
  let items: readonly TodoItem[] = [];
  turnParts.add({
    async before(input) {
      items = [];
      const isUsers = (input.origin ?? "user") === "user" && input.skill === undefined;
      const isOpen = todos.get().some(({ status }) => status !== "completed");
      if (modes.collaboration !== "normal" || !isUsers || isOpen || !registry.get("todo_write")) return input;
      if (isComplexTask(input.text)) items = await firstTodos(input.text, options);
      return input;
    },
  });
  // Behind the message: it is part of the turn, and going back takes the list with it.
  recorder.follow((event) => {
    if (event.type !== "message.user" || event.origin !== "user" || items.length === 0) return undefined;
    todos.set(items);
    turnParts.tell(
      "A todo list was begun for this task. Before any other call, write the real steps with todo_write, and " +
        `keep them true while you work:\n${checklist(items)}`,
    );
    items = [];
    return undefined;
  });
}

/** The steps that the task lists, else the usual ones. */
async function firstTodos(
  text: string,
  { paths, loaded: { config: { language } } }: JoinedRun["options"],
): Promise<readonly TodoItem[]> {
  const listed = planSteps(text);
  const { locale } = detectLocale({ env: paths.env, language });
  const steps = listed.length > 1 ? listed : (await loadTexts("setting_commands", locale)).firstTodos;
  return steps.map((content, at) => ({ content, status: at === 0 ? "in_progress" : "pending" }));
}
