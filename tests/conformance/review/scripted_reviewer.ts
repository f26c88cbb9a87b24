/**
 * A model that reviews with a script: it reports the planted defect where a part shows it, and with it
 * findings that may not survive. It does not give in when it is corrected, except where the kind says so.
 */
import type { Chunk } from "../../../src/core/mod.ts";
import type { Change, ChangedFile } from "../../../src/git/mod.ts";
import type { Dropped, Finding } from "../../../src/review/findings.ts";
import { say, type ScriptedProvider, scriptedProvider } from "../../support/agent_fixture.ts";
import { Random } from "../../support/seed.ts";
import type { Defect } from "./planter.ts";

/** Kinds of findings, and the reason for which the review drops them; undefined: it reports them. */
export const FATES: Readonly<Record<string, Dropped | undefined>> = {
  "true": undefined,
  "true after a correction": undefined,
  "true with a suggestion that does not apply": undefined,
  "said again": "duplicate",
  "false": "refuted",
  "false with a suggestion that does not apply": "refuted",
  "quote from elsewhere": "misplaced",
  "quote from nowhere": "misplaced",
  "no such line": "misplaced",
  "no such file": "outside",
  "outside of the change": "outside",
  "line as a text": "malformed",
};

/** The change that the model reviews now, and what it knows of it. */
export interface ReviewedCommit {
  readonly change: Change;
  readonly defect: Defect | undefined;
  /** Lines of a file of the new version. */
  readonly linesOf: (path: string) => readonly string[];
  /** Kinds of the findings in its last answers. */
  readonly given: string[];
}

type Claim = { readonly kind: string } & Partial<Omit<Finding, "line">> & { readonly line: number | string };

/** `current` is called for each request and returns the commit that it is about. */
export function scriptedReviewer(current: () => ReviewedCommit): ScriptedProvider {
  return {
    ...scriptedProvider([]),
    async *stream({ messages }): AsyncIterable<Chunk> {
      const texts = messages.map(({ role, content }) => ({ role, text: String(content) }));
      const at = texts.findIndex(({ text }) => /^(?:Find the defects|Another reviewer names)/m.test(text));
      const prompt = texts[at]?.text ?? "";
      const isCorrected = texts.slice(at).some(({ role }) => role === "assistant");
      const commit = current();
      const answer = prompt.includes("Another reviewer names")
        ? decisions(prompt)
        : findings(commit, prompt, isCorrected);
      yield* say(JSON.stringify(answer));
    },
  };
}

/** Refutes what is false, by its title. */
function decisions(prompt: string): Record<string, unknown> {
  const listed = [...prompt.matchAll(/^\| (\{"id":.*\})$/gm)].map(([, json = ""]) => JSON.parse(json));
  return {
    decisions: listed.map(({ id, title }) => ({
      id,
      holds: title.startsWith("True "),
      reason: "The line decides",
      confidence: 0.9,
    })),
  };
}

function findings(commit: ReviewedCommit, prompt: string, isCorrected: boolean): Record<string, unknown> {
  const claims = claimsFor(commit, prompt);
  const isFinal = isCorrected || claims.every(({ kind }) => !isReturned(kind));
  if (isFinal) commit.given.push(...claims.map(({ kind }) => kind));
  return {
    findings: claims.map(({ kind, ...finding }) =>
      kind === "true after a correction" && !isCorrected
        ? { ...finding, line: Number(finding.line) + 7, end_line: Number(finding.end_line) + 7 }
        : finding
    ),
  };
}

/** Reports whether an answer with such a finding is returned once. */
function isReturned(kind: string): boolean {
  const fate = FATES[kind];
  return kind === "true after a correction" ||
    (fate !== undefined && fate !== "refuted" && fate !== "duplicate");
}

