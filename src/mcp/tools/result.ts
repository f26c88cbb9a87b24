import type { CallToolResult } from "@modelcontextprotocol/client";
import { safeText } from "../../util/json.ts";
import { DEFAULT_CAPS, keepEnds, spillPath, type ToolContext, type ToolResult } from "../../tool/mod.ts";
import { Content, saved } from "../content/content.ts";

/** What the model reads of a server's answer: its texts, bounded; images apart; other data in files. */
export async function toolResult(result: CallToolResult, context: ToolContext): Promise<ToolResult> {
  const content = new Content({
    vision: context.settings.vision,
    file: (number, ending) => spillPath(context).replace(/\.txt$/, `_${number}.${ending}`),
  });
  for (const block of result.content) await content.add(block);
  content.addStructured(result.structuredContent);
  return await contentResult(content, result.isError === true, context);
}

/** The result of a call that brought some content. */
export async function contentResult(
  { texts, images }: Content,
  isError: boolean,
  context: ToolContext,
): Promise<ToolResult> {
  const text = safeText(texts.join("\n"));
  const { text: content, truncated } = await bounded(text, context);
  return {
    content: isError ? `error: ${content}` : content === "" ? "(no output)" : content,
    summary: isError ? (text.split("\n", 1)[0] ?? "failed") : summaryOf(text, images.length),
    ...(isError ? { isError } : {}),
    ...(images.length > 0 ? { images } : {}),
    ...(truncated ? { truncated } : {}),
  };
}

async function bounded(text: string, context: ToolContext) {
  const cut = keepEnds(text, DEFAULT_CAPS);
  if (!cut.truncated) return cut;
  const path = spillPath(context);
  const kept = await saved(path, new TextEncoder().encode(text));
  return kept ? keepEnds(text, DEFAULT_CAPS, { fullText: path }) : cut;
}

function summaryOf(text: string, images: number): string {
  const lines = text === "" ? 0 : text.trimEnd().split("\n").length;
  const shown = lines === 1 ? "1 line" : `${lines} lines`;
  return images === 0 ? shown : `${shown}, ${images === 1 ? "1 image" : `${images} images`}`;
}
