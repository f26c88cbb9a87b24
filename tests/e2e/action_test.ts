/** The GitHub Action: its steps run in order, with the real `gh` and `git`, against local servers. */
import { parse } from "yaml";
import { type JobResult, KEY, makeActionStage } from "../support/action_stage.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { HAS_GH } from "../support/fake_github.ts";
import { denoDir, programFile } from "../support/program.ts";
import { codeBlocks, shellLines } from "../support/readme.ts";
import { needs } from "../support/tools.ts";

Deno.test(
  needs(
    "gh",
    HAS_GH,
    "both jobs of the action review a pull request, and edit the review with the next push",
  ),
  async () => {
    await using stage = await makeActionStage();
    const { github, model, defect, pull, temp } = stage;
    const first = await stage.review();
    assert(first.ok, first.log);
    assertEquals(first.outputs, { report: "true" });
    const requests = model.requests.map(({ body }) => body).join("\n");
    assertStringIncludes(requests, "Instructions of the base.");
    assertEquals(github.writes, [], "the first job writes nothing");
    const report = await Deno.readTextFile(`${temp}/artifact`);
    assert(!report.includes(KEY) && !first.log.includes(KEY), "the key is in no output");
    const published = await stage.publish();
    assert(published.ok, published.log);
    assertEquals([github.reviews.length, github.threads.length], [1, 1]);
    const [thread] = github.threads;
    assertEquals([thread?.path, thread?.line, github.reviews[0]?.commit], ["sum.js", 2, pull.headRefOid]);
    assertMatch(
      thread?.body ?? "",
      /\*\*P1: The sum is a difference\*\*[^]*```suggestion\n {2}return a \+ b;\n```/,
    );
    assertMatch(published.summary, /^Published on pull request 12: 1 new, 0 edited, 0 fixed\nhttps:/);

    // A finding fails the second job where an input says so; nothing is published again. The base has moved.
    const writes = github.writes.length;
    await stage.moveBase();
    const failed = await stage.publish({ "fail-on": "P2" });
    assertEquals([failed.ok, github.writes.length], [false, writes], failed.log);
    for (const run of ["job1", "job2"]) {
      const names = [...Deno.readDirSync(`${temp}/${run}`)].map(({ name }) => name);
      assert(!names.includes("pwned"), names.join());
    }

    // The token is in no argument and no file; no file of the pull request is checked out.
    const calls = await Deno.readTextFile(`${temp}/git.log`);
    const code = btoa("x-access-token:token-of-the-test");
    const fetches = calls.split("\n").filter((line) => / fetch /.test(line));
    const places = fetches.map((line) => line.split(" | ").map((part) => part.includes(code)));
    assertEquals(places, [...[1, 2, 3].map(() => [false, true]), [false, false]]);
    assertMatch(fetches.at(-1) ?? "", / \| !gh auth git-credential$/);
    for (const run of ["job1", "job2"]) {
      assert(!(await Deno.readTextFile(`${temp}/${run}/reasonix-base/.git/config`)).includes("token"));
      assertEquals(
        await Deno.readTextFile(`${temp}/${run}/reasonix-base/AGENTS.md`),
        "Instructions of the base.\n",
      );
    }

    // The next push repairs it: the comment says so, and no review is added.
    pull.headRefOid = await stage.commit({ "sum.js": "function sum(a, b) {\n  return b + a;\n}\n" });
    defect.finding = false;
    const second = await stage.review();
    assert(second.ok, second.log);
    const edited = await stage.publish({ "fail-on": "P1" });
    assert(edited.ok, edited.log);
    assertEquals([github.reviews.length, github.threads.length], [1, 1]);
    assertMatch(github.threads[0]?.body ?? "", /\n\*\*Fixed\*\* in /);
    assertMatch(github.reviews[0]?.body ?? "", /No open findings\. Fixed: 1\./);
  },
);

