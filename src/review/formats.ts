import { clausesOf, joined, listOf, message, type Text, textOf } from "../core/mod.ts";
import { mapTexts, safeText } from "../util/json.ts";
import { oneLine, printableJson, terminalSafe } from "../util/terminal_text.ts";
import { VERSION } from "../util/version.ts";
import {
  codeSpan,
  fenced,
  grouped,
  type MeasureWidth,
  moneyFigure,
  type Palette,
  palette,
  roughWidth,
  tokenFigures,
  wrapText,
} from "../view/mod.ts";
import {
  type Dropped,
  locationOf,
  openOf,
  PRIORITIES,
  prioritiesOf,
  readable,
  type ReviewFinding,
  type ReviewReport,
} from "./findings.ts";

export const FORMATS = ["text", "json", "sarif", "github", "gitlab"] as const;
export type Format = (typeof FORMATS)[number];

/** Form of the formats for people; the others are the same everywhere. */
export interface TextForm {
  readonly palette: Palette;
  /** Columns of the terminal; Infinity: lines are not broken. */
  readonly columns: number;
  readonly width?: MeasureWidth;
  /** Gives a text in the language of the user. */
  readonly text: (text: Text) => string;
}

const PLAIN: TextForm = { palette: palette(false), columns: Infinity, text: textOf };

/**
 * A report in a format; "markdown" is that of the chat. Texts of models and names of files are data in each:
 * none can add a line, a command of a runner, a sequence for a terminal, or another result.
 */
export function formatReview(
  report: ReviewReport,
  format: Format | "markdown",
  form: TextForm = PLAIN,
): string {
  switch (format) {
    case "text":
      return written(report, textForm(form, openOf(report).length), form);
    case "markdown":
      return written(report, MARKDOWN, form);
    case "json":
      return jsonText(report);
    case "sarif":
      return jsonText(sarifLog(report));
    case "github":
      return workflowCommands(report);
    case "gitlab":
      return jsonText(codeQuality(report));
  }
}

/** A priority in each format: level of SARIF and GitHub, severity of GitLab, severity of security. */
const SCALE = {
  P0: { level: "error", severity: "blocker", security: "9.5", meaning: "blocks the release" },
  P1: { level: "error", severity: "critical", security: "8.0", meaning: "must be fixed before it is merged" },
  P2: { level: "warning", severity: "major", security: "5.5", meaning: "should be fixed" },
  P3: { level: "note", severity: "minor", security: "3.0", meaning: "may be fixed" },
} as const;

function jsonText(value: object): string {
  const json = printableJson(JSON.stringify(mapTexts(value, safeText), null, 2));
  return `${json.replace(RUNNER_WORD, "\\u0023#")}\n`;
}

/** Begins a command of a build system anywhere in its log: `##[…]`, `##vso[…]`. */
const RUNNER_WORD = /##(?=\w*\[)/g;

/** Safe text for people in which no line is a command of a build system that shows it in its log. */
function inert(text: string): string {
  return terminalSafe(safeText(text)).replace(/^(\s*):(?=:)/gm, "$1: ").replace(RUNNER_WORD, "## ");
}

/** The same on one line. */
function inertLine(text: string, max = 300): string {
  return inert(oneLine(safeText(text), max));
}

// Text and Markdown

/** Files that are listed for a reason; the rest is counted. */
const MAX_SKIPPED = 10;

const DROPPED: Readonly<Record<Dropped, Text>> = {
  malformed: message`malformed`,
  misplaced: message`quote not at its line`,
  outside: message`outside of the change`,
  refuted: message`refuted`,
  duplicate: message`duplicate`,
};

/** Files that were left out, by reason; `more` counts those that are not listed. */
export function skippedByReason({ skipped }: ReviewReport) {
  return [...Map.groupBy(skipped, ({ reason }) => oneLine(safeText(reason), 160))].map(
    ([reason, files]) => ({
      reason,
      paths: files.slice(0, MAX_SKIPPED).map(({ path }) => path),
      more: Math.max(files.length - MAX_SKIPPED, 0),
    }),
  );
}

