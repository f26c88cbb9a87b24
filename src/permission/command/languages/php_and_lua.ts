import { calls, find, type Language, oneOf, PLAIN, shellText, STRING } from "./language.ts";

/** Functions of PHP that start nothing and call nothing back. All others count as code that runs anything. */
const PHP_PLAIN = new RegExp(
  "^" + oneOf(
    String.raw`print echo isset empty array list count strlen str\w* json_(?:en|de)code file_get_contents ` +
      String
        .raw`file_exists is_\w+ var_dump print_r phpversion php_uname implode explode date time round floor ` +
      "ceil abs max min in_array array_(?:sum|keys|values|merge|slice|unique|reverse) range trim rtrim ltrim " +
      "s?printf number_format md5 sha1 if while for foreach switch exit",
  ) + "$",
  "i",
);
const PHP_SIGNS =
  /`|\$\w+\s*\(|->|::|\b(?:new|include|require|include_once|require_once|eval|use|namespace|function|fn)\b|phar:|expect:/i;

function phpHides(left: string): string | undefined {
  const names = [...left.matchAll(/([\w\\]+|[\])}"'])\s*\(/g)].map(([, name = ""]) => name);
  return names.find((name) => !PHP_PLAIN.test(name)) ?? find(PHP_SIGNS, left);
}

export const PHP: Language = {
  calls: [[calls(String.raw`\b(?:exec|system|passthru|shell_exec)\(\s*${PLAIN}\s*\)`), shellText]],
  hides: phpHides,
};

/** What in Lua runs files and programs, or leads to it by another name. */
const LUA_HIDES = new RegExp(
  String.raw`\b` + oneOf(String.raw`load\w* dofile require debug package _G _ENV [gs]etfenv ffi jit`) +
    String.raw`\b|\bos\b(?!\s*\.\s*(?:time|date|clock|getenv|remove|rename|tmpname)\b)` +
    String.raw`|\bio\b(?!\s*\.\s*(?:open|read|write|lines|stdin|stdout|stderr)\b)`,
);

export const LUA: Language = {
  calls: [[calls(String.raw`\bos\.execute\(\s*${STRING}\s*\)`), shellText]],
  hides: (left) => find(LUA_HIDES, left),
};
