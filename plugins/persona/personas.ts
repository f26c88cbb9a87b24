/** Reads personas from a list, or from Markdown in one of three forms. */
import { PluginError } from "../common/plugin.ts";

export interface Persona {
  readonly name: string;
  /** The text that describes the point of view; may be empty. */
  readonly description: string;
}

/** Each is one run of a model. */
const MAX_PERSONAS = 12;
const MAX_NAME = 100;

/** Names, or `Name: description`, separated by commas or lines. */
export function personasOfList(given: string | readonly string[]): Persona[] {
  const items = typeof given === "string" ? given.split(/[,，\n]/) : given;
  return checked(items.map(personaOf), "the list");
}

/**
 * A section `## Personas` with a heading `###` each; or headings `##`, or `###` where there are none; or a
 * list of `- Name: one line`. Code fences hold neither.
 */
export function personasOfMarkdown(text: string, file: string): Persona[] {
  let lines = linesOf(text);
  const start = lines.findIndex(({ level, title }) => level === 2 && /^personas$/i.test(title));
  if (start >= 0) {
    const end = lines.findIndex(({ level }, at) => at > start && (level === 1 || level === 2));
    lines = lines.slice(start + 1, end < 0 ? undefined : end);
  }
  const level = [2, 3].find((each) => lines.some((line) => line.level === each));
  const found: { name: string; lines: string[] }[] = [];
  let isOpen = false;
  for (const line of lines) {
    if (line.level > 0 && line.level <= (level ?? 0)) {
      isOpen = line.level === level;
      if (isOpen) found.push({ name: line.title, lines: [] });
    } else if (isOpen) found.at(-1)?.lines.push(line.text);
  }
  if (level === undefined) return checked(lines.flatMap(({ item }) => item ? [personaOf(item)] : []), file);
  return checked(found.map(({ name, lines }) => ({ name, description: lines.join("\n").trim() })), file);
}

interface Line {
  readonly text: string;
  /** Of a heading; 0 for other lines. */
  readonly level: number;
  readonly title: string;
  /** Text of an item of a list at the margin. */
  readonly item: string | undefined;
}

function linesOf(text: string): Line[] {
  let fence = "";
  return text.replace(/^---\r?\n[^]*?\n---\r?\n/, "").split(/\r?\n/).map((text) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(text)?.[1] ?? "";
    const isCode = fence !== "" || mark !== "";
    if (fence === "") fence = mark;
    else if (mark.startsWith(fence)) fence = "";
    const [, marks = "", title = ""] = isCode ? [] : /^(#{1,6})\s+(.*?)\s*#*$/.exec(text) ?? [];
    const item = isCode ? undefined : /^[-*+]\s+(.+)$/.exec(text)?.[1];
    return { text, level: marks.length, title: plain(title), item };
  });
}

function personaOf(item: string): Persona {
  const [, name = item, description = ""] = /^([^:：]+)[:：]([^]*)$/.exec(item) ?? [];
  return { name: plain(name), description: description.replace(/^\*\*/, "").trim() };
}

/** Without marks of emphasis and code. */
function plain(name: string): string {
  return name.replaceAll(/[*`]|^\s*_|_\s*$/g, "").trim();
}

function checked(given: readonly Persona[], where: string): Persona[] {
  const personas = given.filter(({ name }) => name !== "");
  const refuse = (problem: string, remedy: string) => {
    throw new PluginError(`Cannot use the personas of ${where}: ${problem}`, remedy);
  };
  if (personas.length === 0) {
    refuse(
      "there are none",
      "use headings `### Name` below `## Personas`, headings `## Name`, or a list of `- Name: one line`",
    );
  }
  if (personas.length > MAX_PERSONAS) refuse(`there are ${personas.length}`, `use at most ${MAX_PERSONAS}`);
  const seen = new Set<string>();
  for (const name of personas.map((each) => each.name)) {
    const shown = JSON.stringify(name.slice(0, MAX_NAME));
    if (name.length > MAX_NAME) refuse(`${shown}… is too long for a name`, "write `Name: description`");
    if (seen.has(name.toLowerCase())) refuse(`${shown} is there twice`, "remove or rename one");
    seen.add(name.toLowerCase());
  }
  return personas;
}
