import { toHtml } from "./html.ts";
import { toMarkdown } from "./markdown.ts";
import { readTranscript, type Transcript } from "./transcript.ts";

export type ExportFormat = "markdown" | "html" | "json";

/**
 * A session for other people's eyes: the current branch, with everything the user saw. Does not lock or
 * change the session. Throws ReasonixError when the file is no session.
 */
export function exportSession(path: string, format: ExportFormat): string {
  const transcript = readTranscript(path);
  switch (format) {
    case "markdown":
      return toMarkdown(transcript);
    case "html":
      return toHtml(transcript);
    case "json":
      return toJson(transcript);
  }
}

function toJson({ state, title, blocks }: Transcript): string {
  const { session, cwd, model, created, updated, parent, usage, costs, unpriced, todos, turns } = state;
  const facts = { session, title, cwd, model, created, updated, parent, usage, costs, unpriced, todos };
  return `${JSON.stringify({ format: "reasonix-session", version: 1, ...facts, turns, blocks }, null, 2)}\n`;
}
