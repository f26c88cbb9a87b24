import type { GetPromptResult, ReadResourceResult } from "@modelcontextprotocol/client";
import type { ImagePart } from "../../core/mod.ts";
import { safeText } from "../../util/json.ts";
import { Content } from "./content.ts";

/** What a server gives for a message of the user. */
export interface AttachedContent {
  readonly text: string;
  readonly images: readonly ImagePart[];
}

export interface ContentDesk {
  /** The model sees images. */
  readonly vision: boolean;
  /** Directory for data that no model reads; made on first use. */
  readonly directory: string;
  readonly signal: AbortSignal;
}

/** Characters of one prompt; more than a window holds is refused later, with what to do. */
const MAX_PROMPT = 1_000_000;

/**
 * The messages of a prompt as one of the user: their texts, and who says them where it is not the user alone.
 */
export async function promptContent(
  { messages }: GetPromptResult,
  server: string,
  desk: ContentDesk,
): Promise<AttachedContent> {
  const content = contentFor(server, desk);
  const dialogue = messages.some(({ role }) => role !== "user");
  const texts: string[] = [];
  for (const { role, content: block } of messages) {
    await content.add(block);
    const said = content.texts.splice(0).join("\n");
    texts.push(dialogue ? `<message role="${role}">\n${said}\n</message>` : said);
  }
  const text = safeText(texts.join("\n\n")).trim();
  const cut = text.length > MAX_PROMPT
    ? `${text.slice(0, MAX_PROMPT).toWellFormed()}\n[cut; the prompt has ${text.length} characters]`
    : text;
  return { text: cut, images: content.images };
}

/** What a resource holds, in all its parts. */
export async function resourceContent(
  { contents }: ReadResourceResult,
  server: string,
  desk: ContentDesk,
): Promise<AttachedContent> {
  const content = contentFor(server, desk);
  for (const part of contents) await content.addResource(part, contents.length > 1);
  return { text: safeText(content.texts.join("\n")), images: content.images };
}

function contentFor(server: string, { vision, directory }: ContentDesk): Content {
  const name = `mcp_${server.replace(/[^\w-]/g, "_").slice(0, 40)}_${crypto.randomUUID().slice(0, 8)}`;
  return new Content({ vision, file: (number, ending) => `${directory}/${name}_${number}.${ending}` });
}
