import { defineBuiltin } from "../builtin_tool.ts";
import { FILE_WRITERS } from "../file_writers.ts";
import { type Arguments, failure, texts, type Tool } from "../tool.ts";

/** The text of a patch, once a language server has said what a renaming takes. */
function patchOf({ patch }: Arguments): string | undefined {
  return typeof patch === "string" && patch !== "" ? patch : undefined;
}

/** The tool that a renaming is in the end. */
function patcher(): Pick<Tool, "reads" | "writes" | "execute"> | undefined {
  return FILE_WRITERS.find(({ name }) => name === "apply_patch");
}

/**
 * Renames a symbol. What it takes is worked out while the call is prepared, and becomes its argument `patch`,
 * so that everybody who judges, shows or keeps the call sees every file that it would change.
 */
export const RENAME_TOOL = defineBuiltin({
  name: "lsp_rename",
  description: "Rename a symbol in every file of the project that uses it.",
  schema: {
    type: "object",
    properties: {
      path: { type: "string" },
      line: { type: "integer", minimum: 1 },
      symbol: { type: "string", description: "as it stands on that line" },
      new_name: { type: "string" },
    },
    required: ["path", "line", "symbol", "new_name"],
    additionalProperties: false,
  },
  unoffered: { patch: { type: "string" } },
  synonyms: { file: "path", file_path: "path", newName: "new_name", name: "symbol" },
  readOnly: false,
  title: ({ symbol, new_name }) => `rename ${symbol} to ${new_name}`,
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
        failure("It cannot be renamed here", "use grep and edit_file")
    ),
});

/** A file before and after; `path` as the patch should name it. */
interface ChangedText {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** The patch that makes these changes. */
export async function patchFor(files: readonly ChangedText[]): Promise<string> {
  const { unifiedDiff } = await import("../text/diff.ts");
  return files.map(({ path, before, after }) => unifiedDiff(before, after, { from: path, to: path }).diff)
    .join("");
}
