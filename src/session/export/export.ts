import { errorMessage, ReasonixError } from "../../core/mod.ts";
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

/** Formats by the ending of the file. */
const ENDINGS: Readonly<Record<string, ExportFormat>> = {
  md: "markdown",
  markdown: "markdown",
  html: "html",
  htm: "html",
  json: "json",
};

export interface ExportToFile {
  /** Absent: by the ending of the file; Markdown for others. */
  readonly format?: ExportFormat | undefined;
  /** Writes over a file that is there. */
  readonly force?: boolean;
  /** What to do when the file is there. */
  readonly taken: string;
}

/** The format that a file name asks for. */
function formatOf(file: string): ExportFormat {
  return ENDINGS[/\.(\w+)$/.exec(file)?.[1]?.toLowerCase() ?? ""] ?? "markdown";
}

/** Writes a session into a file. Throws ReasonixError (usage) when it is there already. */
export function exportToFile(path: string, file: string, { format, force, taken }: ExportToFile): void {
  const text = exportSession(path, format ?? formatOf(file));
  try {
    Deno.writeTextFileSync(file, text, { createNew: !force });
  } catch (error) {
    const exists = error instanceof Deno.errors.AlreadyExists;
    throw new ReasonixError(
      `Cannot write ${file}: ${exists ? "it exists already" : errorMessage(error)}`,
      {
        exit: "usage",
        remedy: exists ? taken : "name a file in a writable directory",
        said: exists
          ? [["fileExists", file], ["chooseName"]]
          : [["fileUnwritable", file, errorMessage(error)], ["chooseDirectory"]],
      },
    );
  }
}
