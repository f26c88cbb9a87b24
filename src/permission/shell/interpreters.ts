import { isKnown } from "../pattern.ts";
import { type Input, isLong } from "./line.ts";

/** What a program does with code it is handed. */
export type Fed =
  /** Shell code that can be read here. */
  | { readonly kind: "code"; readonly code: string }
  /** A script file that a shell reads. */
  | { readonly kind: "script"; readonly path: string }
  | { readonly kind: "opaque"; readonly reason: string };

const SHELLS: ReadonlySet<string> = new Set([
  "sh",
  "bash",
  "dash",
  "ash",
  "zsh",
  "ksh",
  "mksh",
  "rbash",
  "yash",
]);
const SHELL_VALUES = new Set(["--rcfile", "--init-file", "-o", "+o", "-O", "+O"]);

/** Long options that name a program or hand over code, for programs that also take them shortened. */
const CODE_WORDS: Readonly<Record<string, readonly string[]>> = {
  tar: [
    "checkpoint-action",
    "to-command",
    "use-compress-program",
    "rsh-command",
    "info-script",
    "new-volume-script",
  ],
  sort: ["compress-program"],
  split: ["filter"],
  make: ["eval", "environment-overrides"],
  wget: ["use-askpass", "execute"],
  man: ["pager", "html"],
  zip: ["unzip-command"],
  rsync: ["rsh", "rsync-path", "remote-option"],
};

/** Options that hand code to an interpreter, by program. */
const CODE_OPTIONS: readonly (readonly [programs: RegExp, options: RegExp])[] = [
  [/^(?:python|pypy|ipython)[\d.]*$/, /^-[A-Za-z]*c/],
  [/^perl[\d.]*$/, /^-[A-Za-z0-9]*[eEM]/],
  [/^ruby[\d.]*$/, /^-[A-Za-z]*[er]/],
  [
    /^(?:node|nodejs|bun|tsx|ts-node)$/,
    /^(?:-[A-Za-z]*[epr]|--(?:eval|print|require|import|loader|experimental-loader).*)$/,
  ],
  [/^php[\d.]*$/, /^-[rBRE]|^--(?:run|process)/],
  [/^lua(?:jit)?[\d.]*$/, /^-[el]/],
  [/^(?:Rscript|R)$/, /^-e|^--(?:expr|file).*/],
  [/^julia$/, /^-[eEL]|^--(?:eval|print|load).*/],
  [
    /^(?:ghc|runghc|racket|groovy|scala|elixir|guile|scheme|clojure|clj|swift|jshell|nu|elvish|xonsh|fish|tcsh|csh)$/,
    /^-[A-Za-z]*[ecEr]|^--(?:eval|command).*/,
  ],
  [/^(?:erl|sbcl|ecl|clisp|emacs|octave|maxima)$/, /^-{1,2}(?:eval|x|e|run|f|l|load|script|batch).*/],
  [/^(?:pwsh|powershell)(?:\.exe)?$/i, /./],
  [/^(?:vim|vi|nvim|ex|view|gvim|vimdiff)$/, /^(?:-[A-Za-z]*[cSsEu]|\+.*|--cmd.*)$/],
  [/^(?:sqlite3?|psql|mysql|mariadb)$/, /\\!|\.sh(?:ell)?\b|\.system\b|^-init|^-cmd/],
  [/^(?:g|b)?tar$|^bsdtar$/, /^-[A-Za-z]*[IF]/],
  [/^rsync$/, /^-[A-Za-z]*[eM]/],
  [/^(?:scp|sftp)$/, /^-[So]/],
  [/^zip$/, /^-[A-Za-z]*T/],
  [/^(?:rg|ripgrep)$/, /^--(?:pre|hostname-bin)(?:=|$)/],
  [/^(?:g?make|remake)$/, /^(?:-[A-Za-z]*f-|-|\/dev\/stdin|SHELL=.*|-[A-Za-z]*E.*)$/],
  [/^wget$/, /^-e/],
  [/^(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+)$/, /^-(?:wrapper|fplugin|specs|B)/],
  [/^man$/, /^-[A-Za-z]*[PH]/],
  [/^go$/, /^-{1,2}(?:exec|toolexec|vettool)(?:=|$)/],
  [/^cargo$/, /^--config/],
  [/^(?:dc|m4|gdb|tclsh|wish|expect|ftp|ed|red)$/, /./],
  [/^deno$/, /^(?:eval|repl|-)$/],
];

