import {
  clauses,
  formatLocation,
  joined,
  message,
  type MessageTexts,
  ReasonixError,
  type SourceLocation,
  type Text,
} from "../core/mod.ts";

/** The path of a value: keys of tables and indexes of arrays, from the top of the file. */
export type KeyPath = readonly (string | number)[];

export interface ConfigProblem {
  readonly level: "error" | "warning";
  /** Names the setting that cannot be used, with the offending value. */
  readonly message: string;
  readonly remedy: string;
  readonly place?: SourceLocation;
  readonly texts?: MessageTexts;
}

/** One line: location, message, and the remedy as a separate sentence. */
export function formatProblem(problem: ConfigProblem): string {
  const place = problem.place ? `${formatLocation(problem.place)}: ` : "";
  const next = `${problem.remedy.charAt(0).toUpperCase()}${problem.remedy.slice(1)}`;
  return `${place}${problem.message}. ${next}`;
}

export function problemText(problem: ConfigProblem): Text {
  const { place, texts } = problem;
  if (!texts) return formatProblem(problem);
  const what = clauses(texts);
  const line = place ? message`${formatLocation(place)}: ${what}` : message`${what}`;
  return { ...line, text: formatProblem(problem) };
}

/** All problems of all files are in `problems`, in file order. */
export class ConfigError extends ReasonixError {
  override readonly name: string = "ConfigError";
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const [first, ...others] = problems;
    const only = others.length === 0 ? first : undefined;
    super(
      only
        ? only.texts?.message ?? only.message
        : message`The configuration has ${problems.length} errors\n${linesOf(problems)}`,
      {
        exit: "config",
        remedy: only ? only.texts?.remedy ?? only.remedy : message`correct these places and start again`,
        ...(only?.place ? { place: only.place } : {}),
      },
    );
    this.problems = problems;
  }
}

function linesOf(problems: readonly ConfigProblem[]): Text {
  return joined("\n", problems.map((problem) => message`  ${problemText(problem)}`));
}

/** `agent.max_steps`, `providers[0].name`, `tools.alias."a.b"`. */
export function formatKey(path: KeyPath): string {
  return path.map((part, index) => {
    if (typeof part === "number") return `[${part}]`;
    const name = /^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part);
    return index === 0 ? name : `.${name}`;
  }).join("");
}
