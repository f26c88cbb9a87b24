import type { EventBodies } from "../core/event_schema.ts";
import {
  type CommandLine,
  type DeclaredSubject,
  type ImagePart,
  type JsonSchema,
  type PreparedCall,
  type ReasonixError,
  type Text,
  textOf,
  type ToolFamily,
} from "../core/mod.ts";
import type { ToolServices } from "./services.ts";
import type { SpawnPlan } from "./shell/process.ts";

export type Truncation = NonNullable<EventBodies["tool.end"]["truncated"]>;
export type FileChange = NonNullable<EventBodies["tool.end"]["changes"]>[number];

/**
 * Decides which files a tool may touch. Both methods take a path as the model wrote it (relative paths count
 * from the working directory) and return the real absolute path to use.
 *
 * Contract: rejects with a `ReasonixError` whose message the model can act on; never creates anything.
 */
export interface WorkspacePolicy {
  read(path: string): Promise<string>;
  write(path: string): Promise<string>;
  readonly roots?: readonly string[];
  /** Reports whether a walker must skip this absolute path (forbidden or refused to read). Pure and cheap. */
  hidden(absolutePath: string): boolean;
  /** Checks again that the path leads to this open file, so that a swapped directory is refused. */
  verifyOpened?(file: Deno.FsFile, path: string, access?: "read" | "write"): Promise<void>;
}

export interface FailedCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly exitCode: number;
  readonly output: string;
}

/** Wraps a command line for the jail, if there is one. */
export interface CommandJail {
  wrap(argv: readonly string[], options: { readonly cwd: string }): SpawnPlan;
  /**
   * Offers a person to run a command again with a network or without the jail, when the jail seems to be why
   * it failed; `note` says for the model what was allowed. Absent: there is no prompt. Undefined: the jail is
   * not the cause; a string says why it was declined.
   */
  escape?(
    command: FailedCommand,
    signal: AbortSignal,
  ): Promise<{ readonly plan: SpawnPlan; readonly note: string } | string | undefined>;
}

/** The state of a file when the model last saw it, to find out whether it has changed. */
export interface FileVersion {
  readonly path: string;
  readonly mtimeMs: number;
  readonly size: number;
  /** Digest of the content, to distinguish a touched file from a changed one. */
  readonly hash?: string;
  /** A legacy encoding the file had, which its content may not show any more. */
  readonly encoding?: string;
}

/** Files seen in this session, by real path. Survives a restart of the tool worker. */
export interface FileReadTracker {
  get(path: string): FileVersion | undefined;
  set(path: string, version: FileVersion): unknown;
  delete(path: string): unknown;
  values(): Iterable<FileVersion>;
}

/** Tool settings from the configuration, plain data so that they can cross to the worker. */
export interface ToolSettings {
  readonly bashTimeoutSeconds: number;
  /** Free space on the disks a command can fill below which it is ended; 0: no limit. */
  readonly minFreeDiskMb: number;
  readonly shell: { readonly prefer: "auto" | "bash" | "powershell" | "pwsh"; readonly path?: string };
  readonly ensureTrailingNewline: boolean;
  readonly writes: "allow" | "dry-run" | "deny";
  readonly vision: boolean;
}

/**
 * The text files of an editor that is the client of a session. Without a method the client does not offer
 * that.
 *
 * Contract: paths are real and absolute. Both reject with the reason of the client, with a `ReasonixError`
 * when the client is gone, and soon after the signal aborts.
 */
export interface ClientFiles {
  /** Real paths of the directories that the client shows; other files are read and written on the disk. */
  readonly directories: readonly string[];
  /** Returns the text in the editor, saved or not; undefined: the client has no such file. */
  read?(path: string, signal: AbortSignal): Promise<string | undefined>;
  /** Creates or replaces a file. Resolves when the client says that it is written. */
  write?(path: string, text: string, signal: AbortSignal): Promise<void>;
}

export interface ToolContext {
  readonly callId: string;
  readonly cwd: string;
  readonly paths: WorkspacePolicy;
  readonly jail: CommandJail;
  readonly seen: FileReadTracker;
  readonly settings: ToolSettings;
  /** Absent: all files are read and written on the disk. */
  readonly files?: ClientFiles | undefined;
  /** Directory for full texts of cut outputs; created on first use. */
  readonly outputDir: string;
  readonly signal: AbortSignal;
  readonly services?: ToolServices;
  /** Returns the variables that make work a part of the trace of a call; absent: there is no telemetry. */
  readonly trace?: ((callId: string) => Readonly<Record<string, string>>) | undefined;
  /** Live output for readers; not what the model sees. */
  progress(text: string): void;
}

/** The result of a call. `content` is exactly what the model reads, already bounded. */
export interface ToolResult {
  readonly content: string;
  readonly isError?: boolean;
  readonly images?: readonly ImagePart[];
  /** One line for people, such as "42 lines" or "+3 −1". */
  readonly summary: Text;
  readonly changes?: readonly FileChange[];
  readonly truncated?: Truncation;
  readonly exitCode?: number;
  readonly signal?: string;
  /** The confinement to the workspace refused the call. */
  readonly refused?: true;
  /** A person was asked, and did not allow the call: it was not executed. */
  readonly denied?: true;
  /** The turn is done with this call; `answer` is what it ends with in place of the model's last words. */
  readonly endsTurn?: { readonly answer?: string };
}

