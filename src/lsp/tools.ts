import { message, ReasonixError } from "../core/mod.ts";
import {
  type Arguments,
  errorResult,
  type NamePort,
  type SymbolPosition,
  texts,
  type Tool,
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
  positionTool("definition", "Find where a symbol is defined."),
  positionTool("references", "List all uses of a symbol in the project."),
  positionTool("hover", "Show type and documentation of a symbol."),
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

function positionTool(kind: "definition" | "references" | "hover", description: string): Tool {
  const ask: Ask = (names, args, signal) => names[kind](positionOf(args), signal);
  return nameTool(`lsp_${kind}`, description, POSITION, ask);
}

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
    async execute(args, { services, signal }) {
      try {
        if (!services?.names) {
          throw new ReasonixError(`${name} has no language server here`, { remedy: "use grep" });
        }
        const content = await ask(await services.names(), args, signal);
        const lines = content.split("\n").length;
        return { content, summary: lines === 1 ? content.slice(0, 200) : message`${lines} lines` };
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ReasonixError) return errorResult(error);
        throw error;
      }
    },
  };
}
