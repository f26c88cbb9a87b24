/**
 * Plants defects into commits of real repositories: one mutation of one added line for each commit, chosen by
 * a seed. Everything is made of git objects in a separate repository, whose working tree stays empty.
 */
import { Random } from "../../support/seed.ts";
import { type Mutation, mutationsOf } from "./mutations.ts";

export interface Defect {
  readonly mutation: string;
  readonly path: string;
  /** Line of the new version that shows the defect, and its text. */
  readonly line: number;
  readonly quote: string;
}

export interface PlantedCommit {
  readonly id: string;
  readonly parent: string;
  /** Absent: a commit as its author made it. */
  readonly defect?: Defect;
}

export interface PlantedHistory {
  /** Top of the repository that has the commits. */
  readonly top: string;
  readonly commits: readonly PlantedCommit[];
}

interface Counts {
  readonly planted: number;
  readonly plain: number;
}

const CODE = /\.(?:[cm]?[jt]sx?|py|go|rs|c|h|cc|cpp|rb|java|kt|php|sh|ps1|lua)$/;
const OTHERS_CODE = /(?:^|\/)(?:vendor|deps|node_modules|dist|third_party)\/|\.min\.|\.d\.ts$/;
const ADDED_LINES = { least: 4, most: 3_000 };

/** Runs git without a configuration; throws when it fails. */
export async function git(
  cwd: string,
  args: readonly string[],
  { input, env }: { readonly input?: string | Uint8Array; readonly env?: Record<string, string> } = {},
): Promise<string> {
  const child = new Deno.Command("git", {
    args: ["-c", "core.autocrlf=false", "-c", "core.quotePath=false", ...args],
    cwd,
    env: { ...IDENTITY, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1", ...env },
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (input !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(typeof input === "string" ? new TextEncoder().encode(input) : input);
    await writer.close();
  }
  const { code, stdout, stderr } = await child.output();
  if (code !== 0) throw new Error(`git ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

const IDENTITY = {
  GIT_AUTHOR_NAME: "Author",
  GIT_AUTHOR_EMAIL: "author@example.com",
  GIT_COMMITTER_NAME: "Author",
  GIT_COMMITTER_EMAIL: "author@example.com",
  GIT_AUTHOR_DATE: "2026-01-01T00:00:00Z",
  GIT_COMMITTER_DATE: "2026-01-01T00:00:00Z",
};

/** Commits of the repository at `source`, most of them with a defect, in a new repository at `top`. */
export async function plantCommits(
  source: string,
  top: string,
  { planted, plain }: Counts,
  random: Random,
): Promise<PlantedHistory> {
  await git(".", ["init", "--quiet", top]);
  const common = (await git(source, ["rev-parse", "--path-format=absolute", "--git-common-dir"])).trim();
  await Deno.writeTextFile(`${top}/.git/objects/info/alternates`, `${common}/objects\n`);
  const used = new Map<string, number>();
  const commits: PlantedCommit[] = [];
  for (const { id, parent, files } of random.shuffled(await candidates(source))) {
    const wanted = commits.filter(({ defect }) => defect).length < planted;
    if (wanted) {
      const found = await plant(top, { id, parent, files }, used, random);
      if (found) commits.push(found);
    } else if (commits.length < planted + plain) commits.push({ id, parent });
    else break;
  }
  if (commits.length < planted + plain) {
    throw new Error(`${source} has ${commits.length} commits that fit, not ${planted + plain}`);
  }
  return { top, commits: random.shuffled(commits) };
}

interface Candidate {
  readonly id: string;
  readonly parent: string;
  /** Files of code that the commit changes. */
  readonly files: readonly string[];
}

async function candidates(source: string): Promise<Candidate[]> {
  const format = ["--format=%x01%H %P", "--numstat", "--no-renames", "--diff-filter=AM", "-z"];
  const text = await git(source, ["log", "--no-merges", "--max-count=3000", ...format, "HEAD"]);
  const found: Candidate[] = [];
  for (const entry of text.split("\x01").slice(1)) {
    const [head = "", ...rest] = entry.split("\0");
    const [id = "", parent] = head.trim().split(" ");
    if (parent === undefined) continue;
    let added = 0;
    const files: string[] = [];
    for (const row of rest) {
      const [, count, path] = /^\n?(\d+)\t\d+\t([\s\S]+)$/.exec(row) ?? [];
      if (path === undefined || !CODE.test(path) || OTHERS_CODE.test(path) || count === "0") continue;
      added += Number(count);
      files.push(path);
    }
    if (added >= ADDED_LINES.least && added <= ADDED_LINES.most) found.push({ id, parent, files });
  }
  return found;
}

/** The commit with one defect, or undefined where no mutation fits. */
async function plant(
  top: string,
  { id, parent, files }: Candidate,
  used: Map<string, number>,
  random: Random,
): Promise<PlantedCommit | undefined> {
  const options: { path: string; lines: readonly string[]; mutation: Mutation }[] = [];
  for (const path of files) {
    const text = await git(top, ["cat-file", "blob", `${id}:${path}`]);
    if (text.includes("\ufffd") || text.length > 400_000) continue;
    const lines = text.split("\n");
    const added = await addedLines(top, parent, id, path);
    for (const mutation of mutationsOf(lines, added)) options.push({ path, lines, mutation });
  }
  // The mutations that were used least come first, so that all kinds occur.
  const ranked = random.shuffled(options).sort((a, b) =>
    (used.get(a.mutation.name) ?? 0) - (used.get(b.mutation.name) ?? 0)
  );
  const [choice] = ranked;
  if (!choice) return undefined;
  const { path, lines, mutation } = choice;
  used.set(mutation.name, (used.get(mutation.name) ?? 0) + 1);
  const head = [...lines];
  head.splice(mutation.line - 1, 1, ...mutation.text === undefined ? [] : [mutation.text]);
  const commit = await commitWith(top, { id, parent }, path, head.join("\n"));
  const quote = head[mutation.shown - 1] ?? "";
  return { id: commit, parent, defect: { mutation: mutation.name, path, line: mutation.shown, quote } };
}

/** Numbers of the lines that the commit adds to the file. */
async function addedLines(top: string, parent: string, id: string, path: string): Promise<Set<number>> {
  const args = ["diff-tree", "-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv", parent, id];
  const found = new Set<number>();
  for (const line of (await git(top, [...args, "--", path])).split("\n")) {
    const [, start, count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    for (let at = 0; start !== undefined && at < Number(count); at++) found.add(Number(start) + at);
  }
  return found;
}

async function commitWith(
  top: string,
  { id, parent }: Pick<Candidate, "id" | "parent">,
  path: string,
  text: string,
): Promise<string> {
  const env = { GIT_INDEX_FILE: `${top}/.git/planted-index` };
  await git(top, ["read-tree", id], { env });
  const blob = (await git(top, ["hash-object", "-w", "--stdin", "--no-filters"], { input: text })).trim();
  const [mode = "100644"] = (await git(top, ["ls-files", "-s", "--", path], { env })).split(" ");
  await git(top, ["update-index", "--cacheinfo", `${mode},${blob},${path}`], { env });
  const tree = (await git(top, ["write-tree"], { env })).trim();
  const subject = await git(top, ["log", "-1", "--format=%B", id]);
  return (await git(top, ["commit-tree", tree, "-p", parent], { input: subject })).trim();
}

/**
 * A history of real files without a history of theirs: the first commit lacks parts of each, and every
 * further commit adds those of one to three files.
 */
export async function growHistory(
  top: string,
  files: readonly { readonly path: string; readonly text: string }[],
  random: Random,
): Promise<void> {
  await git(".", ["init", "--quiet", "-b", "main", top]);
  const stream: string[] = [];
  const encoder = new TextEncoder();
  const data = (text: string) => `data ${encoder.encode(text).length}\n${text}\n`;
  const commit = (mark: number, message: string, changed: readonly { path: string; text: string }[]) => {
    stream.push(`commit refs/heads/main\nmark :${mark}\n`);
    stream.push(`committer Author <author@example.com> ${1_767_225_600 + mark} +0000\n${data(message)}`);
    if (mark > 1) stream.push(`from :${mark - 1}\n`);
    for (const { path, text } of changed) stream.push(`M 100644 inline ${path}\n${data(text)}`);
  };
  commit(1, "Begin", files.map(({ path, text }) => ({ path, text: thinned(text, random) })));
  for (let at = 0, mark = 2; at < files.length; mark++) {
    const changed = files.slice(at, at + 1 + random.below(3));
    commit(mark, `Change ${changed.map(({ path }) => path).join(", ")}`, changed);
    at += changed.length;
  }
  await git(top, ["fast-import", "--quiet"], { input: stream.join("") });
}

/** The text without one to four runs of its lines. */
function thinned(text: string, random: Random): string {
  const lines = text.split("\n");
  for (let count = 1 + random.below(4); count > 0; count--) {
    lines.splice(random.below(lines.length), 4 + random.below(30));
  }
  return lines.join("\n");
}
