import type { SourcePlace } from "../../core/mod.ts";
import { type Jsonc, parseJsonc, type TextPosition } from "../load/jsonc.ts";
import { readProjectText, readText } from "../load/read_text.ts";
import type { ConfigProblem, KeyPath } from "../problem.ts";

/** The problem of a file that is no JSON. */
interface Unusable {
  /** Of the problem; by default also that of a file that cannot be read. */
  readonly level?: ConfigProblem["level"];
  /** Follows the fault. */
  readonly consequence?: string;
  readonly remedy: string;
}

/** A JSON file in the form of another program: its value, places, and the problems found in it. */
export class JsonFile {
  readonly problems: ConfigProblem[] = [];
  readonly source: "user" | "project";
  readonly file: string;
  readonly value: unknown;
  readonly #json: Jsonc;

  private constructor(source: "user" | "project", file: string, json: Jsonc) {
    this.source = source;
    this.file = file;
    this.value = json.value;
    this.#json = json;
  }

  /** Opens a file if it is there; `wanted` tells by the text whether it has to be parsed. */
  static async open(
    { source, file }: Pick<JsonFile, "source" | "file">,
    { level = "warning", consequence = "", remedy }: Unusable,
    problems: ConfigProblem[],
    wanted: (text: string) => boolean = () => true,
  ): Promise<JsonFile | undefined> {
    const unread: ConfigProblem[] = [];
    const text = source === "project" ? readProjectText(file, unread) : readText(file, unread);
    problems.push(...unread.map((problem) => ({ ...problem, level })));
    if (text === undefined || !wanted(text)) return undefined;
    const json = await parseJsonc(text);
    if (!("fault" in json)) return new JsonFile(source, file, json);
    const { fault, ...position } = json;
    const message = `Cannot read the JSON here: ${fault}${consequence}`;
    problems.push({ level, message, remedy, place: { file, ...position } });
    return undefined;
  }

  find(path: KeyPath): TextPosition {
    return this.#json.find(path) ?? { line: 1, column: 1 };
  }

  place(path: KeyPath): SourcePlace {
    return { file: this.file, ...this.find(path) };
  }

  report(
    path: KeyPath,
    message: string,
    remedy: string,
    level: ConfigProblem["level"] = "warning",
  ): undefined {
    this.problems.push({ level, message, remedy, place: this.place(path) });
  }
}
