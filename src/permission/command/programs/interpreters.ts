import { isKnown, ONE, STAR } from "../../../rule/mod.ts";
import { type Call, dynamic, type Found, type Program, runsInput } from "../program.ts";
import {
  embeddedCode,
  inputText,
  isOpenFile,
  type LanguageName,
  languageOf,
} from "../languages/embedded_code.ts";
import { MONGO_DELETION } from "./network.ts";

/** How an interpreter is handed code. */
interface Interpreter {
  readonly names: string;
  /** Words that hand it code or a command in any way. */
  readonly code: RegExp;
  readonly language?: LanguageName;
  /** Finds the code that can be read: the words in front of it are all flags. */
  readonly option?: { readonly flags: RegExp; readonly code: RegExp; readonly attached?: RegExp };
  /** Without a file it runs its input; options in front of the file that take no further word are these. */
  readonly input?: RegExp;
  readonly obeys?: RegExp;
  readonly prints?: string;
}

/** A pattern for file names that begin and end as written. */
const GLOB_OF_NAMES = new RegExp(`^[\\w./~][\\w./~${STAR}${ONE}]*\\w$`);
const ANY_FLAG = /^-[qsvw]$/;
const SCRIPT = /\.(?:py|js|mjs|cjs|ts|mts|tsx|pl|rb|php|lua|R|jl)$/;
const PYTHON = /^(?:python|pypy)/;
/** Modules of Python that run code they are handed. */
const CODE_MODULES = /^(?:timeit|code|asyncio|pdb|IPython|bpython|ptpython|idlelib)$/;

function interpreter(spec: Interpreter): Program {
  const { names, obeys, prints } = spec;
  return {
    names,
    ...(obeys ? { obeys } : {}),
    ...(prints === undefined ? {} : { prints }),
    read: (call) => given(call, spec) ?? told(call, spec) ?? moduleCode(call) ?? fromFile(call, spec),
  };
}

/** Code behind an option, when nothing but flags stands in front of it. */
function given({ args, ownScript }: Call, { option, language }: Interpreter): Found | undefined {
  if (!option || !language) return undefined;
  const codes: string[] = [];
  let at = 0;
  for (; at < args.length; at++) {
    const word = args[at] ?? "";
    const attached = option.attached?.exec(word)?.[1];
    if (attached !== undefined) codes.push(attached);
    else if (option.code.test(word)) {
      const code = args[++at];
      if (code === undefined || (code.startsWith("-") && language !== "python")) return undefined;
      codes.push(code);
      if (language === "python") break;
    } else if (!option.flags.test(word)) break;
  }
  if (codes.length === 0) return undefined;
  const rest = args.slice(at);
  // Perl and Ruby open what these words name, and `name |` is a command.
  const opened = /^(?:perl|ruby)$/.test(language) &&
    rest.some((word) => /\||^-./.test(word) || (!isKnown(word) && !GLOB_OF_NAMES.test(word)));
  if (opened) return dynamic(`${language} may run what its words say`);
  // Options of Node count wherever they stand.
  if (language === "javascript" && rest.some((word) => /^-./.test(word) || !isKnown(word))) return undefined;
  return embeddedCode(language, codes.join("\n"), ownScript);
}

/** The words an interpreter takes for itself; what follows its script or module is that one's business. */
function ownWords({ name, args }: Call): readonly string[] {
  const python = PYTHON.test(name);
  const end = args.findIndex((word, i) =>
    word === "-" || (python && /^-[A-Za-z]*m$/.test(word)) ||
    (SCRIPT.test(word) && !word.startsWith("-") && !args[i - 1]?.startsWith("-"))
  );
  return args.slice(0, end < 0 ? undefined : end + 1);
}

function told(call: Call, { code }: Interpreter): Found | undefined {
  const option = ownWords(call).find((word) => code.test(word) || (!isKnown(word) && !/^[\w./]/.test(word)));
  if (option === undefined) return undefined;
  const shown = isKnown(option) ? option.split("\n", 1)[0]?.slice(0, 20) : "…";
  return dynamic(`${call.name} is handed code or a command (${shown})`);
}

/** Some of Python's modules run what they are handed, and others a file that may be the input. */
function moduleCode(call: Call): Found | undefined {
  const { name, args } = call;
  const at = PYTHON.test(name) ? args.findIndex((word) => /^-[A-Za-z]*m/.test(word)) : -1;
  if (at < 0) return undefined;
  const module = args[at]?.replace(/^-[A-Za-z]*?m/, "") || args[at + 1] || "";
  const fed = args.slice(at).some((word) => /^\/(?:dev|proc)\/(?!null$)/.test(word));
  if (fed || CODE_MODULES.test(module)) return dynamic(`${name} -m ${module} runs code`);
  const file = `${module.replaceAll(".", "/")}.py`;
  return call.ownScript(file) === undefined ? {} : script(file, call);
}

