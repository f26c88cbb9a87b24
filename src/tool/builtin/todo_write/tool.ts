import { message } from "../../../core/mod.ts";
import todoWriteText from "./description.md" with { type: "text" };
import todoReadText from "./todo_read.md" with { type: "text" };
import { defineBuiltin } from "../../builtin_tool.ts";
import { checklist, progressOf, type TodoItem } from "../../services.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";

export const TODO_WRITE = defineBuiltin({
  name: "todo_write",
  description: todoWriteText,
  properties: {
    todos: {
      type: "array",
      items: {
        type: "object",
        properties: {
          content: { type: "string" },
          status: { type: "string", enum: ["pending", "in_progress", "completed"] },
        },
        required: ["content", "status"],
      },
    },
  },
  required: ["todos"],
  readOnly: true,
  title: () => message`todo list`,
  synonyms: { items: "todos", list: "todos" },
  load: () => Promise.resolve(todoWrite),
});

const MAX_ITEMS = 100;
const MAX_LENGTH = 500;

function todoWrite(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return Promise.resolve(write(args.todos as readonly TodoItem[], context));
}

function write(given: readonly TodoItem[], context: ToolContext): ToolResult {
  const store = context.services?.todos;
  if (!store) return failure("Cannot keep a todo list: this session has none");
  if (given.length > MAX_ITEMS) {
    return failure(`Cannot keep ${given.length} todos`, `write at most ${MAX_ITEMS}`);
  }
  const items = given.map(({ content, status }): TodoItem => ({
    content: content.replace(/\s+/g, " ").trim().slice(0, MAX_LENGTH),
    status,
  }));
  if (items.some((item) => item.content === "")) {
    return failure("Cannot keep a todo without content", "say what to do");
  }
  store.set(items);
  return { content: checklist(items), summary: progressOf(items) };
}

export const TODO_READ = defineBuiltin({
  name: "todo_read",
  description: todoReadText,
  properties: {},
  readOnly: true,
  title: () => message`read the todo list`,
  load: () => Promise.resolve(todoRead),
});

function todoRead(_args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const items = context.services?.todos?.get() ?? [];
  return Promise.resolve({ content: checklist(items), summary: progressOf(items) });
}
