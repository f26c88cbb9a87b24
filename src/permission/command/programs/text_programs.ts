import { isKnown } from "../../../rule/mod.ts";
import { type Call, dynamic, type Found, getopt, isLong, operands, type Program, reads } from "../program.ts";

/** The small languages whose programs stand in a line: awk and sed. */

const AWK_CODE = ["file", "include", "load", "exec", "source"];
/** Options of awk that only say how to read; others of gawk write files or load code. */
const AWK_OPTIONS =
  "F:v:bcCgnNrsStV field-separator= assign= posix traditional characters-as-bytes re-interval " +
  "sandbox version";

/**
 * Where a program begins a slash can only open a pattern; one with a quote or a bracket is left to be
 * looked at.
 */
const AWK_FIRST_PATTERN = /^\s*!?\s*\/(?:[^/\\\n"[]|\\.)*\//;

/** Output to a file that is named in the program, where nothing in front could shift what is a string. */
const AWK_OUTPUT = /(\bprintf?\b[^;{}\n>|"'/#]*)>>?\s*"([\w.][\w./-]*)"(?=\s*(?:[;}\n]|$))/g;

/** An awk program can start commands with `system`, pipes and `getline`. */
function awk({ name, args }: Call): Found {
  let code: string | undefined;
  for (let i = 0; i < args.length && code === undefined; i++) {
    const word = args[i] ?? "";
    if (/^-[Fv]$/.test(word)) i++;
    else if (/^-[filEeDW]/.test(word) || isLong(word, AWK_CODE)) {
      return dynamic(`${name} reads its program from elsewhere (${word})`);
    } else if (!/^-./.test(word)) code = word;
  }
  if (code === undefined) return {};
  if (!isKnown(code)) return dynamic(`${name} runs a program that only the shell will know`);
  const outputs: string[] = [];
  const printing = code.replace(AWK_OUTPUT, (_, print: string, path: string) => {
    outputs.push(path);
    return print;
  });
  const bare = withoutStrings(printing.replace(AWK_FIRST_PATTERN, "1")).replaceAll("||", "");
  const writes = bare.split(/[;{}\n]/).some((statement) => {
    const print = statement.search(/\bprintf?\b/);
    return print >= 0 && statement.indexOf(">", print) >= 0;
  });
  const command = /^\s*BEGIN\s*\{\s*system\("([^"\\]*)"\);?\s*\}\s*$/.exec(code)?.[1];
  if (command !== undefined) return { wrapper: true, nested: [{ code: command }] };
  if (writes || /system|getline|\||@/.test(bare)) {
    return { dynamic: `the ${name} program may start commands or write files`, code };
  }
  return {
    writes: outputs.map((path) => ({ path })),
    readOnly: getopt(args, AWK_OPTIONS, true).unknown === undefined,
  };
}

/**
 * A quote in a pattern or a comment shifts what looks like a string, so that one may only be left out when
 * it holds nothing of note.
 */
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
const SED_OPTIONS =
  "nErsuzbai::I::e:l: quiet silent regexp-extended null-data separate unbuffered zero-terminated " +
  "posix sandbox " +
  "debug help version expression= in-place=? line-length=";

/**
 * GNU sed can run commands (`e`) and write files (`w`); only programs made of other commands are known to
 * be plain.
 */
function sed({ name, args }: Call): Found {
  const hidden = args.map((word) => !isKnown(word) && !/^[\w./~@:+=,%]/.test(word));
  // A word that only the shell will know is taken for the program or a file; at worst it is an option.
  const { options, operands: words, unknown } = getopt(
    args.map((word, i) => hidden[i] ? `./${word}` : word),
    SED_OPTIONS,
  );
  if (unknown !== undefined) {
    return dynamic(`${name} is used with ${isKnown(unknown) ? unknown.slice(0, 20) : "…"}`);
  }
  const width = options.find((each) => each.name === "l")?.value;
  if ((width !== undefined && !/^\d+$/.test(width)) || !programs(options, words).every(isPlainSed)) {
    return dynamic(`the ${name} program may start commands or write files`);
  }
  // Elsewhere `-l` takes no word, and what follows is the program.
  return { readOnly: width === undefined && !hidden.includes(true) };
}

function programs(
  options: readonly { readonly name: string; readonly value?: string | undefined }[],
  words: readonly string[],
): string[] {
  const given = options.flatMap(({ name, value }) => /^(?:e|expression)$/.test(name) ? [value ?? ""] : []);
  return given.length > 0 ? given : words.slice(0, 1);
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

/** Reports whether a sed call changes files in place. */
function editsInPlace(args: readonly string[]): boolean {
  return args.some((word) => /^-[nErsuzb]*i/.test(word) || isLong(word, ["in-place"]));
}

export const TEXT_PROGRAMS: readonly Program[] = [
  { names: "awk gawk mawk nawk busybox-awk", files: "searches", read: awk },
  {
    names: "sed gsed",
    read: (call) => {
      const words = operands(call.args);
      const files = call.args.some((word) => /^(?:-[A-Za-z]*[ef]|--(?:file|expression))/.test(word))
        ? words
        : words.slice(1);
      return {
        ...sed(call),
        ...(editsInPlace(call.args) ? { writes: reads(files) } : { reads: reads(files) }),
      };
    },
  },
];
