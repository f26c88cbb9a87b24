import { riskyVariable } from "../parse.ts";
import {
  type Call,
  dynamic,
  type Found,
  type Grammar,
  type Grammars,
  runsInput,
  unseen,
} from "../program.ts";
import { type Input, type Nested, PROCESS_FILE } from "../types.ts";
import { ANY, isKnown, ONE, STAR } from "../../../rule/mod.ts";

const VALUES = new Set(["-o", "+o", "-O", "+O"]);
/** Options, with one dash too, by which a shell reads a file before anything else. */
const START_FILE = /^--?(?:rcfile|init-file)(?:=|$)/;

/** Reads the code that a shell is handed by its words or its input. */
function shell(call: Call): Found | undefined {
  const { name, args } = call;
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? "";
    if (word === PROCESS_FILE) return unseen(`${name} runs what another command prints`);
    if (!isKnown(word)) return dynamic(`${name} is given words that only the shell will know`);
    if (word === "--version" || word === "--help") return { readOnly: args.length === 1 };
    if (START_FILE.test(word)) return dynamic(`${name} reads a start file (${word})`);
    if (VALUES.has(word)) {
      i++;
      continue;
    }
    // Bash takes its long options with one dash as well, so that not every `c` is the option.
    if (/^-(?:no|login|posix|restricted|verbose|protected|pretty|dump|debug)/.test(word)) continue;
    if (/^[-+][A-Za-z]*c[A-Za-z]*$/.test(word)) return argument(args.slice(i + 1), name);
    if (/^-[A-Za-z]*s[A-Za-z]*$/.test(word)) return fromInput(call);
    if (/^--$|^-$/.test(word)) {
      return i + 1 < args.length ? script(args[i + 1] ?? "", call) : fromInput(call);
    }
    if (/^[-+]/.test(word)) continue;
    return script(word, call);
  }
  return fromInput(call);
}

/** Returns what follows `-c`: more options first, then the code. */
function argument(rest: readonly string[], name: string): Found {
  const code = rest.find((word) => !/^[-+]/.test(word));
  return code === undefined
    ? dynamic(`${name} -c without readable code`)
    : shellCode(code, `${name} -c runs something that only the shell will know`);
}

function shellCode(code: string, otherwise: string, inside?: true): Found {
  if (isKnown(code)) return { wrapper: true, nested: [{ code, ...(inside ? { inside } : {}) }] };
  return UNKNOWN_COMMAND.test(code) ? unseen(otherwise) : dynamic(otherwise);
}

/** Code in which the name of a command is not known. */
const UNKNOWN_COMMAND = new RegExp(`(?:^|[;&|({\n])\\s*[^\\s;&|]*[${ANY}${STAR}${ONE}]`);

function fromInput(call: Call): Found {
  const text = inputText(call.input);
  if (text !== undefined) return shellCode(text, "");
  // What the shell of the line puts into a here-document is code of this one.
  return call.input.kind === "text"
    ? unseen(`${call.name} runs what another command prints`)
    : runsInput(call);
}

/** A script that is run. One that may be the input counts as unseen code. */
function script(path: string, call: Call): Found {
  const { name, argv, sessionScript, at } = call;
  if (path === PROCESS_FILE) return unseen(`${name} runs what another command prints`);
  if (isOpenFile(path)) {
    return isKnown(path) ? runsInput(call) : dynamic(`${name} runs a file that only the shell will know`);
  }
  const from = argv.indexOf(path);
  const content = sessionScript(path);
  const inner = content === undefined
    ? {}
    : /^(?:\.|source)$/.test(name)
    ? { nested: [{ code: content }] }
    : scriptCode(content, sessionScript);
  return {
    ...inner,
    wrapper: false,
    scripts: [path],
    reads: [{ path }],
    runs: from > 0 ? [{ argv: argv.slice(from), at: at + from, refusals: true }] : [],
  };
}

function trap(words: readonly string[]): Found {
  const [code] = words;
  if (code === undefined || words.length < 2 || code === "-" || code === "" || /^-[lpP]/.test(code)) {
    return {};
  }
  return shellCode(code, "trap runs something that only the shell will know", true);
}

function withoutDashes(args: readonly string[]): readonly string[] {
  return args[0] === "--" ? args.slice(1) : args;
}

