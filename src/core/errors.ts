import { type MessageTexts, type Text, textOf } from "./texts.ts";

/** The process exit codes of docs/exit-codes.md, by name. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  blocked: 3,
  limit: 4,
  provider: 5,
  config: 6,
  findings: 7,
  interrupt: 130,
  terminated: 143,
} as const;

export type ExitName = keyof typeof EXIT;

/** A place in a file the user can open. Line and column are 1-based. */
export interface SourceLocation {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
}

export function formatLocation(place: SourceLocation): string {
  const column = place.column === undefined ? "" : `:${place.column}`;
  return place.line === undefined ? place.file : `${place.file}:${place.line}${column}`;
}

/**
 * An error meant for the user: `message` says what could not be done with the offending value, `remedy` what
 * to do next. The exit name decides the process exit code when the error reaches the command line. `setting`
 * is the key, inside the table in question, whose value it is about.
 */
export class ReasonixError extends Error {
  override readonly name: string = "ReasonixError";
  readonly exit: ExitName;
  readonly remedy: string | undefined;
  /** Message and remedy for other languages. */
  readonly texts: MessageTexts;
  readonly place: SourceLocation | undefined;
  readonly setting: string | undefined;

  constructor(
    message: Text,
    options: {
      exit?: ExitName;
      remedy?: Text;
      place?: SourceLocation;
      setting?: string;
      cause?: unknown;
    } = {},
  ) {
    super(textOf(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.exit = options.exit ?? "failed";
    this.remedy = options.remedy === undefined ? undefined : textOf(options.remedy);
    this.texts = { message, ...(options.remedy === undefined ? {} : { remedy: options.remedy }) };
    this.place = options.place;
    this.setting = options.setting;
  }
}

/** The error of a command or flag that cannot mean what was written. */
export function usageError(message: Text, remedy?: Text): ReasonixError {
  return new ReasonixError(message, { exit: "usage", ...(remedy === undefined ? {} : { remedy }) });
}

/** The text of anything thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Reports whether an error is the result of an abort signal. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && (error.name === "AbortError" || error.name === "TimeoutError");
}
