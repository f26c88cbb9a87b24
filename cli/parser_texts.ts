import {
  AliasNotFoundError,
  ArgumentParseError,
  EnumValidationError,
  FlagNotFoundError,
  text_en,
  UnexpectedFlagError,
  UnexpectedPositionalError,
  UnsatisfiedFlagError,
  UnsatisfiedPositionalError,
} from "@stricli/core";
import { errorText } from "./terminal/process.ts";
import { ReasonixError } from "../src/core/mod.ts";
import { suggestNames } from "../src/util/suggest.ts";
import { flagWord } from "./command.ts";

/** Commands of other agents and their names here. */
const COMMANDS: Readonly<Record<string, string>> = {
  ask: 'reasonix run "…"',
  auth: "reasonix setup",
  configure: "reasonix setup",
  continue: "reasonix -c",
  exec: 'reasonix run "…", or for a command in the jail: reasonix sandbox exec -- COMMAND',
  init: "reasonix setup",
  install: "a line of docs/install.md, which installs and updates",
  login: "reasonix setup",
  model: "reasonix models list",
  prompt: 'reasonix run "…"',
  providers: "reasonix config get providers; to add one: reasonix setup",
  resume: "reasonix --resume",
  sessions: "reasonix session list",
  update: "the line that installed it, with -f",
  upgrade: "the line that installed it, with -f",
};

const FULL_ACCESS = "--permission-mode danger-full-access, which switches the jail off";

const FLAGS: Readonly<Record<string, string>> = {
  "approval-mode": "--on-ask and --permission-mode; the chat has it",
  cd: "--dir",
  cwd: "--dir",
  "dangerously-bypass-approvals-and-sandbox": FULL_ACCESS,
  "dangerously-skip-permissions": FULL_ACCESS,
  "full-auto": "not needed: a run has no prompts unless --on-ask says so",
  json: "--output-format json",
  "max-turns": "--max-steps",
  c: 'reasonix run -c "…"',
  print: 'reasonix run "…", which prints the answer',
  prompt: 'reasonix run "…"',
  r: 'reasonix run -r ID "…"',
  s: "--project or --user",
  scope: "--project or --user",
  sandbox: "--permission-mode",
  yolo: "--approval-mode yolo in the chat; without the jail: --permission-mode danger-full-access",
};

/** Returns the name that an unknown command or option has here, if any. */
function guessWord(word: string): string | undefined {
  const table = word.startsWith("-") ? FLAGS : COMMANDS;
  const name = word.replace(/^--?/, "").replace(/=.*/s, "");
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

export const PARSER_TEXTS: typeof text_en = {
  ...text_en,
  briefs: { ...text_en.briefs, argumentEscapeSequence: "Everything after it is an argument" },
  formatException: (error) => error instanceof Error ? error.message : String(error),
  exceptionWhileLoadingCommandFunction: (error) => errorText(error),
  exceptionWhileRunningCommand: (error) => errorText(error),
  exceptionWhileParsingArguments: (error) => {
    const own = error instanceof Error && "exception" in error ? error.exception : undefined;
    if (own instanceof ReasonixError) return errorLine(own.message, own.remedy);
    const [message, remedy] = refusal(error);
    return errorLine(message, remedy);
  },
  noCommandRegisteredForInput: ({ input, corrections }) => {
    if (input.startsWith("-")) return errorLine(...unknownOption(input, []));
    const guess = guessWord(input);
    const meant = near(input, corrections.map((word) => word.replaceAll("`", "")));
    // Behind the name of a group of commands no task can stand.
    const first = Deno.args[0] === input;
    const task = first ? `as a task: reasonix run "${input} …"` : "";
    const advice = guess !== undefined && first
      ? [`here it is ${guess}`]
      : [meant === "" ? "" : `did you mean ${meant}?`, task].filter((part) => part !== "");
    return errorLine(`Unknown command "${input}"`, advice.join(" ") || "--help shows the commands");
  },
};

/** Servers that are described with it elsewhere usually have both. */
const OLD_TRANSPORT = "leave it out: most such servers answer streamable HTTP, often at …/mcp";

type Refusal = readonly [message: string, remedy?: string];

function refusal(error: unknown): Refusal {
  if (error instanceof FlagNotFoundError) return unknownOption(`--${error.input}`, error.corrections);
  if (error instanceof AliasNotFoundError) return unknownOption(`-${error.input}`, []);
  if (error instanceof EnumValidationError) {
    const { externalFlagName: name, input, values } = error;
    const remedy = name === "transport" && input === "sse" ? OLD_TRANSPORT : `use ${oneOf(values)}`;
    return [`${flagWord(name)} cannot be "${input}"`, remedy];
  }
  if (error instanceof UnsatisfiedFlagError) {
    const { externalFlagName: name, nextFlagName: next } = error;
    const found = next === undefined ? "" : `; ${flagWord(next)} follows it`;
    return [`${flagWord(name)} needs a value${found}`, `write ${flagWord(name)}=VALUE`];
  }
  if (error instanceof UnexpectedFlagError) {
    const { externalFlagName: name, previousInput, input } = error;
    return [
      `${flagWord(name)} was given twice, as "${previousInput}" and as "${input}"`,
      "leave one of them out",
    ];
  }
  if (error instanceof UnexpectedPositionalError) {
    return [`"${error.input}" is one argument too many`, "put quotes around words that belong together"];
  }
  if (error instanceof UnsatisfiedPositionalError) {
    return [
      `The argument <${error.placeholder}> is missing`,
      "--help behind the command shows what it takes",
    ];
  }
  if (error instanceof ArgumentParseError) {
    return [
      `Cannot use "${error.input}" for ${error.externalFlagNameOrPlaceholder}: ${String(error.exception)}`,
    ];
  }
  return [error instanceof Error ? error.message : String(error)];
}

function unknownOption(option: string, corrections: readonly string[]): Refusal {
  if (/^mcp add\b/.test(Deno.args.join(" ")) && !Deno.args.includes("--")) {
    const remedy = "put -- before the command line: reasonix mcp add NAME -- COMMAND …";
    return [`Unknown option ${option}`, guessWord(option) ? `here it is ${guessWord(option)}` : remedy];
  }
  const guess = guessWord(option);
  if (guess !== undefined) return [`Unknown option ${option}`, `here it is ${guess}`];
  const meant = near(option, corrections.map(flagWord));
  return [`Unknown option ${option}`, meant === "" ? "--help lists the options" : `did you mean ${meant}?`];
}

/** The parser also proposes what has little in common with the word. */
function near(word: string, proposed: readonly string[]): string {
  return suggestNames(word, proposed).join(" or ");
}

function oneOf(values: readonly string[]): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

function errorLine(message: string, remedy?: string): string {
  return `error: ${message}${remedy === undefined ? "" : `\n       ${remedy}`}`;
}
