/** A part of a template: text for the model, or a line of the shell whose output it reads. */
export interface Piece {
  readonly kind: "text" | "shell";
  readonly template: string;
}

/** Splits a template at `` !`command` ``. */
export function piecesOf(body: string): readonly Piece[] {
  return body.split(/(!`[^`\n]+`)/).filter((part) => part !== "").map((part): Piece =>
    /^!`[^`\n]+`$/.test(part)
      ? { kind: "shell", template: part.slice(2, -1).trim() }
      : { kind: "text", template: part }
  );
}

/** `$$`, `$ARGUMENTS`, or `$` with the number of an argument. */
const PLACEHOLDER = /\$(?:(\$)|ARGUMENTS\b|(\d+))/g;

/** The value of a placeholder: all arguments, or the one with a number; empty when it is missing. */
function placeholderValue(args: string, number: string | undefined): string {
  if (number === undefined) return args;
  return args.split(/\s+/).filter((word) => word !== "")[Number(number) - 1] ?? "";
}

/**
 * Puts arguments in their places: `$ARGUMENTS` all of them, `$1` … single ones (empty when absent), `$$` a
 * dollar. What arguments themselves hold is left alone.
 */
export function fillIn(template: string, args: string): string {
  return template.replace(
    PLACEHOLDER,
    (_match, dollar: string | undefined, number: string | undefined) =>
      dollar !== undefined ? "$" : placeholderValue(args, number),
  );
}

/** Reports whether arguments have a place in a template. */
export function takesArguments(pieces: readonly Piece[]): boolean {
  return pieces.some(({ template }) =>
    [...template.matchAll(PLACEHOLDER)].some(([, dollar]) => dollar === undefined)
  );
}

/** An argument that has no place in a line of the shell where it would stay one word. */
export class UnsafeArgument extends Error {
  readonly argument: string;

  constructor(argument: string) {
    super(`${JSON.stringify(argument)} could become a separate command there`);
    this.argument = argument;
  }
}

/** Words that mean themselves wherever they stand. */
const INERT = /^[\w./:@%+,-]*$/;
/** Patterns and `~` are for the shell to fill in, as in a line that is typed; they begin no command. */
const PLAIN_WORD = /^[\w./:@%+,=~*?[\]-]*$/;

/** The quoting at a position of a line; "other": no quotes protect an argument there. */
type Context = "plain" | "double" | "single" | "other";

/**
 * Puts arguments in their places in a line of the shell, quoted as the place needs it, so that each stays an
 * argument: `$1` a word, `$ARGUMENTS` words, or in quotes all of the text. Throws UnsafeArgument where quotes
 * do not help: in `$((…))`, `${…}`, `$'…'`, behind `\` and in comments.
 */
export function fillInLine(template: string, args: string): string {
  const contexts = contextsOf(template);
  return template.replace(
    PLACEHOLDER,
    (match, dollar: string | undefined, number: string | undefined, at) => {
      if (dollar !== undefined) return "$";
      const value = placeholderValue(args, number);
      return quoted(value, contexts[at] ?? "other", match);
    },
  );
}

function quoted(value: string, context: Context, placeholder: string): string {
  if (Deno.build.os === "windows" || context === "other") {
    if (INERT.test(value)) return value;
    throw new UnsafeArgument(value);
  }
  if (context === "double") return value.replace(/[\\"$`]/g, "\\$&");
  if (context === "single") return value.replaceAll("'", "'\\''");
  const words = placeholder === "$ARGUMENTS" ? value.split(/\s+/).filter((word) => word !== "") : [value];
  return words.map((word) => PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}

function contextsOf(line: string): Context[] {
  const contexts: Context[] = [];
  /** Contexts that are open, with what closes each of them. */
  const open: { readonly context: Context; readonly end: string }[] = [];
  for (let at = 0; at < line.length; at++) {
    const { context, end } = open.at(-1) ?? { context: "plain", end: "" };
    contexts[at] = context;
    if (end !== "" && line.startsWith(end, at)) {
      open.pop();
      at += end.length - 1;
      continue;
    }
    if (context === "single") continue;
    if (line[at] === "\\") {
      contexts[++at] = "other";
      continue;
    }
    const found = OPENERS.find(({ text, inside, word }) =>
      inside.includes(context) && line.startsWith(text, at) &&
      (!word || /^$|[\s;&|()]/.test(line[at - 1] ?? ""))
    );
    if (!found) continue;
    open.push(found.opens);
    at += found.text.length - 1;
  }
  return contexts;
}

interface Opener {
  readonly text: string;
  readonly inside: readonly Context[];
  readonly opens: { readonly context: Context; readonly end: string };
  readonly word?: true;
}

/** A template holds one line; arithmetic has its own parentheses. */
const TO_THE_END = { context: "other", end: "\n" } as const;
const CODE = ["plain", "double"] as const;

/** Openings of contexts; the first match counts. */
const OPENERS: readonly Opener[] = [
  { text: "$((", inside: CODE, opens: TO_THE_END },
  { text: "((", inside: ["plain"], opens: TO_THE_END },
  { text: "${", inside: CODE, opens: { context: "other", end: "}" } },
  { text: "$'", inside: ["plain"], opens: { context: "other", end: "'" } },
  { text: "$(", inside: CODE, opens: { context: "plain", end: ")" } },
  { text: "(", inside: ["plain"], opens: { context: "plain", end: ")" } },
  { text: '"', inside: ["plain"], opens: { context: "double", end: '"' } },
  { text: "'", inside: ["plain"], opens: { context: "single", end: "'" } },
  { text: "#", inside: ["plain"], opens: TO_THE_END, word: true },
];
