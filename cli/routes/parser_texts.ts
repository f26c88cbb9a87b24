import { text_en } from "@stricli/core";
import { ReasonixError } from "../../src/core/mod.ts";
import { errorText } from "../terminal/process.ts";

/** What people type who know another agent, and what it is called here. */
const COMMANDS: Readonly<Record<string, string>> = {
  ask: 'reasonix run "…"',
  auth: "reasonix setup",
  chat: 'reasonix run "…"; the interactive chat is not part of this version',
  configure: "reasonix setup",
  continue: 'reasonix run -c "…"',
  exec: 'reasonix run "…", or for a command in the jail: reasonix sandbox exec -- COMMAND',
  init: "reasonix setup",
  login: "reasonix setup",
  model: "reasonix config get providers; to add one: reasonix setup",
  models: "reasonix config get providers; to add one: reasonix setup",
  prompt: 'reasonix run "…"',
  providers: "reasonix config get providers; to add one: reasonix setup",
  resume: 'reasonix run -r ID "…"',
  sessions: "reasonix session list",
};

const FULL_ACCESS = "--permission-mode danger-full-access, which switches the jail off";

const FLAGS: Readonly<Record<string, string>> = {
  "approval-mode": "--on-ask and --permission-mode",
  cd: "--dir",
  cwd: "--dir",
  "dangerously-bypass-approvals-and-sandbox": FULL_ACCESS,
  "dangerously-skip-permissions": FULL_ACCESS,
  "full-auto": "nothing: a run asks nobody unless --on-ask says so",
  json: "--output-format json",
  "max-turns": "--max-steps",
  print: 'reasonix run "…", which prints the answer by itself',
  prompt: 'reasonix run "…"',
  sandbox: "--permission-mode",
  yolo: FULL_ACCESS,
};

/** Returns what an unknown command or option is called here; undefined when nobody knows. */
function guessWord(word: string): string | undefined {
  const table = word.startsWith("-") ? FLAGS : COMMANDS;
  const name = word.replace(/^--?/, "").replace(/=.*/s, "");
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** What the parser says, in the words of this program. */
export const PARSER_TEXTS: typeof text_en = {
  ...text_en,
  briefs: { ...text_en.briefs, argumentEscapeSequence: "Everything after it is an argument" },
  formatException: (error) => error instanceof Error ? error.message : String(error),
  exceptionWhileRunningCommand: errorText,
  exceptionWhileParsingArguments: (error, color) => {
    const own = error instanceof Error && "exception" in error ? error.exception : undefined;
    return errorLine(
      own instanceof ReasonixError
        ? own.message
        : asTyped(text_en.exceptionWhileParsingArguments.call(text_en, error, color)),
    );
  },
  noCommandRegisteredForInput: (given) => {
    const guess = guessWord(given.input);
    if (guess !== undefined) {
      return errorLine(`No command registered for \`${given.input}\`; here it is ${guess}`);
    }
    const message = errorLine(text_en.noCommandRegisteredForInput(given));
    return given.input.includes(" ") ? `${message}\n       give a task with: reasonix run "…"` : message;
  },
};

/** The parser proposes flags by their names in code; what other agents call them is known better. */
function asTyped(message: string): string {
  const [said = "", flag = ""] = /^No flag registered for (--[\w-]+)/.exec(message) ?? [];
  const guess = guessWord(flag);
  if (guess !== undefined) return `${said}; here it is ${guess}`;
  return message.replace(
    /(?<=did you mean .*)--\w+/g,
    (flag) => flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
  );
}

function errorLine(message: string): string {
  return `error: ${message}`;
}
