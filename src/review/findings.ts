import * as z from "zod/mini";
import { type JsonSchema, type LocalizedMessage, message, NO_USAGE, type Text } from "../core/mod.ts";
import type { Change, ChangedFile, Hunk } from "../git/mod.ts";
import { type Defined, defined, isRecord, safeText } from "../util/json.ts";
import { cutText, oneLine, terminalSafe } from "../util/terminal_text.ts";
import { sha256 } from "../util/digest.ts";

export const PRIORITIES = ["P0", "P1", "P2", "P3"] as const;

/** Bounds of a finding. Longer titles and bodies are cut; a longer suggestion is left out. */
const MAX = {
  path: 4096,
  title: 120,
  body: 4000,
  suggestion: 200,
  suggestionChars: 20_000,
  range: 200,
  quote: 500,
  quoteLines: 20,
  findings: 1000,
  hunks: 100_000,
} as const;

const STATES = ["new", "standing", "fixed"] as const;

/** Safe text on one line; more than that is not even cleaned. */
const onOneLine = (most: number) =>
  z.overwrite<string>((text) => oneLine(safeText(text.slice(0, 10 * most)), most));
const paragraphs = z.overwrite<string>((text) => {
  const lines = safeText(text.slice(0, 2 * MAX.body)).replace(/\r\n?/g, "\n");
  return cutText(terminalSafe(lines).trim(), MAX.body);
});

const FIELDS = {
  path: z.string().check(z.minLength(1), z.maxLength(MAX.path)),
  line: z.int().check(z.positive()),
  end_line: z.int().check(z.positive()),
  priority: z.enum(PRIORITIES),
  confidence: z.number().check(z.minimum(0), z.maximum(1)),
  title: z.string().check(onOneLine(MAX.title), z.minLength(1)),
  body: z.string().check(paragraphs),
  /** Text in place of line … end_line of the new version, without the last line end; "": none. */
  suggestion: z.exactOptional(z.string()),
  /** The text of `line` in the new version, word for word. */
  quote: z.string().check(z.regex(/\S/)),
};

const inOrder = z.check<{ line: number; end_line: number }>(({ value, issues }) => {
  const { line, end_line } = value;
  const fault = (message: string) => issues.push({ code: "custom", input: value, message });
  if (line > end_line) fault(`line ${line} is after end_line ${end_line}`);
  if (end_line - line >= MAX.range) {
    fault(`line ${line} to ${end_line} are more than ${MAX.range} lines`);
  }
});

const FINDING = z.object(FIELDS).check(inOrder);

/** Texts and numbers that only inform: in place of a wrong value is an empty one. */
const text = (most: number) => z.catch(z.string().check(onOneLine(most)), "");
const count = z.catch(z.number().check(z.minimum(0)), 0);
export const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const objectId = z.catch(z.optional(z.string().check(z.regex(OBJECT_ID))), undefined);

const REVIEW_FINDING = z.object({
  ...FIELDS,
  /** Stays the same when the lines move: see {@linkcode reviewFinding}. */
  id: z.string().check(z.regex(/^[0-9a-f]{16}(?:-\d{1,4})?$/)),
  state: z.enum(STATES),
  agent: text(80),
}).check(inOrder);

/** A defect at a range of lines of the new version. */
export type Finding = Readonly<z.infer<typeof FINDING>>;
export type ReviewFinding = Readonly<z.infer<typeof REVIEW_FINDING>>;

export const NO_DROPS = { malformed: 0, misplaced: 0, outside: 0, refuted: 0, duplicate: 0 };
const DROPS = z.object({
  malformed: count,
  misplaced: count,
  outside: count,
  refuted: count,
  duplicate: count,
});
const USAGE = z.object({
  inputTokens: count,
  cachedTokens: count,
  outputTokens: count,
  reasoningTokens: count,
  cacheWriteTokens: z.catch(z.optional(z.number().check(z.minimum(0))), 0),
  scripted: z.catch(z.optional(z.literal(true)), undefined),
});
const SKIPPED = z.object({ path: z.catch(z.string(), ""), reason: text(500) });
const digestsIn = (list: unknown[]): readonly string[] =>
  list.filter((each) => typeof each === "string" && /^[0-9a-f]{16}$/.test(each)).map(String);

