import {
  calls,
  find,
  type Language,
  LIST,
  oneOf,
  programAndWords,
  shellText,
  STRING,
  WRITES,
} from "./language.ts";

const RUNNER = String.raw`\brequire\(\s*["'](?:node:)?child_process["']\s*\)`;
const CALLER = String.raw`(?:${RUNNER}\s*\.\s*|\b[\w$]+\.)?`;
const OPTION = String.raw`(?:encoding|stdio|timeout|maxBuffer)\s*:\s*(?:["'][\w-]+["']|\d+)\s*,?\s*`;
const END = String.raw`\s*(?:,\s*\{\s*(?:${OPTION})*\})?\s*\)(?:\s*\.toString\(\))?`;

/** Modules of Node that run programs or code. */
const MODULES = new RegExp(
  String.raw`\b(?:require|from|import)\b[\s(]*["'` + "`" + String.raw`](?:node:)?` + oneOf(
    "child_process cluster worker_threads vm module repl inspector wasi v8 sqlite test bun execa shelljs " +
      String.raw`cross-spawn zx node-pty tinyexec /(?:dev|proc)/ data: https?:`,
  ),
);

/** Names by which anything can be run, and ways to reach them under another name. */
const NAMES = new RegExp(
  String.raw`\b` + oneOf(
    "child_process eval Function GeneratorFunction AsyncFunction constructor binding " +
      "_linkedBinding mainModule " +
      String
        .raw`getBuiltinModule dlopen Reflect Proxy __proto__ getPrototypeOf ` +
      String.raw`getOwnProperty\w* callee WebAssembly ` +
      String.raw`spawn\w* fork execFile\w* execSync execve createRequire Worker Command`,
  ) + String.raw`\b|\b(?:Deno|Bun|globalThis)\b(?!\s*\.\s*(?!run\b|\$)\w)|` +
    String
      .raw`(?:[=(,:[]|\b(?:in|of|return))\s*(?:process|module|global|require)\s*[),;\]}]|\bimport\s*\.\s*meta|` +
    String.raw`\b(?:require|import)\s*\(\s*(?!["'][^"'\\]*["']\s*\))|\brequire\b(?!\s*\(|\.resolve\()|` +
    String.raw`\\u|\bwith\s*\(|(?:globalThis|global|process|window|self)\s*\[|\]\s*\)*\s*(?:\(|` + "`)",
);

/** Modules that are files, which code that writes files may have put there itself; JSON runs nothing. */
const FILES = new RegExp(
  String.raw`\b(?:require\(|import\s*\(?|from)\s*["'](?!node:|[^"']*\.json["']|` + oneOf(
    "fs fs/promises path os util url assert crypto events stream zlib https? net readline " +
      "querystring timers buffer",
  ) + String.raw`["'])[^"']*["']`,
);

/** Ways to build the name of a property, and to use one that was built. */
const BUILDS = new RegExp(
  String.raw`\b` + oneOf(
    String
      .raw`join concat fromCharCode fromCodePoint atob Buffer decodeURI\w* unescape ` +
      String.raw`reverse replace\w* substr\w* ` +
      "slice at charAt toString String raw",
  ) + String.raw`\b|\$\{|\\x|\+\s*["'` + "`" + String.raw`]|["'` + "`" + String.raw`]\s*\+`,
);
const COMPUTED = /[{,]\s*\[[^\]]*\]\s*:|[\w$)\]]\s*\[\s*(?!\d+\s*\]|["'][^"'\\]*["']\s*\])[^\]]/;

/** Leaves out where code names the module that runs programs, when all other uses of that name were read. */
function withoutImports(left: string): string {
  const imports = calls(
    String.raw`\b(?:const|let|var)\s+(\{[^}]*\}|[\w$]+)\s*=\s*${RUNNER}\s*;?|` +
      String
        .raw`\bimport\s+(\{[^}]*\}|\*\s*as\s+[\w$]+|[\w$]+)\s*from\s*["'](?:node:)?child_process["']\s*;?`,
  );
  const names = [...left.matchAll(imports)].flatMap(([, a, b]) => (a ?? b ?? "").match(/[\w$]+/g) ?? []);
  const rest = left.replace(imports, "");
  const used = names.filter((name) => name !== "as").some((name) =>
    new RegExp(`(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`).test(rest)
  );
  return used ? left : rest;
}

export const JAVASCRIPT: Language = {
  calls: [
    [calls(String.raw`${CALLER}\bexecSync\(\s*${STRING}${END}`), shellText],
    [calls(String.raw`${RUNNER}\.exec\(\s*${STRING}${END}`), shellText],
    [
      calls(
        String
          .raw`${CALLER}\b(?:spawn|spawnSync|execFile|execFileSync)\(\s*${STRING}\s*(?:,\s*${LIST})?${END}`,
      ),
      programAndWords,
    ],
    [
      calls(
        String.raw`\bnew\s+Deno\.Command\(\s*${STRING}\s*(?:,\s*\{\s*args:\s*${LIST}\s*\})?\s*\)` +
          String.raw`(?:\s*\.(?:output|outputSync|spawn)\(\))?`,
      ),
      programAndWords,
    ],
  ],
  hides: (left) => {
    const rest = withoutImports(left);
    return find(MODULES, rest) ?? find(NAMES, rest) ??
      (WRITES.test(rest) ? find(FILES, rest) : undefined) ??
      (BUILDS.test(rest) ? find(COMPUTED, rest) : undefined);
  },
};