function claimsFor({ change, defect, linesOf }: ReviewedCommit, prompt: string): Claim[] {
  const random = new Random([...prompt].reduce((sum, char) => Math.imul(sum, 31) + char.charCodeAt(0), 7));
  const shown = change.files.filter(({ path, kind, status, omitted }) =>
    kind === "text" && status !== "deleted" && omitted === undefined && headerIn(prompt, path)
  );
  const claims: Claim[] = [];
  const claim = (kind: string, path: string, line: number, more: Partial<Claim> = {}) => {
    const quote = linesOf(path)[line - 1] ?? "";
    const number = claims.length;
    const title = `${kind.startsWith("true") ? "True defect" : "Alarm"} of ${WORDS[number]}${number}`;
    claims.push({
      ...{
        kind,
        path,
        line,
        end_line: line,
        priority: random.pick(["P0", "P1", "P2", "P3"]),
        confidence: 0.8,
      },
      ...{ title, body: "It fails with an empty list.", quote },
      ...more,
    });
  };
  const file = shown.find(({ path }) => path === defect?.path);
  if (defect && file && showsLine(prompt, defect)) {
    const kind = random.pick([
      "true",
      "true after a correction",
      "true with a suggestion that does not apply",
    ]);
    const suggestion = kind.endsWith("apply") ? { suggestion: defect.quote } : {};
    claim(kind, defect.path, defect.line, suggestion);
    const [first] = claims;
    if (first && random.chance(0.5)) claims.push({ ...first, kind: "said again" });
  }
  for (const each of random.shuffled(shown).slice(0, 2)) falseClaims(each, linesOf(each.path), claim, random);
  claim("no such file", "src/no/such/file.ts", 1, { quote: "const invented = true;" });
  return random.shuffled(claims);
}

const WORDS = ["quoting", "overflow", "encoding", "ordering", "locking", "parsing", "timing", "caching"]
  .flatMap((word) => [`${word}A`, `${word}B`, `${word}C`]);

function falseClaims(
  { path, hunks }: ChangedFile,
  lines: readonly string[],
  claim: (kind: string, path: string, line: number, more?: Partial<Claim>) => void,
  random: Random,
): void {
  const isText = (line: number) => (lines[line - 1] ?? "").trim().length > 3;
  const inside = hunks.flatMap(({ newStart, newLines }) =>
    Array.from({ length: newLines }, (_, at) => newStart + at)
  );
  const taken = random.shuffled(inside.filter(isText));
  const next = (kind: string, more: (line: number) => Partial<Claim> | undefined = () => ({})) => {
    const line = taken.pop();
    const details = line === undefined ? undefined : more(line);
    if (line !== undefined && details) claim(kind, path, line, details);
  };
  next("false");
  next("false with a suggestion that does not apply", (line) => ({ suggestion: lines[line - 1] ?? "" }));
  next("quote from elsewhere", (line) => {
    const own = lines[line - 1]?.trim();
    const other = random.shuffled(lines).find((text) => text.trim().length > 3 && text.trim() !== own);
    return other === undefined ? undefined : { quote: other };
  });
  next("quote from nowhere", () => ({ quote: "this.text.is(in).no.file" }));
  next("line as a text", (line) => ({ line: String(line) }));
  const last = lines.length + 40;
  next("no such line", () => ({ line: last, end_line: last }));
  const known = new Set(inside);
  const outside = lines.map((_, at) => at + 1).filter((line) => !known.has(line) && isText(line));
  if (outside.length > 0) claim("outside of the change", path, random.pick(outside));
}

function headerIn(prompt: string, path: string): boolean {
  return prompt.includes(`\n@@ added ${path}\n`) || prompt.includes(`\n@@ modified ${path}\n`) ||
    (prompt.includes(`\n@@ renamed ${path} from `)) || prompt.includes(`\n@@ copied ${path} from `);
}

/** Reports whether the diff of a part has a line of a file. */
function showsLine(prompt: string, { path, line, quote }: Defect): boolean {
  const from = prompt.search(new RegExp(`^@@ \\w+ ${RegExp.escape(path)}(?: from .*)?$`, "m"));
  const section = prompt.slice(from).split(/\n(?=@@ [a-z])/)[0] ?? "";
  return section.split("\n").some((row) =>
    new RegExp(`^ *${line} [ +]`).test(row) && row.includes(quote.trim())
  );
}
