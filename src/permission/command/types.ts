import type { DestructiveAction } from "./reasons.ts";
import { ANY } from "../../rule/mod.ts";
/**
 * The results that the three passes over a command line hand on: parse → expand → effects; see
 * docs/permissions.md.
 */

/** The means by which a line is read. The functions are the only looks at the machine. */
export interface Environment {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly isDirectory: (path: string) => boolean;
  /** Returns where a path really leads, undefined when nothing is there. */
  readonly realPath: (path: string) => string | undefined;
  /**
   * Returns the content of a script that this session wrote, so that running it is judged by what it says.
   */
  readonly sessionScript?: ((path: string) => string | undefined) | undefined;
  /** Names that differ only by case are one program. */
  readonly ignoreCase?: boolean | undefined;
}

/**
 * A file that a command names. `path` may have unknown parts; relative ones count from the command's
 * directories.
 */
export interface FileUse {
  readonly path: string;
  /** Everything below the path is concerned too. */
  readonly deep?: true;
  /** It gets another name, under which a refusal to read what it holds would not find it. */
  readonly moved?: true;
  /** Opened by the shell for a redirection, so the command itself does not say so. */
  readonly redirect?: true;
  /** The content that is there is kept. */
  readonly append?: true;
}

/** The standard input of a command. */
export type Input =
  | { readonly kind: "inherited" }
  | { readonly kind: "pipe"; readonly from: readonly SimpleCommand[] }
  | { readonly kind: "file" }
  /** `text` is undefined when it has parts that only the shell knows. */
  | { readonly kind: "text"; readonly text: string | undefined };

/** The file that `<(…)` becomes: what another command prints, or reads. */
export const PROCESS_FILE: string = `/dev/fd/${ANY}`;

export const INHERITED: Input = { kind: "inherited" };

/** The source of the unknown words of a command. */
export interface Supply {
  readonly directories: readonly string[];
  /** Something is selected, not everything below the directories. */
  readonly filtered: boolean;
}

export interface VariableAssignment {
  readonly name: string;
  readonly value: string;
}

/** One command after expansion: result of the second pass. Words may have unknown parts (see pattern.ts). */
export interface SimpleCommand {
  /** As written in the line. */
  readonly text: string;
  /** Empty for a bare assignment, redirection or test. */
  readonly argv: readonly string[];
  readonly assigns: readonly VariableAssignment[];
  readonly reads: readonly FileUse[];
  readonly writes: readonly FileUse[];
  readonly input: Input;
  /** Directories it may run in; undefined when that is not known. */
  readonly cwds: readonly string[] | undefined;
  /** Functions of the line that are sure to be defined here. */
  readonly functions: ReadonlySet<string>;
  /** Programs that were looked through to find it. */
  readonly via?: readonly string[];
  readonly supply?: Supply | undefined;
}

/**
 * One way a rule may name a command: with everything in front of it, or as the program that runs in the end.
 */
export interface Invocation {
  readonly argv: readonly string[];
  /** Index in the first invocation's words at which this one begins. */
  readonly at: number;
  /** Only compared with rules that refuse or ask. */
  readonly refusals?: true;
}

/** Something that a command hands to another program or to a shell. */
export type Nested =
  | { readonly argv: readonly string[]; readonly supply?: Supply | undefined }
  /** Shell code; `inside` when the shell that runs it is the line's own. */
  | { readonly code: string; readonly inside?: true };

/** Paths that a program's table says would be destroyed, not yet judged by their location. */
export interface Destruction {
  readonly action: DestructiveAction;
  /** Requires approval only for some locations; absent: always. */
  readonly paths?: readonly string[];
  /** Which hits count: only root, home and workspace (`vital`), or all but the workspace's root. */
  readonly among?: "vital" | "notRoot";
  /** It happens on another machine, so that it takes an open network. */
  readonly elsewhere?: true;
}

/** The effects of a command: result of the third pass. */
export interface Effects {
  readonly command: SimpleCommand;
  /** Outermost first; the last that is not for refusals only is the program that runs in the end. */
  readonly runs: readonly Invocation[];
  /** Programs that were looked through, such as `sudo`. */
  readonly via: readonly string[];
  readonly reads: readonly FileUse[];
  readonly writes: readonly FileUse[];
  /** It talks to other machines. */
  readonly network: boolean;
  readonly destructive: readonly Destruction[];
  /** The reason why it could be any command, if so. */
  readonly dynamic?: string | undefined;
  /** It runs code that the line does not show: from a pipe, or from what another command prints. */
  readonly unseen?: true | undefined;
  /** Text of code in another language that it runs. */
  readonly code?: string | undefined;
  /** The commands that it runs are listed separately, and it does nothing else. */
  readonly wrapper: boolean;
  /** A rule for the inner command does not cover this one, for example because it runs as another user. */
  readonly guarded?: string | undefined;
  /** A variable is set that may change what runs, so no rule for the command covers it. */
  readonly risk?: string | undefined;
  /** Calls of the line's own functions, tests and harmless assignments, which run no program. */
  readonly noOp: boolean;
  /** Proven to change nothing. */
  readonly readOnly: boolean;
  readonly cwds: readonly string[] | undefined;
  /** Files that are run as programs or scripts. */
  readonly scripts: readonly string[];
  readonly nested: readonly Nested[];
}

/** A parsed command line. */
export interface Line {
  readonly commands: readonly Effects[];
  /** The reason why the line as a whole could run anything, if so. */
  readonly dynamic?: string | undefined;
  /** A function that starts itself more than once. */
  readonly forkBomb: boolean;
}

/** Returns the words of the program that runs in the end. */
export function program(effects: Pick<Effects, "runs">): readonly string[] {
  return effects.runs.findLast((run) => !run.refusals)?.argv ?? [];
}

/** Reports whether a device keeps nothing of what is written to it. */
export function isDiscardDevice(path: string): boolean {
  return /^\/dev\/(?:null|stdout|stderr|tty|fd\/\d+)$/.test(path);
}