const REPORT = z.object({
  version: z.literal(1),
  target: text(500),
  key: text(500),
  /** Object ids of commits. */
  base: objectId,
  head: objectId,
  /** Sorted: open ones by priority, path, line; fixed ones last. */
  findings: z.readonly(z.array(REVIEW_FINDING).check(z.maxLength(MAX.findings))),
  dropped: z.catch(DROPS, NO_DROPS),
  /** Files that were reviewed. */
  reviewed: count,
  skipped: z.readonly(z.array(z.catch(SKIPPED, { path: "", reason: "" })).check(z.maxLength(MAX.hunks))),
  /** The reason why a part was not reviewed; absent: all parts were. */
  incomplete: z.catch(z.optional(z.string().check(onOneLine(500))), undefined),
  /** Digests of the reviewed hunks, for the next incremental review. */
  hunks: z.pipe(z.array(z.unknown()).check(z.maxLength(MAX.hunks)), z.transform(digestsIn)),
  model: text(200),
  usage: z.catch(USAGE, NO_USAGE),
  /** Absent: the price is not known. */
  cost: z.catch(z.optional(z.object({ amount: count, currency: text(10) })), undefined),
  duration_ms: count,
});

export type ReviewReport = Readonly<Defined<z.infer<typeof REPORT>>>;
/** Reasons for which a finding is no part of the report. */
export type Dropped = keyof typeof NO_DROPS;

const FAULTS: Readonly<Record<string, string>> = {
  path: "path has to name a file",
  line: "line and end_line have to be whole numbers from 1",
  end_line: "line and end_line have to be whole numbers from 1",
  priority: `priority has to be one of ${PRIORITIES.join(", ")}`,
  confidence: "confidence has to be a number from 0 to 1",
  title: "title has to be a line of text",
  body: "body has to be a text",
  suggestion: "suggestion has to be a text",
  quote: "quote has to be the text of the line",
  id: "id has to be 16 hex digits",
  state: `state has to be one of ${STATES.join(", ")}`,
  findings: `findings has to be a list of at most ${MAX.findings}`,
  skipped: `skipped has to be a list of at most ${MAX.hunks}`,
  hunks: `hunks has to be a list of at most ${MAX.hunks}`,
};

/** A sentence about the first fault of a finding or a report. */
function faultOf({ issues: [issue] }: z.core.$ZodError, whole: string): string {
  const field = issue?.path.at(-1);
  if (issue?.code === "custom") return issue.message;
  return typeof field === "string" ? FAULTS[field] ?? whole : whole;
}

/**
 * Reads a report that was saved or that another job made: nothing in it is trusted, its texts are cut and
 * cleaned as those of a model. Returns a sentence about what is wrong with it.
 */
export function readReport(value: unknown): ReviewReport | string {
  const { data, error } = REPORT.safeParse(value);
  if (data) return defined(data);
  const [list, at] = error.issues[0]?.path ?? [];
  if (list !== "findings" || at === undefined) {
    return faultOf(error, "it is no report of `reasonix review --format json`");
  }
  return `finding ${Number(at) + 1}: ${faultOf(error, NO_OBJECT)}`;
}

const NO_OBJECT = "it is no object";

/** The report of a change of which nothing was reviewed. */
export function emptyReport({ target, key, base, head }: Change): ReviewReport {
  const lists = { findings: [], skipped: [], hunks: [] };
  return defined(REPORT.parse({ version: 1, target, key, base: base.id, head: head.id, ...lists }));
}

