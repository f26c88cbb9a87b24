import type { Word, WordPart } from "unbash";
import { ANY, ONE, STAR } from "../../rule/mod.ts";
import { PROCESS_FILE } from "./types.ts";

/** Variables as they are known at a place of a script. */
export interface Variables {
  /** The value, or undefined when only the shell will know it. */
  get(name: string): string | undefined;
  /** The working directory, when there is only one it can be. */
  readonly cwd: string | undefined;
  /** `IFS` is not the usual one, so unquoted values split in unknown ways. */
  readonly splitsOddly: boolean;
}

/** A piece of a word; `split` marks an unquoted value that the shell still splits and globs. */
interface Chunk {
  readonly text: string;
  readonly quoted?: true;
  readonly split?: true;
}

const MAX_FIELDS = 256;
/** Characters that a word may become before it counts as unknown: `a=$a$a` doubles a value. */
const MAX_EXPANDED = 64 * 1024;
/** Braces within braces that are followed. */
const MAX_BRACES_DEEP = 16;

/** How the name of what `mktemp` makes ends; nobody else can have meant that file or directory. */
export const MKTEMP_NAME = `tmp.${ONE.repeat(10)}`;

/**
 * The words a source word becomes, as far as that is known: braces, tilde, known variables and splitting are
 * done, and marks stand for the rest (see pattern.ts).
 */
export function expandWord(word: Word, variables: Variables): string[] {
  if (!word.parts) return [sanitize(tilde(word.text, word.value, variables))];
  let forms: Chunk[][] = [[]];
  word.parts.forEach((part, index) => {
    const choices = chunksOf(part, variables, index === 0);
    const [only] = choices;
    if (choices.length === 1 && only) forms.forEach((form) => form.push(...only));
    else if (forms.length * choices.length > MAX_FIELDS) forms = [[{ text: ANY }]];
    else forms = forms.flatMap((form) => choices.map((choice) => [...form, ...choice]));
  });
  const length = forms.reduce((sum, form) => form.reduce((all, { text }) => all + text.length, sum), 0);
  return length > MAX_EXPANDED ? [ANY] : forms.flatMap(toFields);
}

/** A word that is not split, such as an assignment's value or a redirection's target. */
export function expandWhole(word: Word, variables: Variables): string {
  const fields = expandWord(word, variables);
  return fields.length === 1 ? fields[0] ?? ANY : fields.length === 0 ? "" : ANY;
}

/** Control characters are marks here, so text that holds any (from `$'\x01'`) is not known text. */
function sanitize(text: string): string {
  return /[^\P{Cc}\t\n]/u.test(text.replaceAll(ANY, "")) ? ANY : text;
}

function tilde(source: string, value: string, variables: Variables): string {
  if (!source.startsWith("~")) return value;
  const end = value.indexOf("/");
  const user = end < 0 ? value : value.slice(0, end);
  const rest = end < 0 ? "" : value.slice(end);
  if (user === "~") return (variables.get("HOME") ?? ANY) + rest;
  if (user === "~+" && variables.cwd !== undefined) return variables.cwd + rest;
  return ANY + rest;
}

function chunksOf(part: WordPart, variables: Variables, first: boolean): Chunk[][] {
  switch (part.type) {
    case "Literal":
      return [[{ text: sanitize(first ? tilde(part.text, part.value, variables) : part.value) }]];
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [[{ text: sanitize(part.value), quoted: true }]];
    case "DoubleQuoted":
    case "LocaleString":
      return [[{ text: "", quoted: true }, ...part.parts.map((inner) => quotedChunk(inner, variables))]];
    case "Glob":
      return [[{ text: part.kind === "question" ? ONE : STAR }]];
    case "ExtendedGlob":
      return [[{ text: part.pattern.includes("/") ? ANY : STAR }]];
    case "BraceExpansion":
      return (part.parts ? [] : expandBraces(part.text)).map((text) => [{ text }]).concat(
        part.parts ? [[{ text: ANY }]] : [],
      );
    case "ProcessSubstitution":
      return [[{ text: PROCESS_FILE }]];
    default: {
      const value = expansion(part, variables);
      if (value === undefined || variables.splitsOddly) return [[{ text: ANY }]];
      return [[{ text: value, split: true }]];
    }
  }
}

type Expansion = Extract<
  WordPart,
  { type: "SimpleExpansion" | "ParameterExpansion" | "CommandExpansion" | "ArithmeticExpansion" }
>;

