const MARK = "%%(?:DONE|COMPLETED|COMPLETE)%%";
/** On a line of its own, or behind all other words: an answer may also speak of the mark. */
const SAID = new RegExp(`^[ \\t*_\`]*${MARK}[ \\t*_\`.!]*$|${MARK}[ \\t*_\`.!]*$(?![\\s\\S])`, "m");

/** Reports whether an answer says that the whole task is finished. */
export function saysDone(answer: string): boolean {
  return SAID.test(answer.trimEnd());
}

/** A mark with the blanks before it, and what sets it off in Markdown. */
const WRITTEN = new RegExp(`(?<![ \\t])[ \\t]*([*]{1,2}|_{1,2}|\`)?${MARK}\\1`, "g");

/** The answer without its marks. */
export function withoutMarks(answer: string): string {
  return answer.replace(WRITTEN, "").replace(/^\n+/, "").replace(/\n{3,}/g, "\n\n").trimEnd();
}
