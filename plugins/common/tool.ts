/** Tools of plugins: registration, progress, errors, and results by lines. */
import type { InputRequiredResult, McpServer, ServerContext } from "@modelcontextprotocol/server";
import * as z from "zod";
import { PluginError } from "./plugin.ts";

/** The key in `_meta` of a tool that says which argument is a URL, a path or a search query. */
const SUBJECT_KEY = "reasonix/subject";

/** Keeps this program from repeating the structured content for the model. */
const TEXT_IS_COMPLETE = { "reasonix/text": "complete" };

/** Names of the arguments that permission rules such as `WebFetch(domain:…)` and `Read(…)` judge. */
export interface Subject {
  readonly url?: string;
  readonly path?: string;
  readonly query?: string;
}

export interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  /** The shape of {@linkcode Answer.data}. */
  readonly output?: Output;
  /** `workspace`: only files of the workspace and the state directory; `network`: other machines. */
  readonly reaches: "workspace" | "network";
  readonly subject?: Subject;
}

export interface Call {
  /** Aborts when the client cancels the call, or is gone. */
  readonly signal: AbortSignal;
  /** Reports to a client that asked for it; `done` of `total` where they are known. */
  progress(message: string, done?: number, total?: number): void;
  /** The request itself, for tools that ask the client for a message of its model. */
  readonly request: ServerContext["mcpReq"];
}

export interface Answer {
  readonly text: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly images?: readonly { readonly bytes: Uint8Array; readonly mimeType: string }[];
}

/** Offers a tool. What the handler throws becomes a result that the model reads as a failure. */
export function addTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  server: McpServer,
  tool: ToolDefinition<Input, Output>,
  handle: (args: z.output<Input>, call: Call) => Promise<Answer | InputRequiredResult>,
): void {
  const { name, title, description, input, output, reaches, subject } = tool;
  server.registerTool(name, {
    title,
    description,
    inputSchema: input as z.ZodObject,
    ...(output ? { outputSchema: output as z.ZodObject } : {}),
    annotations: { readOnlyHint: true, openWorldHint: reaches === "network" },
    ...(subject ? { _meta: { [SUBJECT_KEY]: subject } } : {}),
  }, async (args, { mcpReq: request }) => {
    const { signal, notify, _meta } = request;
    const token = _meta?.progressToken;
    let steps = 0;
    const progress: Call["progress"] = (message, done = ++steps, total) => {
      if (token === undefined || signal.aborted) return;
      const params = {
        progressToken: token,
        progress: done,
        message,
        ...(total === undefined ? {} : { total }),
      };
      void notify({ method: "notifications/progress", params }).catch(() => {});
    };
    try {
      const answer = await handle(args as z.output<Input>, { signal, progress, request });
      if ("resultType" in answer) return answer;
      const { text, data, images = [] } = answer;
      return {
        content: [
          ...(text === "" && images.length > 0 ? [] : [{ type: "text" as const, text }]),
          ...images.map(({ bytes, mimeType }) => ({
            type: "image" as const,
            data: bytes.toBase64(),
            mimeType,
          })),
        ],
        ...(data
          ? { structuredContent: { ...data }, ...(text === "" ? {} : { _meta: TEXT_IS_COMPLETE }) }
          : {}),
      };
    } catch (error) {
      signal.throwIfAborted();
      const text = error instanceof PluginError
        ? error.text
        : error instanceof Error
        ? error.message
        : String(error);
      return { content: [{ type: "text" as const, text }], isError: true };
    }
  });
}

/** A count that is checked, and whose schema leaves the bounds out: they take tokens in each request. */
export function count(minimum: number, maximum?: number) {
  return z.number().int().min(minimum).max(maximum ?? Number.MAX_SAFE_INTEGER)
    .meta({ minimum: undefined, maximum: undefined });
}

/** The schema of an integer names the largest one, which takes tokens and says nothing. */
const LINE = z.number().int().min(1).meta({ maximum: undefined });

/** Arguments of tools whose result is cut by lines. */
export const PAGE_ARGUMENTS = {
  offset: LINE.optional(),
  limit: LINE.optional(),
};

/** Below the limit of the host, which takes the middle out of longer results. */
export const MAX_PAGE_BYTES = 14_000;

export interface Page {
  /** The lines, numbered, and a last line in brackets that says what was left out. */
  readonly text: string;
  /** 1-indexed, inclusive; 0 of 0 for an empty text. */
  readonly from: number;
  readonly to: number;
  readonly total: number;
}

/**
 * Cuts a text by lines: `offset` and `limit` are 1-indexed and positive, at most 14,000 bytes. Throws a
 * {@linkcode PluginError} for an offset behind the end.
 */
export function pageOf(
  lines: readonly string[],
  { offset = 1, limit = 500 }: { readonly offset?: number | undefined; readonly limit?: number | undefined },
): Page {
  const total = lines.length;
  if (offset > Math.max(total, 1)) {
    throw new PluginError(`Cannot show line ${offset}: the text has ${total} lines`, "use a smaller offset");
  }
  const shown: string[] = [];
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(MAX_PAGE_BYTES);
  let left = MAX_PAGE_BYTES;
  for (const line of lines.slice(offset - 1, offset - 1 + limit)) {
    const numbered = `${offset + shown.length}\t${line}`;
    const { read, written } = encoder.encodeInto(numbered, bytes.subarray(0, Math.max(left, 0)));
    const isWhole = read === numbered.length;
    if (!isWhole && shown.length > 0) break;
    shown.push(isWhole ? numbered : `${numbered.slice(0, read)}… [line cut]`);
    left -= written + 1;
  }
  const to = offset - 1 + shown.length;
  if (to < total) {
    shown.push(`[lines ${to + 1}-${total} of ${total} left out; continue with offset ${to + 1}]`);
  }
  return { text: shown.join("\n"), from: total === 0 ? 0 : offset, to, total };
}
