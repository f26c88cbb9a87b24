import type { MemoryFact, MemoryKind, MemoryScope } from "../tool/mod.ts";
import { parseFrontmatter, scalarText, textField } from "../util/frontmatter.ts";
import { oneLine } from "../util/terminal_text.ts";

/** A fact with the day it was first saved. */
export interface StoredFact extends MemoryFact {
  readonly created: string;
}

const KINDS: readonly MemoryKind[] = ["user", "project", "reference", "feedback"];
const MAX_NAME = 64;
/** Characters of a description. */
export const MAX_DESCRIPTION = 300;

/**
 * A name as file name and handle: lower case, words joined by hyphens. Empty when nothing of it can be kept.
 */
export function factName(given: string): string {
  return given.normalize("NFC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, MAX_NAME).replace(
    /^-+|-+$/g,
    "",
  );
}

/** The Markdown file of a fact. */
export function factFile(fact: StoredFact): string {
  const head = [
    `name: ${scalarText(fact.name)}`,
    `description: ${scalarText(fact.description)}`,
    `kind: ${fact.kind}`,
    ...(fact.pinned ? ["pinned: true"] : []),
    `created: ${fact.created}`,
    `updated: ${fact.updated}`,
  ];
  return `---\n${head.join("\n")}\n---\n\n${fact.text.trim()}\n`;
}

/**
 * Reads a fact, also one a person wrote by hand: what is missing is taken from the file's name and first
 * line.
 */
export function readFact(source: string, name: string, scope: MemoryScope): StoredFact {
  const read = parseFrontmatter(source);
  const text = read.body.trim();
  const updated = textField(read, "updated") ?? textField(read, "created") ?? "";
  const kind = KINDS.find((known) => known === (textField(read, "kind") ?? textField(read, "type")));
  return {
    name,
    scope,
    description: oneLine(
      textField(read, "description") || (text.split("\n")[0] ?? "").replace(/^#+\s*/, ""),
      MAX_DESCRIPTION,
    ),
    kind: kind ?? (scope === "global" ? "user" : "project"),
    pinned: textField(read, "pinned") === "true",
    created: textField(read, "created") ?? updated,
    updated,
    text,
  };
}
