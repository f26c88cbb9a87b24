/** A runner for the steps of the GitHub Action, with the real `gh` and `git`, and servers of this machine. */
import { parse } from "yaml";
import { assert, assertMatch } from "./assert.ts";
import { FakeGitHub } from "./fake_github.ts";
import { type ScriptedTurn, startModelServer } from "./model_server.ts";
import { denoDir, mockConfig } from "./program.ts";
import { makeTempDir } from "./tool_context.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** The key of the model. */
export const KEY = "sk-model-0a1b2c3d4e5f6a7b8c9d";

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

export interface JobResult {
  readonly ok: boolean;
  readonly outputs: Readonly<Record<string, string>>;
  readonly log: string;
  readonly summary: string;
}

export interface ActionStageOptions {
  /** Answers each request to the model; default: one finding in sum.js, which holds. */
  readonly answer?: ScriptedTurn;
  /** Makes the repository; `config` belongs into that of the base. Default: the repository of sum.js. */
  readonly repository?: (
    directory: string,
    config: string,
  ) => Promise<{ readonly base: string; readonly head: string }>;
}

/** A repository with a pull request, and a runner for the jobs of its workflow. */
export async function makeActionStage({ answer, repository }: ActionStageOptions = {}) {
  const temp = await makeTempDir();
  const github = await FakeGitHub.start();
  const defect = { finding: true };
  const model = startModelServer([], {
    fallback: answer ?? (({ body }) => {
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
    }),
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
  const config = mockConfig(
    model.url,
    "",
    'api_key_env = "MODEL_KEY"\nprice = { input = 1, output = 1 }',
  );
  const sums = async () => {
    await git("init", "-q", "-b", "main");
    const first = await commit({
      "reasonix.toml": config,
      "AGENTS.md": "Instructions of the base.\n",
      "sum.js": "function sum(a, b) {\n  return a + b;\n}\n",
    });
    await git("checkout", "-q", "-b", "topic");
    const last = await commit({
      "reasonix.toml": mockConfig("http://127.0.0.1:9", "", 'api_key_env = "MODEL_KEY"'),
      "AGENTS.md": "Instructions of the pull request.\n",
      "sum.js": "function sum(a, b) {\n  return a - b;\n}\n",
    });
    return { base: first, head: last };
  };
  const { base, head } = repository ? await repository(remote, config) : await sums();
  const pull = github.addPull({
    number: 12,
    title: "$(touch pwned) `touch pwned`",
    baseRefOid: base,
    headRefOid: head,
  });

  /** Adds a commit to the base, as others do meanwhile. */
  const moveBase = async () => {
    pull.baseRefOid = await git("commit-tree", "-p", base, "-m", "more", `${base}^{tree}`);
    await git("branch", "-f", "main", pull.baseRefOid);
  };

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
    ...{ temp: temp.path, github, model, defect, base, pull, commit, moveBase, review },
    publish: (more = {}, event = {}) => job({ step: "publish", ...more }, {}, event),
    async [Symbol.asyncDispose]() {
      await model[Symbol.asyncDispose]();
      await github[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}
