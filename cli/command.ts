/** Subcommands as data: their flags, arguments and help next to the function that executes them. */
import { message, ReasonixError, usageError } from "../src/core/mod.ts";
import type { CliContext } from "./terminal/process.ts";

/** Values that shell completion proposes; `commands/completion/values.ts` has one function for each. */
export type ValueKind =
  | "bundles"
  | "models"
  | "plugins"
  | "pluginCommands"
  | "removable"
  | "presets"
  | "sessions"
  | "settings"
  | "servers"
  | "serverTools"
  | "shells"
  | "task";

export interface Proposal {
  readonly word: string;
  readonly brief?: string;
}

export interface Flag {
  readonly kind: "boolean" | "parsed" | "enum";
  readonly brief: string;
  readonly optional?: true;
  readonly default?: string;
  /** Shown by `--help-all` only. */
  readonly hidden?: true;
  readonly placeholder?: string;
  readonly values?: readonly string[];
  readonly variadic?: true;
  /** False: there is no `--no-…`. */
  readonly withNegated?: false;
  /** `--flag` alone is `--flag ""`. */
  readonly inferEmpty?: true;
  readonly parse?: (text: string) => unknown;
  readonly complete?: ValueKind;
}

export interface Argument {
  readonly brief: string;
  readonly placeholder: string;
  readonly parse: (text: string) => string;
  readonly optional?: true;
  readonly complete?: ValueKind;
}

type FlagTable = Readonly<Record<string, Flag>>;

type FlagValue<F> = F extends { kind: "boolean" } ? boolean
  : F extends { kind: "enum"; values: readonly (infer V)[] } ? V
  : F extends { variadic: true } ? readonly string[]
  : F extends { parse: (text: string) => infer V } ? V
  : never;

export type FlagsOf<T extends FlagTable> =
  & { readonly [K in keyof T as T[K] extends { optional: true } ? K : never]?: FlagValue<T[K]> }
  & { readonly [K in keyof T as T[K] extends { optional: true } ? never : K]: FlagValue<T[K]> };

/** A subcommand. `args` are its arguments one by one; `rest` takes any number of them. */
export interface Command<T extends FlagTable = FlagTable> {
  readonly description?: string;
  readonly flags?: T;
  readonly aliases?: Readonly<Partial<Record<string, keyof T & string>>>;
  readonly args?: readonly Argument[];
  readonly rest?: Argument & { readonly minimum?: number };
  run(this: CliContext, flags: FlagsOf<T>, ...args: string[]): void | Promise<void>;
}

/** A group of subcommands, each with one line about it. */
export interface CommandGroup {
  readonly commands: Readonly<Record<string, GroupEntry>>;
}

interface GroupEntry {
  readonly brief: string;
  /** Not listed: only the program itself uses it. */
  readonly hidden?: true;
  readonly command: Command | CommandGroup;
}

/** Checks a subcommand against its flags. */
export function command<const T extends FlagTable>(spec: Command<T>): Command {
  return spec as Command;
}

export function entry<const T extends FlagTable>(brief: string, spec: Command<T>): GroupEntry {
  return { brief, command: spec as Command };
}

const text = (value: string) => value;

interface OptionMore {
  readonly hidden?: true;
  readonly complete?: ValueKind;
}

export function flag<const M extends Pick<OptionMore, "hidden">>(brief: string, more?: M) {
  return { kind: "boolean", optional: true, withNegated: false, brief, ...more } as const;
}

/** A flag with `--no-…`. */
export function toggle(brief: string) {
  return { kind: "boolean", optional: true, brief } as const;
}

export function option(brief: string, placeholder: string, more: OptionMore = {}) {
  return { kind: "parsed", parse: text, optional: true, brief, placeholder, ...more } as const;
}

export function options(brief: string, placeholder: string) {
  return { ...option(brief, placeholder), variadic: true } as const;
}

export function parsed<V>(
  brief: string,
  placeholder: string,
  parse: (value: string) => V,
  more: OptionMore = {},
) {
  return { kind: "parsed", parse, optional: true, brief, placeholder, ...more } as const;
}

export function choice<const V extends readonly string[]>(
  brief: string,
  values: V,
  more: { readonly placeholder?: string; readonly hidden?: true } = {},
) {
  return { kind: "enum", values, optional: true, brief, ...more } as const;
}

/** A choice that has a value in any case. */
export function setting<const V extends readonly string[]>(brief: string, values: V, preset: V[number]) {
  return { kind: "enum", values, default: preset, brief } as const;
}

export function argument(brief: string, placeholder: string, complete?: ValueKind): Argument {
  return { brief, placeholder, parse: text, ...(complete === undefined ? {} : { complete }) };
}

export function optional(argument: Argument): Argument {
  return { ...argument, optional: true };
}

export const JSON_FLAG = flag("Print JSON");

/** A whole number of at least `least`. Throws ReasonixError (usage). */
export function wholeNumber(flagName: string, least: number): (value: string) => number {
  return (value) => {
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (Number.isSafeInteger(number) && number >= least) return number;
    throw unusable(value, flagName, `a whole number from ${least} on`);
  };
}

/** A flag as users write it. */
export function flagWord(name: string): string {
  return `--${kebab(name)}`;
}

/** The parser names options as the code does. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function unusable(value: string, flagName: string, wanted: string): ReasonixError {
  return usageError(message`Cannot use "${value}" for ${flagName}: give ${wanted}`);
}