/**
 * One capability the model can call.
 *
 * Contract: a failure is a result with `isError`, not an exception; only an abort throws. Output is already
 * bounded.
 */
export interface Tool {
  readonly name: string;
  /** The name under which the model is offered it, where no other tool has that. */
  readonly alias?: string;
  readonly description: string;
  readonly schema: JsonSchema;
  /** It changes nothing. Of a tool of an MCP server this is a claim; see {@linkcode isKnownToRead}. */
  readonly readOnly: boolean;
  /** The user vouches for the claim of an MCP server that the tool changes nothing. */
  readonly trusted?: boolean;
  /** {@linkcode PreparedCall.readsNetwork} */
  readonly readsNetwork?: true;
  /** False: plan mode refuses it although it only reads. Nothing that writes can be made safe by it. */
  readonly planSafe?: false;
  /** The facts that do not hold for a call. Pure; absent: all hold for every call. */
  readonly limits?: (args: Arguments) => { readonly readOnly?: false; readonly planSafe?: false };
  /** Other argument names models use, by the schema's; `null` accepts and drops the argument. */
  readonly synonyms?: Readonly<Record<string, string | null>>;
  /** Further arguments that are understood but not offered: models bring them from other agents. */
  readonly unoffered?: Readonly<Record<string, JsonSchema>>;
  /** Turns arguments of another shape into the tool's own before they are checked. Pure. */
  readonly translate?: (args: Arguments) => Arguments;
  /** The failure of a call that cannot begin; changes nothing. Absent: calls are run dry. */
  readonly check?: (args: Arguments, context: ToolContext) => Promise<ToolResult | undefined>;
  /**
   * One line for people that says what a call does: `edit src/a.ts`. Pure; absent: the name and what it is
   * about.
   */
  readonly title?: (args: Arguments) => Text;
  /**
   * Its work consists of calls of another agent, each with its own decision; neighboring calls run together.
   */
  readonly delegates?: true;
  /** The family of permission rules; absent: only rules with its name. */
  readonly family?: ToolFamily;
  /** Returns {@linkcode PreparedCall.server}. Pure. */
  readonly server?: (args: Arguments) => string;
  /** Absent: the main process. Only a tool that declares what it writes can run in a worker. */
  readonly runsIn?: PreparedCall["runsIn"];
  /**
   * Files whose content the model could see, and directories a call searches, as it wrote them. Pure; absent:
   * none.
   */
  readonly reads?: (args: Arguments) => readonly string[];
  /**
   * Files a call would write, move or remove, as the model wrote them. Pure; absent: none where it only
   * reads, else unknown.
   */
  readonly writes?: (args: Arguments) => readonly string[];
  readonly command?: (args: Arguments) => CommandLine;
  /**
   * Other subjects of a call. Pure; absent in a tool that declares nothing: every text among its arguments.
   */
  readonly subjects?: (args: Arguments) => readonly string[];
  /** Returns {@linkcode PreparedCall.declared}. Pure. */
  readonly declared?: (args: Arguments) => DeclaredSubject;
  /** False: it is not offered to the model, but calls that name it work. */
  readonly offered?: boolean;
  /** Names the tool that a call is really for, with its arguments. Pure; undefined: the tool itself. */
  readonly redirect?: (args: Arguments) => RedirectedCall | undefined;
  /**
   * Every call needs approval by a person, in all modes and whatever was answered before. Without a person it
   * is refused, unless an allow rule names the tool or `--on-ask allow` is set. Returns what the call would
   * do. Pure.
   */
  readonly alwaysAsk?: (args: Arguments) => Text;
  execute(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult>;
}

/**
 * A tool that is known to change nothing. The claim of an MCP server affects prompts, but never allows a
 * call.
 */
export function isKnownToRead({ family, readOnly, trusted }: Tool): boolean {
  return family === "Mcp" ? trusted === true : readOnly;
}

interface RedirectedCall {
  readonly tool: string;
  readonly args: unknown;
  readonly among: readonly string[];
}

export type Arguments = Readonly<Record<string, unknown>>;

/** The texts among some values: what a path argument names, where it is given. */
export function texts(...values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === "string");
}

/** Failure as the model reads it. */
export function failure(message: Text, remedy?: Text): ToolResult {
  return {
    content: `error: ${textOf(message)}${remedy ? `; ${textOf(remedy)}` : ""}`,
    isError: true,
    summary: message,
  };
}

export function errorResult(error: ReasonixError): ToolResult {
  const result = failure(error.texts.message, error.texts.remedy);
  return error.exit === "blocked" ? { ...result, refused: true } : result;
}

export type WritePolicy = ToolSettings["writes"];

export function insteadOfWriting(writes: Exclude<WritePolicy, "allow">): string {
  return writes === "deny"
    ? "put the change into your answer as a unified diff"
    : "use the edit tools, which show the diff without writing it";
}

/** A hint for a command that seems to have failed since it cannot change the workspace. */
export function writesHint(writes: WritePolicy, output: string): string | undefined {
  if (writes === "allow" || !/read-only file system|\bEROFS\b|operation not permitted/i.test(output)) {
    return undefined;
  }
  return `[commands cannot change the workspace in this run; ${insteadOfWriting(writes)}]`;
}
