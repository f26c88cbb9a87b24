import { editOf, editWith } from "../../edit/edit_file.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";

export async function editFile(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return await editWith(context, String(args.path), [editOf(args)]);
}
