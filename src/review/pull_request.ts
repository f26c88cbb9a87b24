import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { message, ReasonixError, usageError } from "../core/mod.ts";
import { firstLine, type Git, openRepository, readChange, type Repository } from "../git/mod.ts";
import { defined, parseJson, recordOf } from "../util/json.ts";
import { attempt } from "../util/lazy.ts";
import { OBJECT_ID, readReport, type ReviewFinding } from "./findings.ts";
import { type Environment, GitHub } from "./github.ts";

/** A comment of an earlier review of this user at lines of the pull request. */
export interface PublishedComment {
  /** Node id. */
  readonly id: string;
  readonly body: string;
  readonly finding: ReviewFinding;
}

/** The earlier review of this user: its text, and what it is not visible in. */
export interface PublishedSummary {
  readonly id: string;
  readonly body: string;
  readonly url: string;
  readonly hunks: readonly string[];
  /** Findings without a comment. */
  readonly findings: readonly ReviewFinding[];
}

export interface PullRequest {
  readonly number: number;
  readonly url: string;
  readonly host: string;
  /** OWNER/NAME. */
  readonly repository: string;
  readonly state: string;
  readonly title: string;
  readonly body: string;
  /** Object ids of commits. */
  readonly base: string;
  readonly head: string;
  readonly summary?: PublishedSummary;
  readonly comments: readonly PublishedComment[];
  /** A review that is not submitted yet; `ours`: an earlier run of the program left it. */
  readonly pending?: { readonly id: string; readonly ours: boolean };
}

/** Reviews and comments of pull requests are read up to this number of pages of 100. */
const MAX_PAGES = 20;

/** A page of a list; `after` is the variable of its name. */
const page = (list: string, nodes: string) =>
  `${list}(first: 100, after: $${list}) { nodes { ${nodes} } pageInfo { hasNextPage endCursor } }`;

const QUERY = `query ReasonixPullRequest(
  $owner: String!, $name: String!, $number: Int!, $reviews: String, $reviewThreads: String
) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    state title body baseRefOid headRefOid
    ${page("reviews", "id body state url viewerDidAuthor")}
    ${page("reviewThreads", "comments(first: 1) { nodes { id body viewerDidAuthor } }")}
  } }
}`;

/**
 * Reads a pull request, and what this user has published about it. Other comments are not read. `known`: its
 * address.
 */
