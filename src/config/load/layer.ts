import { parse, TomlError } from "smol-toml";
import { type LocalizedMessage, message, type SourceLocation, withRemedy } from "../../core/mod.ts";
import { checkConfig, type Finding } from "./check.ts";
import { Positions } from "./positions.ts";
import type { ConfigProblem, KeyPath } from "../problem.ts";
import { readProjectText, readText } from "./read_text.ts";
import { checkEntries } from "./check_entries.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";

export type SourceName = "flag" | "environment" | "project" | "user" | "preset" | "default";

/** One source of settings. `table` holds what this source says and nothing else. */
export interface Layer {
  readonly source: SourceName;
  readonly table: TomlTable;
  /** The file (or the name of the preset) behind it, and its text. */
  readonly file?: string;
  readonly text?: string;
  /** Tells where something stands, for a text that is not TOML. */
  readonly find?: (path: KeyPath) => { readonly line: number; readonly column: number };
}

/**
 * Reads and checks one file. A missing file is no layer; a file that cannot be used reports why and is no
 * layer either.
 */
export function readLayer(source: SourceName, file: string, problems: ConfigProblem[]): Layer | undefined {
  const text = source === "project" ? readProjectText(file, problems) : readText(file, problems);
  return text === undefined ? undefined : parseLayer({ source, file, text }, problems);
}

/** The same for a text that is already here. */
export function parseLayer(
  input: Required<Pick<Layer, "source" | "file" | "text">>,
  problems: ConfigProblem[],
): Layer | undefined {
  const table = parseToml(input.text, input.file, problems);
  if (!table) return undefined;
  renameMatchers(table.hooks);
  const layer = { ...input, table };
  problems.push(...checkLayer(layer));
  return layer;
}

/** A hook's `matcher` may be written `match`, as in settings.json. */
function renameMatchers(hooks: unknown): void {
  for (const hook of Array.isArray(hooks) ? hooks : []) {
    if (!isTable(hook) || hook.match === undefined || hook.matcher !== undefined) continue;
    hook.matcher = hook.match;
    delete hook.match;
  }
}

/** Finds what is wrong with a layer, with positions. */
export function checkLayer(layer: Layer): ConfigProblem[] {
  const findings = [...checkConfig(layer.table), ...checkEntries(layer.table)];
  return findings.map((finding) => locateFinding(layer, finding)).sort(inFileOrder);
}

function inFileOrder(a: ConfigProblem, b: ConfigProblem): number {
  return (a.place?.line ?? 0) - (b.place?.line ?? 0) || (a.place?.column ?? 0) - (b.place?.column ?? 0);
}

/** Turns a finding about a layer into a problem for people. */
export function locateFinding(layer: Layer, finding: Finding): ConfigProblem {
  const { path, at, ...problem } = finding;
  const place = placeOf(layer, path, at);
  return { ...problem, ...(place ? { place } : {}) };
}

const positions = new WeakMap<Layer, Positions>();

/** Returns the place where a layer says something; only the file when the text does not show it. */
export function placeOf(
  layer: Layer,
  path: KeyPath,
  at: "key" | "value" = "key",
): SourceLocation | undefined {
  if (layer.file === undefined) return undefined;
  if (layer.find) return { file: layer.file, ...layer.find(path) };
  if (layer.text === undefined) return { file: layer.file };
  let found = positions.get(layer);
  if (!found) positions.set(layer, found = new Positions(layer.text));
  return { file: layer.file, ...found.find(path, at) };
}

/** Parses TOML; a syntax error is reported with its position. */
export function parseToml(text: string, file: string, problems: ConfigProblem[]): TomlTable | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = (error.message.split("\n", 1)[0] ?? "").replace(/^Invalid TOML document: /, "");
    const at = quoteLine(text, error.line);
    problems.push({
      level: "error",
      ...withRemedy(
        at === ""
          ? message`Cannot read the TOML here: ${reason}`
          : message`Cannot read the TOML here: ${reason} (at ${at})`,
        syntaxRemedy(reason),
      ),
      place: { file, line: error.line, column: error.column },
    });
    return undefined;
  }
}

/** Names the key or table of a line. What stands behind a `=`, or on a line of its own, may be a secret. */
function quoteLine(text: string, line: number): string {
  const content = (text.split("\n")[line - 1] ?? "").trim().replace(/\p{Cc}/gu, "␀");
  const name = /^(?:\[+[^\]]*\]*|[^=]+(?==))/.exec(content)?.[0].trim().slice(0, 60);
  return name ? JSON.stringify(name) : "";
}

function syntaxRemedy(reason: string): LocalizedMessage {
  if (reason.includes("redefine")) {
    return message`merge the two places into one, or use [[…]] for a list of tables`;
  }
  if (reason.includes("illegal character in key")) {
    return message`put the key in quotes, or close the bracket before it`;
  }
  if (reason.includes("invalid value")) {
    return message`write texts in quotes ("…"), and true, false or numbers without`;
  }
  if (reason.includes("unfinished")) return message`close the quote or bracket that begins here`;
  if (reason.includes("control character")) {
    return message`close the quote on its line, or write """ around several lines`;
  }
  return message`correct this line; https://toml.io shows the syntax`;
}