/** The script of an interpreter, or what it reads from its input for lack of one. */
function fromFile(call: Call, spec: Interpreter): Found | undefined {
  const { name, args, input } = call;
  if (!spec.input) return undefined;
  const versions = PYTHON.test(name) ? /^(?:-V|--version|--help|-h)$/ : /^(?:-V|-v|--version|--help|-h)$/;
  if (args.some((word) => versions.test(word))) return undefined;
  // `deno run x.ts`
  const first = /^(?:deno|bun)$/.test(name) && args[0] === "run" ? 1 : 0;
  const at = args.findIndex((word, i) => i >= first && !/^-./.test(word));
  const file = args[at];
  if (file !== undefined && /^\/(?:dev|proc)\/|^-$/.test(file)) return fromInput(call, spec);
  if (input.kind === "inherited") {
    return file === undefined && args.length === 0 ? fromInput(call, spec) : script(file, call);
  }
  // The value of an option may be taken for the script, and then the input is what runs.
  const before = args.slice(0, at < 0 ? undefined : at);
  const sure = before.every((word) => word.includes("=") || spec.input?.test(word));
  return file === undefined || !sure ? fromInput(call, spec) : script(file, call);
}

function fromInput(call: Call, { language, input: flags }: Interpreter): Found {
  const { args, input, ownScript } = call;
  const text = inputText(input);
  const end = args.indexOf("-");
  const own = end < 0 ? args : args.slice(0, end);
  const opened = /^(?:perl|ruby)$/.test(language ?? "") && args.length > own.length + 1;
  return text === undefined || language === undefined || opened || !own.every((word) => flags?.test(word))
    ? runsInput(call)
    : embeddedCode(language, text, ownScript);
}

function script(file: string | undefined, { argv, args, at, ownScript }: Call): Found | undefined {
  if (file === undefined || isOpenFile(file)) return undefined;
  const from = argv.indexOf(file);
  // What seems to be the script may be the value of an option, and then the script comes later.
  const end = args.findIndex((word) => SCRIPT.test(word) && !word.startsWith("-"));
  const own = [file, ...args.slice(0, end + 1)].find((word) => ownScript(word) !== undefined) ?? file;
  const content = ownScript(own);
  const inner = content === undefined ? {} : embeddedCode(languageOfFile(own, content), content, ownScript);
  return {
    ...inner,
    wrapper: false,
    scripts: [file],
    reads: [{ path: file }],
    runs: from > 0 ? [{ argv: argv.slice(from), at: at + from, refusals: true }] : [],
  };
}

const ENDINGS: Readonly<Record<string, LanguageName>> = {
  py: "python",
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  ts: "javascript",
  mts: "javascript",
  pl: "perl",
  rb: "ruby",
  php: "php",
  lua: "lua",
};

function languageOfFile(path: string, content: string): LanguageName | undefined {
  return ENDINGS[path.slice(path.lastIndexOf(".") + 1)] ?? languageOf(content);
}

export const SCRIPTS = /\.(?:[cm]?[jt]sx?|json)$|\/\.\w+rc$/;
/** Start files of programs that run commands from them. */
export const DOT_FILES = /(?:^|\/)(?:\.[\w-]+|config|init\.\w+)$/;
const ASKS_VERSION = "--version -v -V --help -h";

