import { message, textFields } from "../../core/mod.ts";
import type { RunContext } from "../../run/mod.ts";

const MARK = "%%(?:DONE|COMPLETED|COMPLETE)%%";
/** On a separate line, or at the end: an answer may also mention the mark. */
const SAID = new RegExp(`^[ \\t*_\`]*${MARK}[ \\t*_\`.!]*$|${MARK}[ \\t*_\`.!]*$(?![\\s\\S])`, "m");

export function saysDone(answer: string): boolean {
  return SAID.test(answer.trimEnd());
}

/** A mark with the blanks before it, and what sets it off in Markdown. */
const WRITTEN = new RegExp(`(?<![ \\t])[ \\t]*([*]{1,2}|_{1,2}|\`)?${MARK}\\1`, "g");

export function withoutMarks(answer: string): string {
  return answer.replace(WRITTEN, "").replace(/^\n+/, "").replace(/\n{3,}/g, "\n\n").trimEnd();
}

/** Gives the model several turns for each task, without a person in between. */
export function attach({ modes, recorder, extensions, options: { steps = 1, loaded } }: RunContext): void {
  const showsStatus = loaded.config.agent_mode.status;
  let turn = 0;
  extensions.add({
    before(input) {
      turn = input.origin === "continue" ? turn + 1 : 1;
      // Other extensions may cause more turns than planned.
      const status = showsStatus && turn <= steps ? `<status>Turn ${turn} of ${steps}</status>` : undefined;
      return Promise.resolve(status === undefined ? input : { ...input, reminder: status });
    },
    async after({ reason, answer }, signal) {
      if (reason !== "done" || signal.aborted || saysDone(answer) || modes.planWaits) return undefined;
      const isLast = turn >= steps;
      await recorder.record({
        type: "notice",
        ...(isLast ? { level: "warning", code: "turns" } : { level: "info", code: "turn" }),
        ...textFields(
          isLast
            ? message`All ${steps} turns are used up, and the model has not said that it has finished`
            : message`Turn ${turn + 1} of ${steps}`,
        ),
      });
      return isLast ? undefined : { text: "Go on with the task.", origin: "continue", literal: true };
    },
  });
}
