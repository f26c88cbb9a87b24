import { message, ReasonixError, type Text, usageError } from "../core/mod.ts";
import { type Change, type Git, hunkDigest, readChange } from "../git/mod.ts";
import { processEnvironment } from "../path/read_env.ts";
import { mapTexts, parseJson, recordOf } from "../util/json.ts";
import { createRedactor } from "../util/redact.ts";
import { oneLine, terminalSafe } from "../util/terminal_text.ts";
import { codeSpan, fenced } from "../view/mod.ts";
import {
  checkFinding,
  lineOfQuote,
  locationOf,
  openOf,
  prioritiesOf,
  readReport,
  type ReviewFinding,
  type ReviewReport,
} from "./findings.ts";
import { skippedByReason } from "./formats.ts";
import { type Environment, GitHub, GitHubError } from "./github.ts";
import {
  mark,
  openPullRequest,
  type PublishedComment,
  type PullRequest,
  readPullRequest,
} from "./pull_request.ts";

const MAX_COMMENTS = 30;
/** Of all new comments together, and of a summary. The service accepts 65,536 a text. */
const MAX_CHARACTERS = 60_000;
/** Parts of the summary's limit: digests of hunks, which a full review would find again, and the findings. */
const MAX_HUNKS = 800;
const MAX_LISTED_CHARACTERS = 15_000;
const MAX_SKIPPED_CHARACTERS = 10_000;
const MAX_ATTEMPTS = 3;
const LONGEST_WAIT_MS = 60_000;

interface PublishRequest {
  readonly git: Git;
  readonly cwd: string;
  readonly number: number;
  /** Text of the report, and the name of its file for errors. */
  readonly text: string;
  readonly file: string;
  /** The commit that the report has to be about; absent: the one that it names. */
  readonly head?: string | undefined;
  readonly env?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Waits before a repetition. */
  readonly wait?: (ms: number) => Promise<void>;
}

/** Numbers of comments, and the address of the review; absent: there was nothing to publish. */
interface Counts {
  added: number;
  edited: number;
  fixed: number;
  url?: string;
}

interface Published extends Readonly<Counts> {
  /** Findings of the report that hold. */
  readonly open: readonly ReviewFinding[];
}

/**
 * Publishes a report as one review: comments of findings that stand keep their thread, those of fixed ones
 * say so, new ones come in one review, and the summary is edited. Without findings now and before nothing is
 * published.
 *
 * Contract: the report is not trusted. Each finding is checked against the commits again, and no text of it
 * notifies people, hides text, loads images, links to other hosts, or shows a secret. Each attempt compares
 * the report with what is published, so that a repetition publishes nothing a second time.
 */
