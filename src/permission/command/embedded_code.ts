import { ANY, isKnown } from "../../rule/mod.ts";
import { dynamic, type Found } from "./program.ts";
import type { Input, Nested } from "./types.ts";

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
export function foreignCode(given: string, ownScript: SessionScript): Found {
  if (!isKnown(given)) return dynamic("it runs code that only the shell will know");
  const code = withModules(given, ownScript, 4);
  const nested = [...code.normalize("NFKC").matchAll(STARTS)].map(startedCommand);
  const reads = wordsIn(code).filter((text) => /^[^\s:%{}]+$/.test(text)).map((path) => ({ path }));
  const writes = WRITES.test(code) ? [{ path: ANY }, ...reads] : [];
  return { dynamic: "it runs code in another language", code, nested, reads, writes };
}

function startedCommand([, replaces, list, first, args, more]: RegExpExecArray): Nested {
  if (list !== undefined) return { argv: wordsIn(list) };
  const [program = ""] = wordsIn(first ?? "");
  const rest = args ?? more;
  if (rest === undefined) return { code: program };
  // The words of `exec…` begin with the name of the program again.
  return { argv: replaces === undefined ? [program, ...wordsIn(rest)] : wordsIn(rest) };
}

function wordsIn(text: string): string[] {
  return [...text.matchAll(/'([^'\\\n]*)'|"([^"\\\n]*)"/g)].map(([, single, double]) =>
    single ?? double ?? ""
  );
}

/** Code with the modules that the session wrote itself, `depth` files down. */
function withModules(code: string, ownScript: SessionScript, depth: number): string {
  const contents = depth > 0 ? importedFiles(code).flatMap((path) => ownScript(path) ?? []) : [];
  return [code, ...contents.map((content) => withModules(content, ownScript, depth - 1))].join("\n");
}

function importedFiles(code: string): string[] {
  const modules = code.matchAll(
    /(?:^|[;\n:])\s*(?:from\s+([\w.]+)\s+import\b|import\s+([\w., ]+))/g,
  );
  const paths = code.matchAll(
    /\b(?:require(?:_relative)?\s*\(?|import\s*\(?|from)\s*["'](\.{0,2}\/?[^"'\n]+)["']/g,
  );
  return [
    ...[...modules].flatMap(([, from, list = ""]) => from ?? list.split(/\s*,\s*/))
      .map((name) => (name.trim().split(/\s/, 1)[0] ?? "").replaceAll(".", "/"))
      .flatMap((path) => [`${path}.py`, `${path}/__init__.py`]),
    ...[...paths].flatMap(([, path = ""]) => [path, `${path}.js`, `${path}.ts`, `${path}.rb`]),
  ];
}

/** Code of a script that the session wrote: the shell's, unless its first line says otherwise. */
export function scriptCode(content: string, ownScript: SessionScript): Found {
  const first = /^#!(.*)/.exec(content)?.[1];
  return first === undefined || /\b(?:ba|da|z|k)?sh\b/.test(first)
    ? { wrapper: true, nested: [{ code: content }] }
    : foreignCode(content, ownScript);
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
