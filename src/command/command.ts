import type { Assembly } from "../assembly/mod.ts";
import type { ApprovalMode, PermissionMode } from "../permission/mod.ts";

/** The session to open, and what differs from the flags of the command line. Absent: a new session. */
export interface OpenRequest {
  readonly resume?: string;
  /** Goes on in a copy of that session. */
  readonly copy?: boolean;
  /** Goes on with the latest session of the directory. */
  readonly continue?: boolean;
  readonly model?: string;
  readonly effort?: string;
  readonly approvalMode?: ApprovalMode;
  readonly permissionMode?: PermissionMode;
}

/** One of several things to choose from. */
export interface Choice<T> {
  readonly label: string;
  readonly detail?: string;
  readonly value: T;
  /** A key that chooses it at once. */
  readonly key?: string;
}

/** What a slash command finds around it: the session, and the front end it was typed into. */
export interface CommandHost {
  /** The session that is open. */
  session(): Promise<Assembly>;
  /** Everything that can be typed here. */
  commands(): Promise<readonly SlashCommand[]>;
  /** Shows the user a report, which is Markdown. Nothing of it is said to the model. */
  say(text: string): void;
  /** Lets the user choose; undefined when he left without. */
  choose<T>(title: string, choices: readonly Choice<T>[]): Promise<T | undefined>;
  /** Sends a text to the model as the user's. */
  send(text: string): void;
  /** Goes to another session, or goes on with this one and another model. */
  reopen(request: OpenRequest): Promise<void>;
  /** Leaves the front end. */
  quit(): void;
}

/** A command that the program itself carries out when a line begins with its name. */
export interface SlashCommand {
  /** Without the slash. */
  readonly name: string;
  readonly aliases?: readonly string[];
  /** What it does, one line. */
  readonly brief: string;
  /** What can follow the name, such as `[hint]`. */
  readonly argumentHint?: string;
  /** Throws ReasonixError for what the user can mend. */
  run(host: CommandHost, argument: string): void | Promise<void>;
}
