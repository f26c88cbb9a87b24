import { AutocompletePrompt } from "@clack/core";
import {
  cancel,
  intro,
  isCancel,
  limitOptions,
  log,
  outro,
  password,
  S_BAR,
  S_BAR_END,
  S_RADIO_ACTIVE,
  S_RADIO_INACTIVE,
  select,
  spinner,
  symbol,
  text,
} from "@clack/prompts";
import { styleText } from "node:util";
import {
  Cancelled,
  type PickOptions,
  type SetupChoice,
  type SetupPrompts,
  type TextQuestion,
} from "./target.ts";
import { outputWidth } from "../terminal/display.ts";
import type { Texts } from "../../src/i18n/mod.ts";
import { displayWidth } from "../../src/util/display_width.ts";
import { wrapText } from "../../src/view/mod.ts";

/** Columns that the kit takes for its line at the left. */
const GUIDE = 3;

/** Breaks a text at words, as the kit does it only for some of its questions. */
function linesOf(text: string): string[] {
  const width = Math.max(20, (outputWidth() ?? 80) - GUIDE - 1);
  return text.split("\n").flatMap((line) => wrapText(line, width, displayWidth));
}

/** The same with the line at the left of all but the first. */
function guided(text: string): string {
  return linesOf(text).join(`\n${S_BAR}  `);
}

/** The same with blanks there: what is at the end of a question. */
function closing(text: string): string {
  return linesOf(text).join(`\n${" ".repeat(GUIDE)}`);
}

function answered<T>(value: T): Exclude<T, symbol> {
  if (isCancel(value) || typeof value === "symbol") throw new Cancelled();
  return value as Exclude<T, symbol>;
}

/** The questions of the wizard on the terminal of the program. */
export function terminalPrompts(texts: Texts["setup"]): SetupPrompts {
  return {
    begin(title) {
      intro(title);
      log.message(linesOf(texts.keys));
    },
    pick: (question, choices, options) => pick(question, choices, texts, options),
    write,
    note: (note) => log.info(linesOf(note).join("\n")),
    wait(what) {
      const wait = spinner({ cancelMessage: texts.nothingWritten });
      wait.start(what);
      return { done: (end) => wait.stop(guided(end)), failed: (end) => wait.error(guided(end)) };
    },
    saved(lines, next) {
      log.success(lines.flatMap(linesOf).join("\n"));
      // A command is copied as a whole: it gets a separate line before it is broken.
      outro(closing(linesOf(next).length === 1 ? next : next.replace(/ {2,}/, "\n")));
    },
    cancelled: cancel,
  };
}

async function pick<T extends string>(
  message: string,
  choices: readonly SetupChoice<T>[],
  texts: Texts["setup"],
  { initial, search }: PickOptions<T> = {},
): Promise<T> {
  if (search) return answered(await searchList({ message, choices, initial }, texts)) as T;
  const options = choices.map(({ value, label, hint }) => ({ value, label, ...(hint ? { hint } : {}) }));
  const common = {
    message,
    options,
    maxItems: ROWS,
    showInstructions: false,
    ...(initial ? { initialValue: initial } : {}),
  };
  // The kit's types of options depend on the value in a way that no generic caller can meet.
  return answered(await (select as (options: typeof common) => Promise<T | symbol>)(common)) as T;
}

async function write({ message, example, proposed, secret, check }: TextQuestion): Promise<string> {
  const validate = (given: string | undefined) => {
    const problem = check?.((given ?? "").trim() || (proposed ?? ""));
    return problem === undefined ? undefined : closing(problem);
  };
  const common = { message: guided(message), validate };
  const value = secret ? await password({ ...common, clearOnError: true }) : await text({
    ...common,
    placeholder: proposed || example || "",
    ...(proposed ? { defaultValue: proposed } : {}),
  });
  return (answered(value) ?? "").trim() || (proposed ?? "");
}

const ROWS = 16;

interface LongList<T extends string> {
  readonly message: string;
  readonly choices: readonly SetupChoice<T>[];
  readonly initial: T | undefined;
}

/** A list of names with a filter: the one of the kit is English only. */
function searchList<T extends string>(
  { message, choices, initial }: LongList<T>,
  texts: Texts["setup"],
): Promise<unknown> {
  const dim = (text: string) => styleText("dim", text);
  const prompt = new AutocompletePrompt({
    options: choices.map(({ value }) => ({ value })),
    ...(initial === undefined ? {} : { initialValue: [initial] }),
    filter: (search, { value }) => value.toLowerCase().includes(search.toLowerCase()),
    render() {
      const head = `${styleText("gray", S_BAR)}\n${symbol(this.state)}  ${message}\n`;
      if (this.state === "submit") return `${head}${styleText("gray", S_BAR)}  ${dim(String(this.value))}`;
      if (this.state === "cancel") return `${head}${styleText("gray", S_BAR)}`;
      const bar = `${styleText("cyan", S_BAR)}  `;
      const found = this.filteredOptions;
      const typed = this.isNavigating ? dim(this.userInput) : this.userInputWithCursor;
      const count = found.length === choices.length ? "" : dim(` (${texts.matches(found.length)})`);
      const list = found.length === 0 ? [] : limitOptions({
        cursor: this.cursor,
        options: found,
        columnPadding: 3,
        rowPadding: 6,
        maxItems: ROWS,
        style: ({ value }, active) =>
          active
            ? `${styleText("green", S_RADIO_ACTIVE)} ${value}`
            : `${dim(S_RADIO_INACTIVE)} ${dim(value)}`,
      });
      const lines = [`${dim(texts.search)} ${typed}${count}`, ...list, dim(texts.searchKeys)];
      return `${head}${lines.map((line) => bar + line).join("\n")}\n${styleText("cyan", S_BAR_END)}`;
    },
  });
  return prompt.prompt();
}
