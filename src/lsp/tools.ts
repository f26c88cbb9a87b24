import { message, ReasonixError } from "../core/mod.ts";
import {
  type Arguments,
  errorResult,
  type NamePort,
  type SymbolPosition,
  texts,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../tool/mod.ts";

type Ask = (names: NamePort, args: Arguments, signal: AbortSignal) => Promise<string>;

const POSITION = {
  type: "object",
  properties: {
    path: { type: "string" },
    line: { type: "integer", minimum: 1 },
    symbol: { type: "string", description: "as it stands on that line" },
  },
  required: ["path", "line", "symbol"],
  additionalProperties: false,
};

const positionOf = ({ path, line, symbol }: Arguments): SymbolPosition => ({
  path: String(path),
  line: Number(line),
  symbol: String(symbol),
});

/** The tools that ask language servers about names; the one that renames is an edit tool. */
export const NAME_TOOLS: readonly Tool[] = [
  nameTool(
    "lsp_definition",
    "Find where a symbol is defined.",
    POSITION,
    (names, args, signal) => names.definition(positionOf(args), signal),
  ),
  nameTool(
    "lsp_references",
    "List all uses of a symbol in the project.",
    POSITION,
    (names, args, signal) => names.references(positionOf(args), signal),
  ),
  nameTool(
    "lsp_hover",
    "Show type and documentation of a symbol.",
    POSITION,
    (names, args, signal) => names.hover(positionOf(args), signal),
  ),
  nameTool(
    "lsp_symbols",
    "List the symbols of a file; with `query`, those of its whole project that match.",
    {
      type: "object",
      properties: { path: { type: "string" }, query: { type: "string" } },
      required: ["path"],
      additionalProperties: false,
    },
    (names, { path, query }, signal) =>
      names.symbols(String(path), typeof query === "string" ? query : undefined, signal),
  ),
];

function nameTool(name: string, description: string, schema: Tool["schema"], ask: Ask): Tool {
  return {
    name,
    description,
    schema,
    readOnly: true,
    synonyms: { file: "path", file_path: "path", name: "symbol" },
    title: ({ symbol, query, path }) => `${name} ${symbol ?? query ?? path}`,
    reads: ({ path }) => texts(path),
    subjects: ({ symbol, query }) => texts(symbol, query),
    execute: (args, context) => run(name, args, { context, ask }),
  };
}

async function run(
  name: string,
  args: Arguments,
  { context, ask }: { readonly context: ToolContext; readonly ask: Ask },
): Promise<ToolResult> {
  try {
    const { names } = context.services ?? {};
    if (!names) throw new ReasonixError(`${name} has no language server here`, { remedy: "use grep" });
    const content = await ask(await names(), args, context.signal);
    const lines = content.split("\n").length;
    return { content, summary: lines === 1 ? content.slice(0, 200) : message`${lines} lines` };
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof ReasonixError) return errorResult(error);
    throw error;
  }
}
