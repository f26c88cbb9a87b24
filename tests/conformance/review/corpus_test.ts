/**
 * Reviews of commits with one planted defect each, and of commits without, by a model that reports the defect
 * and much that does not hold: every defect comes out, and nothing else. A run takes a sample of commits that
 * are made of the sources of this project. REASONIX_REVIEW_REPOS, a directory below which there are git
 * repositories, adds 40 commits with and 20 without a defect from them.
 */
import { assemble } from "../../../src/features/mod.ts";
import { Git, readChange } from "../../../src/git/mod.ts";
import type { Dropped, ReviewReport } from "../../../src/review/findings.ts";
import { review } from "../../../src/review/review.ts";
import { type Assembly, loadTrustedConfig } from "../../../src/run/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { Random, SEED } from "../../support/seed.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { git, growHistory, plantCommits, type PlantedCommit, type PlantedHistory } from "./planter.ts";
import { FATES, type ReviewedCommit, scriptedReviewer } from "./scripted_reviewer.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const REPOSITORIES = Deno.env.get("REASONIX_REVIEW_REPOS") ?? "";

Deno.test("a review reports the planted defects of generated commits and nothing else", async () => {
  await using dir = await makeTempDir();
  const random = new Random(SEED);
  await growHistory(`${dir.path}/grown`, await ownSources(36, random), random);
  const counts = { planted: 8, plain: 4 };
  const history = await plantCommits(`${dir.path}/grown`, `${dir.path}/planted`, counts, random);
  await checkReviews(history, dir.path);
});

Deno.test({
  name: "a review reports the planted defects of commits of real repositories and nothing else",
  ignore: REPOSITORIES === "",
  fn: async () => {
    const sources = await repositoriesBelow(REPOSITORIES);
    assert(sources.length > 0, `There is no git repository below ${REPOSITORIES}`);
    const share = (whole: number, at: number) =>
      Math.floor(whole * (at + 1) / sources.length) - Math.floor(whole * at / sources.length);
    for (const [at, source] of sources.entries()) {
      await using dir = await makeTempDir();
      const counts = { planted: share(40, at), plain: share(20, at) };
      const random = new Random(SEED + at);
      const history = await plantCommits(source, `${dir.path}/planted`, counts, random);
      const figures = await checkReviews(history, dir.path);
      // deno-lint-ignore no-console
      console.log(`${source}: ${JSON.stringify(figures)}`);
    }
  },
});

/** Reviews all commits of a history; returns sums over them. */
async function checkReviews(
  { top, commits }: PlantedHistory,
  temp: string,
): Promise<Record<string, unknown>> {
  let current: ReviewedCommit | undefined;
  const sums: Record<string, number> = { commits: 0, found: 0, claims: 0, requests: 0 };
  const add = (name: string, count: number) => sums[name] = (sums[name] ?? 0) + count;
  const provider = scriptedReviewer(() => {
    add("requests", 1);
    if (!current) throw new Error("No commit is being reviewed");
    return current;
  });
  const paths = {
    cwd: await Deno.realPath(top),
    home: `${temp}/home`,
    env: (name: string) => Deno.env.get(name),
  };
  await Deno.mkdir(paths.home, { recursive: true });
  await using assembly = await assemble({
    paths,
    loaded: await loadTrustedConfig({ ...paths, noFiles: true }, {}),
    inMemory: true,
    provider,
    onAsk: "deny",
    permissionMode: "read-only",
  });
  const mutations = new Set<string>();
  for (const commit of commits) {
    const reviewed = current = await prepare(paths.cwd, commit);
    const report = await reviewOf(assembly, reviewed);
    check(commit, reviewed, report);
    if (commit.defect) mutations.add(commit.defect.mutation);
    add("commits", 1);
    add("found", report.findings.length);
    add("claims", reviewed.given.length);
    for (const [reason, count] of Object.entries(report.dropped)) add(reason, count);
  }
  return { ...sums, mutations: mutations.size };
}

async function prepare(top: string, { id, defect }: PlantedCommit): Promise<ReviewedCommit> {
  const change = await readChange(Git.find(top), top, { kind: "commit", commit: id });
  const heads = new Map<string, readonly string[]>();
  for (const { path, kind, status } of change.files) {
    if (kind !== "text" || status === "deleted") continue;
    heads.set(path, (await git(top, ["cat-file", "blob", `${id}:${path}`])).split(/\r?\n/));
  }
  return { change, defect, given: [], linesOf: (path) => heads.get(path) ?? [] };
}

async function reviewOf(assembly: Assembly, { change }: ReviewedCommit): Promise<ReviewReport> {
  const options = { signal: AbortSignal.timeout(120_000), report: () => {} };
  return await review(assembly, { change, focus: "" }, options);
}

function check({ id, defect }: PlantedCommit, { given, change }: ReviewedCommit, report: ReviewReport): void {
  const where = `${id} ${JSON.stringify(defect)}`;
  assertEquals(report.incomplete, undefined, where);
  const found = report.findings.map(({ path, line, quote }) => ({ path, line, quote: quote.trim() }));
  const expected = defect ? [{ path: defect.path, line: defect.line, quote: defect.quote.trim() }] : [];
  assertEquals(found, expected, where);
  const dropped: Record<Dropped, number> = {
    malformed: 0,
    misplaced: 0,
    outside: 0,
    refuted: 0,
    duplicate: 0,
  };
  for (const kind of given) {
    const fate = FATES[kind];
    if (fate !== undefined) dropped[fate] += 1;
  }
  assertEquals(report.dropped, dropped, `${where} ${change.target}: ${given.join(", ")}`);
}

async function ownSources(
  count: number,
  random: Random,
): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const found: string[] = [];
  for (const directory of ["src/tool", "src/session", "src/view", "src/util", "plugins/map"]) {
    for await (const { name, isFile } of Deno.readDir(`${ROOT}${directory}`)) {
      if (isFile && name.endsWith(".ts")) found.push(`${directory}/${name}`);
    }
  }
  return random.shuffled(found.sort()).slice(0, count).map((path) => ({
    path,
    text: Deno.readTextFileSync(`${ROOT}${path}`),
  }));
}

/** Repositories in a directory or one level below it. */
async function repositoriesBelow(directory: string): Promise<string[]> {
  const found: string[] = [];
  const look = async (path: string, depth: number) => {
    const isRepository = [`${path}/.git`, `${path}/HEAD`].some((name) => {
      try {
        return Deno.statSync(name) !== undefined;
      } catch {
        return false;
      }
    });
    if (isRepository) found.push(path);
    else if (depth > 0) {
      for await (const { name } of Deno.readDir(path)) {
        const info = await Deno.stat(`${path}/${name}`).catch(() => undefined);
        if (info?.isDirectory) await look(`${path}/${name}`, depth - 1);
      }
    }
  };
  await look(directory, 2);
  return found.sort();
}
