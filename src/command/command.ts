import type { ExitName } from "../core/mod.ts";
import type { Assembly, AssemblyOptions, RunOptions, TurnInput } from "../run/mod.ts";
import type { PluginEntry, ProviderEntry } from "../config/mod.ts";
import type { Locale } from "../i18n/mod.ts";

/** The session to open, and what differs from the flags of the command line. Absent: a new session. */
export interface OpenRequest
  extends
    Pick<RunOptions, "resume" | "copy" | "continue" | "effort" | "approvalMode" | "sessionId">,
    Pick<AssemblyOptions, "files"> {
  /** Absolute path of the working directory. */
  readonly directory?: string;
  /** Absolute paths of further directories that may be written. */
  readonly roots?: readonly string[];
  /** MCP servers of the client, in addition to those of the configuration. */
  readonly servers?: readonly PluginEntry[];
  /** The first turn waits for servers that no run has met yet. */
  readonly waitForServers?: boolean;
  readonly model?: string;
  /** A provider that the configuration has not, or not with this model. */
  readonly offered?: ProviderEntry;
}

export interface Choice<T> {
  readonly label: string;
  readonly detail?: string;
  readonly value: T;
  readonly key?: string;
  /** Text shown while the entry is the current one. */
  readonly preview?: () => string | Promise<string>;
}

export interface ChooseOptions<T> {
  /** Index of the entry to begin with. */
  readonly current?: number;
  /** Typing filters the list; for long ones. */
  readonly filter?: boolean;
  /** Nothing is decided by it: `q` leaves it as well. */
  readonly reading?: boolean;
  /** Hears of the current entry as it changes. */
  readonly onMove?: (value: T) => void;
}

export interface ChangedFile {
  /** Safe for a terminal. */
  readonly path: string;
  /** The change, in the language of the user. */
  readonly what: string;
  readonly added: number;
  readonly removed: number;
  /** Hunks of a unified diff; absent when there is no text to compare. */
  readonly diff?: string;
}

export interface ConfirmOptions {
  /** The subject of the question, in full. */
  readonly text?: string;
  /** It cannot be taken back. */
  readonly danger?: boolean;
}

export interface PromptOptions {
  /** The text is shown nowhere, and no event has it. */
  readonly secret?: true;
}

/** Opens the page, with a link for its owner or for viewers, or closes it. */
export type WebAction = "open" | "share" | "off";

/** The session, and the front end that a slash command was typed into. */
export interface CommandHost {
  readonly locale: Locale;
  /** No one can be asked and there is no other session to go to: the command is a whole run. */
  readonly headless?: boolean;
  /** The front end shows this session and no other. */
  readonly oneSession?: boolean;
  /** The front end shows what happens in the session, such as a compaction or a change of the goal. */
  readonly showsEvents?: true;
  /** The session that is open; where none is, it is opened. */
  session(): Promise<Assembly>;
  /** False: no session is open, and none is being opened. Absent: one is. */
  readonly opening?: boolean;
  commands(): Promise<readonly SlashCommand[]>;
  /**
   * Shows the user a report. Nothing of it is said to the model.
   *
   * @param form Markdown when absent; plain: lines with columns, to be shown as they are
   */
  say(text: string, form?: "plain"): void;
  /**
   * Lets the user choose; undefined when they left without. The first line of the title is the question, what
   * follows explains it. Like `confirm` and `prompt` it rejects with a ReasonixError without a user.
   */
  choose<T>(
    title: string,
    choices: readonly Choice<T>[],
    options?: ChooseOptions<T>,
  ): Promise<T | undefined>;
  /** Asks for a yes; leaving is a no. */
  confirm(question: string, options?: ConfirmOptions): Promise<boolean>;
  /** Asks for a text, beginning with `initial`; undefined when the user left without. */
  prompt(question: string, initial?: string, options?: PromptOptions): Promise<string | undefined>;
  /** Shows a text to be read until the user leaves it; not kept in the history. */
  show(title: string, text: string): Promise<void>;
  /** Lets the user look through changes of files until they leave. Absent: they are printed. */
  lookAt?(title: string, files: readonly ChangedFile[]): Promise<void>;
  /** Sends a text to the model as the user's: the next turn. */
  send(text: string, rest?: Omit<TurnInput, "text">): void;
  /** Opens another session, or continues this one with another model. */
  reopen(request: OpenRequest): Promise<void>;
  quit(): void;
  /** Asks for a provider and saves it; false when the user gave up. Absent where it cannot ask that. */
  setUp?(): Promise<boolean>;
  /** Changes to a view of the chat, without one to the other. Absent where there is one view. */
  view?(view?: "scroll" | "full"): Promise<void>;
  /** Starts the web page of this program and shows a link to it, or closes it. Absent where there is none. */
  web?(what: WebAction): Promise<void>;
  /** Lends the user's terminal to another program while `run` runs. Absent where there is none. */
  readonly terminal?: <T>(run: () => Promise<T>) => Promise<T>;
  /** Puts a text where the user types, for him to change and send. */
  draft?(text: string): void;
  /** Writes a control sequence to the user's terminal. Absent where there is none. */
  control?(sequence: string): void;
  /** Ends a run with this code and reason: its work is not complete. Absent in a chat. */
  endedEarly?(exit: ExitName, reason: string): void;
  /** The keys of the front end and what they do, as Markdown. */
  keys?(): string | Promise<string>;
  /** A setting has another value from now on, or while the user looks at it; the front end follows some. */
  settingSaved?(key: string, value: unknown): void | Promise<void>;
}

export interface ArgumentValue {
  readonly value: string;
  /** Other words that find it, such as a title. */
  readonly also?: string;
  readonly detail?: string;
  /** More is to be written right behind it. */
  readonly open?: boolean;
}

export interface TypedArguments {
  readonly before: readonly string[];
  readonly word: string;
}

/** The work of a command; loaded when it is used. */
export interface CommandBody {
  /**
   * Executes it; the signal stops long work. Throws ReasonixError for errors that the user can fix.
   *
   * @param argument what follows the name, without blanks around it
   */
  run(host: CommandHost, argument: string, signal?: AbortSignal): void | Promise<void>;
  /** Values that can follow what is written; of a command of the program those for the first word. */
  complete?(
    host: CommandHost,
    typed: TypedArguments,
  ): readonly ArgumentValue[] | Promise<readonly ArgumentValue[]>;
  /** Values for the words behind the first one, of a command of the program. */
  completeNext?(
    host: CommandHost,
    typed: TypedArguments,
  ): readonly ArgumentValue[] | Promise<readonly ArgumentValue[]>;
}

/** A command that the program executes when a line begins with its name. */
export interface SlashCommand extends CommandBody {
  /** Without the slash. */
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly brief: string;
  /** Arguments, such as `[hint]`. */
  readonly argumentHint?: string;
  readonly chatOnly?: true;
  readonly forTerminal?: true;
  readonly whileWorking?: true | ((argument: string) => boolean);
  readonly kind: "builtin" | "markdown" | "skill" | "prompt";
  /** The file or the MCP server it comes from; absent for the program's own. */
  readonly origin?: string;
}
