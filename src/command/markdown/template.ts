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
export const PLACEHOLDER = /\$(?:(\$)|ARGUMENTS\b|(\d+))/g;

/** What stands for a placeholder: all arguments, or the one of a number; empty when there is none. */
export function placeholderValue(args: string, number: string | undefined): string {
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
