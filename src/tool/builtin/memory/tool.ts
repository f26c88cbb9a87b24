import memoryText from "./description.md" with { type: "text" };
import forgetText from "./forget.md" with { type: "text" };
import rememberText from "./remember.md" with { type: "text" };
import { defineBuiltin } from "../../builtin_tool.ts";
import type { MemoryKind } from "../../services.ts";
import { type Arguments, failure, texts, type ToolContext, type ToolResult } from "../../tool.ts";

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
      ? `recall ${name}`
      : query !== undefined
      ? `search memory for "${query}"`
      : "list memory",
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
  title: ({ name }) => `remember ${name}`,
  optional: true,
  synonyms: { content: "text", body: "text", type: "kind" },
  writes: () => [],
  subjects: ({ name }) => texts(name),
  alwaysAsk: preview,
  load: () => Promise.resolve(remember),
});

const MAX_PREVIEW = 400;

function preview(args: Arguments): string {
  const where = args.scope === "global" ? "for all projects" : "for this project";
  const text = `save ${where}: ${args.name}: ${args.description} — ${args.text}`.replace(/\s+/g, " ");
  return text.length > MAX_PREVIEW ? `${text.slice(0, MAX_PREVIEW - 1)}…` : text;
}

const KINDS: ReadonlySet<unknown> = new Set<MemoryKind>(["user", "project", "reference", "feedback"]);

async function remember(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = await context.services?.memory?.();
  if (!port) return failure("Cannot save a fact: no memory is kept here", "tell the user instead");
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
    summary: `${updated ? "changed" : "saved"} ${name}`,
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
  title: ({ name }) => `forget ${name}`,
  optional: true,
  writes: () => [],
  subjects: ({ name }) => texts(name),
  alwaysAsk: ({ name }) => `forget ${name}`,
  load: () => Promise.resolve(forget),
});

async function forget(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const port = await context.services?.memory?.();
  if (!port) return failure("Cannot forget a fact: no memory is kept here");
  const scope = args.scope === "global" || args.scope === "project" ? args.scope : undefined;
  const { archived } = await port.forget(String(args.name), scope);
  return { content: `Forgotten; the file is kept as ${archived}`, summary: `forgot ${args.name}` };
}