/** Schema of an answer that lists findings. {@linkcode checkFinding} enforces what it cannot express. */
export const ANSWER_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    findings: {
      type: "array",
      items: {
        type: "object",
        properties: {
          path: { type: "string", description: "The file, as the diff names it" },
          line: { type: "integer", minimum: 1, description: "First line, by the numbers of the diff" },
          end_line: { type: "integer", minimum: 1, description: `Last line; at most ${MAX.range} lines` },
          priority: {
            enum: PRIORITIES,
            description: "P0: loses or exposes data, or fails for everyone; P1: wrong in ordinary use; " +
              "P2: wrong in rare cases; P3: small",
          },
          confidence: { type: "number", minimum: 0, maximum: 1 },
          title: { type: "string", description: `The defect in one line of at most ${MAX.title} characters` },
          body: { type: "string", description: "When it fails, what happens then, and why" },
          suggestion: {
            type: "string",
            description: "Complete text in place of the lines from line to end_line; absent: none",
          },
          quote: { type: "string", description: "The text of the line `line`, word for word" },
        },
        required: ["path", "line", "end_line", "priority", "confidence", "title", "body", "quote"],
      },
    },
  },
  required: ["findings"],
};

/** A finding that holds, or the reason why not, in a sentence for the model. */
export type CheckedFinding =
  | { readonly finding: Finding; /** Why its suggestion was left out. */ readonly note?: string }
  | { readonly fault: "malformed" | "misplaced" | "outside"; readonly message: string };

/**
 * Checks a finding against the change: its fields, its file, its range, its quote and its suggestion. With
 * `whole` any file of the new version may have findings, otherwise they have to touch a hunk.
 *
 * Contract: reads only files of the change or, with `whole`, of `change.head`. Messages quote their lines, so
 * a change for a session with denied files must not list or read them.
 */
export async function checkFinding(
  value: unknown,
  change: Pick<Change, "files" | "head">,
  { whole, signal }: { readonly whole: boolean; readonly signal?: AbortSignal | undefined },
): Promise<CheckedFinding> {
  const { data: given, error } = FINDING.safeParse(withoutNull(value));
  if (!given) return { fault: "malformed", message: faultOf(error, NO_OBJECT) };
  const outside = (message: string) => ({ fault: "outside", message }) as const;
  const misplaced = (message: string) => ({ fault: "misplaced", message }) as const;
  const file = fileNamed(change.files, given.path);
  const path = file?.path ?? given.path;
  const shown = oneLine(path, 200);
  if (!file && !(whole && isInside(path))) {
    const renamed = change.files.find(({ oldPath, status }) =>
      oldPath === given.path && status === "renamed"
    );
    return renamed
      ? outside(`${shown} is renamed: its lines are in ${oneLine(renamed.path, 200)}`)
      : outside(`${shown} is no file of the change`);
  }
  if (file && (file.status === "deleted" || file.kind !== "text")) {
    const what = file.status === "deleted" ? "is deleted" : `is no text file (${file.kind})`;
    return misplaced(`${shown} ${what} in the new version, so no line of it can be quoted`);
  }
  const bytes = await change.head.read(path, signal);
  if (!bytes) return outside(`The new version has no readable file ${shown}`);
  const lines = linesOf(bytes);
  const problem = placeProblem(given, lines, shown);
  if (problem !== undefined) return misplaced(problem);
  if (!whole && !(file?.hunks ?? []).some((hunk) => touches(hunk, given))) {
    return outside(`${shown}:${given.line} is not in the change: its lines are ${changedLines(file)}`);
  }
  const { suggestion, ...rest } = given;
  const quoted = quoteLines(given.quote).length;
  const quote = lines.slice(given.line - 1, given.line - 1 + quoted).map((line) => cutText(line, MAX.quote));
  const finding = { ...rest, path, quote: quote.join("\n") };
  if (suggestion === undefined) return { finding };
  const applied = readSuggestion(suggestion, given, lines);
  return "note" in applied ? { finding, note: applied.note } : { finding: { ...finding, ...applied } };
}

/** Models write null for a suggestion that there is not. */
function withoutNull(value: unknown): unknown {
  if (!isRecord(value) || value.suggestion !== null) return value;
  const { suggestion: _, ...rest } = value;
  return rest;
}

