import { message, textFields } from "../../core/mod.ts";
import { detectLocale, loadTexts } from "../../i18n/mod.ts";
import type { Features, RunContext } from "../../run/mod.ts";
import type { TodoItem } from "../../session/mod.ts";
import { checklist } from "../../tool/mod.ts";
import { isComplexTask } from "./complex_task.ts";
import { planSteps } from "./steps.ts";

/** Lets a run have plans from its beginning; a complex task may begin with one. */
export async function joinPlans(
  { modes, extensions, recorder, options }: RunContext,
  { plans }: Features,
): Promise<void> {
  const desk = await plans();
  if (!options.loaded.config.agent.auto_plan || !desk.attended) return;
  extensions.add({
    async before(input) {
      const isFree = modes.collaboration === "normal" && modes.permission !== "read-only" && !input.readOnly;
      const isUsers = (input.origin ?? "user") === "user" && input.skill === undefined;
      if (!isFree || !isUsers || !isComplexTask(input.text)) return input;
      await modes.setCollaboration("plan");
      await recorder.record({
        type: "notice",
        level: "info",
        code: "plan",
        ...textFields(
          message`This task is complex, so it begins in plan mode: nothing changes before you approve a plan; /plan off leaves it`,
        ),
      });
      await modes.tell();
      return input;
    },
  });
}

/** Begins a todo list for a complex task of a session that has none; the model makes it its own. */
export function joinTodos({ modes, extensions, options, registry, tools: { todos } }: RunContext): void {
  let items: readonly TodoItem[] = [];
  extensions.add({
    async before(input) {
      items = [];
      const isUsers = (input.origin ?? "user") === "user" && input.skill === undefined;
      const isOpen = todos.get().some(({ status }) => status !== "completed");
      if (modes.collaboration !== "normal" || !isUsers || isOpen || !registry.get("todo_write")) return input;
      if (isComplexTask(input.text)) items = await firstTodos(input.text, options);
      return input;
    },
    // After the message: it is part of the turn, and going back takes the list with it.
    onEvent(event) {
      if (event.type !== "message.user" || event.origin !== "user" || items.length === 0) return undefined;
      todos.set(items);
      extensions.tell(
        "A todo list was begun for this task. Before any other call, write the real steps with todo_write, and " +
          `keep them true while you work:\n${checklist(items)}`,
      );
      items = [];
      return undefined;
    },
  });
}

/** The steps that the task lists, else the usual ones. */
async function firstTodos(
  text: string,
  { paths, loaded: { config: { language } } }: RunContext["options"],
): Promise<readonly TodoItem[]> {
  const listed = planSteps(text);
  const { locale } = detectLocale({ env: paths.env, language });
  const steps = listed.length > 1 ? listed : (await loadTexts("setting_commands", locale)).firstTodos;
  return steps.map((content, at) => ({ content, status: at === 0 ? "in_progress" : "pending" }));
}
