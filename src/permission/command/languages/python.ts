import {
  calls,
  find,
  type Language,
  LIST,
  oneOf,
  shellText,
  STRING,
  words,
  wordsIn,
  WRITES,
} from "./language.ts";

const RUN = String.raw`\bsubprocess\.(?:run|call|check_call|check_output|Popen)\(\s*`;
const KEYWORDS = String.raw`((?:\s*,\s*` +
  oneOf("check text capture_output shell timeout universal_newlines stdout stderr") +
  String.raw`\s*=\s*[\w.]+)*)\s*\)`;

/** Modules that run programs or code. */
const MODULES = new RegExp(
  String.raw`\b(?:import|from)\s[^\n;]*\b` + oneOf(
    String
      .raw`_[a-z]\w* tkinter turtle mailcap imaplib jinja2 mako joblib torch dill ` +
      String.raw`cloudpickle pty importlib ` +
      "runpy ctypes cffi multiprocessing asyncio concurrent code codeop pdb bdb timeit cProfile " +
      "profile trace pickle " +
      "shelve marshal webbrowser imp pkgutil posix nt builtins operator inspect gc doctest " +
      "unittest pip distutils " +
      "setuptools pydoc IPython sh plumbum pexpect invoke fabric yaml test idlelib xmlrpc " +
      "socketserver antigravity " +
      String.raw`site zipimport sched platform\s+as os\s+as subprocess\s+as numpy\.f2py http\.server`,
  ) + String.raw`\b`,
);

/** Names by which anything can be run, wherever they stand. */
const NAMES = new RegExp(
  String.raw`(?<!\bre\s*\.\s*)\bcompile\b|(?<!\bplatform\.)\bsystem\b|\b__(?!` +
    oneOf("name file version doc main init str repr len eq future enter exit iter") + String.raw`__)\w+|\b` +
    oneOf(
      "exec eval getattr setattr globals locals vars breakpoint attrgetter methodcaller modules " +
        "_?subprocess " +
        String
          .raw`popen\w* Popen check_call check_output getoutput getstatusoutput ` +
        String.raw`exec[lv]p?e? spawn[lv]?p?e? ` +
        String
          .raw`posix_spawnp? fork(?:pty)? startfile run_module run_path f_\w*globals f_builtins \w+_frame ` +
        "_getframe meta_path settrace setprofile _os Formatter get_field get_type_hints " +
        "ForwardRef dictConfig " +
        String.raw`\w*load_extension fileConfig exec_\w+ allow_pickle`,
    ) + String.raw`\b`,
);

/**
 * Modules that come with Python; others are files, which code that writes files may have put there itself.
 */
const LIBRARY = new RegExp(
  "^" + oneOf(
    "abc argparse array ast base64 bisect bz2 calendar collections configparser contextlib copy " +
      "csv dataclasses " +
      "datetime decimal difflib email enum errno fnmatch fractions functools glob gzip hashlib " +
      "heapq hmac html http " +
      "io ipaddress itertools json locale logging lzma math mimetypes numbers os pathlib " +
      "platform pprint queue random " +
      "re secrets shlex shutil socket sqlite3 ssl stat statistics string struct subprocess sys " +
      "tarfile tempfile " +
      "textwrap threading time tomllib traceback types typing unicodedata urllib uuid warnings " +
      "weakref xml zipfile " +
      "zlib zoneinfo numpy pandas requests toml __future__",
  ) + String.raw`\b`,
);

const IMPORT = /(?:^|[;\n:])\s*(?:from\s+([\w.]+)\s+import\b|import\s+([\w., ]+))/g;

/** Returns the modules that code imports. */
export function pythonImports(code: string): string[] {
  return [...code.matchAll(IMPORT)].flatMap(([, from, list = ""]) => from ?? list.split(/\s*,\s*/))
    .map((name) => name.trim().split(/\s/, 1)[0] ?? "");
}

/** The parts of PyYAML that build nothing but plain values. */
function onlySafeYaml(left: string): boolean {
  return !/\byaml\b(?!\s*\.\s*safe_\w+\s*\()/.test(left.replace(/\bimport\s+yaml\b(?!\s+as\b)/g, ""));
}

export const PYTHON: Language = {
  calls: [
    [calls(String.raw`\bos\.(?:system|popen)\(\s*${STRING}\s*\)`), shellText],
    [calls(String.raw`\bsubprocess\.(?:getoutput|getstatusoutput)\(\s*${STRING}\s*\)`), shellText],
    [
      calls(RUN + LIST + KEYWORDS),
      ([list = "", keywords = ""]) => /shell/.test(keywords) ? undefined : { argv: wordsIn(list) },
    ],
    [calls(RUN + STRING + KEYWORDS), shellText],
    [calls(String.raw`\bos\.execvp?e?\(\s*(?:'[^'\\\n]*'|"[^"\\\n]*")\s*,\s*${LIST}\s*\)`), words],
    [
      /\bos\.execlp?\(((?:\s*(?:'[^'\\\n]*'|"[^"\\\n]*")\s*,?)+)\)/g,
      ([list = ""]) => ({ argv: wordsIn(list).slice(1) }),
    ],
  ],
  hides: (left) => {
    const rest = left.replace(/\bimport\s+subprocess\s*(?=;|\n|$|,)/g, "import re")
      .replace(/(\bimport\s[^\n;]*)\bsubprocess\b(?!\s+as\b)/g, "$1re")
      .replace(onlySafeYaml(left) ? /\bimport\s+yaml\b/ : /(?!)/, "import re");
    return find(MODULES, rest) ?? find(NAMES, rest) ??
      (WRITES.test(rest) ? pythonImports(rest).find((name) => !LIBRARY.test(name)) : undefined);
  },
};
