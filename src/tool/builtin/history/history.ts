import { message } from "../../../core/mod.ts";
import type { HistoryHit, HistoryPiece, HistoryPort } from "../../services.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepHead } from "../../truncation.ts";

type Args = Readonly<Record<string, unknown>>;

export async function history(args: Args, context: ToolContext): Promise<ToolResult> {
  const port = context.services?.history;
  if (!port) return failure("Cannot look into earlier sessions: none are kept here", "ask the user instead");
  return args.operation === "around" ? await around(port, args) : await search(port, args);
}

async function search(port: HistoryPort, args: Args): Promise<ToolResult> {
  const query = typeof args.query === "string" ? args.query.trim() : "";
  if (query === "") {
    return failure("Cannot search without words", "give query, such as an identifier or a file name");
  }
  const { hits, guidance } = await port.search({
    query,
    scope: args.scope === "global" ? "global" : "project",
    ...(typeof args.limit === "number" ? { limit: args.limit } : {}),
  });
  if (hits.length === 0) {
    return { content: guidance ?? `Nothing matches "${query}"`, summary: message`no hit` };
  }
  const text = hits.map(hitText).join("\n\n");
  return {
    content: `${keepHead(text, DEFAULT_CAPS, { next: "use rarer words or a smaller limit" }).text}\n\n` +
      "To read on: operation around with the session and seq of a hit.",
    summary: hits.length === 1 ? message`1 hit` : message`${hits.length} hits`,
  };
}

function hitText(hit: HistoryHit): string {
  return `session ${hit.session} seq ${hit.seq} · ${
    hit.time.slice(0, 10)
  } · ${hit.role} · ${hit.title}\n${hit.snippet}`;
}

async function around(port: HistoryPort, args: Args): Promise<ToolResult> {
  const { session, seq, before, after } = args;
  if (typeof session !== "string" || typeof seq !== "number") {
    return failure("Cannot read around nothing", "give session and seq of a search hit");
  }
  const pieces = await port.around({
    session,
    seq,
    ...(typeof before === "number" ? { before } : {}),
    ...(typeof after === "number" ? { after } : {}),
  });
  const text = pieces.map((piece) => pieceText(piece, seq)).join("\n\n");
  return {
    content: keepHead(text, DEFAULT_CAPS, { next: "ask for fewer pieces with before and after" }).text,
    summary: message`${pieces.length} pieces`,
  };
}

function pieceText(piece: HistoryPiece, hit: number): string {
  const mark = piece.seq === hit ? " (the hit)" : "";
  const cut = piece.cut > 0 ? `\n[${piece.cut} more characters]` : "";
  return `[seq ${piece.seq} ${piece.role}${mark}]\n${piece.text}${cut}`;
}
