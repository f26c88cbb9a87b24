import { isKnown } from "../../../rule/mod.ts";
import { type Effects, isDiscardDevice, program } from "../types.ts";

/** Programs none of whose options and operands writes or runs anything. */
const ANY_WORDS: ReadonlySet<string> = new Set(
  ("ls cat head tail wc pwd echo true false basename dirname realpath readlink stat cut tr nl tac cmp comm " +
    "grep egrep fgrep od du df md5sum sha1sum sha256sum sha512sum cksum whoami id uname nproc cd")
    .split(" "),
);

/** Programs of which only these options are allowed; words without a dash are operands that are read. */
const LISTED_OPTIONS: Readonly<Record<string, RegExp>> = {
  sort: /^-(?:[bdfghnrsuVz]+|[kt].*)$/,
  diff: /^-(?:[abBiNqrsuwyE]+|[uU]\d*)$/,
  find: /^-(?:name|iname|path|ipath|type|maxdepth|mindepth|size|mtime|mmin|newer|empty|not|o|a|print|prune)$/,
  rg: /^-(?:[nilcwFvSsuoHIx]+|[egtTABCm].*)$/,
};

/**
 * Reports whether a command is on the short list of what may run without a jail where files have to stay as
 * they are. Exact by intent: nothing but these programs and options, by their plain names, with nothing in
 * front of them. git is missing since its settings can name programs that it runs.
 */
export function isListedReader(effects: Effects): boolean {
  const { dynamic, risk, guarded, via, wrapper, runs, writes } = effects;
  if (dynamic !== undefined || risk !== undefined || guarded !== undefined || wrapper) return false;
  if (via.length > 0 || runs.length !== 1 || writes.some(({ path }) => !isDiscardDevice(path))) return false;
  const [name = "", ...words] = program(effects);
  if (ANY_WORDS.has(name)) return true;
  const options = Object.hasOwn(LISTED_OPTIONS, name) ? LISTED_OPTIONS[name] : undefined;
  return options !== undefined &&
    words.every((word) => isKnown(word) && (!/^[-(!]/.test(word) || options.test(word)));
}
