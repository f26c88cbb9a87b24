import { isKnown } from "../../rule/mod.ts";
import type { Input } from "./line.ts";

/** What a program does with code it is handed. */
export type Fed =
  /** Shell code that can be read here. */
  | { readonly kind: "code"; readonly code: string }
  /** A script file that it reads. */
  | { readonly kind: "script"; readonly path: string }
  | { readonly kind: "opaque"; readonly reason: string };

export function opaque(reason: string): Fed {
  return { kind: "opaque", reason };
}

export function staticCode(code: string, otherwise: string): Fed {
  return isKnown(code) ? { kind: "code", code } : opaque(otherwise);
}

/** Files that lead back to what the line itself gives, or that only the shell will know. */
export function isOpenFile(path: string): boolean {
  return !isKnown(path) || /^(?:-$|\/(?:dev|proc)\/)/.test(path);
}

/** A script that is run: one that cannot be told apart from input is code nobody has seen. */
export function scriptOf(path: string, name: string): Fed {
  return isOpenFile(path) ? opaque(`${name} runs what it is given as input`) : { kind: "script", path };
}

/** Shell code that arrives as standard input. */
export function inputCode(name: string, input: Input): Fed {
  return input.kind === "text" && input.text !== undefined
    ? { kind: "code", code: input.text }
    : opaque(`${name} runs what it is given as input`);
}