/** Counts, files that were left out, findings that were dropped, and what the review cost. */
function summaryOf(report: ReviewReport): Text[] {
  const open = openOf(report);
  const fixed = report.findings.length - open.length;
  const standing = open.filter(({ state }) => state === "standing").length;
  const dropped = Object.entries(DROPPED).flatMap(([reason, name]) => {
    const count = report.dropped[reason as Dropped];
    return count > 0 ? [message`${name}: ${count}`] : [];
  });
  const skipped = skippedByReason(report).map(({ reason, paths, more }) => {
    const listed: Text[] = paths.map((path) => inertLine(path));
    if (more > 0) listed.push(message`${more} more`);
    return message`Not reviewed (${readable(inertLine(reason, 160))}): ${listOf(listed)}`;
  });
  return [
    open.length === 0
      ? message`No findings`
      : message`Findings: ${open.length} (${listOf(prioritiesOf(open))})`,
    ...(standing > 0 ? [message`Known from the last review: ${standing}`] : []),
    ...(fixed > 0 ? [message`Fixed since the last review: ${fixed}`] : []),
    message`Files reviewed: ${report.reviewed}`,
    ...skipped,
    ...(dropped.length > 0 ? [message`Dropped findings: ${listOf(dropped)}`] : []),
    ...(report.incomplete === undefined
      ? []
      : [message`The review is incomplete: ${reasonsOf(report.incomplete)}`]),
    // Without a model nothing was asked.
    ...(report.model === "" ? [] : [figuresOf(report)]),
  ];
}

function reasonsOf(incomplete: string): Text {
  return clausesOf(inertLine(incomplete, 500).split("; ").map(readable));
}

function figuresOf({ model, usage, cost, duration_ms }: ReviewReport): Text {
  const figures = [
    inertLine(model, 100),
    ...tokenFigures(usage),
    (cost && moneyFigure({ costs: { [inertLine(cost.currency, 10)]: cost.amount }, unpriced: 0 })) ??
      message`cost unknown`,
    `${grouped(Math.round(duration_ms / 1000))} s`,
  ];
  return joined(" · ", figures);
}

type ShownFinding = ReturnType<typeof shown>;

/** A finding as safe texts; `diff`: the lines of its suggestion. */
function shown(finding: ReviewFinding) {
  return {
    priority: finding.priority,
    location: locationOf({ ...finding, path: inertLine(finding.path) }),
    title: shownTitle(finding),
    body: inert(finding.body).trim(),
    diff: suggestionLines(finding),
    isKnown: finding.state === "standing",
  };
}

function shownTitle({ title }: ReviewFinding): string {
  return inertLine(title, 200);
}

/** The parts of a report in a form for people. `known` and `fixed` are these words in the user's language. */
interface PeopleForm {
  title(text: string): string;
  finding(finding: ShownFinding, number: string, known: string): string;
  fixed(finding: ShownFinding, fixed: string): string;
  summary(line: string, index: number): string;
}