export async function readPullRequest(
  github: GitHub,
  number: number,
  known?: string,
): Promise<PullRequest> {
  const address = known ?? await github.addressOf(number);
  const [, host = "", owner = "", name = ""] =
    /^https?:\/\/([\w.:-]+)\/([\w.-]+)\/([\w.-]+)\/pull\/\d+$/.exec(address) ??
      [];
  const purpose = message`Cannot read pull request ${number}`;
  const reviews: Record<string, unknown>[] = [];
  const comments: Record<string, unknown>[] = [];
  let facts: Record<string, unknown> = {};
  let cursors: Record<string, unknown> | undefined = {};
  for (let pages = 0; cursors && pages < MAX_PAGES; pages++) {
    const { repository } = await github.graphql(purpose, host, QUERY, { owner, name, number, ...cursors });
    facts = recordOf(recordOf(repository).pullRequest);
    const [some, threads] = [pageOf(facts.reviews), pageOf(facts.reviewThreads)];
    reviews.push(...some.nodes);
    comments.push(...threads.nodes.flatMap((thread) => pageOf(thread.comments).nodes));
    cursors = some.more || threads.more ? { reviews: some.cursor, reviewThreads: threads.cursor } : undefined;
  }
  const [base, head] = [textOf(facts.baseRefOid), textOf(facts.headRefOid)];
  if (!OBJECT_ID.test(base) || !OBJECT_ID.test(head)) {
    throw new ReasonixError(
      message`Cannot read pull request ${number}: the answer of ${host} names no commits`,
    );
  }
  const ours = reviews.filter(({ viewerDidAuthor }) => viewerDidAuthor === true);
  const pending = ours.find(({ state }) => state === "PENDING");
  const summary = ours.flatMap((review) => review === pending ? [] : summaryOf(review))[0];
  return {
    ...{ number, host, base, head, url: address, repository: `${owner}/${name}` },
    state: textOf(facts.state),
    title: textOf(facts.title),
    body: textOf(facts.body),
    ...summary ? { summary } : {},
    comments: comments.filter(({ viewerDidAuthor }) => viewerDidAuthor === true).flatMap(commentOf),
    ...pending ? { pending: { id: textOf(pending.id), ours: textOf(pending.body).startsWith(MARK) } } : {},
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function pageOf(value: unknown) {
  const { nodes, pageInfo } = recordOf(value);
  const { hasNextPage, endCursor } = recordOf(pageInfo);
  const known = Array.isArray(nodes) ? nodes.map(recordOf) : [];
  return { nodes: known, more: hasNextPage === true, cursor: endCursor };
}

const MARK = "<!-- reasonix:";

/** Returns the first line of a text that the next run has to find again; readers do not see it. */
export function mark(kind: "finding" | "review" | "more", value: unknown): string {
  // Base64 has no dash, so that no value can end the comment.
  return `${MARK}${kind} ${new TextEncoder().encode(JSON.stringify(value)).toBase64()} -->\n`;
}

/** The value of a marked text, which is data of an earlier run and is checked again. */
function marked(kind: "finding" | "review", text: unknown): Record<string, unknown> | undefined {
  const start = `${MARK}${kind} `;
  if (typeof text !== "string" || !text.startsWith(start)) return undefined;
  const [, coded = ""] = /^([\w+/=]+) -->/.exec(text.slice(start.length)) ?? [];
  const json = attempt(() => new TextDecoder().decode(Uint8Array.fromBase64(coded)));
  return json === undefined ? undefined : recordOf(parseJson(json));
}

function commentOf({ id, body }: Record<string, unknown>): PublishedComment[] {
  const report = reportOf({ findings: [marked("finding", body)] });
  return report ? report.findings.map((finding) => ({ id: textOf(id), body: textOf(body), finding })) : [];
}

function summaryOf({ id, body, url }: Record<string, unknown>): PublishedSummary[] {
  const report = reportOf(marked("review", body) ?? { hunks: "" });
  if (!report) return [];
  const { hunks, findings } = report;
  return [{ id: textOf(id), body: textOf(body), url: textOf(url), hunks, findings }];
}

function reportOf(value: Record<string, unknown>) {
  const report = readReport({ version: 1, skipped: [], hunks: [], findings: [], ...value });
  return typeof report === "string" ? undefined : report;
}

/** Reads a pull request as a change, and what this user has published about it. */
export async function pullRequestChange(git: Git, cwd: string, number: number, options: OpenOptions) {
  const pull = await openPullRequest(git, cwd, number, options);
  const { base, head } = pull;
  const found = await readChange(git, cwd, { kind: "base", base, head }, options.signal);
  const change = { ...found, target: `pull request ${number}`, key: `pr ${number}` };
  return { change, about: pull, ...defined({ earlier: earlierReview(pull) }) };
}

/** Returns what an earlier review has published, for an incremental one. */
export function earlierReview({ summary, comments }: PullRequest) {
  if (!summary) return undefined;
  const open = comments.map(({ finding }) => finding).filter(({ state }) => state !== "fixed");
  return { hunks: summary.hunks, findings: [...open, ...summary.findings] };
}

interface OpenOptions {
  /** The commit that is reviewed, in place of the last one. */
  readonly head?: string | undefined;
  /** A closed pull request is one, too. */
  readonly closed?: boolean;
  readonly env?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Reads a pull request and fetches its commits into no branch. Nothing is checked out. */
export async function openPullRequest(
  git: Git,
  cwd: string,
  number: number,
  { head, closed = false, env, signal }: OpenOptions = {},
): Promise<PullRequest> {
  if (head !== undefined && !OBJECT_ID.test(head)) {
    throw usageError(
      message`Cannot review ${head} of pull request ${number}: it is no complete object id of a commit`,
      message`give all of its digits`,
    );
  }
  const repository = await openRepository(git, cwd, {
    purpose: message`Cannot read pull request ${number}`,
    signal,
  });
  const github = new GitHub(cwd, { env, signal });
  const read = await readPullRequest(github, number);
  if (read.state !== "OPEN" && !closed) {
    throw new ReasonixError(
      message`Cannot review pull request ${number}: it is ${read.state.toLowerCase()}`,
      {
        remedy: message`reopen it, or name its commits with --base and --head`,
      },
    );
  }
  const pull = { ...read, head: head ?? read.head };
  await fetchCommits(git, repository, pull, { github, signal });
  return pull;
}

/** The URL that a git with the login of this user fetches from: by SSH where the repository already does. */
async function fetchUrl(git: Git, cwd: string, { host, repository }: PullRequest): Promise<string> {
  const { text } = await git.run(["config", "--get-regexp", "^remote\\..*\\.url$"], { cwd });
  const scp = `git@${host}:${repository}`.toLowerCase();
  const urls = text.toLowerCase().split("\n").map((line) =>
    line.replace(/^\S+\s+/, "").replace(/(?:\.git)?\/?$/, "")
  );
  const ssh = urls.some((url) => url === scp || url === `ssh://${scp.replace(":", "/")}`);
  return ssh ? `git@${host}:${repository}.git` : `https://${host}/${repository}.git`;
}

/**
 * The git that fetches has the user's settings and credentials, but not the settings of the repository, which
 * could name programs: it works in an empty repository with the same store of objects.
 */
async function fetchCommits(
  git: Git,
  { top: cwd, common, objects, objectFormat }: Repository,
  pull: PullRequest,
  { github, signal }: { readonly github: GitHub; readonly signal: AbortSignal | undefined },
): Promise<void> {
  const options = { cwd, signal };
  const missing: string[] = [];
  for (const commit of [pull.base, pull.head]) {
    const { code } = await git.run(["cat-file", "-e", `${commit}^{commit}`], options);
    if (code !== 0) missing.push(commit);
  }
  if (missing.length === 0) return;
  const url = await fetchUrl(git, cwd, pull);
  const purpose = message`Cannot fetch pull request ${pull.number} from ${url}`;
  const known = [
    "for-each-ref",
    "--count=1000",
    "--format=%(objectname) %(refname)",
    "refs/heads",
    "refs/remotes",
  ];
  const dir = await mkdtemp(`${tmpdir()}/reasonix-fetch-`);
  try {
    const format = `--object-format=${objectFormat}`;
    await git.ask(purpose, ["init", "--quiet", "--bare", "--template=", format, dir], options);
    await copyFile(`${common}/shallow`, `${dir}/shallow`).catch(() => {});
    // What the repository has is not fetched again.
    await writeFile(`${dir}/packed-refs`, await git.ask(purpose, known, options));
    const { code, errors } = await git.run([
      ...["-c", "fetch.writeCommitGraph=false", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head"],
      ...["--no-recurse-submodules", "--no-auto-maintenance", "--", url, ...missing],
    ], {
      cwd: dir,
      signal,
      env: {
        ...github.environment,
        // Files: a URL that the user's settings have replaced by one.
        GIT_ALLOW_PROTOCOL: "https:ssh:file",
        GIT_DIR: dir,
        GIT_OBJECT_DIRECTORY: objects,
      },
    });
    if (code === 0) return;
    throw new ReasonixError(message`${purpose}: ${firstLine(errors)}`, {
      remedy:
        message`run \`gh auth setup-git\`, or fetch refs/pull/${pull.number}/head yourself, and try again`,
    });
  } finally {
    await rm(dir, { recursive: true, force: true }).catch(() => {});
  }
}
