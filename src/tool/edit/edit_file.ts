import { failure, type ToolContext, type ToolResult } from "../tool.ts";
import { commitText, writesDenied } from "../file/commit.ts";
import { loadText, requireSeen, resolveWrite, statRegularOrNothing } from "../file/text_file.ts";
import { applyEdit, type Edit } from "./match_strategies.ts";

function editOf(args: Record<string, unknown>): Edit {
  return {
    oldString: String(args.old_string),
    newString: String(args.new_string),
    replaceAll: args.replace_all === true,
  };
}

/** Applies edits in order to one file and writes the result once, or nothing when one of them fails. */
async function editWith(
  context: ToolContext,
  path: string,
  edits: readonly Edit[],
): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  const target = await resolveWrite(context, path);
  // An empty `old_string` for a file that does not exist yet means its whole content.
  const isNew = edits[0]?.oldString === "" && !await statRegularOrNothing(target);
  const before = isNew ? undefined : await loadText(context, target);
  if (before) requireSeen(context, before);
  const outcome = applyAll(before?.text ?? "", edits);
  if ("problem" in outcome) return failure(`${target.shown}: ${outcome.problem}`);
  const { encoding = "utf-8", bom = false } = before ?? {};
  const note = before && outcome.note;
  return await commitText(context, { target, before, after: outcome.text, encoding, bom, note });
}

function applyAll(
  text: string,
  edits: readonly Edit[],
): { readonly text: string; readonly note: string | undefined } | { readonly problem: string } {
  const notes: string[] = [];
  let replacements = 0;
  for (const [index, edit] of edits.entries()) {
    const outcome = applyEdit(text, edit);
    if ("problem" in outcome) {
      return {
        problem: edits.length > 1
          ? `edit ${index + 1} of ${edits.length}: ${outcome.problem}`
          : outcome.problem,
      };
    }
    text = outcome.text;
    replacements += outcome.count;
    if (outcome.note) notes.push(edits.length > 1 ? `edit ${index + 1} ${outcome.note}` : outcome.note);
  }
  if (replacements > 1) notes.unshift(`${replacements} replacements`);
  return { text, note: notes.length > 0 ? notes.join("; ") : undefined };
}

export async function editFile(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  return await editWith(context, String(args.path), [editOf(args)]);
}

export async function multiEdit(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const edits = args.edits as readonly Record<string, unknown>[];
  return await editWith(context, String(args.path), edits.map(editOf));
}
