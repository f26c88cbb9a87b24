/** Steps that a list of things to do has room for. */
const MAX_STEPS = 50;
const MAX_LENGTH = 300;

const NUMBERED = /^(?:\d{1,3}\s*[.)、．]|[（(]\d{1,3}[)）]|[一二三四五六七八九十]{1,3}、)\s*(\S.*)$/u;
const CHECKBOX = /^[-*+]\s+\[[ xX]\]\s+(\S.*)$/;
const BULLET = /^[-*+•]\s+(\S.*)$/u;

/**
 * The steps of a plan, in order: its numbered items that are not part of another one, where there are none
 * its checkboxes, else its bullets. Fenced code has none. Empty for prose.
 */
export function planSteps(plan: string): readonly string[] {
  const lines = topLines(plan);
  for (const kind of [NUMBERED, CHECKBOX, BULLET]) {
    const steps = lines.flatMap((line) => kind.exec(line)?.[1] ?? []).map(plainStep).filter((step) =>
      step !== ""
    );
    if (steps.length > 0) return [...new Set(steps)].slice(0, MAX_STEPS);
  }
  return [];
}

/** Lines that belong to no other item and to no code. */
function topLines(plan: string): string[] {
  let fence = "";
  return plan.split(/\r?\n/).filter((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== "") {
      if (mark?.startsWith(fence)) fence = "";
      return false;
    }
    if (mark) fence = mark;
    return !mark && /^\S/.test(line);
  });
}

/** A step without the marks of Markdown around its words, in one line. */
function plainStep(text: string): string {
  const plain = text.replace(/\*\*|__/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\s+/g, " ")
    .trim();
  const characters = [...plain];
  return characters.length > MAX_LENGTH ? `${characters.slice(0, MAX_LENGTH - 1).join("")}…` : plain;
}
