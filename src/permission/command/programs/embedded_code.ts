import { ANY, isKnown } from "../../../rule/mod.ts";
import { dynamic, type Found } from "../program.ts";
import type { Input, Nested } from "../types.ts";

/** Returns the content of a file that the session wrote itself. */
type OwnScript = (path: string) => string | undefined;

/**
 * Reads code in other languages that a command is handed. What it starts by literal words becomes commands of
 * the line; code that could start something in another way stays dynamic. Names are looked for in strings and
 * comments too. Modules that the session wrote itself are read with it, `depth` files down.
 */
export function embeddedCode(
  language: Language | undefined,
  code: string,
  ownScript: OwnScript,
  depth = 4,
): Found {
  if (language === undefined) return dynamic("it runs code in a language that is not read here");
  if (!isKnown(code)) return dynamic("it runs code that only the shell will know");
  if (language === "shell") return { wrapper: true, nested: [{ code }] };
  const found = readCode(language, code);
  const modules = depth > 0 ? importedFiles(language, code) : [];
  const inner = modules.flatMap((path) => {
    const content = ownScript(path);
    return content === undefined ? [] : [embeddedCode(language, content, ownScript, depth - 1)];
  });
  return inner.reduce((all, each) => ({
    ...all,
    dynamic: all.dynamic ?? each.dynamic,
    code: `${all.code}\n${each.code}`,
    nested: [...all.nested ?? [], ...each.nested ?? []],
    reads: [...all.reads ?? [], ...each.reads ?? []],
    writes: [...all.writes ?? [], ...each.writes ?? []],
  }), found);
}

function readCode(language: Exclude<Language, "shell">, code: string): Found {
  const { calls, hides } = LANGUAGES[language];
  const nested: Nested[] = [];
  let left = code.normalize("NFKC");
  for (const [pattern, commandOf] of calls) {
    left = left.replace(pattern, (text, ...groups: (string | undefined)[]) => {
      const found = commandOf(groups);
      if (!found) return text;
      nested.push(found);
      return "0";
    });
  }
  const found = { code, nested, ...namedFiles(code) };
  const hidden = (nested.length > 0 ? MOVES.exec(code)?.[0] : undefined) ?? hides(left);
  return hidden === undefined
    ? found
    : { ...found, dynamic: `it is handed ${language} code that may run anything (${hidden})` };
}