/** The changed file of a name, which may be written as the model was shown it. */
function fileNamed(files: readonly ChangedFile[], name: string): ChangedFile | undefined {
  const plain = name.replace(/^\.\//, "");
  const exact = files.find(({ path }) => path === name || path === plain);
  if (exact) return exact;
  const shown = files.filter(({ path }) => oneLine(path, Infinity) === plain);
  return shown.length === 1 ? shown[0] : undefined;
}

/** Reports whether a path stays in the repository: relative, without steps up, not in git's directory. */
function isInside(path: string): boolean {
  return path.split("/").every((step) => !["", ".", "..", ".git"].includes(step.toLowerCase()));
}

/** Splits a text file into its lines, without line ends. */
function linesOf(bytes: Uint8Array): string[] {
  const lines = new TextDecoder().decode(bytes).split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replace(/\r$/, ""));
}

function placeProblem({ line, end_line, quote }: Finding, lines: readonly string[], shown: string) {
  const quoted = quoteLines(quote);
  const near = line <= lines.length && matchesAt(lines, line, quoted) ? line : nearest(lines, line, quoted);
  const place = near === undefined
    ? `the quote is on no line of ${shown}`
    : `the quote is on line ${near} of ${shown}`;
  if (line > lines.length) return `${shown} has only ${lines.length} lines; ${place}`;
  if (near !== line) return `${shown}:${line} is \`${oneLine(lines[line - 1] ?? "", 200)}\`; ${place}`;
  if (end_line > lines.length) return `${shown} has only ${lines.length} lines, so none is ${end_line}`;
  return undefined;
}

/** The first lines of a quote as they are compared, without blank ones at its ends. */
function quoteLines(quote: string): string[] {
  return quote.trim().split(/\r?\n/, MAX.quoteLines).map(comparable);
}

/** A line without white space at its ends and characters that no model was shown. */
function comparable(line: string): string {
  return terminalSafe(safeText(line)).trim();
}

/** Long lines may be quoted by their first characters. */
const LONG_QUOTE = 200;

function matchesAt(lines: readonly string[], line: number, quoted: readonly string[]): boolean {
  return quoted.every((text, at) => {
    const there = lines[line - 1 + at];
    if (there === undefined) return false;
    const given = comparable(there);
    if (given === text || fitsAround(given, text.split("[redacted]"))) return true;
    // As diffs for models mark a carriage return, and a line that they cut.
    if (!/[␍…]$/.test(text) && text.length < LONG_QUOTE) return false;
    const start = text.replace(/␍?…?$/, "").trimEnd();
    return given === start || (start.length >= LONG_QUOTE && given.startsWith(start));
  });
}

