/** The GitHub Action: its steps run in order, with the real `gh` and `git`, against local servers. */
import { parse } from "yaml";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { FakeGitHub, HAS_GH } from "../support/fake_github.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, mockConfig, programFile } from "../support/program.ts";
import { codeBlocks, shellLines } from "../support/readme.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { needs } from "../support/tools.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const KEY = "sk-model-0a1b2c3d4e5f6a7b8c9d";

interface Step {
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly run?: string;
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: { readonly steps: readonly Step[] };
}

const ACTION: Action = parse(await Deno.readTextFile(`${ROOT}action.yml`));

/** The value of an expression, which has paths into `contexts`, strings, `==` and `&&`. */
function evaluate(expression: string, contexts: unknown): string {
  const value = (word: string) => {
    const [, text] = /^'(.*)'$/.exec(word.trim()) ?? [];
    if (text !== undefined) return text;
    assertMatch(word.trim(), /^[\w.-]+$/);
    const found = word.trim().split(".").reduce<unknown>(
      (object, name) => Object.entries(object ?? {}).find(([key]) => key === name)?.[1],
      contexts,
    );
    return found === undefined || found === null ? "" : String(found);
  };
  if (!/==|&&/.test(expression)) return value(expression);
  return String(
    expression.split("&&").every((part) => {
      const [left = "", right = ""] = part.split("==");
      return value(left) === value(right);
    }),
  );
}

function filled(text: unknown, contexts: unknown): string {
  return String(text).replaceAll(
    /\$\{\{(.*?)\}\}/g,
    (_, expression: string) => evaluate(expression, contexts),
  );
}

interface JobResult {
  readonly ok: boolean;
  readonly outputs: Readonly<Record<string, string>>;
  readonly log: string;
  readonly summary: string;
}

