import { argumentsLine, errorMessage, isAbort } from "../../core/mod.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { failure, type Tool, type ToolContext, type ToolResult } from "../../tool/mod.ts";
import type { McpToolInfo } from "../listing/listing.ts";
import { toolResult } from "./result.ts";
import type { McpServer } from "../server.ts";

/** A tool of a server as the model calls it. */
export function remoteTool(
  server: McpServer,
  info: McpToolInfo,
  { name, alias, offered, trusted, vouched }: {
    readonly name: string;
    readonly alias: string | undefined;
    readonly offered: boolean;
    /** Names of tools that only read, as the user said in this session. */
    readonly trusted: ReadonlySet<string>;
    /** Whether the user vouches for tools, where that differs from the configuration. */
    readonly vouched: ReadonlyMap<string, boolean>;
  },
): Tool {
  const { spec } = server;
  const isConfigured = spec.trustedReadOnly.includes(info.name) || spec.trustedNames.includes(name);
  return {
    name,
    ...(alias === undefined ? {} : { alias }),
    description: info.description,
    schema: info.schema,
    readOnly: info.claimsToRead,
    get trusted() {
      return (vouched.get(name) ?? isConfigured) || (info.claimsToRead && trusted.has(name));
    },
    family: "Mcp",
    offered,
    title: (args) =>
      oneLine(`${spec.name}: ${info.title ?? info.name} ${argumentsLine(JSON.stringify(args))}`).trimEnd(),
    async execute(args, context) {
      try {
        const result = await server.use((connection) =>
          connection.call(info.name, args, {
            signal: context.signal,
            limitMs: spec.callMs(info.name),
            progress: context.progress,
          }), context.signal);
        return await toolResult(result, context);
      } catch (error) {
        return failureOf(error, spec.name, context);
      }
    },
  };
}

/** What the model reads of a call that did not come through. Throws an abort. */
export function failureOf(
  error: unknown,
  server: string,
  { signal }: Pick<ToolContext, "signal">,
): ToolResult {
  if (signal.aborted || isAbort(error)) throw error;
  return failure(`${server}: ${errorMessage(error)}`, remedyOf(error));
}

function remedyOf(error: unknown): string | undefined {
  return error instanceof Error && "remedy" in error && typeof error.remedy === "string"
    ? error.remedy
    : undefined;
}