/** Interpreters that run what arrives on standard input when no file is named. */
const STDIN_READERS =
  /^(?:python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|bun|deno|php[\d.]*|lua(?:jit)?[\d.]*|R|julia|fish|tcsh|csh|nu|osascript|ed|red|ex|vi|vim|gdb|lldb|dc|m4|tclsh|irb|ghci|guile|sbcl|jshell|psql|mysql|mariadb|sqlite3?|ftp|sftp|ssh|octave|xonsh|elvish|at|batch)$/;
/** Builtins that start commands by names of their own, or change what a name means. */
const REBINDERS: ReadonlySet<string> = new Set(["alias", "bind", "enable", "complete", "compgen"]);

/** Code that a program is handed by its words or its input. Undefined: none. */
export function fedCode(argv: readonly string[], name: string, input: Input): Fed | undefined {
  if (SHELLS.has(name)) return shellCode(argv, name, input);
  if (name === "eval") {
    return staticCode(argv.slice(1).join(" "), "eval of something that only the shell will know");
  }
  if (name === "trap") return trapCode(argv);
  if (name === "." || name === "source") return scriptFile(argv.slice(1), name);
  if (REBINDERS.has(name) && argv.length > 1) return opaque(`${name} changes what later words mean`);
  if (name === "hash" && argv.includes("-p")) return opaque("hash -p gives a program another name");
  if ((name === "mapfile" || name === "readarray") && argv.some((word) => /^-[A-Za-z]*C/.test(word))) {
    return opaque(`${name} -C runs a command for each line`);
  }
  if (/^[gmn]?awk$|^busybox-awk$/.test(name)) return awkCode(argv, name);
  if (name === "sed" || name === "gsed") return sedCode(argv, name);
  return interpreterCode(argv, name, input);
}

function opaque(reason: string): Fed {
  return { kind: "opaque", reason };
}

function staticCode(code: string, otherwise: string): Fed {
  return isKnown(code) ? { kind: "code", code } : opaque(otherwise);
}

function shellCode(argv: readonly string[], name: string, input: Input): Fed | undefined {
  for (let i = 1; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (!isKnown(word)) return opaque(`${name} is given words that only the shell will know`);
    if (word === "--version" || word === "--help") return undefined;
    if (SHELL_VALUES.has(word)) {
      i++;
      continue;
    }
    if (/^[-+][A-Za-z]*c[A-Za-z]*$/.test(word)) return shellArgument(argv.slice(i + 1), name);
    if (/^-[A-Za-z]*s[A-Za-z]*$/.test(word)) return inputCode(name, input);
    if (/^--$|^-$/.test(word)) return scriptFile(argv.slice(i + 1), name, input);
    if (/^[-+]/.test(word)) continue;
    return scriptFile(argv.slice(i), name);
  }
  return inputCode(name, input);
}

/** What follows `-c`: more options first, then the code. */
function shellArgument(rest: readonly string[], name: string): Fed {
  const code = rest.find((word) => !/^[-+]/.test(word));
  if (code === undefined) return opaque(`${name} -c without readable code`);
  return staticCode(code, `${name} -c runs something that only the shell will know`);
}

function inputCode(name: string, input: Input): Fed {
  return input.kind === "text" && input.text !== undefined
    ? { kind: "code", code: input.text }
    : opaque(`${name} runs what it is given as input`);
}

function scriptFile(rest: readonly string[], name: string, input?: Input): Fed | undefined {
  const path = rest[0];
  if (path === undefined) return input ? inputCode(name, input) : undefined;
  if (!isKnown(path) || /^\/dev\/|^\/proc\/|^-$/.test(path)) {
    return opaque(`${name} runs what it is given as input`);
  }
  return { kind: "script", path };
}

function trapCode(argv: readonly string[]): Fed | undefined {
  const words = argv[1] === "--" ? argv.slice(2) : argv.slice(1);
  const [code] = words;
  if (code === undefined || words.length < 2 || code === "-" || code === "" || /^-[lpP]/.test(code)) {
    return undefined;
  }
  return staticCode(code, "trap runs something that only the shell will know");
}

const SCRIPT = /\.(?:py|js|mjs|cjs|ts|mts|tsx|pl|rb|php|lua|R|jl)$/;

/** The words an interpreter takes for itself; what follows its script or module is that one's business. */
function ownWords(argv: readonly string[], name: string): readonly string[] {
  const python = /^(?:python|pypy)/.test(name);
  const end = argv.findIndex((word, i) =>
    i > 0 && ((python && /^-[A-Za-z]*m$/.test(word)) || (SCRIPT.test(word) && !/^-/.test(argv[i - 1] ?? "")))
  );
  return argv.slice(1, end < 0 ? undefined : end + 1);
}