/** Where code moves or changes the environment, what it starts is another command than it seems. */
const MOVES =
  /\b(?:chdir|putenv)\b|\benviron\.(?:update|setdefault|pop|clear)\b|\b(?:environ|env|ENV)\b\s*[.[{][^\n;=]{0,40}=(?!=)/;

/** Files of the project that code takes modules from. */
function importedFiles(language: Language, code: string): string[] {
  if (language === "python") {
    return [...code.matchAll(PY_IMPORT)].flatMap(([, from, list = ""]) => from ?? list.split(/\s*,\s*/))
      .flatMap((name) => {
        const path = (name.trim().split(/\s/, 1)[0] ?? "").replaceAll(".", "/");
        return [`${path}.py`, `${path}/__init__.py`];
      });
  }
  return [
    ...code.matchAll(/\b(?:require(?:_relative)?\s*\(?|import\s*\(?|from)\s*["'](\.{0,2}\/?[^"'\n]+)["']/g),
  ]
    .flatMap(([, path = ""]) => [path, `${path}.js`, `${path}.ts`, `${path}.rb`]);
}

/** Signs that code writes files, which ones being its own affair. */
const WRITES = /\bopen\b|[wW]rite|save|dump|copy|rename|move|[lL]ink|touch|mkdir|File\.|IO\.|>/;

/** Takes every string that could name a file for one that is read and, where the code writes any, for one of these. */
function namedFiles(code: string): Required<Pick<Found, "reads" | "writes">> {
  const reads = [...code.matchAll(new RegExp(STRING, "g"))].map(([, single, double]) =>
    single ?? double ?? ""
  )
    .filter((text) => /^[^\s:%{}]+$/.test(text)).map((path) => ({ path }));
  return { reads, writes: WRITES.test(code) ? [{ path: ANY }, ...reads] : [] };
}

export type Language = "shell" | "python" | "javascript" | "perl" | "ruby";

const SHEBANG: readonly (readonly [RegExp, Language])[] = [
  [/\b(?:ba|da|z|k)?sh\b/, "shell"],
  [/\bpython[\d.]*\b/, "python"],
  [/\b(?:node|deno|bun)\b/, "javascript"],
  [/\bperl\b/, "perl"],
  [/\bruby\b/, "ruby"],
];

/** Returns the language of a script by its first line; a script without one is the calling shell's. */
export function languageOf(content: string, otherwise: Language = "shell"): Language | undefined {
  const first = /^#!(.*)/.exec(content)?.[1];
  return first === undefined ? otherwise : SHEBANG.find(([names]) => names.test(first))?.[1];
}

/** Reports whether a path leads back to what the line itself gives, or is one that only the shell will know. */
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

type Commands = (groups: readonly (string | undefined)[]) => Nested | undefined;

interface Reader {
  /** Calls that start programs by literal words. */
  readonly calls: readonly (readonly [RegExp, Commands])[];
  /** Returns what in the rest of the code could start something else, undefined when nothing could. */
  readonly hides: (left: string) => string | undefined;
}

const STRING = String.raw`(?:'([^'\\\n]*)'|"([^"\\\n]*)")`;
/** The same in languages that expand double-quoted strings. */
const PLAIN = String.raw`(?:'([^'\\\n]*)'|"([^"\\\n$@#]*)")`;
const LIST = String.raw`\[((?:\s*(?:'[^'\\\n]*'|"[^"\\\n]*")\s*,?)*)\]`;

function words(list: string): string[] {
  return [...list.matchAll(/'([^']*)'|"([^"]*)"/g)].map(([, single, double]) => single ?? double ?? "");
}

const shellText: Commands = ([single, double]) => ({ code: single ?? double ?? "" });
const listed: Commands = ([list = ""]) => ({ argv: words(list) });

const first = (pattern: RegExp) => (left: string) => pattern.exec(left)?.[0].trim().slice(0, 30);

const PY_KEYWORDS = String
  .raw`((?:\s*,\s*(?:check|text|capture_output|shell|timeout|universal_newlines|stdout|stderr)\s*=\s*[\w.]+)*)\s*\)`;
/** Modules of Python that run programs or code. */
const PY_MODULES =
  /\b(?:import|from)\s[^\n;]*\b(?:_[a-z]\w*|tkinter|turtle|mailcap|imaplib|jinja2|mako|joblib|torch|dill|cloudpickle|pty|importlib|runpy|ctypes|cffi|multiprocessing|asyncio|concurrent|code|codeop|pdb|bdb|timeit|cProfile|profile|trace|pickle|_pickle|shelve|marshal|webbrowser|imp|pkgutil|posix|nt|builtins|operator|inspect|gc|doctest|unittest|pip|distutils|setuptools|pydoc|platform\s+as|os\s+as|subprocess\s+as|IPython|sh|plumbum|pexpect|invoke|fabric|yaml|numpy\.f2py|_posixsubprocess|test|idlelib|xmlrpc|socketserver|http\.server|antigravity|site|zipimport|sched)\b/;
const PY_NAMES =
  /(?<!\bre\s*\.\s*)\bcompile\b|\b(?:exec|eval|getattr|setattr|globals|locals|vars|breakpoint|attrgetter|methodcaller|modules|_?subprocess|popen\w*|Popen|check_call|check_output|getoutput|getstatusoutput|exec[lv]p?e?|spawn[lv]?p?e?|posix_spawnp?|fork(?:pty)?|startfile|run_module|run_path|f_\w*globals|f_builtins|\w+_frame|_getframe|meta_path|settrace|setprofile|_os|Formatter|get_field|get_type_hints|ForwardRef|\w*load_extension|dictConfig|fileConfig|exec_\w+|allow_pickle)\b|(?<!\bplatform\.)\bsystem\b|\b__(?!(?:name|file|version|doc|main|init|str|repr|len|eq|future|enter|exit|iter)__)\w+/;
/** Modules that come with Python; others are files, which code that writes files may have put there itself. */
const PY_LIBRARY =
  /^(?:abc|argparse|array|ast|base64|bisect|bz2|calendar|collections|configparser|contextlib|copy|csv|dataclasses|datetime|decimal|difflib|email|enum|errno|fnmatch|fractions|functools|glob|gzip|hashlib|heapq|hmac|html|http|io|ipaddress|itertools|json|locale|logging|lzma|math|mimetypes|numbers|os|pathlib|platform|pprint|queue|random|re|secrets|shlex|shutil|socket|sqlite3|ssl|stat|statistics|string|struct|subprocess|sys|tarfile|tempfile|textwrap|threading|time|tomllib|traceback|types|typing|unicodedata|urllib|uuid|warnings|weakref|xml|zipfile|zlib|zoneinfo|numpy|pandas|requests|toml|__future__)\b/;
const PY_IMPORT = /(?:^|[;\n:])\s*(?:from\s+([\w.]+)\s+import\b|import\s+([\w., ]+))/g;

function foreignImport(code: string): string | undefined {
  return [...code.matchAll(PY_IMPORT)].flatMap(([, from, list = ""]) => from ?? list.split(/\s*,\s*/))
    .find((name) => !PY_LIBRARY.test(name.trim()));
}

/** Modules of Node that run programs or code. */
const JS_MODULES =
  /\b(?:require|from|import)\b[\s(]*["'`](?:node:)?(?:child_process|cluster|worker_threads|vm|module|repl|inspector|wasi|v8|sqlite|test|bun|execa|shelljs|cross-spawn|zx|node-pty|tinyexec|\/(?:dev|proc)\/|data:|https?:)/;
const JS_NAMES =
  /\b(?:child_process|eval|Function|GeneratorFunction|AsyncFunction|constructor|binding|_linkedBinding|mainModule|getBuiltinModule|dlopen|Reflect|Proxy|__proto__|getPrototypeOf|getOwnProperty\w*|callee|WebAssembly|spawn\w*|fork|execFile\w*|execSync|execve|createRequire|Worker|Command)\b|\b(?:Deno|Bun|globalThis)\b(?!\s*\.\s*(?!run\b|\$)\w)|(?:[=(,:[]|\b(?:in|of|return))\s*(?:process|module|global|require)\s*[),;\]}]|\bimport\s*\.\s*meta|\b(?:require|import)\s*\(\s*(?!["'][^"'\\]*["']\s*\))|\brequire\b(?!\s*\(|\.resolve\()|\\u|\bwith\s*\(|(?:globalThis|global|process|window|self)\s*\[|\]\s*\)*\s*(?:\(|`)/;
/** Modules that are files, which code that writes files may have put there itself; JSON runs nothing. */
const JS_FILES =
  /\b(?:require\(|import\s*\(?|from)\s*["'](?!node:|(?:fs|fs\/promises|path|os|util|url|assert|crypto|events|stream|zlib|https?|net|readline|querystring|timers|buffer|perf_hooks)["']|[^"']*\.json["'])[^"']*["']/;
const JS_BUILDS =
  /\b(?:join|concat|fromCharCode|fromCodePoint|atob|Buffer|decodeURI\w*|unescape|reverse|replace\w*|substr\w*|slice|at|charAt|toString|String|raw)\b|\$\{|\\x|\+\s*["'`]|["'`]\s*\+/;
const JS_COMPUTED = /[{,]\s*\[[^\]]*\]\s*:|[\w$)\]]\s*\[\s*(?!\d+\s*\]|["'][^"'\\]*["']\s*\])[^\]]/;

/** Names that JavaScript code gives to the module that runs programs, whose only other uses were read. */
function withoutImports(left: string): string {
  const imports =
    /\b(?:const|let|var)\s+(\{[^}]*\}|[\w$]+)\s*=\s*require\(\s*["'](?:node:)?child_process["']\s*\)\s*;?|\bimport\s+(\{[^}]*\}|\*\s*as\s+[\w$]+|[\w$]+)\s*from\s*["'](?:node:)?child_process["']\s*;?/g;
  const names = [...left.matchAll(imports)].flatMap(([, a, b]) => (a ?? b ?? "").match(/[\w$]+/g) ?? []);
  const rest = left.replace(imports, "");
  return names.some((name) =>
      name !== "as" && new RegExp(`(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`).test(rest)
    )
    ? left
    : rest;
}

const JS_CALLER = String.raw`(?:\brequire\(\s*["'](?:node:)?child_process["']\s*\)\s*\.\s*|\b[\w$]+\.)?`;
const JS_OPTION = String.raw`(?:encoding|stdio|timeout|maxBuffer)\s*:\s*(?:["'][\w-]+["']|\d+)\s*,?\s*`;
const JS_TAIL = String.raw`\s*(?:,\s*\{\s*(?:${JS_OPTION})*\})?\s*\)(?:\s*\.toString\(\))?`;

const LANGUAGES: Readonly<Record<Exclude<Language, "shell">, Reader>> = {
  python: {
    calls: [
      [new RegExp(String.raw`\bos\.(?:system|popen)\(\s*${STRING}\s*\)`, "g"), shellText],
      [
        new RegExp(String.raw`\bsubprocess\.(?:getoutput|getstatusoutput)\(\s*${STRING}\s*\)`, "g"),
        shellText,
      ],
      [
        new RegExp(
          String.raw`\bsubprocess\.(?:run|call|check_call|check_output|Popen)\(\s*${LIST}${PY_KEYWORDS}`,
          "g",
        ),
        ([list = "", keywords = ""]) => /shell/.test(keywords) ? undefined : { argv: words(list) },
      ],
      [
        new RegExp(
          String.raw`\bsubprocess\.(?:run|call|check_call|check_output|Popen)\(\s*${STRING}${PY_KEYWORDS}`,
          "g",
        ),
        ([single, double]) => ({ code: single ?? double ?? "" }),
      ],
      [
        new RegExp(String.raw`\bos\.execvp?e?\(\s*(?:'[^'\\\n]*'|"[^"\\\n]*")\s*,\s*${LIST}\s*\)`, "g"),
        listed,
      ],
      [
        /\bos\.execlp?\(((?:\s*(?:'[^'\\\n]*'|"[^"\\\n]*")\s*,?)+)\)/g,
        ([list = ""]) => ({ argv: words(list).slice(1) }),
      ],
    ],
    hides: (left) => {
      const rest = left.replace(/\bimport\s+subprocess\s*(?=;|\n|$|,)/g, "import re")
        .replace(/(\bimport\s[^\n;]*)\bsubprocess\b(?!\s+as\b)/g, "$1re");
      return first(PY_MODULES)(rest) ?? first(PY_NAMES)(rest) ??
        (WRITES.test(rest) ? foreignImport(rest) : undefined);
    },
  },
  javascript: {
    calls: [
      [new RegExp(String.raw`${JS_CALLER}\bexecSync\(\s*${STRING}${JS_TAIL}`, "g"), shellText],
      [
        new RegExp(
          String.raw`\brequire\(\s*["'](?:node:)?child_process["']\s*\)\.exec\(\s*${STRING}${JS_TAIL}`,
          "g",
        ),
        shellText,
      ],
      [
        new RegExp(
          String
            .raw`${JS_CALLER}\b(?:spawn|spawnSync|execFile|execFileSync)\(\s*${STRING}\s*(?:,\s*${LIST})?${JS_TAIL}`,
          "g",
        ),
        ([single, double, list = ""]) => ({ argv: [single ?? double ?? "", ...words(list)] }),
      ],
      [
        new RegExp(
          String
            .raw`\bnew\s+Deno\.Command\(\s*${STRING}\s*(?:,\s*\{\s*args:\s*${LIST}\s*\})?\s*\)(?:\s*\.(?:output|outputSync|spawn)\(\))?`,
          "g",
        ),
        ([single, double, list = ""]) => ({ argv: [single ?? double ?? "", ...words(list)] }),
      ],
    ],
    hides: (left) => {
      const rest = withoutImports(left);
      return first(JS_MODULES)(rest) ?? first(JS_NAMES)(rest) ??
        (WRITES.test(rest) ? first(JS_FILES)(rest) : undefined) ??
        (JS_BUILDS.test(rest) ? first(JS_COMPUTED)(rest) : undefined);
    },
  },
  perl: {
    calls: [
      [
        new RegExp(String.raw`(?<![\w$@%&>:])(?:system|exec)\s*\(?\s*${PLAIN}\s*\)?\s*(?=;|$|\n|\})`, "g"),
        shellText,
      ],
      [
        /(?<![\w$@%&>:])(?:system|exec)\s*\(?((?:\s*(?:'[^'\\\n]*'|"[^"\\\n$@]*")\s*,?){2,})\)?\s*(?=;|$|\n|\})/g,
        listed,
      ],
    ],
    hides: first(
      /`|\b(?:system|exec|qx|eval|require|fork|syscall|readpipe|dbmopen|CORE|AUTOLOAD|BEGIN|import|can|sub\s+\w+\s*:|Inline|Symbol)\b|\bdo\s*[^{\s]|@ARGV|\bI(?:PC|O)::|\bs\s*([^\w\s])(?:(?!\1).)*\1(?:(?!\1).)*\1\w*e\w*e|[}\])>]\s*\w*e\w*e\w*(?=\s*;|\s*$)|\(\?\??\{|->\s*[$@&{(]|&\s*[${]|&\$|\bopen\b(?!\s*\(?\s*(?:my\s+)?[$\w]+\s*,\s*["'][<>])|\buse\s+(?!strict|warnings|utf8|POSIX|List::Util|Data::Dumper|JSON::PP|Time::|File::(?:Basename|Spec|Find)|Getopt::|feature|v?5)/,
    ),
  },
  ruby: {
    calls: [
      [
        new RegExp(
          String.raw`(?<![\w.$@:])(?:system|exec|spawn)\s*\(?\s*${PLAIN}\s*\)?\s*(?=;|$|\n|\})`,
          "g",
        ),
        shellText,
      ],
      [
        /(?<![\w.$@:])(?:system|exec|spawn)\s*\(?((?:\s*(?:'[^'\\\n]*'|"[^"\\\n$@#]*")\s*,?){2,})\)?\s*(?=;|$|\n|\})/g,
        listed,
      ],
    ],
    hides: first(
      /`|%x|\b(?:system|exec|spawn|fork|eval|instance_eval|class_eval|module_eval|instance_exec|class_exec|send|public_send|__send__|method|methods|popen\w*|Open3|load|Kernel|Process|PTY|binding|TOPLEVEL_BINDING|const_get|define_method|ObjectSpace|Marshal|YAML|require_relative|autoload|trap|at_exit|syscall|Fiddle|IO|test|callcc|URI|to_proc|intern|instance_method\w*|define_singleton_method)\b|\(\s*&(?!:)|(?<!\bFile\.)\bopen\b|\brequire\b(?!\s*\(?\s*["'](?:json|set|time|date|csv|pp|fileutils|securerandom|digest)["'])/,
    ),
  },
};