function written(report: ReviewReport, form: PeopleForm, { text }: TextForm): string {
  const [known, fixed] = [text(message`known`), text(message`fixed`)];
  const gone = report.findings.filter(({ state }) => state === "fixed").map(shown);
  const blocks = [
    form.title(text(message`Review of ${readable(inertLine(report.target))}`)),
    ...openOf(report).map(shown).map((each, at) =>
      form.finding(each, `${at + 1}. `, each.isKnown ? ` (${known})` : "")
    ),
    gone.map((each) => form.fixed(each, fixed)).join("\n"),
    summaryOf(report).map(text).map(form.summary).join("\n"),
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function textForm({ palette: colors, columns, width = roughWidth }: TextForm, findings: number): PeopleForm {
  const indent = " ".repeat(`${findings}. `.length);
  const wrapped = (line: string, color = (text: string) => text, before = indent) =>
    line === "" ? [""] : wrapText(before + line, columns, width, before).map(color);
  const marks = { P0: colors.bad, P1: colors.bad, P2: colors.warning, P3: colors.dim };
  return {
    title: colors.bold,
    finding: ({ priority, location, title, body, diff }, number, known) =>
      [
        number.padEnd(indent.length) + marks[priority](priority) +
        ` ${colors.accent(location)}${colors.dim(known)}`,
        ...wrapped(title, colors.bold),
        ...body.replace(/[^\S\n]+$/gm, "").replace(/\n{3,}/g, "\n\n").split("\n").flatMap((line) =>
          wrapped(line)
        ),
        ...diff.map((line) => indent + (line.startsWith("-") ? colors.removed : colors.added)(line)),
      ].join("\n"),
    fixed: ({ priority, location, title }, fixed) => colors.dim(`${fixed} ${priority} ${location} ${title}`),
    summary: (line, index) => wrapped(line, index === 0 ? colors.bold : colors.dim, "").join("\n"),
  };
}

const MARKDOWN: PeopleForm = {
  title: (text) => `**${escaped(text)}**`,
  finding: ({ priority, location, title, body, diff }, number, known) => {
    const heading = `**${priority}** ${codeSpan(location)} ${escaped(title)}${known}`;
    const parts = [heading, harmless(body), diff.length === 0 ? "" : fenced(diff.join("\n"), "diff")];
    const text = parts.filter((part) => part !== "").join("\n\n");
    return number + text.replaceAll(/\n(?!\n|$)/g, `\n${" ".repeat(number.length)}`);
  },
  fixed: ({ priority, location, title }, fixed) =>
    `- ${fixed}: ${priority} ${codeSpan(location)} ${escaped(title)}`,
  summary: (line) => `- ${escaped(line)}`,
};

/** A suggestion as a diff; of the replaced lines only quoted ones are known. */
function suggestionLines({ suggestion, quote, line, end_line }: ReviewFinding): string[] {
  if (suggestion === undefined) return [];
  const safe = (text: string) => inert(text).replaceAll("\t", "  ");
  const old = safe(quote).split("\n").slice(0, end_line - line + 1);
  const rest = end_line - line + 1 - old.length;
  const fresh = suggestion === "" ? [] : safe(suggestion).split("\n");
  return [
    ...old.map((each) => `- ${each}`),
    ...(rest > 0 ? [`- … (+${rest})`] : []),
    ...fresh.map((each) => `+ ${each}`),
  ];
}

/** Text that Markdown shows as it is. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>&#|~!]/g, "\\$&");
}

/** Body of a finding, whose code stays Markdown: it has no HTML, and no images that a reader would load. */
function harmless(text: string): string {
  return text.replace(/<(?=[a-z!/?])/gi, "&lt;").replace(/!(?=\[)/g, "\\!");
}

// SARIF 2.1.0

/** Results that GitHub takes of a run; they are sorted, so that the least important ones are left out. */
const MAX_RESULTS = 25_000;
const MAX_NOTES = 1000;
const ROOT = "SRCROOT";
const SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

function sarifLog(report: ReviewReport): object {
  const findings = report.findings.slice(0, MAX_RESULTS);
  const ids = [...new Set(findings.map(ruleId))].sort();
  const compared = findings.some(({ state }) => state !== "new");
  const left = report.findings.length - findings.length;
  const notes = [
    ...(report.incomplete === undefined ? [] : [["error", report.incomplete] as const]),
    ...(left > 0 ? [["warning", `${left} more findings are left out`] as const] : []),
    ...report.skipped.slice(0, MAX_NOTES).map(({ path, reason }) =>
      ["note", `${inertLine(path)} was not reviewed: ${reason}`] as const
    ),
  ];
  return {
    $schema: SCHEMA,
    version: "2.1.0",
    runs: [{
      tool: {
        driver: {
          name: "Reasonix",
          version: VERSION,
          semanticVersion: VERSION,
          rules: ids.map(sarifRule),
        },
      },
      automationDetails: { id: "reasonix-review/" },
      invocations: [{
        executionSuccessful: report.incomplete === undefined,
        toolExecutionNotifications: notes.map(([level, text]) => ({ level, message: { text: plain(text) } })),
      }],
      originalUriBaseIds: { [ROOT]: { description: { text: "The top of the repository" } } },
      columnKind: "utf16CodeUnits",
      results: findings.map((finding) => sarifResult(finding, ids.indexOf(ruleId(finding)), compared)),
    }],
  };
}

/** Agents of a report that others wrote may have any name. */
function ruleId({ agent, priority }: ReviewFinding): string {
  return `${agent.replace(/[^\w-]+/g, "_").slice(0, 60) || "review"}-${priority}`;
}

function sarifRule(id: string): object {
  const isSecurity = id.startsWith("security");
  const { level, security, meaning } = SCALE[PRIORITIES.find((each) => id.endsWith(each)) ?? "P3"];
  const text = `A defect that ${meaning}.`;
  return {
    id,
    name: id.split(/[^A-Za-z0-9]+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join(""),
    shortDescription: { text },
    fullDescription: { text: `${text} A model found it; the quoted line is checked.` },
    help: {
      text: "Read the finding and the code. Fix the defect, or dismiss the finding where it is wrong.",
    },
    defaultConfiguration: { level },
    properties: {
      tags: isSecurity ? ["review", "security"] : ["review"],
      precision: "medium",
      "problem.severity": level === "note" ? "recommendation" : level,
      ...(isSecurity ? { "security-severity": security } : {}),
    },
  };
}

const FIXED = { kind: "external", status: "accepted", justification: "Fixed since the last review" };
const BASELINE = { new: "new", standing: "unchanged", fixed: "absent" } as const;

function sarifResult(finding: ReviewFinding, ruleIndex: number, compared: boolean): object {
  const { priority, confidence, title, body, suggestion, quote, line, end_line, state, agent, id } = finding;
  const artifactLocation = { uri: relativeUri(finding.path), uriBaseId: ROOT };
  const region = { startLine: line, endLine: end_line };
  // Without text in their place the lines go with their line ends.
  const deletedRegion = suggestion === ""
    ? { startLine: line, startColumn: 1, endLine: end_line + 1, endColumn: 1 }
    : region;
  const fix = {
    description: { text: "Suggested replacement" },
    artifactChanges: [{
      artifactLocation,
      replacements: [{ deletedRegion, ...(suggestion ? { insertedContent: { text: suggestion } } : {}) }],
    }],
  };
  return {
    ruleId: ruleId(finding),
    ruleIndex,
    level: SCALE[priority].level,
    message: { text: plain(`${title}\n\n${body}`.trim()) },
    locations: [{
      physicalLocation: { artifactLocation, region: { ...region, snippet: { text: terminalSafe(quote) } } },
    }],
    partialFingerprints: { "reasonixFindingId/v1": id },
    rank: Math.round(confidence * 100),
    ...(compared ? { baselineState: BASELINE[state] } : {}),
    ...(state === "fixed" ? { suppressions: [FIXED] } : {}),
    ...(suggestion === undefined ? {} : { fixes: [fix] }),
    properties: { priority, confidence, agent },
  };
}

/** A path from the top of the repository as a relative reference. */
function relativeUri(path: string): string {
  return safeText(path).split("/").map(encodeURIComponent).join("/");
}

/** Text in which SARIF finds no links and no places for arguments. */
function plain(text: string): string {
  return terminalSafe(safeText(text)).replace(/\[(?=[^\]\n]*\]\()/g, "\\[").replace(/\{(\d+)\}/g, "{{$1}}");
}

// Commands of a GitHub runner

function workflowCommands(report: ReviewReport): string {
  const lines = openOf(report).map((finding) => {
    const { priority, path, line, end_line, body, suggestion } = finding;
    const more = suggestion === undefined ? "" : `\n\n${suggestionLines(finding).join("\n")}`;
    const { level } = SCALE[priority];
    const title = `${priority}: ${shownTitle(finding)}`;
    return command(
      level === "note" ? "notice" : level,
      { file: path, line, endLine: end_line, title },
      body + more,
    );
  });
  if (report.incomplete !== undefined) {
    lines.push(command("warning", { title: "The review is incomplete" }, report.incomplete));
  }
  return lines.map((line) => `${line}\n`).join("");
}

function command(name: string, properties: Readonly<Record<string, string | number>>, text: string): string {
  const written = Object.entries(properties).map(([key, value]) =>
    `${key}=${data(String(value)).replaceAll(":", "%3A").replaceAll(",", "%2C")}`
  );
  return `::${name} ${written.join(",")}::${data(text)}`;
}

/** A value as the runner reads it; it takes what is escaped for data. */
function data(text: string): string {
  return terminalSafe(safeText(text)).replace(RUNNER_WORD, "## ").replaceAll("%", "%25").replaceAll(
    "\r",
    "%0D",
  ).replaceAll("\n", "%0A");
}

// GitLab Code Quality

function codeQuality(report: ReviewReport): object {
  return openOf(report).map((finding) => {
    const { id, priority, path, line, end_line, body } = finding;
    const text = terminalSafe(safeText(body)).trim();
    return {
      type: "issue",
      categories: ["Bug Risk"],
      description: oneLine(`${priority}: ${shownTitle(finding)}${text === "" ? "" : ` — ${text}`}`, 1000),
      content: { body: text },
      check_name: ruleId(finding),
      fingerprint: id,
      severity: SCALE[priority].severity,
      location: { path, lines: { begin: line, end: end_line } },
    };
  });
}
