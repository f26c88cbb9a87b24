import { commitText, type TextChange, writesDenied } from "../../file/commit.ts";
import {
  loadText,
  requireSeen,
  resolveWrite,
  statRegularOrNothing,
  type Target,
  type TextFile,
} from "../../file/text_file.ts";
import { withEolsOf } from "../../edit/text_edit.ts";
import { encodeText, encodingName } from "../../text/encoding.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";

export async function writeFile(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const denied = writesDenied(context);
  if (denied) return denied;
  const content = String(args.content);
  const target = await resolveWrite(context, String(args.path));
  if (!await statRegularOrNothing(target)) {
    const { text, bom } = withoutMark(content);
    return await commitText(context, { target, before: undefined, after: text, encoding: "utf-8", bom });
  }
  const before = await loadText(context, target);
  if (before.bytes.length > 0) requireSeen(context, before);
  return await commitText(context, replacement(target, before, content));
}

/** Keeps the old encoding and line ends, or changes to UTF-8 where the encoding lacks a character. */
function replacement(target: Target, before: TextFile, content: string): TextChange {
  const { text, bom } = withoutMark(content);
  const after = withEolsOf(before.text, text);
  if (before.encoding === "utf-8-escaped") {
    return { target, before, after, encoding: "utf-8", bom: before.bom };
  }
  if (typeof encodeText(after, before.encoding, before.bom) !== "string") {
    return { target, before, after, encoding: before.encoding, bom: before.bom || bom };
  }
  const was = encodingName(before.encoding, before.bom);
  return { target, before, after, encoding: "utf-8", bom: false, note: `now UTF-8, was ${was}` };
}

function withoutMark(content: string): { readonly text: string; readonly bom: boolean } {
  const bom = content.startsWith("\ufeff");
  return { text: bom ? content.slice(1) : content, bom };
}