export async function publishReview(request: PublishRequest): Promise<Published> {
  const { git, cwd, number, file, signal, env = processEnvironment(), wait = pause } = request;
  const report = readReport(parseJson(request.text));
  const remedy = message`write it with \`reasonix review --pr ${number} --format json\``;
  if (typeof report === "string") throw usageError(message`Cannot publish ${file}: ${report}`, remedy);
  const { head } = report;
  if (head === undefined) throw usageError(message`Cannot publish ${file}: it is about no commit`, remedy);
  if (request.head !== undefined && request.head !== head) {
    throw usageError(
      message`Cannot publish ${file}: it is about commit ${head}, not ${request.head}`,
      remedy,
    );
  }
  let pull: PullRequest | undefined = await openPullRequest(git, cwd, number, {
    head,
    closed: true,
    env,
    signal,
  });
  const { url } = pull;
  const change = await readChange(git, cwd, { kind: "base", base: pull.base, head }, signal);
  const checked = await checkReport(report, change, env);
  const github = new GitHub(cwd, { env, signal });
  const done: Counts = { added: 0, edited: 0, fixed: 0 };
  for (let attempts = 1;; attempts++) {
    try {
      pull ??= await readPullRequest(github, number, url);
      await new Publication(github, pull, { ...change, commit: head }, checked, done).publish();
      return { ...done, open: openOf(checked) };
    } catch (error) {
      pull = undefined;
      const after = error instanceof GitHubError ? error.retryAfterMs : undefined;
      if (after === undefined || after > LONGEST_WAIT_MS || attempts === MAX_ATTEMPTS) throw error;
      await wait(after);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Returns the findings that hold for the change, with texts that may be shown. */
async function checkReport(report: ReviewReport, change: Change, env: Environment): Promise<ReviewReport> {
  const secrets = Object.entries(env).filter(([name]) => /TOKEN|KEY|SECRET|PASS/i.test(name));
  const redact = createRedactor(secrets.map(([, value]) => value));
  const findings: ReviewFinding[] = [];
  for (const given of report.findings) {
    const { id, state, agent } = given;
    const checked = state === "fixed"
      ? { finding: given }
      : await checkFinding(given, change, { whole: true });
    if ("fault" in checked) continue;
    const { suggestion, ...finding } = checked.finding;
    // Without its secret a suggestion would break the code.
    const kept = suggestion !== undefined && redact(suggestion) === suggestion ? { suggestion } : {};
    findings.push({ ...finding, ...kept, id, state, agent });
  }
  return mapTexts({ ...report, findings }, redact);
}

interface Draft {
  readonly finding: ReviewFinding;
  readonly comment: {
    readonly path: string;
    readonly line: number;
    readonly side: "RIGHT";
    readonly start_line?: number;
    readonly start_side?: "RIGHT";
    readonly body: string;
  };
}

const EDIT_COMMENT = `mutation ReasonixEditComment($id: ID!, $body: String!) {
  updatePullRequestReviewComment(input: { pullRequestReviewCommentId: $id, body: $body }) { clientMutationId }
}`;
const EDIT_REVIEW = `mutation ReasonixEditReview($id: ID!, $body: String!) {
  updatePullRequestReview(input: { pullRequestReviewId: $id, body: $body }) { clientMutationId }
}`;
const SUBMIT_REVIEW = `mutation ReasonixSubmitReview($id: ID!, $body: String!) {
  submitPullRequestReview(input: { pullRequestReviewId: $id, event: COMMENT, body: $body }) { clientMutationId }
}`;
const DROP_REVIEW = `mutation ReasonixDropReview($id: ID!) {
  deletePullRequestReview(input: { pullRequestReviewId: $id }) { clientMutationId }
}`;
const ADD_THREAD = `mutation ReasonixAddThread(
  $review: ID!, $path: String!, $line: Int!, $startLine: Int, $startSide: DiffSide, $body: String!
) {
  addPullRequestReviewThread(input: {
    pullRequestReviewId: $review, path: $path, line: $line, side: RIGHT, startLine: $startLine,
    startSide: $startSide, body: $body
  }) { thread { id } }
}`;

/** One attempt to make the published state that of a report. */
class Publication {
  readonly #github: GitHub;
  readonly #pull: PullRequest;
  readonly #change: Change & { readonly commit: string };
  readonly #report: ReviewReport;
  readonly #done: Counts;
  readonly #purpose: Text;

  constructor(
    github: GitHub,
    pull: PullRequest,
    change: Change & { readonly commit: string },
    report: ReviewReport,
    done: Counts,
  ) {
    [this.#github, this.#pull, this.#change] = [github, pull, change];
    [this.#report, this.#done] = [report, done];
    this.#purpose = message`Cannot publish the review of pull request ${pull.number}`;
  }

  async publish(): Promise<void> {
    const { pending, summary, comments } = this.#pull;
    if (pending?.ours) await this.#mutate(DROP_REVIEW, { id: pending.id });
    else if (pending) {
      throw new ReasonixError(message`${this.#purpose}: your pending review there is not submitted`, {
        remedy: message`submit or discard it at ${this.#pull.url}, and run it again`,
      });
    }
    const open = [...openOf(this.#report)];
    if (!summary && open.length === 0) return;
    const others = new Set(comments);
    const known = new Set(summary?.findings.map(({ id }) => id));
    const drafts: Draft[] = [];
    const listed: ReviewFinding[] = [];
    let size = 0;
    for (const finding of open) {
      const comment = matching(finding, others);
      if (comment) {
        others.delete(comment);
        await this.#edit(comment, finding);
        continue;
      }
      // What is in the text of the review stays there: its line was refused, or is in no hunk.
      const draft = known.has(finding.id) ? undefined : this.#draft(finding);
      const longer = size + (draft?.comment.body.length ?? 0);
      if (draft && drafts.length < MAX_COMMENTS && longer <= MAX_CHARACTERS) {
        drafts.push(draft);
        size = longer;
      } else listed.push(finding);
    }
    for (const comment of others) {
      if (await this.#isFixed(comment.finding)) {
        await this.#edit(comment, { ...comment.finding, state: "fixed" });
      } else open.push(comment.finding);
    }
    const isFixed = ({ finding }: PublishedComment) => open.every(({ id }) => id !== finding.id);
    const text = (refused: readonly ReviewFinding[]) =>
      this.#summary(open, [...listed, ...refused], [...others].filter(isFixed).length);
    if (!summary) {
      await this.#add(drafts, text);
      return;
    }
    const refused = drafts.length === 0 ? [] : await this.#add(drafts, () => this.#more(drafts.length));
    const body = text(refused);
    if (body !== summary.body) await this.#mutate(EDIT_REVIEW, { id: summary.id, body });
    this.#done.url = summary.url;
  }

  async #mutate(mutation: string, variables: object): Promise<Record<string, unknown>> {
    return await this.#github.graphql(this.#purpose, this.#pull.host, mutation, variables);
  }

  /** Changes what readers see of a comment; its lines, which the service moves, may differ. */
  async #edit(comment: PublishedComment, finding: ReviewFinding): Promise<void> {
    // A comment has the lines of its first version: a suggestion for others would replace the wrong ones.
    const range = ({ line, end_line }: ReviewFinding) => end_line - line;
    const { suggestion: _, ...plain } = finding;
    const fits = comment.body.includes("```suggestion\n") && range(finding) === range(comment.finding);
    const known: ReviewFinding = { ...fits ? finding : plain, id: comment.finding.id };
    const body = this.#commentBody(known);
    const visible = (text: string) => text.slice(text.indexOf("\n"));
    const isFixed = known.state === "fixed";
    if (isFixed ? comment.finding.state === "fixed" : visible(body) === visible(comment.body)) return;
    await this.#mutate(EDIT_COMMENT, { id: comment.id, body });
    this.#done[isFixed ? "fixed" : "edited"]++;
  }

  #commentBody(finding: ReviewFinding): string {
    const { suggestion, ...data } = finding;
    const [title, body] = [this.#harmless(finding.title), this.#harmless(finding.body)];
    const start = mark("finding", data);
    if (finding.state === "fixed") {
      const commit = this.#change.commit.slice(0, 12);
      return `${start}**Fixed** in ${commit}.\n\n<details><summary>${finding.priority}</summary>\n\n` +
        `**${title}**\n\n${body}\n\n</details>\n`;
    }
    const change = suggestion === undefined ? "" : `\n\n${block("suggestion", suggestion)}`;
    return `${start}**${finding.priority}: ${title}**\n\n${body}${change}\n`;
  }

  /** The comment of a finding; undefined where its line is in no hunk. */
  #draft(finding: ReviewFinding): Draft | undefined {
    const { path, line, end_line } = finding;
    const hunks = this.#change.files.find((file) => file.path === path)?.hunks ?? [];
    const hunk = hunks.find(({ newStart, newLines }) => newStart <= line && line < newStart + newLines);
    if (!hunk) return undefined;
    const whole = end_line < hunk.newStart + hunk.newLines;
    const { suggestion: _, ...plain } = finding;
    const start = whole && end_line > line ? { start_line: line, start_side: "RIGHT" } as const : {};
    const body = this.#commentBody(whole ? finding : plain);
    return { finding, comment: { path, line: whole ? end_line : line, side: "RIGHT", ...start, body } };
  }

  async #isFixed(finding: ReviewFinding): Promise<boolean> {
    const { id, path, state } = finding;
    if (state === "fixed" || this.#report.findings.some((each) => each.id === id && each.state === "fixed")) {
      return true;
    }
    const bytes = await this.#change.head.read(path);
    if (bytes) return lineOfQuote(bytes, finding) === undefined;
    return this.#change.files.some((file) =>
      file.status === "deleted" && file.path === path || file.status === "renamed" && file.oldPath === path
    );
  }

  /** Adds comments in one review. Returns the findings that the service takes no comment for. */
  async #add(
    drafts: readonly Draft[],
    text: (refused: readonly ReviewFinding[]) => string,
  ): Promise<readonly ReviewFinding[]> {
    const { host, repository, number, summary } = this.#pull;
    const post = async (fields: Readonly<Record<string, unknown>>) => {
      const body = { commit_id: this.#change.commit, ...fields };
      const path = `repos/${repository}/pulls/${number}/reviews`;
      return await this.#github.post(this.#purpose, host, path, body);
    };
    try {
      const comments = drafts.map(({ comment }) => comment);
      const { html_url } = await post({ event: "COMMENT", body: text([]), comments });
      this.#done.added += drafts.length;
      this.#done.url = String(html_url);
      return [];
    } catch (error) {
      if (!(error instanceof GitHubError) || error.status !== 422 || drafts.length === 0) throw error;
    }
    // One of the lines is refused, and the answer does not say which.
    const { node_id: id, html_url } = await post({ body: mark("more", {}) });
    const refused: ReviewFinding[] = [];
    for (const { finding, comment } of drafts) {
      if (!await this.#addThread(id, comment)) refused.push(finding);
    }
    this.#done.added += drafts.length - refused.length;
    if (summary && refused.length === drafts.length) await this.#mutate(DROP_REVIEW, { id });
    else await this.#mutate(SUBMIT_REVIEW, { id, body: text(refused) });
    this.#done.url = String(html_url);
    return refused;
  }

  async #addThread(review: unknown, { path, line, start_line, start_side, body }: Draft["comment"]) {
    const variables = { review, path, line, startLine: start_line, startSide: start_side, body };
    try {
      const { addPullRequestReviewThread: added } = await this.#mutate(ADD_THREAD, variables);
      return recordOf(recordOf(added).thread).id !== undefined;
    } catch (error) {
      if (error instanceof GitHubError && error.retryAfterMs === undefined) return false;
      throw error;
    }
  }

  #more(count: number): string {
    const commit = this.#change.commit.slice(0, 12);
    const findings = count === 1 ? "1 more finding" : `${count} more findings`;
    return `${mark("more", {})}${findings} in ${commit}. [Summary](${this.#pull.summary?.url})\n`;
  }

  #summary(open: readonly ReviewFinding[], listed: readonly ReviewFinding[], fixed: number): string {
    const { reviewed, incomplete } = this.#report;
    const found = open.length === 0 ? "No open findings" : `Open findings: ${prioritiesOf(open).join(", ")}`;
    const lines = ["### Review by Reasonix", `${found}${fixed === 0 ? "" : `. Fixed: ${fixed}`}.`];
    if (listed.length > 0) lines.push("Findings without a comment at their line:");
    const kept: ReviewFinding[] = [];
    let size = 0;
    for (const { suggestion: _, ...finding } of listed) {
      const title = closed(this.#harmless(finding.title));
      const entry = `**${finding.priority}: ${title}** (${location(finding)})\n\n` +
        this.#harmless(finding.body);
      size += entry.length + 2 * JSON.stringify(finding).length;
      if (size > MAX_LISTED_CHARACTERS) break;
      kept.push(finding);
      lines.push(entry);
    }
    const rest = listed.length - kept.length;
    if (rest > 0) lines.push(`${rest} more of them are in the report only.`);
    lines.push(
      `Reviewed ${reviewed === 1 ? "1 file" : `${reviewed} files`} at ${this.#change.commit.slice(0, 12)}.`,
    );
    lines.push(...this.#skipped());
    if (incomplete !== undefined) {
      lines.push(`The review is incomplete: ${this.#harmless(oneLine(incomplete))}.`);
    }
    const there = new Set(
      this.#change.files.flatMap(({ path, hunks }) => hunks.map((hunk) => hunkDigest(path, hunk))),
    );
    const digests = new Set([...this.#pull.summary?.hunks ?? [], ...this.#report.hunks]);
    const hunks = [...digests].filter((digest) => there.has(digest)).slice(0, MAX_HUNKS);
    return mark("review", { hunks, findings: kept }) + lines.join("\n\n") + "\n";
  }

  /** A list of the files that were left out, by reason. */
  #skipped(): readonly string[] {
    const entries: string[] = [];
    let [size, left] = [0, this.#report.skipped.length];
    for (const { reason, paths, more } of skippedByReason(this.#report)) {
      const names = paths.map((path) => codeSpan(oneLine(path, 300)));
      if (more > 0) names.push(`${more} more`);
      const entry = `- Not reviewed (${closed(this.#harmless(reason))}): ${names.join(", ")}`;
      size += entry.length;
      if (size > MAX_SKIPPED_CHARACTERS) break;
      entries.push(entry);
      left -= paths.length + more;
    }
    if (left > 0) {
      entries.push(`- Not reviewed for other reasons: ${left === 1 ? "1 file" : `${left} files`}`);
    }
    return entries.length === 0 ? [] : [entries.join("\n")];
  }

  #harmless(text: string): string {
    return harmless(text, `${this.#pull.host}/${this.#pull.repository}/`);
  }
}

function location(finding: ReviewFinding): string {
  return codeSpan(locationOf({ ...finding, path: oneLine(finding.path, 300) }));
}

/** The published comment of a finding: that of its id, or of the same line of code. */
function matching({ id, path, quote }: ReviewFinding, comments: ReadonlySet<PublishedComment>) {
  const all = [...comments];
  return all.find(({ finding }) => finding.id === id) ??
    all.find(({ finding }) => finding.path === path && finding.quote.trim() === quote.trim());
}

/** A line whose code spans end in it, so that it does not open those behind it. */
function closed(line: string): string {
  const rest = line.replace(/(?<!`)(`+)(?!`)[^\\]*?(?<!`)\1(?!`)/g, "");
  return rest.includes("`") ? line.replaceAll("`", "'") : line;
}

/** The text of a block stays as it is: an empty suggestion removes lines. */
function block(info: string, text: string): string {
  return fenced(text === "" ? "" : `${text}\n`, info);
}

/** Blocks of code that the service draws, or offers to commit. */
const DRAWN = /^(?:suggestion|mermaid|math|geojson|topojson|stl)$/i;
/** The beginning of a line that GitLab would execute as the author's, such as `/merge`. */
const QUICK_ACTION = /^[ \t]*\/(?=[a-z_]+(?:\s|$))/gim;
/** A space without width: a reader sees the same text, and no parser sees the same syntax. */
const BREAK = "\u200b";

/**
 * Markdown that notifies people of nothing, hides nothing, loads nothing, and links only to the repository
 * (`home`, without a protocol). Blocks of code stay as they are.
 */
export function harmless(markdown: string, home: string): string {
  const parts: string[] = [];
  const lines = terminalSafe(markdown).split("\n");
  let prose: string[] = [];
  const flush = () => {
    if (prose.length > 0) parts.push(harmlessProse(prose.join("\n"), home));
    prose = [];
  };
  for (let at = 0; at < lines.length; at++) {
    const [, ticks, info = ""] = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]*)[^`]*$/.exec(lines[at] ?? "") ?? [];
    if (ticks === undefined) {
      prose.push(lines[at] ?? "");
      continue;
    }
    const closes = new RegExp(`^ {0,3}${ticks[0]}{${ticks.length},}\\s*$`);
    const next = lines.findIndex((line, index) => index > at && closes.test(line));
    const end = next < 0 ? lines.length : next;
    flush();
    parts.push(`\n${block(DRAWN.test(info) ? "" : info, lines.slice(at + 1, end).join("\n"))}\n`);
    at = end;
  }
  flush();
  return parts.join("\n").trim();
}

function harmlessProse(text: string, home: string): string {
  const here = RegExp.escape(home);
  const link = new RegExp(`\\](?=[(:])(?!\\(https://${here})`, "gi");
  const address = new RegExp(`\\b([a-z][a-z\\d+.-]+:)(?=\\\\*/)(?!//${here})`, "gi");
  return text.replace(/`{3,}|~{3,}/g, (run) => [...run].join(BREAK))
    .replace(/<(?=[a-z/!?])/gi, `<${BREAK}`)
    .replace(/&(?=#?\w{1,32};)/g, `&${BREAK}`)
    .replace(/@(?=[\w-])/g, `@${BREAK}`)
    .replace(/#(?=\d)/g, `#${BREAK}`)
    .replace(/\bGH-(?=\d)/gi, (found) => `${found}${BREAK}`)
    .replace(/!(?=\[)/g, `!${BREAK}`)
    .replace(link, `]${BREAK}`)
    .replace(address, `$1${BREAK}`)
    .replace(/\bwww(?=\.)/gi, `$&${BREAK}`)
    .replace(QUICK_ACTION, `$&${BREAK}`);
}
