import { isKnown } from "../../rule/mod.ts";
import { CODE_MODULES, CODE_OPTIONS, CODE_WORDS, FLAG_OPTIONS, STDIN_READERS } from "./code_options.ts";
import { databaseCode } from "./databases.ts";
import { type Fed, isOpenFile, opaque, staticCode } from "./fed.ts";
import { type Input, isLong } from "./line.ts";
import { makeCode } from "./make.ts";
import { isShell, scriptFile, shellCode } from "./shells.ts";
import { awkCode, sedCode } from "./text_programs.ts";

/** Builtins that start commands by names of their own, or change what a name means. */
const REBINDERS: ReadonlySet<string> = new Set(["alias", "bind", "enable", "complete", "compgen"]);

/** Code that a program is handed by its words or its input. Undefined: none. */
export function fedCode(argv: readonly string[], name: string, input: Input): Fed | undefined {
  if (isShell(name)) return shellCode(argv, name, input);
  return builtinCode(argv, name) ?? programCode(argv, name, input);
}

function builtinCode(argv: readonly string[], name: string): Fed | undefined {
  const words = argv[1] === "--" ? argv.slice(2) : argv.slice(1);
  switch (name) {
    case "eval":
      return staticCode(words.join(" "), "eval of something that only the shell will know");
    case "trap":
      return trapCode(words);
    case ".":
    case "source":
      return scriptFile(words, name);
    case "fc":
      return words.some((word) => /^-[a-z]*l/.test(word))
        ? undefined
        : opaque("fc runs earlier commands again");
    case "jobs":
      return argv.includes("-x") ? opaque("jobs -x runs a command") : undefined;
    case "hash":
      return argv.includes("-p") ? opaque("hash -p gives a program another name") : undefined;
    case "mapfile":
    case "readarray":
      return argv.some((word) => /^-[A-Za-z]*C/.test(word))
        ? opaque(`${name} -C runs a command for each line`)
        : undefined;
    default:
      return REBINDERS.has(name) && argv.length > 1
        ? opaque(`${name} changes what later words mean`)
        : undefined;
  }
}

function trapCode(words: readonly string[]): Fed | undefined {
  const [code] = words;
  if (code === undefined || words.length < 2 || code === "-" || code === "" || /^-[lpP]/.test(code)) {
    return undefined;
  }
  return staticCode(code, "trap runs something that only the shell will know");
}

function programCode(argv: readonly string[], name: string, input: Input): Fed | undefined {
  if (/^[gmn]?awk$|^busybox-awk$/.test(name)) return awkCode(argv, name);
  if (name === "sed" || name === "gsed") return sedCode(argv, name);
  if (/^(?:g?make|remake)$/.test(name)) {
    const told = makeCode(argv, name);
    if (told) return told;
  }
  return databaseCode(argv, name, input) ?? optionCode(argv, name) ?? scriptCode(argv, name, input);
}

const SCRIPT = /\.(?:py|js|mjs|cjs|ts|mts|tsx|pl|rb|php|lua|R|jl)$/;
const PYTHON = /^(?:python|pypy)/;

/** The words an interpreter takes for itself; what follows its script or module is that one's business. */
function ownWords(argv: readonly string[], name: string): readonly string[] {
  const python = PYTHON.test(name);
  const end = argv.findIndex((word, i) =>
    i > 0 &&
    ((python && /^-[A-Za-z]*m$/.test(word)) ||
      (SCRIPT.test(word) && !word.startsWith("-") && !argv[i - 1]?.startsWith("-")))
  );
  return argv.slice(1, end < 0 ? undefined : end + 1);
}

function optionCode(argv: readonly string[], name: string): Fed | undefined {
  const words = CODE_WORDS[name.replace(/^(?:g|b|bsd)(?=tar$|make$|sort$|split$)/, "")];
  const told = words && argv.find((word) => isLong(word, words));
  const bundled = /tar$/.test(name) && /^[A-Za-z]*[IF]/.test(argv[1] ?? "");
  if (told !== undefined || bundled) return opaque(`${name} is handed a command (${told ?? argv[1]})`);
  for (const options of codeOptions(name)) {
    const option = ownWords(argv, name).find((word) =>
      options.test(word) || (!isKnown(word) && !/^[\w./]/.test(word))
    );
    if (option === undefined) continue;
    const shown = isKnown(option) ? option.split("\n", 1)[0]?.slice(0, 20) : "…";
    return opaque(`${name} is handed code or a command (${shown})`);
  }
  return PYTHON.test(name) ? moduleCode(argv, name) : undefined;
}

const byName = new Map<string, readonly RegExp[]>();

/** The rows for a program; kept, since a line names few programs and there are many rows. */
function codeOptions(name: string): readonly RegExp[] {
  let found = byName.get(name);
  if (!found) {
    found = CODE_OPTIONS.filter(([programs]) => programs.test(name)).map(([, options]) => options);
    if (byName.size < 500) byName.set(name, found);
  }
  return found;
}

/** Some of Python's modules run what they are handed, and others a file that may be the input. */
function moduleCode(argv: readonly string[], name: string): Fed | undefined {
  const at = argv.findIndex((word) => /^-[A-Za-z]*m/.test(word));
  if (at < 0) return undefined;
  const module = argv[at]?.replace(/^-[A-Za-z]*?m/, "") || argv[at + 1] || "";
  const fed = argv.slice(at + 1).some((word) => /^\/(?:dev|proc)\/(?!null$)/.test(word));
  return fed || CODE_MODULES.test(module) ? opaque(`${name} -m ${module} runs code`) : undefined;
}

/** The script of an interpreter, or what it reads from its input for lack of one. */
function scriptCode(argv: readonly string[], name: string, input: Input): Fed | undefined {
  if (!STDIN_READERS.test(name)) return undefined;
  const versions = PYTHON.test(name) ? /^(?:-V|--version|--help|-h)$/ : /^(?:-V|-v|--version|--help|-h)$/;
  const asks = argv.some((word) => versions.test(word));
  const at = argv.findIndex((word, i) => i > 0 && !/^-./.test(word));
  const file = argv[at];
  if (asks || (PYTHON.test(name) && argv.some((word) => /^-[A-Za-z]*m/.test(word)))) return undefined;
  if (file !== undefined && /^\/(?:dev|proc)\/|^-$/.test(file)) {
    return opaque(`${name} runs what it is given as input`);
  }
  if (input.kind === "inherited") {
    return file === undefined && argv.length === 1
      ? opaque(`${name} runs what it is given as input`)
      : scriptOrNothing(file);
  }
  // The value of an option may be taken for the script, and then the input is what runs.
  const before = argv.slice(1, at < 0 ? undefined : at);
  const sure = before.every((word) =>
    word.includes("=") || (FLAG_OPTIONS[baseOf(name)] ?? FLAG_OPTIONS.any)?.test(word)
  );
  return file === undefined || !sure
    ? opaque(`${name} runs what it is given as input`)
    : scriptOrNothing(file);
}

function baseOf(name: string): string {
  return name.replace(/[\d.]+$/, "").replace(/^nodejs$/, "node").replace(/^pypy$/, "python");
}

function scriptOrNothing(file: string | undefined): Fed | undefined {
  return file === undefined || isOpenFile(file) ? undefined : { kind: "script", path: file };
}
