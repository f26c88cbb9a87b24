import { commitText, writesDenied } from "../../file/commit.ts";
import { resolveWrite } from "../../file/target.ts";
import { loadText, requireSeen } from "../../file/text_file.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { type CellEdit, editNotebook } from "./notebook.ts";

export async function notebookEdit(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  const target = await resolveWrite(context, String(args.path));
  const before = await loadText(context, target);
  requireSeen(context, before);
  const outcome = editNotebook(before.text, editOf(args));
  if ("problem" in outcome) return failure(`${target.shown}: ${outcome.problem}`);
  return await commitText(context, { ...before, target, before, after: outcome.text, note: outcome.done });
}

function editOf(args: Record<string, unknown>): CellEdit {
  const text = (value: unknown) => typeof value === "string" ? value : undefined;
  const mode = args.edit_mode === "insert" || args.edit_mode === "delete" ? args.edit_mode : "replace";
  return { mode, cell: text(args.cell), source: text(args.new_source), type: text(args.cell_type) };
}