/**
 * Builtins whose words are variables; with values that are harmless, they change the shell that is about to
 * end.
 */
function declares({ args }: Call): Found {
  const names = args.filter((arg) => !arg.startsWith("-")).map((arg) => arg.split("=", 1)[0] ?? "");
  return {
    readOnly: args.every((arg) => !/^-[A-Za-z]*[fn]/.test(arg)) && riskyVariable(names) === undefined,
  };
}

const EACH_LINE = [/^-[A-Za-z]*C/, "-C runs a command for each line"] as const;

/** Options by which builtins start a command, or change which one a name means. */
const STARTS_COMMAND: Readonly<Record<string, readonly [option: RegExp, reason: string]>> = {
  jobs: [/^-x$/, "-x runs a command"],
  hash: [/^-p$/, "-p gives a program another name"],
  mapfile: EACH_LINE,
  readarray: EACH_LINE,
};

/** Grammars of shells, and of the builtins of the one that runs the line. */
export const SHELLS: Grammars = {
  shell: { read: shell },
  eval: {
    read: ({ args }) =>
      shellCode(withoutDashes(args).join(" "), "eval of something that only the shell will know", true),
  },
  trap: { read: ({ args }) => trap(withoutDashes(args)) },
  source: {
    read: (call) => {
      const path = withoutDashes(call.args)[0];
      return path === undefined ? undefined : script(path, call);
    },
  },
  fc: {
    read: ({ args }) =>
      args.some((word) => /^-[a-z]*l/.test(word)) ? undefined : dynamic("fc runs earlier commands again"),
  },
  starts: {
    read: ({ name, args }) => {
      const [option, reason] = STARTS_COMMAND[name] ?? [];
      return args.some((word) => option?.test(word)) ? dynamic(`${name} ${reason}`) : undefined;
    },
  },
  alias: {
    read: ({ name, args }) =>
      args.length > 0 ? dynamic(`${name} changes what later words mean`) : { readOnly: true },
  },
  declare: { read: declares },
  su: { read: ({ name }) => dynamic(`${name} runs what it is given as input`) },
};

/** The ways in which an interpreter of another language is handed code. */
interface Interpreter {
  /** Words that hand it code or a command. */
  readonly code: RegExp;
  /** Without a file it runs its input; options in front of the file that take no further word are these. */
  readonly input: RegExp | undefined;
  /** Code that the line itself gives is searched for commands and files. */
  readonly shown: boolean;
}

const SCRIPT = /\.(?:py|js|mjs|cjs|ts|mts|tsx|pl|rb|php|lua|R|jl)$/;
/** Files that no shell runs, whatever their first line says. */
const FOREIGN = /\.(?:py|[cm]?js|m?ts|pl|rb|php|lua)$/;
const PYTHON = /^(?:python|pypy)/;
/** Modules of Python that run code they are handed. */
const CODE_MODULES = /^(?:timeit|code|asyncio|pdb|IPython|bpython|ptpython|idlelib)$/;

/** Code of another language may do anything: words, a module, the input or a file give it. */
export function interpreter(spec: Interpreter): Grammar {
  return { read: (call) => codeOption(call, spec) ?? module(call) ?? fileOrInput(call, spec) };
}

function codeOption(call: Call, { code, shown }: Interpreter): Found | undefined {
  const { name, args, sessionScript } = call;
  const isModule = (word: string) => PYTHON.test(name) && /^-[A-Za-z]*m$/.test(word);
  // What follows the script or module belongs to that.
  const end = args.findIndex((word, i) =>
    word === "-" || isModule(word) ||
    (SCRIPT.test(word) && !word.startsWith("-") && !args[i - 1]?.startsWith("-"))
  );
  const option = args.slice(0, end < 0 ? undefined : end + 1)
    .find((word) => code.test(word) || (!isKnown(word) && !/^[\w./]/.test(word)));
  if (option === undefined) return undefined;
  const given = isKnown(option) ? option.split("\n", 1)[0]?.slice(0, 20) : "…";
  return {
    ...(shown ? foreignCode(args.filter(isKnown).join("\n"), sessionScript) : {}),
    ...dynamic(
      shown && !isKnown(args[args.indexOf(option) + 1] ?? "")
        ? "it runs code that only the shell will know"
        : `${name} is handed code or a command (${given})`,
    ),
  };
}

