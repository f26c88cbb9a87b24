import { isAbort, type JsonSchema, ReasonixError, textOf } from "../core/mod.ts";
import { osReason } from "./file/os_reason.ts";
import { errorResult, failure, type Tool, type ToolContext, type ToolResult } from "./tool.ts";
import { lazy } from "../util/lazy.ts";

/**
 * The work of a tool, in a separate module that start-up does not load.
 *
 * Contract: what it throws becomes a failure the model reads (a `ReasonixError` word by word); an abort is
 * passed on.
 */
type ToolRun = (args: Record<string, unknown>, context: ToolContext) => Promise<ToolResult>;

/** The declaration of a built-in tool: everything the first request needs, and how to load the rest. */
interface BuiltinSpec extends Omit<Tool, "execute" | "schema"> {
  /** JSON Schemas of the arguments; no others are accepted. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  /** Offered only when `[tools] enabled` names it. */
  readonly optional?: boolean;
  /** Offered only once the session has a use for it; see {@linkcode ToolRegistry.offerLate}. */
  readonly late?: boolean;
  readonly load: () => Promise<ToolRun>;
}

export interface BuiltinTool extends Tool {
  readonly optional: boolean;
  readonly late: boolean;
  warm(): Promise<void>;
}

export function defineBuiltin(spec: BuiltinSpec): BuiltinTool {
  const { load: loadRun, properties, required, ...declared } = spec;
  const load = lazy(loadRun);
  return {
    ...declared,
    schema: { type: "object", properties, ...(required ? { required } : {}), additionalProperties: false },
    description: spec.description.trim(),
    optional: spec.optional ?? false,
    late: spec.late ?? false,
    warm: async () => void await load(),
    execute: async (args, context) => {
      context.signal.throwIfAborted();
      try {
        return await bounded(await (await load())(args, context));
      } catch (error) {
        if (context.signal.aborted || isAbort(error)) throw error;
        if (error instanceof ReasonixError) return await bounded(errorResult(error));
        return await bounded(failure(`${spec.name} failed: ${osReason(error)}`));
      }
    },
  };
}

/** Above what every tool allows itself; only an unexpected list reaches it. */
const MAX_RESULT_BYTES = 40_000;
const MAX_SUMMARY_CHARS = 500;

async function bounded(result: ToolResult): Promise<ToolResult> {
  const { content, summary } = result;
  const line = textOf(summary);
  const short = line.length <= MAX_SUMMARY_CHARS
    ? result
    : { ...result, summary: `${line.slice(0, MAX_SUMMARY_CHARS).toWellFormed()}…` };
  if (content.length * 3 <= MAX_RESULT_BYTES) return short;
  const { keepEnds } = await import("./truncation.ts");
  const cut = keepEnds(content, { maxBytes: MAX_RESULT_BYTES });
  return cut.truncated ? { ...short, content: cut.text, truncated: cut.truncated } : short;
}
