import { forEachChild, parse, type ParsedScript, type SyntaxNode } from "unbash";
import { listed, wordPattern } from "./program.ts";
import type { VariableAssignment } from "./types.ts";

const MAX_LENGTH = 64 * 1024;
const MAX_DEPTH = 64;
/**
 * Node kinds whose meaning is known here. A newer parser's new kinds make a line unparsable instead of
 * unnoticed.
 */
const KINDS: ReadonlySet<string> = new Set([
  ..."Script Statement CompoundList CaseItem Elif Pipeline Time Negation AndOr Word Assignment ArrayValue"
    .split(" "),
  ..."Command If For ArithmeticFor Select While Subshell BraceGroup Case TestCommand ArithmeticCommand".split(
    " ",
  ),
  ..."Redirected Function Coproc Redirect HereString HereDoc HereDocDelimiter HereDocBody".split(" "),
  ..."FileDescriptor FileDescriptorVariable Literal Glob SingleQuoted DoubleQuoted AnsiCQuoted".split(" "),
  ..."LocaleString SimpleExpansion ParameterExpansion CommandExpansion ArithmeticExpansion".split(" "),
  ..."ProcessSubstitution ExtendedGlob BraceExpansion ArithmeticBinary ArithmeticUnary".split(" "),
  ..."ArithmeticTernary ArithmeticGroup ArithmeticWord ArithmeticCommandExpansion TestUnary".split(" "),
  ..."TestBinary TestLogical TestNot TestGroup Default Remove Replace Slice CaseModification".split(" "),
  ..."Transform Names".split(" "),
]);

/** Signals that a line cannot be parsed; the message says why. */
export class Unparsable extends Error {
  override readonly name = "Unparsable";
}

/** A parsed script with what can be said of it as a whole: result of the first pass. */
export interface Script {
  readonly source: string;
  readonly tree: ParsedScript;
  /** The number of times that each variable is written, by whatever means. */
  readonly writes: ReadonlyMap<string, number>;
  /** Functions may be taken back. */
  readonly forgets: boolean;
  /** Some command changes the working directory. */
  readonly moves: boolean;
  /** Word splitting is not the usual one. */
  readonly splitsOddly: boolean;
  /** The reason why the script as a whole could run anything, if so. */
  readonly dynamic?: string | undefined;
}

/** Parses a script and everything nested in it, or throws {@linkcode Unparsable}. */
export function parseScript(source: string): Script {
  if (source.length > MAX_LENGTH) throw new Unparsable(`it is longer than ${MAX_LENGTH} characters`);
  const odd = /[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069]/u.exec(source)?.[0];
  if (odd !== undefined) throw new Unparsable(`it contains the invisible character ${codePoint(odd)}`);
  const tree = parse(source);
  const surveyor = new Surveyor();
  surveyor.visit(tree, 0);
  return surveyor.finish(source, tree);
}

