import type { ToolContext, ToolResult } from "../../tool.ts";
import { editOf, editWith } from "../../edit/edit_file.ts";

export async function multiEdit(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const edits = args.edits as readonly Record<string, unknown>[];
  return await editWith(context, String(args.path), edits.map(editOf));
}
