import { message, type Text } from "../../../core/mod.ts";
import memoryText from "./description.md" with { type: "text" };
import forgetText from "./forget.md" with { type: "text" };
import rememberText from "./remember.md" with { type: "text" };
import { defineBuiltin } from "../../builtin_tool.ts";
import type { MemoryKind } from "../../services.ts";
import { type Arguments, failure, texts, type ToolContext, type ToolResult } from "../../tool.ts";
import { cutText } from "../../../util/terminal_text.ts";

export const MEMORY = defineBuiltin({
  name: "memory",
  description: memoryText,
  properties: {
    operation: { type: "string", enum: ["search", "list", "read"] },
    query: { type: "string", description: "search" },
    name: { type: "string", description: "read" },
    scope: {
      type: "string",
      enum: ["project", "global"],
      description: "read: where the name is not unique",
    },
  },
  required: ["operation"],
  unoffered: { limit: { type: "integer", minimum: 1, maximum: 50 } },
  readOnly: true,
  title: ({ name, query }) =>
    name !== undefined
      ? message`recall ${String(name)}`
      : query !== undefined
      ? message`search memory for "${String(query)}"`
      : message`list memory`,
  optional: true,
  synonyms: { op: "operation", q: "query" },
  subjects: ({ name, query }) => texts(name, query),
  load: async () => (await import("./memory.ts")).memory,
});

export const REMEMBER = defineBuiltin({
  name: "remember",
  description: rememberText,
  properties: {
    name: { type: "string", description: "short-name-with-hyphens; an existing one is changed" },
    description: { type: "string", description: "One line that tells when it matters" },
    text: { type: "string" },
    kind: { type: "string", enum: ["user", "project", "reference", "feedback"] },
    scope: { type: "string", enum: ["project", "global"] },
    pinned: { type: "boolean", description: "Named at the start of every session" },
  },
  required: ["name", "description", "text"],
  readOnly: false,
  title: ({ name }) => message`remember ${String(name)}`,
  optional: true,
  synonyms: { content: "text", body: "text", type: "kind" },
  writes: () => [],
  subjects: ({ name }) => texts(name),
  alwaysAsk: preview,
  load: () => Promise.resolve(remember),
});

/** Characters of a fact in the question about it. */
const MAX_PREVIEW = 377;

function preview({ scope, name, description, text }: Arguments): Text {
  const shown = cutText(`${name}: ${description} — ${text}`.replace(/\s+/g, " "), MAX_PREVIEW);
  return scope === "global"
    ? message`save for all projects: ${shown}`
    : message`save for this project: ${shown}`;
}

const KINDS: ReadonlySet<unknown> = new Set<MemoryKind>(["user", "project", "reference", "feedback"]);

async function remember(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = await context.services?.memory?.();
  if (!port) return failure("Cannot save a fact: no memory is kept here", "inform the user instead");
  const { name, description, text, scope, kind, pinned } = args;
  const { path, updated } = await port.remember({
    name: String(name),
    description: String(description),
    text: String(text),
    ...(scope === "global" || scope === "project" ? { scope } : {}),
    ...(isKind(kind) ? { kind } : {}),
    ...(typeof pinned === "boolean" ? { pinned } : {}),
  });
  return {
    content: `${updated ? "Changed" : "Saved"} ${path}`,
    summary: updated ? message`changed ${String(name)}` : message`saved ${String(name)}`,
  };
}

function isKind(value: unknown): value is MemoryKind {
  return KINDS.has(value);
}

export const FORGET = defineBuiltin({
  name: "forget",
  description: forgetText,
  properties: {
    name: { type: "string" },
    scope: { type: "string", enum: ["project", "global"] },
  },
  required: ["name"],
  readOnly: false,
  title: ({ name }) => message`forget ${String(name)}`,
  optional: true,
  writes: () => [],
  subjects: ({ name }) => texts(name),
  alwaysAsk: ({ name }) => message`forget ${String(name)}`,
  load: () => Promise.resolve(forget),
});

async function forget(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = await context.services?.memory?.();
  if (!port) return failure("Cannot forget a fact: no memory is kept here");
  const scope = args.scope === "global" || args.scope === "project" ? args.scope : undefined;
  const { archived } = await port.forget(String(args.name), scope);
  return {
    content: `Forgotten; the file is kept as ${archived}`,
    summary: message`forgot ${String(args.name)}`,
  };
}
