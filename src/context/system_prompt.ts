import { isFile, readSmallText } from "../path/probe.ts";
import type { InstructionFile } from "./instructions.ts";
import template from "./system.md" with { type: "text" };
import chatTemplate from "./system_chat.md" with { type: "text" };

interface EnvironmentOptions {
  readonly cwd: string;
  /** The time of a message of the conversation. Absent in a prefix: nothing that changes belongs there. */
  readonly now?: Date;
  readonly platform: string;
  readonly writableRoots?: readonly string[];
  /** A warning that holds for all files. */
  readonly files?: string;
}

/**
 * The `<environment>` block that opens a session and is sent again when a fact in it has changed; without a
 * time the one of a prefix.
 */
export function environmentText(options: EnvironmentOptions): string {
  const lines = [
    `working directory: ${options.cwd}`,
    `platform: ${options.platform}`,
    ...(options.now ? changingFacts(options.cwd, options.now) : []),
  ];
  const extra = options.writableRoots?.filter((root) => root !== options.cwd) ?? [];
  if (extra.length > 0) lines.push(`also writable: ${extra.join(", ")}`);
  if (options.files !== undefined) lines.push(`files: ${options.files}`);
  return `<environment>\n${lines.join("\n")}\n</environment>`;
}

function changingFacts(cwd: string, now: Date): string[] {
  const branch = gitBranch(cwd);
  return [
    `date: ${localDate(now)}`,
    branch === undefined ? "git repository: no" : `git branch: ${branch}`,
  ];
}

/** The day where the user is, such as 2026-07-28. */
export function localDate(now: Date): string {
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 10);
}

/** Branch name read from .git/HEAD (worktrees included), without starting git. */
export function gitBranch(cwd: string): string | undefined {
  for (let directory = cwd; directory !== "";) {
    const head = readHead(`${directory}/.git`);
    if (head !== undefined) return head;
    const parent = directory.replace(/[/\\][^/\\]*$/, "");
    if (parent === directory) return undefined;
    directory = parent;
  }
  return undefined;
}

function readHead(dotGit: string): string | undefined {
  const directory = isFile(dotGit) ? readSmallText(dotGit)?.replace(/^gitdir:\s*/, "").trim() : dotGit;
  const head = directory === undefined ? undefined : readSmallText(`${directory}/HEAD`)?.trim();
  return head?.startsWith("ref: refs/heads/") ? head.slice("ref: refs/heads/".length) : head?.slice(0, 12);
}

interface SystemPromptOptions {
  /** Replaces the built-in text ([agent] system_prompt or system_prompt_file). */
  readonly custom?: string;
  /** The model has no tools: the built-in text speaks of none. */
  readonly withoutTools?: boolean;
  /** "zh" or "en" fixes the language of visible reasoning; "auto" leaves it to the model. */
  readonly reasoningLanguage?: string;
  readonly tools?: string | undefined;
  /** Blocks of facts that do not change while a session runs. */
  readonly facts?: readonly string[];
  readonly instructions: readonly InstructionFile[];
  readonly skills?: string;
  readonly supplements?: readonly string[];
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
