import { message } from "../../../core/mod.ts";
import type { MemoryEntry, MemoryPort } from "../../services.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepHead } from "../../truncation.ts";

type Args = Readonly<Record<string, unknown>>;

const NOTHING =
  "No saved fact matches. For the exact wording of something said or seen earlier, use the history tool.";

export async function memory(args: Args, context: ToolContext): Promise<ToolResult> {
  const port = await context.services?.memory?.();
  if (!port) return failure("Cannot look into saved facts: none are kept here", "ask the user instead");
  if (args.operation === "read") return await read(port, args);
  return args.operation === "search" ? await search(port, args) : await list(port);
}

async function search(port: MemoryPort, args: Args): Promise<ToolResult> {
  const query = typeof args.query === "string" ? args.query.trim() : "";
  if (query === "") return failure("Cannot search without words", "give query, or use operation list");
  const hits = await port.search(query, typeof args.limit === "number" ? args.limit : undefined);
  if (hits.length === 0) return { content: NOTHING, summary: message`no hit` };
  const text = hits.map((hit) => `${line(hit)}\n  ${hit.snippet}`).join("\n");
  return {
    content: bounded(text),
    summary: hits.length === 1 ? message`1 fact` : message`${hits.length} facts`,
  };
}

async function list(port: MemoryPort): Promise<ToolResult> {
  const entries = await port.list();
  if (entries.length === 0) return { content: "Nothing has been saved yet", summary: message`no facts` };
  return { content: bounded(entries.map(line).join("\n")), summary: message`${entries.length} facts` };
}

async function read(port: MemoryPort, args: Args): Promise<ToolResult> {
  if (typeof args.name !== "string") {
    return failure("Cannot read a fact without its name", "use operation list");
  }
  const scope = args.scope === "global" || args.scope === "project" ? args.scope : undefined;
  const fact = await port.read(args.name, scope);
  return { content: bounded(`${line(fact)}\n\n${fact.text}`), summary: fact.name };
}

function line(entry: MemoryEntry): string {
  const marks = [entry.scope, entry.kind, entry.updated, ...(entry.pinned ? ["pinned"] : [])];
  return `${entry.name} (${marks.join(", ")}): ${entry.description}`;
}

function bounded(text: string): string {
  return keepHead(text, DEFAULT_CAPS, { next: "search for what you need" }).text;
}
