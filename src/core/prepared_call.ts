import type { ToolCall } from "./message.ts";
import type { Text } from "./texts.ts";

/** Families of tools that one permission rule can name together. */
export type ToolFamily = "Bash" | "Read" | "Edit" | "Mcp" | "Task" | "WebFetch" | "WebSearch";

/** The arguments of a call that the MCP server of its tool declares as addresses or queries of a search. */
export interface DeclaredSubject {
  /** The families whose rules concern the tool. */
  readonly families: readonly ToolFamily[];
  readonly urls: readonly string[];
  readonly queries: readonly string[];
  /** A plugin of this program declares it, so that allow rules count; those that restrict always do. */
  readonly isVouched: boolean;
}

export interface CommandLine {
  readonly line: string;
  /** The directory it starts in, as the model wrote it; absent: where the last command left off. */
  readonly directory?: string;
}

/**
 * A call whose tool exists and whose arguments fit, with what others need to know about it, filled in once by
 * the registry.
 *
 * Contract: plain data. The tool touches no path of the model's choice but `reads` and `writes`, where the
 * latter is present.
 */
export interface PreparedCall {
  readonly call: ToolCall;
  /** The tool's own name; `call.name` may be an alias. */
  readonly tool: string;
  /** By the tool's own argument names, checked against its schema. */
  readonly args: Record<string, unknown>;
  /** One line for people that says what the call does. */
  readonly title: Text;
  readonly family?: ToolFamily;
  /** It is known to change nothing. */
  readonly readOnly: boolean;
  /** The MCP server of the tool declares that it changes nothing. No one vouches for that. */
  readonly claimsToRead?: true;
  /** A plugin of this program that changes nothing, and sends its arguments to other machines. */
  readonly readsNetwork?: true;
  /**
   * Prefix of the tool names of the MCP server that the call is sent to, where it calls none of these tools.
   */
  readonly server?: string;
  /** It may run in plan mode, before anything is approved. Only what reads is; of a command its line says. */
  readonly planSafe: boolean;
  /** Files whose content the result can show, and directories that are searched, as the model wrote them. */
  readonly reads: readonly string[];
  /**
   * Files that would be written, moved or removed, as the model wrote them. Absent: unknown before it
   * runs.
   */
  readonly writes?: readonly string[];
  readonly command?: CommandLine;
  /**
   * The texts that rules by the tool's name are compared with in addition to its paths and its command, such
   * as a search pattern.
   */
  readonly subjects: readonly string[];
  /** Declared by the server of its arguments; files among them are in `reads`. */
  readonly declared?: DeclaredSubject;
  /**
   * The reason every such call needs approval, whatever was allowed before; continues "it would".
   */
  readonly alwaysAsk?: Text;
  /** It starts another agent, whose calls are judged one by one. */
  readonly delegates?: true;
  /**
   * The main process has the session's services and starts commands; a worker may write files and do nothing
   * else.
   */
  readonly runsIn: "main" | "worker";
}

/**
 * Returns what a call is about, in one text for people: its command, its paths or what else it names; empty
 * where it names nothing.
 */
export function subjectOf(
  { command, reads, writes = [], subjects }: Pick<PreparedCall, "command" | "reads" | "writes" | "subjects">,
): string {
  if (command) return command.line;
  const paths = writes.length > 0 ? writes : reads;
  return [...new Set(subjects.length > 0 ? subjects : paths)].join(", ");
}

const MAX_TEXT = 60;

/**
 * Returns the arguments of a call in one line for people: `path: "a.txt", count: 3, edits: […]`; as they were
 * sent where they are no JSON object.
 */
export function argumentsLine(sent: string): string {
  let value: unknown;
  try {
    value = JSON.parse(sent);
  } catch {
    return sent;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return sent;
  return Object.entries(value).map(([name, argument]) => `${name}: ${argumentText(argument)}`).join(", ");
}

function argumentText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : "[…]";
  if (typeof value === "object" && value !== null) return "{…}";
  if (typeof value !== "string") return String(value);
  return JSON.stringify(value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT - 1).toWellFormed()}…` : value);
}
