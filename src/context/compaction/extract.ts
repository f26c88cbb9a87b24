import type { Message, PreparedCall, ToolCall } from "../../core/mod.ts";
import { middleCut } from "./transcript.ts";
import { oneLine } from "../../util/terminal_text.ts";

/** The facts about removed messages that need no model. */
export interface Extract {
  readonly changed: readonly string[];
  readonly read: readonly string[];
  readonly commands: readonly string[];
  readonly errors: readonly string[];
  /** The assistant's latest own words. */
  readonly said: readonly string[];
}

const MAX_FILES = 60;
const MAX_COMMANDS = 30;
const MAX_ERRORS = 15;
const MAX_SAID = 6;
const LINE = 200;
const SAID = 700;

/** Finds out what a call of the conversation was about. */
export type DescribeCall = (call: ToolCall) => PreparedCall | undefined;

/** Collects files, commands and errors from the calls and results, newest last, without repeats. */
export function extract(messages: readonly Message[], describe: DescribeCall): Extract {
  const changed = new Set<string>();
  const read = new Set<string>();
  const commands: string[] = [];
  const errors = new Set<string>();
  const said: string[] = [];
  const open = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "assistant") {
      if (message.content.trim() !== "") said.push(middleCut(message.content.trim(), SAID));
      for (const call of message.calls ?? []) {
        const { reads = [], writes = [], command } = describe(call) ?? {};
        for (const path of reads) if (path !== ".") renew(read, path);
        for (const path of writes) renew(changed, path);
        if (command) {
          open.set(call.id, oneLine(command.line, LINE));
          commands.push(oneLine(command.line, LINE));
        }
      }
    } else if (message.role === "tool") {
      const problem = problemOf(message.content);
      if (problem) renew(errors, `${open.get(message.callId) ?? message.name}: ${problem}`);
    }
  }
  for (const path of changed) read.delete(path);
  return {
    changed: [...changed].slice(-MAX_FILES),
    read: [...read].slice(-MAX_FILES),
    commands: [...new Set(commands.reverse())].slice(0, MAX_COMMANDS).reverse(),
    errors: [...errors].slice(-MAX_ERRORS),
    said: said.slice(-MAX_SAID),
  };
}

/** The extract as the summary of last resort. */
export function extractText(found: Extract): string {
  const list = (title: string, items: readonly string[]) =>
    items.length === 0 ? [] : [`${title}:\n${items.map((item) => `- ${item}`).join("\n")}`];
  const parts = [
    ...list("Files changed", found.changed),
    ...list("Files read", found.read),
    ...list("Commands run", found.commands),
    ...list("Errors seen", found.errors),
    ...list("Said along the way", found.said.map((text) => text.replace(/\n+/g, " / "))),
  ];
  return parts.length === 0 ? "Nothing but passing remarks was left out." : parts.join("\n\n");
}

/** A failure as one line: its own message, or the last words before a bad exit. */
function problemOf(content: string): string | undefined {
  if (/^(?:error|blocked):/.test(content)) return oneLine(content, LINE);
  const exit = /\[exit code (\d+)\]/.exec(content.slice(-200));
  if (!exit || exit[1] === "0") return undefined;
  const last = content.replace(/\[exit code \d+\][\s\S]*$/, "").trimEnd().slice(-LINE);
  return oneLine(`exit code ${exit[1]}: ${last}`, LINE);
}

/** Adds at the end, also when it was there before. */
function renew(set: Set<string>, item: string): void {
  set.delete(item);
  set.add(item);
}
