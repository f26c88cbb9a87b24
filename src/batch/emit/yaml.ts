/** Words that some parser of YAML takes for something else than a text. */
const NO_TEXT = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

/** Characters that would end a line of YAML or may not be in one. */
const UNPRINTABLE = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

function scalar(value: string): string {
  if (/^[A-Za-z][\w./-]*$/.test(value) && !NO_TEXT.test(value)) return value;
  return JSON.stringify(value).replace(
    UNPRINTABLE,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A value of JSON as YAML in blocks; a text of several lines as such, where that is the same text. */
export function yaml(value: unknown, indent = ""): string {
  const below = `${indent}  `;
  const item = (each: unknown, before: string): string => {
    const isFilled = typeof each === "object" && each !== null && Object.keys(each).length > 0;
    if (isFilled) return `\n${yaml(each, before)}`;
    if (typeof each !== "string") return ` ${JSON.stringify(each)}`;
    const isBlock = /^[^\s][^]*\n[^]*[^\n]\n$/.test(each) &&
      !/[^\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\u{10000}-\u{10ffff}]/u.test(each);
    if (!isBlock) return ` ${scalar(each)}`;
    return ` |\n${each.slice(0, -1).split("\n").map((line) => line === "" ? "" : before + line).join("\n")}`;
  };
  if (Array.isArray(value)) {
    return value.map((each) => {
      const text = item(each, below);
      return `${indent}-${text.startsWith("\n") ? text.replace(`\n${below}`, " ") : text}`;
    }).join("\n");
  }
  return Object.entries(value as Record<string, unknown>)
    .map(([key, each]) => `${indent}${scalar(key)}:${item(each, below)}`).join("\n");
}
