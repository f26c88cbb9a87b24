import { type JsonSchema, message } from "../../core/mod.ts";
import { defineBuiltin } from "../builtin_tool.ts";
import { FILE_WRITERS } from "../file_writers.ts";
import { type Arguments, failure, texts, type Tool } from "../tool.ts";

/** The patch that a language server has computed for the edit. */
function patchOf({ patch }: Arguments): string | undefined {
  return typeof patch === "string" && patch !== "" ? patch : undefined;
}

function patcher(): Pick<Tool, "reads" | "writes" | "execute"> | undefined {
  return FILE_WRITERS.find(({ name }) => name === "apply_patch");
}

const PLACE = {
  path: { type: "string" },
  line: { type: "integer", minimum: 1 },
  symbol: { type: "string", description: "as it stands on that line" },
};

interface SymbolEdit extends Pick<Tool, "description" | "title"> {
  readonly name: "lsp_rename" | "delete_symbol";
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  /** Advice where no language server serves the file. */
  readonly remedy: string;
}

/**
 * An edit of a symbol. The changes are worked out while the call is prepared, and become its argument
 * `patch`: rules, questions, checkpoints and front ends see every file that the call would change.
 */
function symbolEdit({ remedy, ...own }: SymbolEdit) {
  return defineBuiltin({
    ...own,
    unoffered: { patch: { type: "string" } },
    synonyms: { file: "path", file_path: "path", newName: "new_name", name: "symbol" },
    readOnly: false,
    family: "Edit",
    runsIn: "worker",
    reads: (
      args,
    ) => [
      ...new Set([...texts(args.path), ...patchOf(args) === undefined ? [] : patcher()?.reads?.(args) ?? []]),
    ],
    writes: (args) => patchOf(args) === undefined ? texts(args.path) : patcher()?.writes?.(args) ?? [],
    load: () =>
      Promise.resolve(async ({ patch }, context) =>
        await patcher()?.execute({ patch: patchOf({ patch }) ?? "" }, context) ??
          failure("There is no language server for this edit", remedy)
      ),
  });
}

export const RENAME_TOOL = symbolEdit({
  name: "lsp_rename",
  description: "Rename a symbol in every file of the project that uses it.",
  properties: { ...PLACE, new_name: { type: "string" } },
  required: ["path", "line", "symbol", "new_name"],
  title: ({ symbol, new_name }) => message`rename ${String(symbol)} to ${String(new_name)}`,
  remedy: "use grep and edit_file",
});

export const DELETE_SYMBOL = symbolEdit({
  name: "delete_symbol",
  description: "Delete the definition of a symbol, with its comment and decorators. Its uses stay.",
  properties: {
    path: PLACE.path,
    symbol: { type: "string", description: "`name`, or `Class.name`" },
    line: { ...PLACE.line, description: "where the file has several of that name" },
  },
  required: ["path", "symbol"],
  title: ({ symbol, path }) => message`delete ${String(symbol)} in ${String(path)}`,
  remedy: "use edit_file",
});

export const SYMBOL_EDITS: readonly Tool[] = [RENAME_TOOL, DELETE_SYMBOL];

interface ChangedText {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

export async function patchFor(files: readonly ChangedText[]): Promise<string> {
  const { unifiedDiff } = await import("../text/diff.ts");
  return files.map(({ path, before, after }) => unifiedDiff(before, after, { from: path, to: path }).diff)
    .join("");
}
