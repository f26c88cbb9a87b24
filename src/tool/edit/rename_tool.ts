import { patchReads, patchWrites } from "../builtin/apply_patch/parse.ts";
import { defineBuiltin } from "../builtin_tool.ts";
import { type Arguments, failure, texts } from "../tool.ts";

/** The text of a patch, once a language server has said what a renaming takes. */
function patchOf({ patch }: Arguments): string | undefined {
  return typeof patch === "string" && patch !== "" ? patch : undefined;
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
  reads: (args) => [...new Set([...texts(args.path), ...patchReads(patchOf(args) ?? "")])],
  writes: (args) => patchOf(args) === undefined ? texts(args.path) : patchWrites(patchOf(args) ?? ""),
  load: async () => {
    const { applyPatch } = await import("../builtin/apply_patch/apply_patch.ts");
    return async (args, context) =>
      patchOf(args) === undefined
        ? failure("There is no language server that could rename it", "use grep and edit_file")
        : await applyPatch(args, context);
  },
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