/** A repository with a pull request, and a runner for the jobs of its workflow. */
async function makeStage() {
  const temp = await makeTempDir();
  const github = await FakeGitHub.start();
  const defect = { finding: true };
  const model = startModelServer([], {
    fallback: ({ body }) => {
      if (!body.includes("Find the defects")) {
        const decision = (id: number) => ({ id, holds: true, reason: "Line 2 shows it", confidence: 0.9 });
        return { text: JSON.stringify({ decisions: [1, 2].map(decision) }) };
      }
      const finding = {
        ...{
          path: "sum.js",
          line: 2,
          end_line: 2,
          priority: "P1",
          confidence: 0.9,
          title: "The sum is a difference",
        },
        ...{ body: `It subtracts. @all ${KEY}`, quote: "  return a - b;", suggestion: "  return a + b;" },
      };
      return { text: JSON.stringify({ findings: defect.finding ? [finding] : [] }) };
    },
    check: { prefix: false, pairing: false },
  });
  const remote = `${temp.path}/remote/owner/project.git`;
  await Deno.mkdir(remote, { recursive: true });
  await Deno.mkdir(`${temp.path}/bin`);
  const real = (await new Deno.Command("which", { args: ["git"] }).output()).stdout;
  const gitProgram = new TextDecoder().decode(real).trim();
  const shim = (name: string, lines: string) =>
    Deno.writeTextFile(`${temp.path}/bin/${name}`, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  // The address of the service leads to the repository of the test, and each start is recorded.
  await shim(
    "git",
    `echo "git $* | $GIT_CONFIG_VALUE_0" >> ${temp.path}/git.log
exec ${gitProgram} -c url.file://${temp.path}/remote/.insteadOf=https://github.com/ "$@"`,
  );
  await shim(
    "npx",
    `[ "$1 $2" = "-y deno@${Deno.version.deno}" ] || exit 9\nshift 2\nexec ${Deno.execPath()} "$@"`,
  );
  const git = async (...args: string[]) => {
    const user = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"];
    const output = await new Deno.Command(gitProgram, { args: [...user, ...args], cwd: remote }).output();
    assert(output.success, new TextDecoder().decode(output.stderr));
    return new TextDecoder().decode(output.stdout).trim();
  };
  const commit = async (files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(`${remote}/${name}`, text);
    await git("add", "-A");
    await git("commit", "-q", "-m", "change");
    return await git("rev-parse", "HEAD");
  };
  await git("init", "-q", "-b", "main");
  const base = await commit({
    "reasonix.toml": mockConfig(
      model.url,
      "",
      'api_key_env = "MODEL_KEY"\nprice = { input = 1, output = 1 }',
    ),
    "AGENTS.md": "Instructions of the base.\n",
    "sum.js": "function sum(a, b) {\n  return a + b;\n}\n",
  });
  await git("checkout", "-q", "-b", "topic");
  const head = await commit({
    "reasonix.toml": mockConfig("http://127.0.0.1:9", "", 'api_key_env = "MODEL_KEY"'),
    "AGENTS.md": "Instructions of the pull request.\n",
    "sum.js": "function sum(a, b) {\n  return a - b;\n}\n",
  });
  const pull = github.addPull({
    number: 12,
    title: "$(touch pwned) `touch pwned`",
    baseRefOid: base,
    headRefOid: head,
  });

  let runs = 0;
  /** Runs a job with the inputs of its `with` and the variables of its `env`. */
  const job = async (
    given: Readonly<Record<string, string>>,
    env: Readonly<Record<string, string>> = {},
    event: Readonly<Record<string, unknown>> = {},
  ): Promise<JobResult> => {
    const directory = `${temp.path}/job${++runs}`;
    await Deno.mkdir(directory);
    const defaults = Object.entries(ACTION.inputs).map(([name, { default: value = "" }]) => [name, value]);
    const steps: Record<string, { outputs: Record<string, string> }> = {};
    const contexts = {
      inputs: { ...Object.fromEntries(defaults), ...given },
      github: {
        event: {
          action: "synchronize",
          ...event,
          pull_request: {
            number: 12,
            base: { sha: base },
            head: { sha: pull.headRefOid, repo: { full_name: "owner/project" } },
            ...event.pull_request ?? {},
          },
        },
        repository: "owner/project",
        server_url: "https://github.com",
        token: "token-of-the-test",
      },
      runner: { temp: directory },
      steps,
    };
    let [log, ok] = ["", true];
    for (const [index, step] of ACTION.runs.steps.entries()) {
      if (!ok || step.if !== undefined && evaluate(step.if, contexts) !== "true") continue;
      const inputs = Object.entries(step.with ?? {}).map(([name, value]) => [name, filled(value, contexts)]);
      const { path = "" } = Object.fromEntries(inputs);
      if (step.uses?.startsWith("actions/upload-artifact@")) {
        await Deno.copyFile(path, `${temp.path}/artifact`);
      } else if (step.uses?.startsWith("actions/download-artifact@")) {
        await Deno.mkdir(path);
        await Deno.copyFile(`${temp.path}/artifact`, `${path}/review.json`);
      } else {
        const output = `${directory}/output${index}`;
        await Deno.writeTextFile(output, "");
        const values = Object.entries(step.env ?? {}).map(([name, value]) => [name, filled(value, contexts)]);
        const { PATH = "" } = Deno.env.toObject();
        const child = await new Deno.Command("bash", {
          args: ["--noprofile", "--norc", "-eo", "pipefail", "-c", step.run ?? ""],
          cwd: directory,
          clearEnv: true,
          env: {
            ...{ PATH: `${temp.path}/bin:${PATH}`, HOME: directory, ...denoDir() },
            ...{ GH_CONFIG_DIR: github.env.GH_CONFIG_DIR ?? "", LANG: "C.UTF-8", DENO_NO_UPDATE_CHECK: "1" },
            ...{ GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: `${directory}/summary`, RUNNER_TEMP: directory },
            ...{ GITHUB_ACTION_PATH: ROOT.replace(/\/$/, ""), CI: "true", GITHUB_ACTIONS: "true" },
            ...env,
            ...Object.fromEntries(values),
          },
        }).output();
        log += new TextDecoder().decode(child.stdout) + new TextDecoder().decode(child.stderr);
        ok = child.success;
        const lines = (await Deno.readTextFile(output)).split("\n").filter((line) => line !== "");
        const outputs = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s)));
        if (step.id !== undefined) steps[step.id] = { outputs };
      }
    }
    const outputs = Object.entries(ACTION.outputs).map((
      [name, { value }],
    ) => [name, filled(value, contexts)]);
    const summary = await Deno.readTextFile(`${directory}/summary`).catch(() => "");
    return { ok, outputs: Object.fromEntries(outputs), log, summary };
  };
  const review = (env: Readonly<Record<string, string>> = { MODEL_KEY: KEY }, event = {}) =>
    job({ step: "review", "key-env": "MODEL_KEY", "max-cost": "1" }, env, event);
  return {
    ...{ temp: temp.path, github, model, defect, base, pull, commit, review },
    publish: (more = {}, event = {}) => job({ step: "publish", ...more }, {}, event),
    async [Symbol.asyncDispose]() {
      await model[Symbol.asyncDispose]();
      await github[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

Deno.test(
  needs(
    "gh",
    HAS_GH,
    "both jobs of the action review a pull request, and edit the review with the next push",
  ),
  async () => {
    await using stage = await makeStage();
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

    // A finding fails the second job where an input says so; nothing is published again.
    const writes = github.writes.length;
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
    assertEquals(places, [1, 2, 3].map(() => [false, true]));
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
    await using stage = await makeStage();
    const { github, temp } = stage;
    const program = `${Deno.execPath()} run -A --quiet --no-config ${await programFile()}`;
    const start = `#!/bin/sh\nexec ${program} "$@" --trust-project\n`;
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
    await using stage = await makeStage();
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
    github.labels.push("reasonix-review");
    const reviewed = await stage.review({ MODEL_KEY: KEY }, labeled);
    assertEquals([reviewed.ok, reviewed.outputs], [true, { report: "true" }], reviewed.log);
    const { ok, log, summary } = await stage.publish({}, labeled);
    assert(ok, log);
    assertMatch(summary, /^Nothing to publish/);
    assertEquals([github.reviews, github.threads, github.labels], [[], [], []]);
    assertEquals(github.writes, ["DELETE /repos/owner/project/issues/12/labels/reasonix-review"]);

    // A value of the event is no command line.
    const wrong = await stage.review({ MODEL_KEY: KEY }, {
      pull_request: { head: { sha: "$(touch pwned)" } },
    });
    assertEquals(wrong.ok, false);
    assertMatch(wrong.log, /^::error .*use pull_request or pull_request_target/);
  },
);