/** Some of Python's modules run what they are handed, and others a file that may be the input. */
function module(call: Call): Found | undefined {
  const { name, args } = call;
  const at = PYTHON.test(name) ? args.findIndex((word) => /^-[A-Za-z]*m/.test(word)) : -1;
  if (at < 0) return undefined;
  const module = args[at]?.replace(/^-[A-Za-z]*?m/, "") || args[at + 1] || "";
  const fed = args.slice(at).some((word) => /^\/(?:dev|proc)\/(?!null$)/.test(word));
  if (fed || CODE_MODULES.test(module)) return dynamic(`${name} -m ${module} runs code`);
  const file = `${module.replaceAll(".", "/")}.py`;
  return call.sessionScript(file) === undefined ? {} : fileCode(file, call);
}

/** The script of an interpreter, or what it reads from its input if there is none. */
function fileOrInput(call: Call, { shown, input: flags }: Interpreter): Found | undefined {
  const { name, args, input, sessionScript } = call;
  const versions = PYTHON.test(name) ? /^(?:-V|--version|--help|-h)$/ : /^(?:-V|-v|--version|--help|-h)$/;
  if (!flags || args.some((word) => versions.test(word))) return undefined;
  // `deno run x.ts`
  const first = /^(?:deno|bun)$/.test(name) && args[0] === "run" ? 1 : 0;
  const at = args.findIndex((word, i) => i >= first && !/^-./.test(word));
  const file = args[at];
  const before = args.slice(0, at < 0 ? undefined : at);
  // The value of an option may be taken for the script, and then the input is what runs.
  const sure = file !== undefined && before.every((word) => word.includes("=") || flags.test(word));
  const readsInput = input.kind === "inherited" ? args.length === 0 : !sure;
  if (!readsInput && !/^\/(?:dev|proc)\/|^-$/.test(file ?? "")) {
    return file === undefined ? undefined : fileCode(file, call);
  }
  const text = inputText(input);
  const dash = args.indexOf("-");
  const own = dash < 0 ? args : args.slice(0, dash);
  // Perl and Ruby open what later words name, and `name |` is a command.
  const opened = /^(?:perl|ruby)/.test(name) && args.length > own.length + 1;
  const seen = text !== undefined && shown && !opened && own.every((word) => flags.test(word));
  return seen ? foreignCode(text, sessionScript) : runsInput(call);
}

function fileCode(file: string, { argv, args, at, sessionScript }: Call): Found | undefined {
  if (isOpenFile(file)) return undefined;
  const from = argv.indexOf(file);
  // What seems to be the script may be the value of an option, and then the script comes later.
  const end = args.findIndex((word) => SCRIPT.test(word) && !word.startsWith("-"));
  const script = [file, ...args.slice(0, end + 1)].find((word) => sessionScript(word) !== undefined) ?? file;
  const content = sessionScript(script);
  const read = FOREIGN.test(script) ? foreignCode : scriptCode;
  return {
    ...(content === undefined ? {} : read(content, sessionScript)),
    wrapper: false,
    scripts: [file],
    reads: [{ path: file }],
    runs: from > 0 ? [{ argv: argv.slice(from), at: at + from, refusals: true }] : [],
  };
}

/** Returns the content of a file that the session wrote itself. */
type SessionScript = (path: string) => string | undefined;

const QUOTED = String.raw`(?:'[^'\\\n]*'|"[^"\\\n]*")`;
const LIST = String.raw`\[((?:\s*${QUOTED}\s*,?)*)\]`;
/** Calls that start programs by literal words, in the languages that are common in lines. */
const STARTS = new RegExp(
  String.raw`(?:\bsubprocess\.(?:run|call|check_call|check_output|Popen|get(?:status)?output)` +
    String.raw`|\bos\.(?:system|popen|(exec[lv]p?e?)|execute)|\bDeno\.Command` +
    String.raw`|(?<![\w.$@%&>:])(?:system|exec|spawn|passthru|shell_exec)` +
    String.raw`|\b(?:execSync|spawnSync|execFile|execFileSync)|\.spawn|\)\s*\.exec)\s*\(?\s*` +
    String
      .raw`(?:${LIST}|(${QUOTED})(?:\s*,\s*(?:\{\s*args:\s*)?(?:${LIST}|(${QUOTED}(?:\s*,\s*${QUOTED})*)))?)`,
  "g",
);
/** Signs that code writes files. */
const WRITES = /\bopen\b|[wW]rite|save|dump|copy|rename|move|[lL]ink|touch|mkdir|File\.|IO\.|>/;

