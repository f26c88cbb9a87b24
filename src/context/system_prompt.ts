import template from "./system.md" with { type: "text" };
import chatTemplate from "./system_chat.md" with { type: "text" };
import type { InstructionFile } from "./instructions.ts";

export interface SystemPromptOptions {
  /** Replaces the built-in text ([agent] system_prompt or system_prompt_file). */
  readonly custom?: string;
  /** The model has no tools: the built-in text speaks of none. */
  readonly withoutTools?: boolean;
  /** "zh" or "en" fixes the language of visible reasoning; "auto" leaves it to the model. */
  readonly reasoningLanguage?: string;
  /** Section that lists the tools. */
  readonly tools?: string | undefined;
  /** Blocks of facts that do not change while a session runs. */
  readonly facts?: readonly string[];
  readonly instructions: readonly InstructionFile[];
  /** Section that names the skills. */
  readonly skills?: string;
  /** Texts of the user's own for this model, in their order. */
  readonly supplements?: readonly string[];
  /** Text of whoever started the run, at the end. */
  readonly appended?: string;
}

/**
 * The fixed head of every request. Contract: the same options give the same bytes; nothing that changes over
 * time (date, git state, directory listing) is in it.
 */
export function systemPrompt(options: SystemPromptOptions): string {
  const parts = [(options.custom ?? (options.withoutTools ? chatTemplate : template)).trimEnd()];
  const language = { zh: "Chinese", en: "English" }[options.reasoningLanguage ?? ""];
  if (language) parts.push(`Write your visible reasoning in ${language}.`);
  if (options.tools !== undefined) parts.push(options.tools);
  parts.push(...options.facts ?? []);
  if (options.skills !== undefined) parts.push(options.skills);
  if (options.instructions.length > 0) {
    parts.push(
      "# Instructions\nStanding instructions from the user and the project. Later files are more specific and win.",
    );
    for (const file of options.instructions) parts.push(`## ${file.label}\n${file.text.trim()}`);
  }
  const { supplements = [], appended = "" } = options;
  parts.push(...new Set([...supplements, appended].map((text) => text.trim()).filter((text) => text !== "")));
  return `${parts.join("\n\n")}\n`;
}