function interpreterCode(argv: readonly string[], name: string, input: Input): Fed | undefined {
  const words = CODE_WORDS[name.replace(/^(?:g|b|bsd)(?=tar$|make$|sort$|split$)/, "")];
  const told = words && argv.find((word) => isLong(word, words));
  const bundled = /tar$/.test(name) && /^[A-Za-z]*[IF]/.test(argv[1] ?? "");
  if (told !== undefined || bundled) return opaque(`${name} is handed a command (${told ?? argv[1]})`);
  for (const [programs, options] of CODE_OPTIONS) {
    if (!programs.test(name)) continue;
    const option = ownWords(argv, name).find((word) =>
      options.test(word) || (!isKnown(word) && !/^[\w./]/.test(word))
    );
    if (option !== undefined) {
      return opaque(
        `${name} is handed code or a command (${
          isKnown(option) ? option.split("\n", 1)[0]?.slice(0, 20) : "…"
        })`,
      );
    }
  }
  if (!STDIN_READERS.test(name)) return undefined;
  const file = argv.slice(1).find((word) => !/^-./.test(word));
  const asks = argv.some((word) => /^(?:-V|-v|--version|--help|-h)$/.test(word));
  if (asks || (file !== undefined && file !== "-" && !/^\/dev\//.test(file))) return undefined;
  if (input.kind === "inherited" && file === undefined && argv.length > 1) return undefined;
  return opaque(`${name} runs what it is given as input`);
}

const AWK_CODE = ["file", "include", "load", "exec", "source"];

/** An awk program can start commands with `system`, pipes and `getline`. */
function awkCode(argv: readonly string[], name: string): Fed | undefined {
  let code: string | undefined;
  for (let i = 1; i < argv.length && code === undefined; i++) {
    const word = argv[i] ?? "";
    if (/^-[Fv]$/.test(word)) i++;
    else if (/^-[filEe]/.test(word) || isLong(word, AWK_CODE)) {
      return opaque(`${name} reads its program from elsewhere (${word})`);
    } else if (!/^-./.test(word)) code = word;
  }
  if (code === undefined) return undefined;
  if (!isKnown(code)) return opaque(`${name} runs a program that only the shell will know`);
  const bare = code.replace(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll("||", "");
  const writes = bare.split(/[;{}\n]/).some((statement) => {
    const print = statement.search(/\bprintf?\b/);
    return print >= 0 && statement.indexOf(">", print) >= 0;
  });
  return writes || /system|getline|\||@/.test(bare)
    ? opaque(`the ${name} program may start commands or write files`)
    : undefined;
}

const SED_ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)`;
const SED_COMMAND = String
  .raw`(?:[pdqQDPhHgGxnN=lz{}]\d*|s([^\w\s\\])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpIiMm0-9]*|` +
  String.raw`y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/|[aic]\\?[^\n]*)`;
const SED_LINE = new RegExp(
  String.raw`^\s*(?:${SED_ADDRESS}(?:,(?:\+?${SED_ADDRESS}))?\s*!?\s*)?${SED_COMMAND}?\s*(?:[;\n}]+|$)`,
);

const SED_PLAIN =
  /^--(?:|quiet|silent|regexp-extended|null-data|separate|unbuffered|zero-terminated|posix|sandbox|debug|help|version|expression(?:=.*)?|in-place(?:=.*)?|line-length=\d+)$/s;

/** GNU sed can run commands (`e`) and write files (`w`); only programs made of other commands are known to be plain. */
function sedCode(argv: readonly string[], name: string): Fed | undefined {
  const programs: string[] = [];
  let given = false;
  for (let i = 1; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (/^-[nErsuz]*f/.test(word)) return opaque(`${name} reads its program from a file`);
    if (word.startsWith("--") && !SED_PLAIN.test(word)) {
      return opaque(`${name} is used with ${word.slice(0, 20)}`);
    }
    if (word === "-e" || word === "--expression") {
      programs.push(argv[++i] ?? "");
      given = true;
    } else if (/^(?:-[nErsuz]*e.|--expression=)/.test(word)) {
      programs.push(word.replace(/^-[nErsuz]*e|^--expression=/, ""));
      given = true;
    } else if (!/^-./.test(word) && !given) {
      programs.push(word);
      given = true;
    }
  }
  return programs.every(isPlainSed)
    ? undefined
    : opaque(`the ${name} program may start commands or write files`);
}

function isPlainSed(source: string): boolean {
  if (!isKnown(source)) return false;
  let rest = source;
  while (rest.trim() !== "") {
    const match = SED_LINE.exec(rest);
    if (!match || match[0] === "") return false;
    rest = rest.slice(match[0].length);
  }
  return true;
}

/** Whether a sed call changes files in place. */
export function editsInPlace(argv: readonly string[]): boolean {
  return argv.some((word) => /^-[nErsuz]*i/.test(word) || isLong(word, ["in-place"]));
}