Deno.test(
  needs("gh", HAS_GH, "the lines of docs/review.md about pull requests and GitLab are executed"),
  async () => {
    await using stage = await makeActionStage();
    const { github, temp } = stage;
    const program = `${Deno.execPath()} run -A --quiet --no-config ${await programFile()}`;
    const trusts = 'case "$*" in *--trust-project*) ;; *) set -- "$@" --trust-project;; esac';
    const start = `#!/bin/sh\n${trusts}\nexec ${program} "$@"\n`;
    await Deno.writeTextFile(`${temp}/bin/reasonix`, start, { mode: 0o755 });
    const lines = (await shellLines("docs/review.md")).filter((line) => /--pr /.test(line));
    assertEquals(lines.length, 3);
    const clone = (name: string) =>
      `git clone -q -b main file://${temp}/remote/owner/project.git ${temp}/${name} && cd ${temp}/${name}`;
    const shell = async (script: readonly string[], env: Readonly<Record<string, string>> = {}) => {
      const { code, stderr } = await new Deno.Command("/bin/sh", {
        args: ["-ec", script.join("\n")],
        clearEnv: true,
        env: {
          ...{
            PATH: `${temp}/bin:${Deno.env.get("PATH")}`,
            HOME: temp,
            MODEL_KEY: KEY,
            ...denoDir(),
            ...github.env,
          },
          ...{ GH_REPO: "owner/project", DENO_NO_UPDATE_CHECK: "1", ...env },
        },
      }).output();
      assertEquals(code, 0, new TextDecoder().decode(stderr));
    };
    await shell([clone("github"), ...lines]);
    assertEquals([github.reviews.length, github.threads.length], [1, 1]);

    const gitlab = (await codeBlocks("docs/review.md", "yaml")).find((block) =>
      block.includes("codequality")
    );
    const { script, artifacts } = parse(gitlab ?? "").review;
    const run = script.filter((line: string) => !line.startsWith("npm install"));
    const variables = { CI_MERGE_REQUEST_DIFF_BASE_SHA: stage.base, CI_COMMIT_SHA: stage.pull.headRefOid };
    await shell([clone("gitlab"), ...run], variables);
    const quality = JSON.parse(await Deno.readTextFile(`${temp}/gitlab/${artifacts.reports.codequality}`));
    assertEquals([quality.length, quality[0].location.path], [1, "sum.js"]);
  },
);

Deno.test(
  needs(
    "gh",
    HAS_GH,
    "the action is silent without findings, and skips without a key or the label of a fork",
  ),
  async () => {
    await using stage = await makeActionStage();
    const { github, model, defect, pull } = stage;
    const fork = { pull_request: { head: { sha: pull.headRefOid, repo: { full_name: "mallory/project" } } } };
    const skipped: readonly (readonly [Promise<JobResult>, RegExp])[] = [
      [stage.review({}), /^::notice title=Reasonix review::No key: MODEL_KEY is empty/],
      [
        stage.review({ MODEL_KEY: KEY }, fork),
        /::notice .*from a fork: a maintainer .* the label reasonix-review/,
      ],
      [
        stage.review({ MODEL_KEY: KEY }, { ...fork, action: "labeled", label: { name: "bug" } }),
        /::notice .*Another label/,
      ],
    ];
    for (const [running, notice] of skipped) {
      const { ok, outputs, log } = await running;
      assertMatch(log, notice);
      assertEquals([ok, outputs], [true, { report: "" }]);
    }
    assertEquals([model.requests.length, github.requests.length], [0, 0]);

    defect.finding = false;
    const labeled = { ...fork, action: "labeled", label: { name: "reasonix-review" } };
    github.labels.push("kind/review?");
    const reviewed = await stage.review({ MODEL_KEY: KEY }, labeled);
    assertEquals([reviewed.ok, reviewed.outputs], [true, { report: "true" }], reviewed.log);
    const { ok, log, summary } = await stage.publish({ label: "kind/review?" }, labeled);
    assert(ok, log);
    assertMatch(summary, /^Nothing to publish/);
    assertEquals([github.reviews, github.threads, github.labels], [[], [], []]);
    assertEquals(github.writes.map(decodeURIComponent), [
      "DELETE /repos/owner/project/issues/12/labels/kind/review?",
    ]);

    // A value of the event is no command line.
    const wrong = await stage.review({ MODEL_KEY: KEY }, {
      pull_request: { head: { sha: "$(touch pwned)" } },
    });
    assertEquals(wrong.ok, false);
    assertMatch(wrong.log, /^::error .*use pull_request or pull_request_target/);
  },
);