/**
 * Code in another language may run anything. For refusals it still counts as the commands that it starts by
 * literal words, and as a user of every file that its strings could name.
 */
function foreignCode(given: string, sessionScript: SessionScript): Found {
  if (!isKnown(given)) return dynamic("it runs code that only the shell will know");
  const code = withImports(given, sessionScript, 4);
  const nested = [...code.normalize("NFKC").matchAll(STARTS)].map(startedCommand);
  const reads = stringsIn(code).filter((text) => /^[^\s:%{}]+$/.test(text)).map((path) => ({ path }));
  const writes = WRITES.test(code) ? [{ path: ANY }, ...reads] : [];
  return { dynamic: "it runs code in another language", code, nested, reads, writes };
}

function startedCommand([, replaces, list, first, args, more]: RegExpExecArray): Nested {
  if (list !== undefined) return { argv: stringsIn(list) };
  const [program = ""] = stringsIn(first ?? "");
  const rest = args ?? more;
  if (rest === undefined) return { code: program };
  // The words of `exec…` begin with the name of the program again.
  return { argv: replaces === undefined ? [program, ...stringsIn(rest)] : stringsIn(rest) };
}

function stringsIn(text: string): string[] {
  return [...text.matchAll(/'([^'\\\n]*)'|"([^"\\\n]*)"/g)].map(([, single, double]) =>
    single ?? double ?? ""
  );
}

const IMPORT =
  /\b(?:import|from|require(?:_relative)?)\b[\s(]*(?:["']([^"'\n]+)["']|([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*))/g;

/** Code with the modules that the session wrote itself, `depth` files down. */
function withImports(code: string, sessionScript: SessionScript, depth: number): string {
  if (depth === 0) return code;
  const names = [...code.matchAll(IMPORT)].flatMap(([, path, modules = ""]) =>
    path ?? modules.split(/[ \t]*,[ \t]*/).map((name) => name.replaceAll(".", "/"))
  );
  const contents = [...new Set(names)].flatMap((name) =>
    ["", ".py", "/__init__.py", ".js", ".ts", ".rb"].flatMap((ending) => sessionScript(name + ending) ?? [])
  );
  return [code, ...contents.map((content) => withImports(content, sessionScript, depth - 1))].join("\n");
}

/** Code of a script that the session wrote: the shell's, unless its first line says otherwise. */
export function scriptCode(content: string, sessionScript: SessionScript): Found {
  const first = /^#!(.*)/.exec(content)?.[1];
  return first === undefined || /\b(?:ba|da|z|k)?sh\b/.test(first)
    ? { wrapper: true, nested: [{ code: content }] }
    : foreignCode(content, sessionScript);
}

/**
 * Reports whether a path leads back to what the line itself gives, or is one that only the shell will know.
 */
export function isOpenFile(path: string): boolean {
  return !isKnown(path) || /^(?:-$|\/(?:dev|proc)\/)/.test(path);
}

/** Returns the text that a command reads as its input, where the line itself says it. */
export function inputText(input: Input): string | undefined {
  if (input.kind === "text") return input.text;
  const [from, ...others] = input.kind === "pipe" ? input.from : [];
  if (!from || others.length > 0 || from.assigns.length > 0 || from.writes.length > 0) return undefined;
  const [name, first = "", ...rest] = from.argv;
  if (from.functions.has(name ?? "") || !from.argv.every(isKnown)) return undefined;
  if (name === "cat" && from.argv.length === 1) return inputText(from.input);
  const plain = name === "echo" && !first.startsWith("-") &&
    ![first, ...rest].some((word) => word.includes("\\"));
  if (plain) return `${[first, ...rest].join(" ")}\n`;
  return name === "printf" && /^%s(?:\\n)?$/.test(first) && rest.length === 1 ? rest[0] : undefined;
}