/** Reports whether a line has the parts of a quote from which secrets were removed; one of them is a word. */
function fitsAround(line: string, parts: readonly string[]): boolean {
  if (parts.length === 1 || !parts.some((part) => /\w/.test(part))) return false;
  let at = 0;
  for (const part of parts) {
    const found = line.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return line.startsWith(parts[0] ?? "") && line.endsWith(parts.at(-1) ?? "");
}

/** The line nearest to `from` where the quoted lines begin. */
function nearest(lines: readonly string[], from: number, quoted: readonly string[]): number | undefined {
  let best: number | undefined;
  for (let line = 1; line <= lines.length; line++) {
    if (best !== undefined && Math.abs(line - from) >= Math.abs(best - from)) continue;
    if (matchesAt(lines, line, quoted)) best = line;
  }
  return best;
}

/** Finds the quote of an earlier finding in a later text, nearest to where it was; undefined: it is gone. */
export function lineOfQuote(
  bytes: Uint8Array,
  { quote, line }: Pick<Finding, "quote" | "line">,
): number | undefined {
  return nearest(linesOf(bytes), line, quoteLines(quote));
}

/** The lines of a hunk in the new version; where lines were only removed, those around the gap. */
function rangeOf({ newStart, newLines }: Hunk): readonly [from: number, to: number] {
  return newLines === 0 ? [newStart, newStart + 1] : [newStart, newStart + newLines - 1];
}

/** Reports whether lines of the new version are in a hunk. */
export function touches(hunk: Hunk, { line, end_line }: Pick<Finding, "line" | "end_line">): boolean {
  const [from, to] = rangeOf(hunk);
  return line <= to && end_line >= from;
}

function changedLines(file: ChangedFile | undefined): string {
  const ranges = (file?.hunks ?? []).map((hunk) => rangeOf(hunk).join("–"));
  if (ranges.length === 0) return "unchanged";
  return ranges.slice(0, 10).join(", ") + (ranges.length > 10 ? ", …" : "");
}

/** Shorter lines, such as brackets, may well occur twice in a row. */
const SHORTEST_REPEAT = 8;

/** The text in place of a range, or why it cannot be that. */
function readSuggestion(
  text: string,
  { line, end_line }: Finding,
  lines: readonly string[],
): { readonly suggestion: string } | { readonly note: string } {
  const plain = text.replace(/\r\n?/g, "\n");
  const old = lines.slice(line - 1, end_line);
  const fence = old[0]?.trim().startsWith("```")
    ? null
    : /^\s*```[^\n`]*\n([^]*?)\n?[ \t]*```\s*$/.exec(plain);
  const [, body = "", ends = ""] = /^([^]*?)(\n*)$/.exec(fence?.[1] ?? plain) ?? [];
  // Blank lines at the end stay where there were some.
  const blank = old.length - 1 - old.findLastIndex((each) => each.trim() !== "");
  const suggestion = body + ends.slice(0, blank);
  const fresh = suggestion === "" ? [] : suggestion.split("\n");
  const left = (why: string) => ({ note: `The suggestion was left out: ${why}` });
  if (fresh.length > MAX.suggestion || suggestion.length > MAX.suggestionChars) {
    return left(`it has more than ${MAX.suggestion} lines or ${MAX.suggestionChars} characters`);
  }
  if (old.join("\n") === suggestion) return left(`it is the text of line ${line} to ${end_line}`);
  if (terminalSafe(safeText(suggestion)) !== suggestion) {
    return left("it has control characters, or characters that reorder text");
  }
  if (suggestion.includes("\ufffd")) return left("it has U+FFFD in place of bytes that are not UTF-8");
  const signs = (sign: string) => fresh.some((each) => each.startsWith(sign));
  if (/^@@ /m.test(suggestion) || (signs("-") && signs("+") && !old.some((each) => /^[-+]/.test(each)))) {
    return left("it is a diff, not the text in place of the lines");
  }
  const repeats = (inside: string | undefined, outside: string | undefined, replaced: string | undefined) =>
    inside !== undefined && inside === outside && inside.trim().length >= SHORTEST_REPEAT &&
    inside !== replaced;
  if (repeats(fresh[0], lines[line - 2], old[0])) return left(`it repeats line ${line - 1}, which stays`);
  if (repeats(fresh.at(-1), lines[end_line], old.at(-1))) {
    return left(`it repeats line ${end_line + 1}, which stays`);
  }
  return { suggestion };
}

export function openOf({ findings }: Pick<ReviewReport, "findings">): readonly ReviewFinding[] {
  return findings.filter(({ state }) => state !== "fixed");
}

/** The number of findings of each priority that has some: "2 P1". */
export function prioritiesOf(findings: readonly Finding[]): readonly string[] {
  const groups = Map.groupBy(findings, ({ priority }) => priority);
  return PRIORITIES.flatMap((each) => groups.has(each) ? [`${groups.get(each)?.length} ${each}`] : []);
}

export function locationOf({ path, line, end_line }: Finding): string {
  return `${path}:${line}${end_line > line ? `-${end_line}` : ""}`;
}

/** Words that say nothing about a defect. */
const STOP_WORDS = new Set(
  "the and for with that this from not are can may when which into does has have will its but was than then"
    .split(" "),
);

function titleWords(title: string): Set<string> {
  const words = title.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const specific = words.filter((word) => word.length > 2 && !STOP_WORDS.has(word));
  return new Set(specific.length > 0 ? specific : words);
}

/**
 * A finding of an agent, with an id of its path, quote and the words of its title: it stays the same when
 * lines move, words change their order, or priority and text change.
 */
export function reviewFinding(finding: Finding, agent: string): ReviewFinding {
  const parts = [finding.path, ...quoteLines(finding.quote), ...[...titleWords(finding.title)].sort()];
  const id = sha256(JSON.stringify(parts)).slice(0, 16);
  return { ...finding, id, state: "new", agent };
}

/**
 * Sorts findings and removes duplicates: of those about overlapping lines of a file with nearly the same
 * title the one with the higher priority stays, as the earlier one where there was one. Ids become unique.
 */
export function mergeFindings(
  findings: readonly ReviewFinding[],
): { readonly findings: readonly ReviewFinding[]; readonly duplicates: number } {
  const kept: ReviewFinding[] = [];
  for (const finding of findings.toSorted(byWeight)) {
    const at = kept.findIndex((other) => isDuplicate(other, finding));
    const other = kept[at];
    if (!other) kept.push(finding);
    else if (other.state === "new" && finding.state === "standing") {
      kept[at] = { ...other, id: finding.id, state: finding.state };
    }
  }
  const sorted = kept.sort(byLocation);
  const taken = new Set(sorted.filter(({ state }) => state !== "new").map(({ id }) => id));
  const unique = sorted.map((finding) => {
    if (finding.state !== "new") return finding;
    let id = finding.id;
    for (let more = 2; taken.has(id); more++) id = `${finding.id}-${more}`;
    taken.add(id);
    return { ...finding, id };
  });
  return { findings: unique, duplicates: findings.length - kept.length };
}

const fixedLast = (a: ReviewFinding, b: ReviewFinding) =>
  Number(a.state === "fixed") - Number(b.state === "fixed");

function byWeight(a: ReviewFinding, b: ReviewFinding): number {
  return fixedLast(a, b) || compare(a.priority, b.priority) || b.confidence - a.confidence ||
    Number(b.suggestion !== undefined) - Number(a.suggestion !== undefined);
}

function byLocation(a: ReviewFinding, b: ReviewFinding): number {
  return fixedLast(a, b) || compare(a.priority, b.priority) || compare(a.path, b.path) || a.line - b.line ||
    a.end_line - b.end_line || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isDuplicate(a: ReviewFinding, b: ReviewFinding): boolean {
  if (a.path !== b.path || (a.state === "fixed") !== (b.state === "fixed")) return false;
  if (a.line > b.end_line || b.line > a.end_line) return false;
  const [first, second] = [titleWords(a.title), titleWords(b.title)];
  const shared = first.intersection(second).size;
  return shared >= SAME_TITLE * Math.max(1, Math.min(first.size, second.size));
}

/** Share of the words of the shorter title that nearly the same titles have in common. */
const SAME_TITLE = 0.6;

/** Sentences that reports have in English, without their values. */
const SENTENCES: readonly LocalizedMessage[] = [
  message`uncommitted changes`,
  message`${""}, 1 commit`,
  message`${""}, ${""} commits`,
  message`commit ${""}`,
  message`pull request ${""}`,
  message`it may hold keys`,
  message`the rules deny reading it`,
  message`binary`,
  message`generated`,
  message`vendored`,
  message`lock file`,
  message`minified`,
  message`too large`,
  message`its name is not UTF-8`,
  message`no changed line`,
  message`renamed without a changed line`,
  message`copied without a changed line`,
  message`the content of a submodule`,
  message`the change has more than ${""} parts: review the rest with --incremental`,
  message`it was interrupted`,
  message`it was terminated`,
  message`Stopped after ${""} s: time limit reached`,
  message`the cost limit of ${""} is reached`,
  message`two answers had no JSON value that fits the schema`,
  message`the second pass did not judge ${""} of ${""} findings`,
  message`part ${""}: ${""} findings above the limit of ${""} were left out`,
];

/** A target or a reason of a report for its reader: a known sentence has a translation. */
export function readable(text: string): Text {
  for (const { template } of SENTENCES) {
    const pattern = template.split("{}").map((part) => RegExp.escape(part)).join("(.*)");
    const [whole, ...values] = new RegExp(`^${pattern}$`).exec(text) ?? [];
    if (whole !== undefined) return { text, template, values };
  }
  return text;
}
