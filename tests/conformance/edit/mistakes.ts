/**
 * Mistakes of models in quoting a file, each with its outcome and reason. `apply` introduces the mistake into
 * a correct pair of old and new text (LF line ends); undefined if the mistake is impossible in this text.
 */
export interface Mistake {
  readonly name: string;
  /**
   * Accepted: the edit applies as without the mistake. Refused: the file is unchanged. Accepted or refused:
   * it is refused if the text is ambiguous.
   */
  readonly outcome: "accepted" | "refused" | "accepted or refused";
  readonly reason: string;
  /** Two mistakes with the indentation of one text contradict each other. */
  readonly indents?: true;
  /** One text only, where a patch writes its context for both. */
  readonly oneSide?: true;
  readonly apply: (pair: Pair) => Pair | undefined;
}

export interface Pair {
  readonly old: string;
  readonly fresh: string;
}

export const MISTAKES: readonly Mistake[] = [
  {
    name: "missing trailing blanks",
    outcome: "accepted",
    reason: "they are invisible, and unchanged lines keep theirs",
    apply: both((text) => text.replace(/[ \t]+$/gm, "")),
  },
  {
    name: "CRLF in both texts",
    outcome: "accepted",
    reason: "line ends come from the file, not from the model",
    apply: both((text) => text.replace(/\r?\n/g, "\r\n")),
  },
  {
    name: "CRLF in the new text only",
    oneSide: true,
    outcome: "accepted",
    reason: "line ends come from the file, not from the model",
    apply: ({ old, fresh }) => ({ old, fresh: fresh.replace(/\r?\n/g, "\r\n") }),
  },
  {
    name: "missing indentation in both texts",
    indents: true,
    outcome: "accepted or refused",
    reason: "one shift makes every line equal to the file's; one old line is not enough for several new ones",
    apply: (pair) => dedented(pair, ["old", "fresh"]),
  },
  {
    name: "missing indentation in the old text only",
    oneSide: true,
    indents: true,
    outcome: "accepted or refused",
    reason: "the new text has the file's indentation already and is not shifted again",
    apply: (pair) => dedented(pair, ["old"]),
  },
  {
    name: "both texts indented too far",
    indents: true,
    outcome: "accepted",
    reason: "one shift makes every line equal to the file's",
    apply: both((text) => text.replace(/^(?=.)/gm, "    ")),
  },
  {
    name: "old text indented too far",
    oneSide: true,
    indents: true,
    outcome: "accepted",
    reason: "the new text has the file's indentation already and is not shifted again",
    apply: ({ old, fresh }) => ({ old: old.replace(/^(?=.)/gm, "    "), fresh }),
  },
  {
    name: "plain characters for typographic ones",
    outcome: "accepted",
    reason: "they look alike and the file's are kept; letters never match look-alikes",
    apply: both((text) =>
      text.replace(/[\u2018\u2019]/g, "'").replace(/[\u201c\u201d]/g, '"').replace(/[\u2013\u2014]/g, "-")
        .replaceAll("\u00a0", " ").normalize("NFC")
    ),
  },
  {
    name: "a blank line before and after the text",
    outcome: "accepted",
    reason: "the lines between occur once",
    apply: both((text) => `\n${text}\n`),
  },
  {
    name: "runs of blanks inside lines as one blank",
    outcome: "accepted",
    reason: "unchanged text keeps the file's blanks",
    apply: both((text) => text.replace(/(?<=\S)[ \t]+(?=\S)/g, " ")),
  },
  {
    name: "one level of escaping too many",
    outcome: "accepted",
    reason: "the text matches in one place after removing one level",
    apply: both((text) => text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")),
  },
  {
    name: "a byte order mark before the old text",
    oneSide: true,
    outcome: "accepted",
    reason: "it is not part of the text",
    apply: ({ old, fresh }) => ({ old: `\ufeff${old}`, fresh }),
  },
  {
    name: "line numbers of read_file before each line",
    outcome: "refused",
    reason: "the new text has them too, and a number may be content",
    apply: both((text) => text.replace(/^(?=.)/gm, "    12→")),
  },
  {
    name: "a placeholder for unchanged lines",
    outcome: "refused",
    reason: "it would delete the lines it represents",
    apply: ({ old, fresh }) => ({ old, fresh: `${fresh.split("\n")[0]}\n// ... rest of the code\n` }),
  },
  {
    name: "a different word in the old text",
    outcome: "refused",
    reason: "no distance between texts is small enough to be safe",
    apply: ({ old, fresh }) => /\d/.test(old) ? { old: old.replace(/\d+/, "987654321"), fresh } : undefined,
  },
  {
    name: "a look-alike letter",
    outcome: "refused",
    reason: "letters never match look-alikes",
    apply: ({ old, fresh }) => old.includes("a") ? { old: old.replace("a", "\u0430"), fresh } : undefined,
  },
];

function both(spoil: (text: string) => string): Mistake["apply"] {
  return ({ old, fresh }) => ({ old: spoil(old), fresh: spoil(fresh) });
}

/** The texts without the common indentation of all lines. */
function dedented(pair: Pair, which: readonly (keyof Pair)[]): Pair | undefined {
  const lines = `${pair.old}${pair.fresh}`.split("\n").filter((line) => line.trim() !== "");
  const margin = Math.min(...lines.map((line) => /^ */.exec(line)?.[0].length ?? 0));
  if (margin === 0 || margin === Infinity) return undefined;
  const shifted = (text: string) => text.split("\n").map((line) => line.slice(margin)).join("\n");
  const take = (key: keyof Pair) => which.includes(key) ? shifted(pair[key]) : pair[key];
  return { old: take("old"), fresh: take("fresh") };
}
