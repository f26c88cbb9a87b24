import { joined, listOf, message, type Text, textOf } from "../core/mod.ts";
import { mapTexts, safeText } from "../util/json.ts";
import { oneLine, printableJson, terminalSafe } from "../util/terminal_text.ts";
import { VERSION } from "../util/version.ts";
import {
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
  PRIORITIES,
  type Priority,
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
      return textReport(report, form);
    case "markdown":
      return markdownReport(report, form);
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

/** A priority in each format: level of SARIF, command of GitHub, severity of GitLab, severity of security. */
const SCALE = {
  P0: { level: "error", command: "error", severity: "blocker", security: "9.5" },
  P1: { level: "error", command: "error", severity: "critical", security: "8.0" },
  P2: { level: "warning", command: "warning", severity: "major", security: "5.5" },
  P3: { level: "note", command: "notice", severity: "minor", security: "3.0" },
} as const;

const MEANINGS: Readonly<Record<Priority, string>> = {
  P0: "A defect that blocks the release.",
  P1: "A defect that must be fixed before it is merged.",
  P2: "A defect that should be fixed.",
  P3: "A defect that may be fixed.",
};

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

function openOf({ findings }: ReviewReport): readonly ReviewFinding[] {
  return findings.filter(({ state }) => state !== "fixed");
}

function fixedOf({ findings }: ReviewReport): readonly ReviewFinding[] {
  return findings.filter(({ state }) => state === "fixed");
}

// Text and Markdown

/** A name of a file on one line. */
function shownPath(path: string): string {
  return inertLine(path);
}

function locationOf({ path, line, end_line }: ReviewFinding): string {
  return `${shownPath(path)}:${line}${end_line > line ? `-${end_line}` : ""}`;
}

/** Files that are listed for a reason; the rest is counted. */
const MAX_SKIPPED = 10;

const DROPPED: Readonly<Record<Dropped, Text>> = {
  malformed: message`malformed`,
  misplaced: message`quote not at its line`,
  outside: message`outside of the change`,
  refuted: message`refuted`,
  duplicate: message`duplicate`,
};

/** Counts, files that were left out, findings that were dropped, and what the review cost. */
function summaryOf(report: ReviewReport): Text[] {
  const [open, fixed] = [openOf(report), fixedOf(report)];
  const standing = open.filter(({ state }) => state === "standing").length;
  const counts = PRIORITIES.flatMap((priority) => {
    const count = open.filter((each) => each.priority === priority).length;
    return count > 0 ? [`${count} ${priority}`] : [];
  });
  const dropped = Object.entries(DROPPED).flatMap(([reason, name]) => {
    const count = report.dropped[reason as Dropped];
    return count > 0 ? [message`${name}: ${count}`] : [];
  });
  const skipped = [...Map.groupBy(report.skipped, ({ reason }) => inertLine(reason, 160))].map(
    ([reason, files]) => {
      const listed: Text[] = files.slice(0, MAX_SKIPPED).map(({ path }) => shownPath(path));
      if (files.length > listed.length) listed.push(message`${files.length - listed.length} more`);
      return message`Not reviewed (${reason}): ${listOf(listed)}`;
    },
  );
  return [
    open.length === 0 ? message`No findings` : message`Findings: ${open.length} (${listOf(counts)})`,
    ...(standing > 0 ? [message`Known from the last review: ${standing}`] : []),
    ...(fixed.length > 0 ? [message`Fixed since the last review: ${fixed.length}`] : []),
    message`Files reviewed: ${report.reviewed}`,
    ...skipped,
    ...(dropped.length > 0 ? [message`Dropped findings: ${listOf(dropped)}`] : []),
    ...(report.incomplete === undefined
      ? []
      : [message`The review is incomplete: ${inertLine(report.incomplete, 500)}`]),
    // Without a model nothing was asked.
    ...(report.model === "" ? [] : [figuresOf(report)]),
  ];
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

function textReport(report: ReviewReport, form: TextForm): string {
  const { palette: colors, columns, width = roughWidth, text } = form;
  const wrapped = (line: string, indent: string) =>
    line === "" ? [""] : wrapText(indent + line, columns, width, indent);
  const lines: string[] = [
    colors.bold(text(message`Review of ${inertLine(report.target)}`)),
    "",
  ];
  const open = openOf(report);
  for (const [at, finding] of open.entries()) {
    const number = `${at + 1}.`.padEnd(`${open.length}.`.length + 1);
    const indent = " ".repeat(number.length);
    const mark = colorOf(colors, finding.priority)(finding.priority);
    const known = finding.state === "standing" ? ` ${colors.dim(`(${text(message`known`)})`)}` : "";
    lines.push(`${number}${mark} ${colors.accent(locationOf(finding))}${known}`);
    const title = wrapped(shownTitle(finding), indent);
    lines.push(...title.map((line) => colors.bold(line)));
    const body = inert(finding.body);
    lines.push(
      ...body.split("\n").flatMap((line) => wrapped(line.trimEnd(), indent)).filter((line, index, all) =>
        line !== "" || (index > 0 && all[index - 1] !== "")
      ),
    );
    lines.push(...suggestionLines(finding).map((line) => indent + diffColor(colors, line)), "");
  }
  const fixed = fixedOf(report);
  for (const finding of fixed) {
    lines.push(
      colors.dim(`${text(message`fixed`)} ${finding.priority} ${locationOf(finding)} ${shownTitle(finding)}`),
    );
  }
  if (fixed.length > 0) lines.push("");
  for (const [at, each] of summaryOf(report).entries()) {
    const [first = "", ...rest] = wrapped(text(each), "");
    const color = at === 0 ? colors.bold : colors.dim;
    lines.push(...[first, ...rest].map((line) => color(line)));
  }
  return `${lines.join("\n")}\n`;
}

function shownTitle({ title }: ReviewFinding): string {
  return inertLine(title, 200);
}

function colorOf(colors: Palette, priority: Priority): (text: string) => string {
  if (priority === "P0" || priority === "P1") return colors.bad;
  return priority === "P2" ? colors.warning : colors.dim;
}

function diffColor(colors: Palette, line: string): string {
  return line.startsWith("-") ? colors.removed(line) : colors.added(line);
}

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

function markdownReport(report: ReviewReport, { text }: TextForm): string {
  const blocks = [`**${text(message`Review of ${escaped(inertLine(report.target))}`)}**`];
  for (const [at, finding] of openOf(report).entries()) {
    const number = `${at + 1}. `;
    const known = finding.state === "standing" ? ` (${text(message`known`)})` : "";
    const heading = `**${finding.priority}** ${codeSpan(locationOf(finding))} ${
      escaped(shownTitle(finding))
    }${known}`;
    const diff = suggestionLines(finding).join("\n");
    const parts = [
      heading,
      harmless(inert(finding.body).trim()),
      ...(diff === "" ? [] : [fenced(diff, "diff")]),
    ].filter((part) => part !== "").join("\n\n");
    const indent = " ".repeat(number.length);
    blocks.push(
      number + parts.split("\n").map((line) => line === "" ? "" : indent + line).join("\n").trimStart(),
    );
  }
  const fixed = fixedOf(report).map((finding) =>
    `- ${text(message`fixed`)}: ${finding.priority} ${codeSpan(locationOf(finding))} ${
      escaped(shownTitle(finding))
    }`
  );
  if (fixed.length > 0) blocks.push(fixed.join("\n"));
  blocks.push(summaryOf(report).map((line) => `- ${escaped(text(line))}`).join("\n"));
  return `${blocks.join("\n\n")}\n`;
}

/** Text that Markdown shows as it is. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>&#|~!]/g, "\\$&");
}

/** Body of a finding, whose code stays Markdown: it has no HTML, and no images that a reader would load. */
function harmless(text: string): string {
  return text.replace(/<(?=[a-z!/?])/gi, "&lt;").replace(/!(?=\[)/g, "\\!");
}

function codeSpan(text: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const mark = "`".repeat(longest + 1);
  return longest === 0 ? `${mark}${text}${mark}` : `${mark} ${text} ${mark}`;
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
    ...(report.incomplete === undefined ? [] : [{ level: "error", text: report.incomplete }]),
    ...(left > 0 ? [{ level: "warning", text: `${left} more findings are left out` }] : []),
    ...report.skipped.slice(0, MAX_NOTES).map(({ path, reason }) => ({
      level: "note",
      text: `${shownPath(path)} was not reviewed: ${reason}`,
    })),
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
          rules: ids.map((id) => sarifRule(id, findings.find((finding) => ruleId(finding) === id))),
        },
      },
      automationDetails: { id: "reasonix-review/" },
      invocations: [{
        executionSuccessful: report.incomplete === undefined,
        toolExecutionNotifications: notes.map(({ level, text }) => ({
          level,
          message: { text: plain(text) },
        })),
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

function sarifRule(id: string, finding: ReviewFinding | undefined): object {
  const priority = finding?.priority ?? "P3";
  const isSecurity = id.startsWith("security");
  const { level, security } = SCALE[priority];
  return {
    id,
    name: id.split(/[^A-Za-z0-9]+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join(""),
    shortDescription: { text: MEANINGS[priority] },
    fullDescription: { text: `${MEANINGS[priority]} A model found it; the quoted line is checked.` },
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
      replacements: [{
        deletedRegion,
        ...(suggestion ? { insertedContent: { text: suggestion } } : {}),
      }],
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
    ...(state === "fixed"
      ? {
        suppressions: [{
          kind: "external",
          status: "accepted",
          justification: "Fixed since the last review",
        }],
      }
      : {}),
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
    return command(SCALE[priority].command, {
      file: path,
      line: String(line),
      endLine: String(end_line),
      title: `${priority}: ${shownTitle(finding)}`,
    }, `${body}${more}`);
  });
  if (report.incomplete !== undefined) {
    lines.push(command("warning", { title: "The review is incomplete" }, report.incomplete));
  }
  return lines.map((line) => `${line}\n`).join("");
}

function command(name: string, properties: Readonly<Record<string, string>>, text: string): string {
  const written = Object.entries(properties).map(([key, value]) =>
    `${key}=${data(value).replaceAll(":", "%3A").replaceAll(",", "%2C")}`
  );
  return `::${name} ${written.join(",")}::${data(text)}`;
}

/** A value as the runner reads it; it takes what is escaped for data. */
function data(text: string): string {
  return terminalSafe(safeText(text)).replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
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