function quotedChunk(
  part: Extract<WordPart, { type: "DoubleQuoted" }>["parts"][number],
  variables: Variables,
): Chunk {
  if (part.type === "Literal") return { text: sanitize(part.value), quoted: true };
  return { text: expansion(part, variables) ?? ANY, quoted: true };
}

function expansion(part: Expansion, variables: Variables): string | undefined {
  switch (part.type) {
    case "SimpleExpansion":
      return variables.get(part.text.slice(1));
    case "ParameterExpansion": {
      if (part.prefix || part.index) return undefined;
      const value = variables.get(part.parameter);
      if (!part.operation) return value;
      // With a value that is set and not empty, `${x:-…}` and `${x:?…}` are the value.
      return part.operation.type === "Default" && /^:?[-=?]$/.test(part.operation.operator) && value
        ? value
        : undefined;
    }
    case "CommandExpansion":
      return knownOutput(part.text, variables);
    case "ArithmeticExpansion":
      return undefined;
  }
}

/** Output of the few substitutions whose result is known beforehand. */
function knownOutput(source: string, variables: Variables): string | undefined {
  const command = source.replace(/^\$\(\s*|^`\s*|\s*[)`]$/g, "");
  if (command === "pwd") return variables.cwd;
  if (/^mktemp(?: -d| --directory| -q)*$/.test(command)) {
    return `${variables.get("TMPDIR") || "/tmp"}/${MKTEMP_NAME}`;
  }
  return undefined;
}

function toFields(chunks: readonly Chunk[]): string[] {
  const fields: string[] = [];
  let field: string | undefined;
  for (const chunk of chunks) {
    if (!chunk.split) {
      if (chunk.quoted || chunk.text !== "") field = (field ?? "") + chunk.text;
      continue;
    }
    const pieces = chunk.text.split(/[ \t\n]+/);
    pieces.forEach((piece, index) => {
      if (index > 0 && field !== undefined) {
        fields.push(field);
        field = undefined;
      }
      if (piece !== "") {
        field = (field ?? "") + piece.replaceAll("*", STAR).replaceAll("?", ONE).replace(/\[[^\]]*\]/g, STAR);
      }
    });
  }
  if (field !== undefined) fields.push(field);
  return fields;
}

/** Brace expansion of a word part without quotes or expansions inside. What is odd becomes unknown. */
function expandBraces(text: string, depth = 0): string[] {
  if (depth > MAX_BRACES_DEEP || /["'\\$`]/.test(text)) return [ANY];
  const inner = text.slice(1, -1);
  const sequence = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/.exec(inner);
  if (sequence) return expandSequence(sequence[1] ?? "", sequence[2] ?? "", sequence[3]);
  const items = splitBraceList(inner);
  if (items.length < 2) return [ANY];
  const expanded = items.flatMap((item) => expandBraceItem(item, depth));
  return expanded.length > MAX_FIELDS ? [ANY] : expanded;
}

function expandSequence(from: string, to: string, step: string | undefined): string[] {
  const numeric = /\d/.test(from);
  if (numeric !== /\d/.test(to) || /^-?0\d/.test(from) || /^-?0\d/.test(to)) return [ANY];
  const start = numeric ? Number(from) : from.charCodeAt(0);
  const end = numeric ? Number(to) : to.charCodeAt(0);
  const stride = Math.abs(Number(step ?? 1)) || 1;
  const count = Math.floor(Math.abs(end - start) / stride) + 1;
  if (count > MAX_FIELDS) return [ANY];
  return Array.from({ length: count }, (_, i) => {
    const value = start + i * stride * (end < start ? -1 : 1);
    return numeric ? String(value) : String.fromCharCode(value);
  });
}

function splitBraceList(inner: string): string[] {
  const items: string[] = [];
  let depth = 0;
  let item = "";
  for (const char of inner) {
    if (char === "{") depth++;
    if (char === "}") depth--;
    if (char === "," && depth === 0) {
      items.push(item);
      item = "";
    } else item += char;
  }
  return [...items, item];
}

function expandBraceItem(item: string, depth: number): string[] {
  const nested = /^([^{}]*)(\{.*\})([^{}]*)$/.exec(item);
  if (!nested) return /[{}]/.test(item) ? [ANY] : [item.replaceAll("*", STAR).replaceAll("?", ONE)];
  const [, head = "", braces = "", tail = ""] = nested;
  // Two groups side by side would need another round; such items are rare enough to stay unknown.
  return /\}[^{}]*\{/.test(braces)
    ? [ANY]
    : expandBraces(braces, depth + 1).map((each) => head + each + tail);
}
