import { Git } from "../../../src/git/mod.ts";
import { reviewFinding } from "../../../src/review/findings.ts";
import { harmless, publishReview } from "../../../src/review/publish.ts";
import { earlierReview, openPullRequest } from "../../../src/review/pull_request.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../support/assert.ts";
import { FakeGitHub, HAS_GH } from "../../support/fake_github.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { needs } from "../../support/tools.ts";

const SECRET = `ghp_${"a1B2".repeat(9)}`;
const BASE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n".repeat(3);

/** A repository on GitHub with a pull request, and a clone without the commits of the pull request. */
async function makePull() {
  const temp = await makeTempDir();
  const github = await FakeGitHub.start();
  const [remote, work] = [`${temp.path}/remote/owner/project.git`, `${temp.path}/work`];
  await Deno.mkdir(remote, { recursive: true });
  const settings = `[url "file://${temp.path}/remote/"]\n insteadOf = https://github.com/\n` +
    "[user]\n name = a\n email = a@b\n[init]\n defaultBranch = main\n";
  await Deno.writeTextFile(`${temp.path}/gitconfig`, settings);
  // `gh` sees the replaced addresses, too, and takes none of them for one of GitHub.
  const env: Record<string, string> = {
    ...Deno.env.toObject(),
    ...github.env,
    GH_REPO: "owner/project",
    GIT_CONFIG_GLOBAL: `${temp.path}/gitconfig`,
    GIT_CONFIG_NOSYSTEM: "1",
  };
  const git = async (cwd: string, ...args: string[]) => {
    const { success, stdout, stderr } = await new Deno.Command("git", { args, cwd, env }).output();
    assert(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  };
  const commit = async (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${remote}/${name}`, text);
    await git(remote, "add", "-A");
    await git(remote, "commit", "-q", "-m", "change");
    return await git(remote, "rev-parse", "HEAD");
  };
  await git(remote, "init", "-q");
  const base = await commit({ "a.txt": BASE });
  await git(temp.path, "clone", "-q", `file://${remote}`, work);
  await git(work, "remote", "set-url", "origin", "https://github.com/owner/project.git");
  await git(remote, "checkout", "-q", "-b", "topic");
  const head = await commit({
    "a.txt": BASE.replace("two", "2 = 2").replace(/nine\nten\n$/, "9\n10\n"),
    "b.txt": `first\nlet key = "${SECRET}";\nthird\n`,
  });
  const pull = github.addPull({ number: 7, title: "Numbers", baseRefOid: base, headRefOid: head });
  return {
    ...{ github, env, git, work, head, pull, commit },
    async [Symbol.asyncDispose]() {
      await github[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

type Pull = Awaited<ReturnType<typeof makePull>>;

function finding(path: string, line: number, quote: string, more: Readonly<Record<string, unknown>> = {}) {
  const title = `Defect in line ${quote}`;
  const plain = {
    path,
    line,
    end_line: line,
    priority: "P1",
    confidence: 1,
    title,
    body: "It fails.",
    quote,
  } as const;
  return { ...reviewFinding({ ...plain, ...more }, "review"), ...more };
}

function report(head: string, findings: readonly unknown[], more: Readonly<Record<string, unknown>> = {}) {
  return JSON.stringify({ version: 1, head, findings, hunks: [], skipped: [], reviewed: 2, ...more });
}

async function publish(
  { work, pull, env }: Pull,
  text: string,
  more: Readonly<Record<string, unknown>> = {},
) {
  const waits: number[] = [];
  const wait = (ms: number) => (waits.push(ms), Promise.resolve());
  const request = {
    git: Git.find(work),
    cwd: work,
    number: pull.number,
    text,
    file: "review.json",
    ...{ env, wait },
    ...more,
  };
  return { ...await publishReview(request), waits };
}

Deno.test(
  needs("gh", HAS_GH, "a review is published once, edited with the next push, and never repeated"),
  async () => {
    await using made = await makePull();
    const { github, env, git, work, head } = made;
    // The repository may name programs, and none of them runs.
    const programs = [
      "core.sshCommand",
      "core.fsmonitor",
      "credential.helper",
      "core.askPass",
      "uploadpack.packObjectsHook",
    ];
    for (const name of programs) await git(work, "config", name, `!touch ${work}/ran; false`);
    await Deno.writeTextFile(`${work}/.git/hooks/reference-transaction`, `#!/bin/sh\ntouch ${work}/ran\n`, {
      mode: 0o755,
    });
    const refs = await git(work, "for-each-ref");
    const opened = await openPullRequest(Git.find(work), work, 7, { env });
    assertEquals([opened.title, opened.head, opened.repository], ["Numbers", head, "owner/project"]);
    assertEquals(await git(work, "cat-file", "-t", head), "commit");
    assertEquals(await git(work, "for-each-ref"), refs);
    for (const path of [".git/FETCH_HEAD", "ran", "b.txt"]) {
      await assertRejects(() => Deno.stat(`${work}/${path}`));
    }

    const two = finding("a.txt", 2, "2 = 2", { suggestion: "two = 2" });
    const nine = finding("a.txt", 29, "9", { end_line: 30, priority: "P2" });
    const far = finding("a.txt", 15, "five", { priority: "P3" });
    const hunks = ["0123456789abcdef"];
    const first = report(head, [two, nine, far], { hunks });
    const { added, url } = await publish(made, first);
    assertEquals([added, github.reviews.length, url], [2, 1, github.reviews[0]?.url]);
    assertEquals(github.reviews[0]?.commit, head);
    const lines = github.threads.map(({ path, startLine, line }) => [path, startLine, line]);
    assertEquals(lines, [["a.txt", undefined, 2], ["a.txt", 29, 30]]);
    assertMatch(
      github.threads[0]?.body ?? "",
      /\n\*\*P1: Defect in line 2 = 2\*\*\n\nIt fails.\n\n```suggestion\ntwo = 2\n```\n$/,
    );
    assertMatch(
      github.reviews[0]?.body ?? "",
      /Open findings: 2|Open findings: 1 P1, 1 P2, 1 P3\.[^]*five\*\* \(`a\.txt:15`\)/,
    );
    const writes = github.writes.length;
    assertEquals((await publish(made, first)).added, 0);
    assertEquals(github.writes.length, writes);

    const published = await openPullRequest(Git.find(work), work, 7, { env });
    const earlier = earlierReview(published);
    assertEquals(earlier?.findings.map(({ id, path, line }) => [id, path, line]), [
      [two.id, "a.txt", 2],
      [nine.id, "a.txt", 29],
      [far.id, "a.txt", 15],
    ]);

    // The line of the first is repaired, the second has moved and stands, one is new.
    const next = await made.commit({ "a.txt": `zero\n${BASE.replace(/nine\nten\n$/, "9\n10\n")}` });
    made.pull.headRefOid = next;
    const moved = { ...nine, line: 30, end_line: 31, state: "standing" };
    const second = report(next, [{ ...two, state: "fixed" }, moved, finding("a.txt", 1, "zero")]);
    const edited = await publish(made, second);
    assertEquals([edited.added, edited.edited, edited.fixed, edited.url], [1, 0, 1, github.reviews[0]?.url]);
    assertEquals([github.reviews.length, github.threads.length], [2, 3]);
    assertMatch(github.threads[0]?.body ?? "", /\n\*\*Fixed\*\* in [0-9a-f]{12}\./);
    assertMatch(
      github.reviews[0]?.body ?? "",
      /Open findings: 2 P1, 1 P2|Open findings: 1 P1, 1 P2. Fixed: 1\./,
    );
    assert(!github.reviews[0]?.body.includes("five"), "what is no finding any more is in no summary");

    // Found in other words, or not found again: the comment stays as long as its line does.
    const other = finding("a.txt", 1, "zero", { title: "Another sentence about it" });
    await publish(made, report(next, [other]));
    assertEquals([github.reviews.length, github.threads.length], [2, 3]);
    assertStringIncludes(github.threads[2]?.body ?? "", "Another sentence about it");
    assert(!github.threads[1]?.body.includes("Fixed"));
    const last = await made.commit({ "a.txt": BASE });
    made.pull.headRefOid = last;
    const end = await publish(made, report(last, []));
    assertEquals([end.added, end.fixed], [0, 2]);
    assertMatch(github.reviews[0]?.body ?? "", /No open findings\. Fixed: 3\./);
    const count = github.writes.length;
    await publish(made, report(last, []));
    assertEquals(github.writes.length, count);
  },
);

Deno.test(
  needs("gh", HAS_GH, "a report that a hostile change has influenced publishes nothing but checked findings"),
  async () => {
    await using made = await makePull();
    const { github, head } = made;
    const nothing = await publish(made, report(head, []));
    assertEquals([nothing.url, github.writes], [undefined, []]);
    // Marks of other people are no marks.
    github.viewer = "mallory";
    const two = finding("a.txt", 2, "2 = 2");
    await publish(made, report(head, [two]));
    github.viewer = "me";
    const hostile = finding("b.txt", 2, `let key = "[redacted]";`, {
      title: `@team <img src=x> ${SECRET}`,
      body:
        `Key ${SECRET}\n<!-- hidden -->\n\`\`\`suggestion\nevil()\n\`\`\`\n![x](https://evil.example/x) @all`,
      suggestion: `let key = "${SECRET}";`,
    });
    const invented = finding("a.txt", 3, "no such line");
    const outside = finding("../../etc/passwd", 1, "root");
    const many = [...Array(40).keys()].map((at) =>
      finding("b.txt", 3, "third", { title: `Number${at}`, id: `${at}`.padStart(16, "0") })
    );
    const skipped = [
      ...Array.from({ length: 25 }, (_, at) => ({ path: `f${at}.lock`, reason: "a lock file" })),
      { path: "a`b`.png", reason: "binary @all <img>" },
      ...Array.from({ length: 500 }, (_, at) => ({ path: "x".repeat(400), reason: `reason ${at}` })),
    ];
    const { added } = await publish(
      made,
      report(head, [two, hostile, invented, outside, ...many], { skipped }),
    );
    assertEquals(added, 30);
    const summary = github.reviews.find(({ author, body }) => author === "me" && body.includes("###"))?.body;
    assertMatch(
      summary ?? "",
      /\n- Not reviewed \(a lock file\): (?:`f\d\.lock`, ){10}15 more\n- Not reviewed \(binary .*png ``\n/,
    );
    assertMatch(summary ?? "", /\n- Not reviewed for other reasons: 4\d\d files\n/);
    assert((summary ?? "").length < 65_536);
    const mine = github.threads.filter(({ author }) => author === "me");
    assertEquals(mine.length, 30);
    const shown = [...github.reviews, ...mine].map(({ body }) => body).join("\n");
    const hidden = shown.replace(
      /<!-- reasonix:\w+ ([\w+/=]+) -->/g,
      (_, coded) => new TextDecoder().decode(Uint8Array.fromBase64(coded)),
    );
    for (const part of [SECRET, "passwd", "no such line"]) assert(!hidden.includes(part), part);
    const visible = shown.replace(/<!-- reasonix:\w+ [\w+/=]+ -->/g, "");
    for (
      const part of ["@team", "@all", "<img", "<!--", "![x]", "](https", "https://evil", "```suggestion"]
    ) {
      assert(!visible.includes(part), part);
    }
    const wrong = [
      ["{}", "it is no report of `reasonix review --format json`"],
      [report(head, [{}]), "finding 1: path has to name a file"],
      [JSON.stringify({ ...JSON.parse(report(head, [])), head: undefined }), "it is about no commit"],
    ] as const;
    for (const [text, problem] of wrong) {
      await assertRejects(() => publish(made, text), Error, `Cannot publish review.json: ${problem}`);
    }
    const elsewhere = () => publish(made, report(head, []), { head: "a".repeat(40) });
    await assertRejects(elsewhere, Error, `it is about commit ${head}, not ${"a".repeat(40)}`);
  },
);

Deno.test(
  needs(
    "gh",
    HAS_GH,
    "a refused line is in the summary, and what was interrupted is repeated without a second copy",
  ),
  async () => {
    await using made = await makePull();
    const { github, head, pull } = made;
    const [two, nine] = [finding("a.txt", 2, "2 = 2"), finding("a.txt", 29, "9")];
    github.accepts = (_, line) => line !== 2;
    // Another push comes meanwhile: the comments are about the reviewed commit.
    pull.headRefOid = await made.commit({ "c.txt": "c\n" });
    assertEquals((await publish(made, report(head, [two, nine]))).added, 1);
    assertEquals(github.reviews.map(({ state, commit }) => [state, commit]), [["COMMENTED", head]]);
    assertMatch(
      github.reviews[0]?.body ?? "",
      /Open findings: 2 P1[^]*Defect in line 2 = 2\*\* \(`a\.txt:2`\)/,
    );
    // All new lines are refused: no review without a comment.
    github.accepts = () => false;
    await publish(made, report(head, [two, nine, finding("b.txt", 3, "third")]));
    assertEquals([github.reviews.length, github.threads.length], [1, 1]);
    assertStringIncludes(github.reviews[0]?.body ?? "", "(`b.txt:3`)");
    github.accepts = () => true;

    const fail = (operation: string, answer: FakeGitHub["failures"][number]["answer"]) =>
      github.failures.push({
        matches: (request) => `${request.operation}${request.method}` === operation,
        answer,
      });
    const three = [two, nine, finding("b.txt", 1, "first")];
    // The answer is lost after the work was done; a limit passes.
    fail("POST", { status: 502, afterwards: true });
    fail("ReasonixEditReviewPOST", { status: 403, headers: { "retry-after": "3" } });
    const { waits } = await publish(made, report(head, three));
    assertEquals(waits, [2000, 3000]);
    assertEquals([github.reviews.length, github.threads.length], [2, 2]);
    const last = [...three, finding("b.txt", 3, "third")];
    for (let times = 0; times < 3; times++) fail("POST", { status: 503 });
    await assertRejects(
      () => publish(made, report(head, last)),
      Error,
      "Cannot publish the review of pull request 7: Answer 503",
    );
    fail("ReasonixPullRequestPOST", { status: 429, headers: { "retry-after": "3600" } });
    const limited = await assertRejects(() => publish(made, report(head, last)), Error, "Answer 429");
    assertEquals((limited as { remedy?: string }).remedy, "run it again in 60 min");
    await publish(made, report(head, last));
    await publish(made, report(head, last));
    assertEquals([github.reviews.length, github.threads.length], [3, 3]);

    // A run that was killed has left a pending review; one of the user is not touched.
    const draft = { id: "PRR_x", author: "me", state: "PENDING", commit: head, url: "" } as const;
    github.reviews.push({ ...draft, body: "<!-- reasonix:more e30= -->\n" });
    const more = [...last, finding("a.txt", 30, "10")];
    await publish(made, report(head, more));
    assertEquals(github.reviews.filter(({ state }) => state === "PENDING"), []);
    github.reviews.push({ ...draft, body: "My thoughts" });
    const ours = () => publish(made, report(head, [...more, finding("a.txt", 1, "one")]));
    await assertRejects(ours, Error, "your pending review there is not submitted");
  },
);

Deno.test(
  needs("gh", HAS_GH, "a pull request that cannot be read is one error with its remedy"),
  async () => {
    await using made = await makePull();
    const { github, env, git, work, pull } = made;
    const open = (number = 7) => openPullRequest(Git.find(work), work, number, { env });
    const check = async (problem: RegExp, remedy: RegExp, number?: number) => {
      const error = await assertRejects(() => open(number));
      assertMatch(error.message, problem);
      assertMatch((error as { remedy?: string }).remedy ?? "", remedy);
      assert(!/\n/.test(error.message));
    };
    await check(/pull request 9: Could not resolve to a PullRequest/, /check the number/, 9);
    github.badTokens.add("token-of-the-test");
    await check(/pull request 7: .*Bad credentials/, /gh auth login/);
    delete env.GH_TOKEN;
    await check(/pull request 7: gh is not signed in/, /gh auth login/);
    env.GH_TOKEN = "another";
    pull.state = "MERGED";
    await check(/^Cannot review pull request 7: it is merged$/, /--base and --head/);
    pull.state = "OPEN";
    pull.headRefOid = "b".repeat(40);
    await check(
      /^Cannot fetch pull request 7 from https:\/\/github.com\/owner\/project.git: /,
      /gh auth setup-git/,
    );
    delete env.GH_REPO;
    await git(work, "remote", "set-url", "origin", "https://gitlab.com/owner/project.git");
    await check(/none of the git remotes/, /GH_REPO=OWNER\/NAME/);
    await git(work, "remote", "remove", "origin");
    await check(/no git remotes found/, /GH_REPO=OWNER\/NAME/);
    env.PATH = "/nowhere";
    await assertRejects(() => open(), Error, "Cannot find the program gh");
  },
);

Deno.test("harmless leaves code as it is and breaks what notifies, hides, loads or links", () => {
  const home = "github.com/owner/project/";
  const plain = (text: string) => harmless(text, home);
  const kept = [
    "A `Vec[T]` at [line 3](https://github.com/owner/project/blob/x/a.ts#L3), 1 < 2 && 3.",
    "```ts\n@decorator\n<b>&amp;</b> https://evil.example\n```",
  ];
  for (const text of kept) assertEquals(plain(text), text);
  const broken: Readonly<Record<string, RegExp>> = {
    "@user and @org/team": /@[\w-]/,
    "a@b.example": /@b/,
    "&#64;user &commat;user": /&#64;|&commat;/,
    "<!-- x --><details><img src=y></details>": /<[!\w/]/,
    "![x](//evil.example/y)": /!\[|\]\(/,
    "[x](https://evil.example) [y](https://github.com.evil.example/owner/project/)": /\]\(|https:\//,
    "[x](https://github.com/other/project/issues/1)": /\]\(/,
    "[x][y]\n\n[y]: https://evil.example": /\]:|https:\//,
    "https://evil.example www.evil.example ftp://evil.example https:\\//evil.example":
      /(?:https|ftp):\\?\/|www\./,
    "<https://evil.example>": /<h/,
    "fixes #12, GH-12, other/project#3": /#\d|GH-\d/,
    "> ```suggestion\n> evil\n> ```": /```/,
    "- ~~~suggestion\n  evil\n  ~~~": /~~~/,
    "```suggestion\nevil\n```": /suggestion/,
    "````mermaid\ngraph\n````": /mermaid/,
    "a\u202eb": /\u202e/,
  };
  for (const [text, pattern] of Object.entries(broken)) {
    assertMatch(text, pattern);
    assert(!pattern.test(plain(text)), plain(text));
  }
  // A block that is not closed, or with a longer fence inside, ends where the text ends.
  assertEquals(plain("```\n@a"), "```\n@a\n```");
  assertEquals(plain("~~~\n```suggestion\n~~~\n@a"), "````\n```suggestion\n````\n\n@\u200ba");
});
