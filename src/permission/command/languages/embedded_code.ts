import { ANY, isKnown } from "../../../rule/mod.ts";
import { dynamic, type Found } from "../program.ts";
import type { Input, Nested } from "../types.ts";
import { JAVASCRIPT } from "./javascript.ts";
import { type Language, STRING, WRITES } from "./language.ts";
import { PERL, RUBY } from "./perl_and_ruby.ts";
import { LUA, PHP } from "./php_and_lua.ts";
import { PYTHON, pythonImports } from "./python.ts";

const LANGUAGES: Readonly<Record<Exclude<LanguageName, "shell">, Language>> = {
  python: PYTHON,
  javascript: JAVASCRIPT,
  perl: PERL,
  ruby: RUBY,
  php: PHP,
  lua: LUA,
};

/** Returns the content of a file that the session wrote itself. */
type OwnScript = (path: string) => string | undefined;

/**
 * Reads code in other languages that a command is handed. What it starts by literal words becomes commands of
 * the line; code that could start something in another way stays dynamic. Names are looked for in strings and
 * comments too. Modules that the session wrote itself are read with it, `depth` files down.
 */
export function embeddedCode(
  language: LanguageName | undefined,
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

function readCode(language: Exclude<LanguageName, "shell">, code: string): Found {
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
function importedFiles(language: LanguageName, code: string): string[] {
  if (language === "python") {
    return pythonImports(code).map((name) => name.replaceAll(".", "/"))
      .flatMap((path) => [`${path}.py`, `${path}/__init__.py`]);
  }
  return [
    ...code.matchAll(/\b(?:require(?:_relative)?\s*\(?|import\s*\(?|from)\s*["'](\.{0,2}\/?[^"'\n]+)["']/g),
  ]
    .flatMap(([, path = ""]) => [path, `${path}.js`, `${path}.ts`, `${path}.rb`]);
}

/**
 * Takes every string that could name a file for one that is read and, where the code writes any, for one of
 * these.
 */
function namedFiles(code: string): Required<Pick<Found, "reads" | "writes">> {
  const reads = [...code.matchAll(new RegExp(STRING, "g"))].map(([, single, double]) =>
    single ?? double ?? ""
  )
    .filter((text) => /^[^\s:%{}]+$/.test(text)).map((path) => ({ path }));
  return { reads, writes: WRITES.test(code) ? [{ path: ANY }, ...reads] : [] };
}

export type LanguageName = "shell" | "python" | "javascript" | "perl" | "ruby" | "php" | "lua";

const SHEBANG: readonly (readonly [RegExp, LanguageName])[] = [
  [/\b(?:ba|da|z|k)?sh\b/, "shell"],
  [/\bpython[\d.]*\b/, "python"],
  [/\b(?:node|deno|bun)\b/, "javascript"],
  [/\bperl\b/, "perl"],
  [/\bruby\b/, "ruby"],
  [/\bphp\b/, "php"],
  [/\blua(?:jit)?\b/, "lua"],
];

/** Returns the language of a script by its first line; a script without one is the calling shell's. */
export function languageOf(content: string, otherwise: LanguageName = "shell"): LanguageName | undefined {
  const first = /^#!(.*)/.exec(content)?.[1];
  return first === undefined ? otherwise : SHEBANG.find(([names]) => names.test(first))?.[1];
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
