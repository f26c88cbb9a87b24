/** Reads the failures of a run of `deno test` from its output and formats the report at its end. */

/** A test, or a stage as a whole, that failed. */
export interface Failure {
  /** Name of the test; a step is `test ... step`. */
  readonly test: string;
  /** The test file as `deno test` takes it; none for a stage as a whole. */
  readonly file?: string;
  /** Its message and where it was thrown. */
  readonly error: string;
}

const MOST_LINES = 40;
const MOST_ERRORS = 10;
const MOST_NAMES = 50;
const MOST_COLUMNS = 160;

/** The output without colors. */
export function plainText(output: string): string {
  // deno-lint-ignore no-control-regex
  return output.replaceAll(/\x1b\[[0-9;]*m/g, "").replaceAll("\r\n", "\n");
}

/** Reads the last ERRORS and FAILURES lists of `deno test`; empty when it printed none. */
export function readFailures(output: string): Failure[] {
  const plain = plainText(output);
  const listed = plain.lastIndexOf("\n FAILURES \n");
  if (listed < 0) return [];
  const names = plain.slice(listed).split("\n").slice(2);
  const headers = names.slice(1, names.indexOf("", 1));
  const errorsAt = plain.lastIndexOf("\n ERRORS \n", listed);
  const errors = errorsAt < 0 ? "" : plain.slice(errorsAt, listed + 1);
  const progress = plain.slice(0, errorsAt < 0 ? listed : errorsAt).split("\n");
  return headers.map((header, at) => ({
    ...nameAndFile(header, progress),
    error: between(errors, `\n${header}\n`, headers[at + 1]),
  }));
}

function nameAndFile(header: string, progress: readonly string[]): Pick<Failure, "test" | "file"> {
  const whole = /^(.+) \(uncaught error\)$/.exec(header)?.[1];
  if (whole !== undefined) return { test: header, file: whole };
  const [, test = header, place] = /^(.+) => (.+?)(?::\d+){2}$/.exec(header) ?? [];
  const file = place?.endsWith("_test.ts") ? place : fileOf(test, progress);
  return file === undefined ? { test } : { test, file };
}

/** Finds the file of a test that a helper registers: Deno reports the helper, which has no tests. */
function fileOf(test: string, progress: readonly string[]): string | undefined {
  const name = test.split(" ... ")[0] ?? test;
  let running: string | undefined;
  for (const line of progress) {
    running = /^running \d+ tests? from (.+)$/.exec(line)?.[1] ?? running;
    const [, file, failed] = /^(?:(\S+_test\.ts) => )?(.+?) \.\.\. (?:.* )?FAILED/.exec(line) ?? [];
    if (failed === name) return file ?? running;
  }
  return undefined;
}

function between(text: string, start: string, next: string | undefined): string {
  const from = text.indexOf(start);
  if (from < 0) return "";
  const rest = text.slice(from + start.length);
  const end = next === undefined ? -1 : rest.indexOf(`\n${next}\n`);
  return (end < 0 ? rest : rest.slice(0, end)).trim();
}

/** A stage that failed without naming a test: what it printed last. */
export function stageFailure(stage: string, reason: string, output: string): Failure {
  const last = plainText(output).trimEnd().split("\n").slice(-MOST_LINES).join("\n");
  return { test: `stage ${stage}`, error: `${reason}\n${last}`.trim() };
}

/** The test files of the failures, each once; undefined when one of them is of no file. */
export function filesOf(failures: readonly Failure[]): string[] | undefined {
  const files = failures.flatMap(({ file }) => file === undefined ? [] : [file]);
  return files.length === failures.length ? [...new Set(files)] : undefined;
}

/**
 * Errors first, then a line for each test, so that the names are at the very end; empty for none. Long
 * errors and long lists are cut and say so.
 */
export function listFailures(title: string, failures: readonly Failure[]): string {
  if (failures.length === 0) return "";
  const errors = failures.slice(0, MOST_ERRORS).map((failure) =>
    [place(failure), ...cutLines(failure.error).map((line) => `  ${line}`)].join("\n")
  );
  const names = failures.slice(0, MOST_NAMES).map((failure) => {
    const first = (failure.error.split("\n")[0] ?? "").replace(/^error: /, "");
    return `  ${place(failure)}: ${first}`.slice(0, MOST_COLUMNS);
  });
  const more = failures.length > MOST_NAMES ? [`  … and ${failures.length - MOST_NAMES} more`] : [];
  return [`\n── ${title}`, errors.join("\n\n"), `\n${title}:`, ...names, ...more].join("\n");
}

function place({ test, file }: Failure): string {
  return file === undefined || test.startsWith(file) ? test : `${test}, ${file}`;
}

function cutLines(text: string): string[] {
  const lines = text.split("\n").map((line) =>
    line.length > 4 * MOST_COLUMNS ? line.slice(0, 4 * MOST_COLUMNS) + " …" : line
  );
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES), `… and ${lines.length - MOST_LINES} more lines`];
}