function codePoint(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Builtins that write variables named by their arguments. */
const WRITERS: ReadonlySet<string> = new Set(
  "read mapfile readarray printf getopts declare local typeset export readonly unset let wait".split(" "),
);
/** Builtins that evaluate array subscripts, and with them substitutions, in their arguments' text. */
const EVALUATORS: ReadonlySet<string> = new Set(
  "let unset read declare local typeset export readonly wait mapfile readarray getopts".split(" "),
);
/** The same, but only with `-v` (or `-R`). */
const FLAGGED_EVALUATORS: ReadonlySet<string> = new Set(["[", "test", "printf"]);
const FORGETTERS: ReadonlySet<string> = new Set(["eval", "source", ".", "trap"]);
/** Reports whether a word is the value of the option before it. */
function isOptionValue(name: string, before: string | undefined): boolean {
  const options = /^(?:mapfile|readarray)$/.test(name) ? /^-[a-z]*[dnOsuCc]$/ : /^-[a-z]*[pditnNu]$/;
  return /^(?:read|mapfile|readarray)$/.test(name) && before !== undefined && options.test(before);
}

class Surveyor {
  readonly #writes = new Map<string, number>();
  #forgets = false;
  #moves = false;
  #hiddenCode = false;
  #evaluates = false;
  #dynamic: string | undefined;

  visit(node: SyntaxNode, depth: number): void {
    if (!KINDS.has(node.type)) throw new Unparsable(`it uses syntax that is not known here (${node.type})`);
    if (depth > MAX_DEPTH) throw new Unparsable("it is nested too deeply");
    this.#inspect(node);
    forEachChild(node, (child) => this.visit(child, depth + 1));
  }

  #inspect(node: SyntaxNode): void {
    switch (node.type) {
      case "Script": {
        const error = "errors" in node ? node.errors?.[0] : undefined;
        if (error) throw new Unparsable(`it is not valid shell syntax: ${error.message}`);
        return;
      }
      case "CommandExpansion":
      case "ProcessSubstitution":
      case "ArithmeticCommandExpansion":
        if (!node.script) throw new Unparsable("a substitution in it could not be read");
        return;
      case "Command":
        return this.#command(
          node.name?.value,
          node.args.map((arg) => arg.type === "Word" ? arg.value : arg.text),
        );
      case "Assignment":
        // The subscript of an array is evaluated.
        if (node.index) this.#evaluates = true;
        return this.#write(node.name, node.value.type === "Word" ? node.value.value : undefined);
      case "For":
      case "Select":
        return this.#write(node.name.value);
      case "Coproc":
        return this.#write(node.name?.value ?? "COPROC");
      case "FileDescriptorVariable":
        return this.#write(node.name);
      case "SingleQuoted":
      case "AnsiCQuoted":
      case "Literal":
        if (/\$\(|`|\$\{/.test(node.value)) this.#hiddenCode = true;
        return;
      case "Word":
        if (!node.parts && /\\[$`]/.test(node.text)) this.#hiddenCode = true;
        return;
      default:
        this.#evaluation(node);
    }
  }

  #evaluation(node: SyntaxNode): void {
    switch (node.type) {
      case "ArithmeticExpansion":
      case "ArithmeticCommand":
        if (!node.expression && /[$`]/.test(node.type === "ArithmeticCommand" ? node.body : node.text)) {
          throw new Unparsable("an arithmetic expression in it could not be read");
        }
        this.#evaluates = true;
        return;
      case "ArithmeticWord":
        this.#evaluates = true;
        return;
      case "ArithmeticUnary":
      case "ArithmeticBinary":
        return this.#arithmetic(node);
      case "TestUnary":
      case "TestBinary":
        if (/^-[vReqnltg]/.test(node.operator)) this.#evaluates = true;
        return;
      case "ParameterExpansion":
        if (node.index || node.prefix === "!" || node.operation?.type === "Slice") this.#evaluates = true;
        if (node.operation?.type === "Default" && node.operation.operator.endsWith("=")) {
          this.#write(node.parameter);
        }
        return;
      case "Transform":
        if (node.operand.value.includes("P")) this.#dynamic ??= "it evaluates a variable as a prompt";
    }
  }

  #arithmetic(node: Extract<SyntaxNode, { type: "ArithmeticUnary" | "ArithmeticBinary" }>): void {
    const target = node.type === "ArithmeticUnary" ? node.operand : node.left;
    const writes = node.type === "ArithmeticUnary"
      ? /\+\+|--/.test(node.operator)
      : /^[^=!<>]?=$|<<=|>>=/.test(node.operator);
    if (writes && target.type === "ArithmeticWord") this.#write(target.value.replace(/\[.*$/s, ""));
  }

  #command(name: string | undefined, args: readonly string[]): void {
    if (name === undefined) return;
    if (name === "command" || name === "builtin") {
      return this.#command(args.find((arg) => !arg.startsWith("-")), args.slice(1));
    }
    if (/^(?:cd|pushd|popd)$/.test(name)) this.#moves = true;
    if (name === "unset" || FORGETTERS.has(name)) this.#forgets = true;
    if (EVALUATORS.has(name)) this.#evaluates = true;
    if (FLAGGED_EVALUATORS.has(name) && args.some((arg) => /^-[vR]/.test(arg))) this.#evaluates = true;
    if (FORGETTERS.has(name)) {
      this.#moves = true;
      this.#count("*");
    }
    if (WRITERS.has(name)) this.#writer(name, args);
  }

  #writer(name: string, args: readonly string[]): void {
    const refers = /^(?:declare|typeset|local)$/.test(name) && args.some((arg) => /^-[A-Za-z]*n/.test(arg));
    for (const [i, arg] of args.entries()) {
      if (name === "printf" ? !/^-v./.test(arg) && args[i - 1] !== "-v" : isOptionValue(name, args[i - 1])) {
        continue;
      }
      const target = name === "printf" ? arg.replace(/^-v/, "") : arg;
      const [, variable, value] = /^([A-Za-z_]\w*)(?:\[[^\]]*\])?(?:\+?=(.*))?/s.exec(target) ?? [];
      if (variable !== undefined) {
        // Removing a variable brings no code, and the text of an assignment was looked at with its node.
        if (/^(?:unset|wait|let)$/.test(name)) this.#count(variable);
        else this.#write(variable, value?.replace(/^(["'])(.*)\1$/s, "$2"));
        if (refers && value !== undefined) this.#write(/^\w+$/.test(value) ? value : "*", undefined);
      } else if (/[$`]/.test(target)) {
        this.#count("*");
        if (!/^(?:unset|wait|let)$/.test(name)) {
          this.#dynamic ??= `only the shell will know which variables ${name} sets`;
        }
      }
    }
  }

  #write(name: string, value?: string): void {
    if (setsCode(name, value)) this.#dynamic ??= codeReason(name);
    this.#count(name);
  }

  #count(name: string): void {
    this.#writes.set(name, (this.#writes.get(name) ?? 0) + 1);
  }

  finish(source: string, tree: ParsedScript): Script {
    const hidden = this.#evaluates && this.#hiddenCode
      ? "quoted text in it may be evaluated as code"
      : undefined;
    return {
      source,
      tree,
      writes: this.#writes,
      forgets: this.#forgets,
      moves: this.#moves,
      splitsOddly: this.#writes.has("IFS"),
      dynamic: this.#dynamic ?? hidden,
    };
  }
}