const PERL_FLAGS =
  /^-(?:[nlpawW0-9]+|F[^({]*|[nlpaw]*i[.\w~]{0,5}|M(?:strict|warnings|POSIX|List::Util|Data::Dumper|JSON::PP)(?:=[\w,]+)?)$/;

const VIM: Interpreter = {
  names: "vim vi nvim view gvim vimdiff",
  code: /^(?:-[A-Za-z]*[cSsEul]|\+.*|--cmd.*)$/,
  input: ANY_FLAG,
  obeys: DOT_FILES,
  prints: "--version --help",
};

/** Interpreters of other languages, and programs that read commands from their words or their input. */
export const INTERPRETERS: readonly Program[] = [
  interpreter({
    names: "python# pypy#",
    language: "python",
    code: /^-[A-Za-z]*c/,
    option: { flags: /^-[bBdEIOPqsSuvx]+$/, code: /^-[bBdEIOPqsSuvx]*c$/ },
    input: /^-[bBdEIOPqsSuvR]+$/,
    obeys: /\.(?:py|pth|toml|cfg|ini)$/,
    prints: "--version -V --help -h",
  }),
  interpreter({ names: "ipython#", code: /^-[A-Za-z]*c/ }),
  interpreter({
    names: "perl#",
    language: "perl",
    code: /^-(?!I)[A-Za-z0-9]*[eEM]/,
    option: { flags: PERL_FLAGS, code: /^-[nlpaw0-9]*[eE]$/ },
    input: /^-[wWtTuUlnpaS]+$/,
    obeys: /\.(?:p[lm]|t)$/,
    prints: ASKS_VERSION,
  }),
  interpreter({
    names: "ruby#",
    language: "ruby",
    code: /^-(?!I)[A-Za-z0-9]*[er]/,
    option: { flags: /^-(?:[nlpaw0-9]+|F[^({]*|rjson|rset|rtime|rdate|rcsv|rpp)$/, code: /^-[nlpaw]*e$/ },
    input: /^-[wWlnpasv]+$/,
    obeys: /\.(?:rb|ru)$|(?:Rake|Gem)file$/,
    prints: ASKS_VERSION,
  }),
  interpreter({
    names: "node nodejs bun tsx ts-node",
    language: "javascript",
    code: /^(?:-[A-Za-z]*[epr]|--(?:eval|print|require|import|loader|experimental-loader).*)$/,
    option: {
      flags: /^--(?:input-type=\w+|no-\S+|trace-\S+|experimental-strip-types|max-old-space-size=\d+)$/,
      code: /^(?:-[ep]|-pe|--eval|--print)$/,
      attached: /^--(?:eval|print)=(.*)$/s,
    },
    input:
      /^--(?:no-\S+|trace-\S+|enable-\S+|inspect(?:-brk)?|expose-gc|use-\S+|harmony\S*|test|watch|check)$/,
    obeys: SCRIPTS,
    prints: ASKS_VERSION,
  }),
  {
    ...interpreter({
      names: "deno",
      language: "javascript",
      code: /^(?:eval|repl|-|--eval(?:=.*)?|data:.*)$/,
      option: { flags: /^(?:-[AqTRWN]+|--(?:allow|deny|no)-\S+|--quiet)$/, code: /^eval$/ },
      input: /^(?:-[AqrRWNESI]+|--(?:allow-\S+|deny-\S+|no-\S+|quiet|unstable\S*|check|cached-only|watch))$/,
      obeys: /\.(?:[cm]?[jt]sx?|jsonc?)$/,
      prints: "--version -V --help -h",
    }),
    network: /^(?:add|install|cache|update)$/,
    registries: "deno npm",
  },
  interpreter({
    names: "php#",
    language: "php",
    option: { flags: /^-[nq]$/, code: /^-r$/ },
    code:
      /^-[rBREa]|^--(?:run|process|interactive)|auto_(?:ap|pre)pend_file|^-d?extension=|^-d?zend_extension=/,
    input: ANY_FLAG,
    prints: ASKS_VERSION,
  }),
  interpreter({
    names: "lua# luajit#",
    language: "lua",
    option: { flags: /^-v$/, code: /^-e$/ },
    code: /^-[el]/,
    input: ANY_FLAG,
    prints: "-v",
  }),
  interpreter({ names: "Rscript", code: /^-e|^--(?:expr|file).*/ }),
  interpreter({ names: "R", code: /^-e|^--(?:expr|file).*/, input: ANY_FLAG }),
  interpreter({ names: "julia", code: /^-[eEL]|^--(?:eval|print|load).*/, input: ANY_FLAG }),
  interpreter({
    names: "ghc runghc racket groovy scala elixir scheme clojure clj swift",
    code: /^-[A-Za-z]*[ecEr]|^--(?:eval|command).*/,
  }),
  interpreter({
    names: "guile jshell nu elvish xonsh fish tcsh csh",
    code: /^-[A-Za-z]*[ecEr]|^--(?:eval|command).*/,
    input: ANY_FLAG,
  }),
  interpreter({
    names: "erl ecl clisp emacs maxima",
    code: /^-{1,2}(?:eval|x|e|run|f|l|load|script|batch).*/,
    obeys: DOT_FILES,
  }),
  interpreter({
    names: "sbcl octave",
    code: /^-{1,2}(?:eval|x|e|run|f|l|load|script|batch).*/,
    input: ANY_FLAG,
  }),
  interpreter({ names: "pwsh powershell", code: /./ }),
  interpreter(VIM),
  { ...interpreter({ ...VIM, names: "ex" }), files: "writes" },
  { ...interpreter({ names: "ed red", code: /./, input: ANY_FLAG }), files: "writes" },
  interpreter({ names: "dc m4 tclsh ftp", code: /./, input: ANY_FLAG }),
  interpreter({ names: "wish", code: /./ }),
  interpreter({ names: "swipl", code: /^-{1,2}[gtf]/, input: ANY_FLAG }),
  interpreter({ names: "gprolog prolog", code: /^-{1,2}[gtf]/ }),
  interpreter({
    names: "gnuplot ocaml utop raku iex gforth bpython ptpython irb ghci",
    code: /^-{1,2}(?:e|c|eval|command)/,
    input: ANY_FLAG,
  }),
  {
    ...interpreter({ names: "mongo mongosh", code: /^-{1,2}(?:e|c|eval|command)/, input: ANY_FLAG }),
    network: true,
    remote: { text: MONGO_DELETION },
  },
  interpreter({ names: "perl6 hy janet fennel zx", code: /^-{1,2}(?:e|c|eval|command)/ }),
];
