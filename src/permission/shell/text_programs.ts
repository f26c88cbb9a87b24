import { isKnown } from "../../rule/mod.ts";
import { type Fed, opaque } from "./fed.ts";
import { isLong } from "./line.ts";

/** The small languages whose programs stand in a line: awk and sed. */

const AWK_CODE = ["file", "include", "load", "exec", "source"];

/** Where a program begins a slash can only open a pattern; one with a quote or a bracket is left to be looked at. */
const AWK_FIRST_PATTERN = /^\s*!?\s*\/(?:[^/\\\n"[]|\\.)*\//;

/** An awk program can start commands with `system`, pipes and `getline`. */
export function awkCode(argv: readonly string[], name: string): Fed | undefined {
  let code: string | undefined;
  for (let i = 1; i < argv.length && code === undefined; i++) {
    const word = argv[i] ?? "";
    if (/^-[Fv]$/.test(word)) i++;
    else if (/^-[filEeW]/.test(word) || isLong(word, AWK_CODE)) {
      return opaque(`${name} reads its program from elsewhere (${word})`);
    } else if (!/^-./.test(word)) code = word;
  }
  if (code === undefined) return undefined;
  if (!isKnown(code)) return opaque(`${name} runs a program that only the shell will know`);
  const bare = withoutStrings(code.replace(AWK_FIRST_PATTERN, "1")).replaceAll("||", "");
  const writes = bare.split(/[;{}\n]/).some((statement) => {
    const print = statement.search(/\bprintf?\b/);
    return print >= 0 && statement.indexOf(">", print) >= 0;
  });
  return writes || /system|getline|\||@/.test(bare)
    ? opaque(`the ${name} program may start commands or write files`)
    : undefined;
}

/** A quote in a pattern or a comment shifts what looks like a string, so that one may only be left out when it holds nothing of note. */
function withoutStrings(code: string): string {
  const clear = !/[/#]/.test(code);
  return code.replace(
    /"(?:[^"\\]|\\.)*"/g,
    (text) => clear || !/system|getline|[|>@]/.test(text) ? '""' : text,
  );
}

const SED_ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)`;
const SED_COMMAND = String
  .raw`(?:[pdqQDPhHgGxnN=lz}]\d*|s([^\w\s\\])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpIiMm0-9]*|` +
  String.raw`y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/|[aic]\\?[^\n]*)`;
const SED_LINE = new RegExp(
  String
    .raw`^\s*(?:${SED_ADDRESS}(?:,(?:\+?${SED_ADDRESS}))?\s*!?\s*)?(?:\{|${SED_COMMAND}?\s*(?:[;\n}]+|$))`,
);

const SED_PLAIN =
  /^--(?:|quiet|silent|regexp-extended|null-data|separate|unbuffered|zero-terminated|posix|sandbox|debug|help|version|expression(?:=.*)?|in-place(?:=.*)?|line-length=\d+)$/s;

/** GNU sed can run commands (`e`) and write files (`w`); only programs made of other commands are known to be plain. */
export function sedCode(argv: readonly string[], name: string): Fed | undefined {
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
