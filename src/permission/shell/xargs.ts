import { ANY, isKnown } from "../../rule/mod.ts";

const FLAGS = "0prtxo";
const VALUES = "aEIJLnPdsRS";
const LONG_FLAGS = new Set([
  "--null",
  "--interactive",
  "--no-run-if-empty",
  "--verbose",
  "--exit",
  "--open-tty",
  "--show-limits",
]);
const LONG_VALUES =
  /^--(?:arg-file|delimiter|max-args|max-chars|max-lines|max-procs|replace|process-slot-var)(?:=|$)/;

/** The command xargs starts, with unknown words for what it reads. Undefined when it only prints. */
export function readXargs(argv: readonly string[]): readonly string[] | "opaque" | undefined {
  let replaced: string | undefined;
  let at = 1;
  for (; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (word === "--") {
      at++;
      break;
    }
    if (!word.startsWith("-")) break;
    if (!isKnown(word)) return "opaque";
    if (LONG_FLAGS.has(word)) continue;
    if (LONG_VALUES.test(word)) {
      if (word.startsWith("--replace")) replaced = word.split("=", 2)[1] ?? "{}";
      else if (!word.includes("=")) at++;
      continue;
    }
    const letter = word[1] ?? "";
    if (
      word.startsWith("--") || (!FLAGS.includes(letter) && !VALUES.includes(letter) && !/[ilei]/.test(letter))
    ) return "opaque";
    const attached = clusterValue(word);
    if (attached === undefined) continue;
    const value = attached.value ?? argv[++at] ?? "";
    if (attached.letter === "I" || attached.letter === "J") replaced = value;
  }
  const words = argv.slice(at);
  if (words.length === 0) return undefined;
  const target = replaced;
  if (target === undefined || target === "") return [...words, ANY];
  return words.map((word) => word.replaceAll(target, ANY));
}

/** The option of a cluster that takes a value, and the value when it is attached. `-i`, `-l`, `-e` only take attached ones. */
function clusterValue(word: string): { letter: string; value?: string } | undefined {
  for (let i = 1; i < word.length; i++) {
    const letter = word[i] ?? "";
    if (FLAGS.includes(letter)) continue;
    const rest = word.slice(i + 1);
    if (letter === "i") return { letter: "I", value: rest === "" ? "{}" : rest };
    if (letter === "l" || letter === "e") return { letter, value: rest };
    return rest === "" ? { letter } : { letter, value: rest };
  }
  return undefined;
}
