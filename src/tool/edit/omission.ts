/**
 * Finds lines by which a model means "and the rest stays as it is", where it should have written the rest.
 */

const NOUN =
  "(?:code|files?|class(?:es)?|functions?|methods?|implementations?|contents?|body|bodies|lines?|imports?|logic|" +
  "fields?|properties|props|tests?|cases?|styles?|rules?|sections?|document|text|components?|config(?:uration)?|options|" +
  "entries|items|elements|variables|constants|definitions|statements|handlers|routes|module|block|struct|script|markup)";
const STAYS =
  "(?: (?:is|are|remains?|stays?|goes|go|continues?)(?: here| unchanged| the same| as (?:is|before))*| here| unchanged| above| below)*";

/** Wordings that are never a comment of their own. */
const PLAIN = [
  `(?:and )?(?:the |your )?rest(?: of)?(?: the| your| this| these)?(?: \\w+)? ${NOUN}${STAYS}`,
  `(?:all |the )*(?:existing|unchanged) (?:code|implementation|content|logic)${STAYS}`,
  `(?:${NOUN} )?(?:unchanged|omitted)(?: for (?:brevity|clarity))?(?: here)?`,
  `(?:everything|all|nothing) else(?: (?:is|remains|stays))?(?: unchanged| the same| as (?:is|before))?`,
  `(?:same|identical) as (?:before|above|in the original|the original)`,
  `no changes?(?: here| needed)?`,
];
/** Wordings that mean an omission between dots or in parentheses only: alone they may be a heading. */
const MARKED = [
  ...PLAIN,
  `(?:all |the |your |and |keep )*(?:existing|remaining|previous|other|original|rest|more|same)(?: of)?(?: the)?(?: \\w+)?(?: ${NOUN})?${STAYS}`,
];
const PLAIN_OMISSION = new RegExp(`^(?:${PLAIN.join("|")})$`, "i");
const MARKED_OMISSION = new RegExp(`^(?:${MARKED.join("|")})$`, "i");

const OPENING = /^(?:\/\/+|#+|--+|;+|%+|\/\*+|\*+|<!--|\{\/\*+|"""|''')\s*/;
const CLOSING = /\s*(?:\*+\/\}?|-->|"""|''')$/;

/**
 * Returns what a line says once marks of a comment are off; `dots` when there is nothing else but an
 * ellipsis.
 */
function readMark(line: string): "omission" | "dots" | undefined {
  const trimmed = line.trim();
  const text = trimmed.replace(OPENING, "").replace(CLOSING, "");
  const isComment = text !== trimmed;
  const words = text.replace(/^[(<[{\s]*(?:\.{3,}|…)?[\s(<[{]*/, "").replace(
    /[)>\]}\s.:]*(?:\.{3,}|…)?[\s)>\]}.]*$/,
    "",
  );
  const marked = /\.{3}|…/.test(text) || /^\(.*\)$/.test(text);
  if (words === "") return isComment && /^(?:\.{3,}|…)$/.test(text) ? "dots" : undefined;
  if (!marked && !isComment) return undefined;
  return (marked ? MARKED_OMISSION : PLAIN_OMISSION).test(words) ? "omission" : undefined;
}

/**
 * The first of `fresh` that stands for text left out and that is not among `old`; undefined for an honest
 * edit. A comment of nothing but dots counts only where lines go away.
 */
export function omissionIn(fresh: readonly string[], old: readonly string[]): string | undefined {
  const known = new Set(old.map((line) => line.trim()));
  const count = (lines: readonly string[]) => lines.filter((line) => line.trim() !== "").length;
  const shrinks = count(fresh) < count(old);
  return fresh.find((line) => {
    if (known.has(line.trim())) return false;
    const mark = readMark(line);
    return mark === "omission" || (mark === "dots" && shrinks);
  })?.trim();
}

/** The refusal of such a text, for the model; `name` is what the text is called. */
export function omissionProblem(line: string, name: string): string {
  return `${name} has the placeholder ${
    JSON.stringify(line.slice(0, 120))
  }, which would replace the code it stands for; ` +
    "write out every line, or edit only the lines that change";
}
