import { formatLocation, ReasonixError, type Sayings, type SourceLocation } from "../core/mod.ts";

/** The path of a value: keys of tables and indexes of arrays, from the top of the file. */
export type KeyPath = readonly (string | number)[];

export interface ConfigProblem {
  readonly level: "error" | "warning";
  /** Names the setting that cannot be used, with the offending value. */
  readonly message: string;
  readonly remedy: string;
  readonly place?: SourceLocation;
  readonly said?: Sayings | undefined;
}

/** One line: location, message, and the remedy as a separate sentence. */
export function formatProblem(problem: ConfigProblem): string {
  const place = problem.place ? `${formatLocation(problem.place)}: ` : "";
  const next = `${problem.remedy.charAt(0).toUpperCase()}${problem.remedy.slice(1)}`;
  return `${place}${problem.message}. ${next}`;
}

export function sayProblem({ place, said }: ConfigProblem): Sayings | undefined {
  return said && (place ? [["at", formatLocation(place)], ...said] : said);
}

/** All problems of all files are in `problems`, in file order. */
export class ConfigError extends ReasonixError {
  override readonly name: string = "ConfigError";
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    const [first, ...others] = problems;
    const remedy = others.length === 0 && first ? first.remedy : "correct these places and start again";
    super(headline(problems), {
      exit: "config",
      remedy,
      said: problems.length === 1 && first
        ? first.said
        : [["configErrors", String(problems.length), linesOf(problems)], ["correctPlaces"]],
      ...(others.length === 0 && first?.place ? { place: first.place } : {}),
    });
    this.problems = problems;
  }
}

function headline(problems: readonly ConfigProblem[]): string {
  const [first] = problems;
  if (problems.length === 1 && first) return first.message;
  return `The configuration has ${problems.length} errors\n${linesOf(problems)}`;
}

function linesOf(problems: readonly ConfigProblem[]): string {
  return problems.map((problem) => `  ${formatProblem(problem)}`).join("\n");
}

/** `agent.max_steps`, `providers[0].name`, `tools.alias."a.b"`. */
export function formatKey(path: KeyPath): string {
  return path.map((part, index) => {
    if (typeof part === "number") return `[${part}]`;
    const name = /^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part);
    return index === 0 ? name : `.${name}`;
  }).join("");
}
