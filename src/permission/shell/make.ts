import { type Fed, isOpenFile, opaque } from "./fed.ts";

const FILE = /^(?:-[A-Za-z]*f|--(?:f|fi|fil|file|m|ma|mak|make|makef|makefi|makefil|makefile))(?:=(.*))?$/s;
const ATTACHED = /^-[bBdikLnpqrRsStvw]*f(.+)$/s;
/** Variables by which make itself decides what runs. */
const STEERING = /^(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|GNUMAKEFLAGS|MAKEFILES|MAKE|\.RECIPEPREFIX)$/;
const ASSIGNMENT = /^([^\s=:+?!]+)\s*(?:[:+?!]|::|:::)?=(.*)$/s;

/** What make is handed beside the rules of its project. */
export function makeCode(argv: readonly string[], name: string): Fed | undefined {
  for (let i = 1; i < argv.length; i++) {
    const word = argv[i] ?? "";
    const file = FILE.exec(word);
    const path = file ? file[1] ?? argv[i + 1] ?? "" : ATTACHED.exec(word)?.[1];
    if (path !== undefined && isOpenFile(path)) {
      return opaque(`${name} reads its rules from ${path || "nowhere"}`);
    }
    if (/^(?:-[CI]|--(?:directory|include-dir)=)?\/(?:dev|proc)\/(?!null$)/.test(word)) {
      return opaque(`${name} is sent to ${word.slice(0, 30)}`);
    }
    if (/^-[A-Za-z]*E/.test(word)) return opaque(`${name} is handed rules (${word.slice(0, 20)})`);
    const assignment = ASSIGNMENT.exec(word);
    if (!assignment) continue;
    const [, variable = "", value = ""] = assignment;
    if (STEERING.test(variable) || /!=|\$[({]\s*shell\b|`|\$\$[({]/.test(word) || /\$[({]/.test(value)) {
      return opaque(`${name} is given ${variable} as code`);
    }
  }
  return undefined;
}

/** Values of variables that stand for a program, as in `make CC=clang`. */
export function makePrograms(argv: readonly string[]): string[] {
  return argv.slice(1).flatMap((word) => ASSIGNMENT.exec(word)?.[2] ?? []);
}
