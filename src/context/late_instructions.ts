import { absolutePath, normalize, relativeTo } from "../path/lexical.ts";
import type { Message, PreparedCall, ToolCall } from "../core/mod.ts";
import { isDirectory } from "../path/probe.ts";
import { type InstructionNotice, type InstructionOptions, loadFolderInstructions } from "./instructions.ts";

export interface LateInstructionOptions extends Omit<InstructionOptions, "extra"> {
  /** The conversation: what is in it has been said. */
  readonly messages: () => readonly Message[];
  /** Tells what an earlier call was about. */
  readonly describe: (call: ToolCall) => PreparedCall | undefined;
  readonly onNotice?: (notice: InstructionNotice) => void;
}

const TAG = /^<instructions folder="([^"\n]*)">/;

/**
 * Instruction files below the working directory, told when a call first touches their directory. They become
 * messages and never change the prefix. What was told is read off the conversation, so a resumed session does
 * not hear it twice.
 */
export class LateInstructions {
  readonly #options: LateInstructionOptions;
  /**
   * Directories without instruction files, and paths that are no directories; looked at again in the next
   * turn.
   */
  readonly #empty = new Set<string>();
  #told = new Set<string>();
  #of: readonly Message[] | undefined;
  #at = 0;
  #left: number;

  constructor(options: LateInstructionOptions) {
    this.#options = options;
    this.#left = options.maxBytes;
  }

  /**
   * Texts for directories that calls have touched since the last time; to be recorded as context messages.
   */
  take(): string[] {
    const messages = this.#options.messages();
    if (messages !== this.#of) this.#begin(messages);
    const texts: string[] = [];
    for (; this.#at < messages.length; this.#at++) {
      const message = messages[this.#at];
      if (message?.role === "user") this.#empty.clear();
      if (message?.role !== "assistant") continue;
      for (const call of message.calls ?? []) {
        const { reads = [], writes = [] } = this.#options.describe(call) ?? {};
        for (const path of [...reads, ...writes]) texts.push(...this.touch(path));
      }
    }
    return texts;
  }

  /**
   * Returns the instructions that a file or directory below the working directory brings in, outermost first;
   * empty when nothing is new.
   */
  touch(path: string): string[] {
    const { cwd } = this.#options;
    const name = relativeTo(normalize(absolutePath(path, { cwd })), cwd);
    if (name === undefined || name === ".") return [];
    const parts = name.split("/");
    return parts.flatMap((_, i) => this.#folder(parts.slice(0, i + 1).join("/")) ?? []);
  }

  /** A new array: a session begins or goes on, was compacted or rewound. */
  #begin(messages: readonly Message[]): void {
    const resumed = this.#of === undefined;
    this.#of = messages;
    this.#told = new Set(messages.flatMap((message) => TAG.exec(message.content)?.[1] ?? []));
    this.#at = resumed ? messages.length : lastReply(messages);
  }

  #folder(name: string): string | undefined {
    if (this.#told.has(name) || this.#empty.has(name) || this.#left <= 0) return undefined;
    const { cwd, onNotice } = this.#options;
    if (!isDirectory(`${cwd}/${name}`)) {
      this.#empty.add(name);
      return undefined;
    }
    const found = loadFolderInstructions(`${cwd}/${name}`, { ...this.#options, maxBytes: this.#left });
    for (const notice of found.notices) onNotice?.(notice);
    if (found.files.length === 0) {
      this.#empty.add(name);
      return undefined;
    }
    this.#told.add(name);
    this.#left -= found.files.reduce((sum, file) => sum + file.text.length, 0);
    const files = found.files.map((file) => `## ${file.label}\n${file.text.trim()}`).join("\n\n");
    return `<instructions folder="${name}">\nThese apply to everything below ${name}.\n\n${files}\n</instructions>`;
  }
}

function lastReply(messages: readonly Message[]): number {
  const last = messages.findLastIndex((message) => message.role === "assistant");
  return last < 0 ? messages.length : last;
}
