import { message } from "../../../core/mod.ts";
import type { Question } from "../../services.ts";
import { failure, type ToolContext, type ToolResult } from "../../tool.ts";
import { DEFAULT_CAPS, keepHead } from "../../truncation.ts";

const MAX_QUESTIONS = 8;

export async function ask(args: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
  const questions = (args.questions as readonly Partial<Question>[]).map(readQuestion);
  if (questions.length > MAX_QUESTIONS) {
    return failure(`Cannot ask ${questions.length} questions at once`, `ask at most ${MAX_QUESTIONS}`);
  }
  const asker = context.services?.asker;
  if (!asker) return assumed(questions);
  const answers = await asker.ask(questions, context.signal);
  context.signal.throwIfAborted();
  if (!answers) {
    return {
      content:
        "The user declined to answer; continue with your best judgement or stop and say what is missing",
      summary: message`declined`,
    };
  }
  const lines = questions.map((question, index) => {
    const answer = answers[index] ?? [];
    return `${question.question}\n→ ${answer.length > 0 ? answer.join(", ") : "(no answer)"}`;
  });
  const text = keepHead(lines.join("\n"), DEFAULT_CAPS).text;
  return {
    content: `The user answered:\n${text}`,
    summary: answers.map((answer) => answer.join(", ")).join("; ").slice(0, 120),
  };
}

function readQuestion(given: Partial<Question>): Question {
  return {
    question: given.question ?? "",
    options: given.options ?? [],
    multiple: given.multiple ?? false,
  };
}

/** Words that mark an option as one that cannot be taken back, or changes more than another. */
const RISKY =
  /\b(?:delet|remov|drop|overwrit|forc|reset|destroy|wip|purg|discard|replac|deploy|publish|push|install|upgrad|migrat)/i;
const CAUTIOUS = /\b(?:no|none|skip|cancel|abort|keep|leave|don'?t|do not|nothing|stop|dry[- ]run)\b/i;

/** Without a user: chooses the safest option of each question and labels it as an assumption. */
function assumed(questions: readonly Question[]): ToolResult {
  const lines = questions.map((question) => {
    const option = safest(question);
    return `${question.question}\n→ ${
      option === undefined ? "no option to assume; choose what changes least" : option
    }`;
  });
  const text = keepHead(lines.join("\n"), DEFAULT_CAPS).text;
  return {
    content:
      `No user is available to answer. Assumption, not a decision of the user:\n${text}\nState this assumption in your final answer.`,
    summary: message`assumed`,
  };
}

/** The first option that is not risky, a cautious one first; the order is the asker's own ranking. */
function safest(question: Question): string | undefined {
  const text = (option: Question["options"][number]) => `${option.label} ${option.description ?? ""}`;
  const harmless = question.options.filter((option) =>
    !RISKY.test(text(option)) || CAUTIOUS.test(option.label)
  );
  const first = question.options[0];
  if (first && harmless.includes(first)) return first.label;
  return (harmless.find((option) => CAUTIOUS.test(option.label)) ?? harmless[0] ?? first)?.label;
}