const CODE_VARIABLES = wordPattern("code variables");
const HARMLESS_VALUES = listed("harmless values").map(([name = "", value = ""]) =>
  [new RegExp(name), new RegExp(value)] as const
);
const PROGRAM_VARIABLES = wordPattern("program variables");
const LOOKUP_VARIABLES = wordPattern("lookup variables");
const HARMLESS_VARIABLES = wordPattern("harmless variables");

/** Reports whether giving this variable a value can make something run that the line does not name. */
export function setsCode(name: string, value: string | undefined): boolean {
  if (!CODE_VARIABLES.test(name)) return false;
  return value === undefined ||
    !HARMLESS_VALUES.some(([names, values]) => names.test(name) && values.test(value));
}

/** Reports whether a program is given as editor or pager to have none. */
export function isNoProgram(value: string): boolean {
  return !setsCode("PAGER", value);
}

export function codeReason(name: string): string {
  return `it sets ${name}, which can make other programs run something`;
}

/** Reports whether the variable's value is a program that others may start. */
export function namesProgram(name: string): boolean {
  return PROGRAM_VARIABLES.test(name);
}

/** Reports whether a variable decides which files programs run or take their settings from. */
export function affectsProgramLookup(name: string): boolean {
  return LOOKUP_VARIABLES.test(name);
}

/** Says why what is set in front of a command keeps rules from covering it; having no pager is no reason. */
export function riskyPrefix(assigns: readonly VariableAssignment[]): string | undefined {
  const risky = assigns.filter(({ name, value }) =>
    !/(?:PAGER|EDITOR|VISUAL)$/.test(name) || !isNoProgram(value)
  );
  return riskyVariable(risky.map(({ name }) => name));
}

/** Says why a variable in front of a command, or set for all later ones, keeps rules from covering it. */
export function riskyVariable(names: readonly string[]): string | undefined {
  const name = names.find((each) => !HARMLESS_VARIABLES.test(each));
  return name === undefined ? undefined : `it sets ${name}`;
}

/** The same for assignments of the shell itself: a variable that is not exported changes no other program. */
export function riskyAssignment(
  names: readonly string[],
  env: Readonly<Record<string, string>>,
): string | undefined {
  return riskyVariable(
    names.filter((name) =>
      name in env || CODE_VARIABLES.test(name) || PROGRAM_VARIABLES.test(name) ||
      LOOKUP_VARIABLES.test(name) ||
      /^(?:IFS|BASH\w*|GLOBIGNORE|POSIXLY_CORRECT|CDPATH)$/.test(name)
    ),
  );
}
