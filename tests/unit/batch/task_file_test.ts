import { readTasks } from "../../../src/batch/task_file.ts";
import { assertEquals, assertThrows } from "../../support/assert.ts";

const options = { file: "t.jsonl", cwd: "/", elsewhere: true } as const;

function problemsOf(...lines: readonly unknown[]): string[] {
  const text = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line)).join("\n");
  try {
    readTasks(text, options);
  } catch (error) {
    return String(error).split("\n").slice(1).map((line) => line.trim().replace("t.jsonl:", ""));
  }
  return [];
}

Deno.test("readTasks gives every field of a task", () => {
  const line = {
    id: 7,
    task: "do it",
    repo: "https://example.com/a/b.git",
    ref: "v1.2",
    dir: "./sub/",
    setup: "make",
    check: ["make test"],
    image: "registry.example:5000/team/tool:1.2",
    env: { LANG: "C" },
    limits: { steps: 5, seconds: 1.5, cost: 0.5, cpus: 2, memory: "1.5Gi" },
  };
  assertEquals(readTasks(JSON.stringify(line), options), [{
    id: "7",
    prompt: "do it",
    repo: "https://example.com/a/b.git",
    ref: "v1.2",
    dir: "sub",
    setup: ["make"],
    checks: ["make test"],
    image: "registry.example:5000/team/tool:1.2",
    env: { LANG: "C" },
    limits: { steps: 5, seconds: 1.5, cost: 0.5, cpus: 2, memory: 1.5 * 2 ** 30 },
  }]);
  assertEquals(readTasks('\ufeff\n{"prompt": "x"}', options), [{
    id: "2",
    prompt: "x",
    dir: "/",
    checks: [],
  }]);
});

Deno.test("readTasks accepts the usual ways to name repositories, refs, images and amounts", () => {
  const x = { prompt: "x" };
  for (
    const repo of [
      ...["https://token@github.com/a/b", "http://git.local/a", "ssh://git@host:2222/a", "file:///srv/a.git"],
      ...["git@github.com:a/b.git", "host:a/b", "../a", "/srv/a.git", "a b"],
    ]
  ) assertEquals(problemsOf({ ...x, repo }), [], repo);
  for (const ref of ["main", "feature/a-b", "v1.0", "refs/pull/7/head", "a".repeat(40), "项目"]) {
    assertEquals(problemsOf({ ...x, repo: "/a", ref }), [], ref);
  }
  for (
    const image of [
      ...["debian", "debian:12-slim", "ghcr.io/a/b/c:v1", "localhost:5000/a"],
      ...["swebench/sweb.eval.x86_64.astropy_1776_astropy-12907:latest", `a@sha256:${"0".repeat(64)}`],
    ]
  ) assertEquals(problemsOf({ ...x, image }), [], image);
  const amounts = [[1024, 1024], ["512M", 512e6], ["2Gi", 2 ** 31], ["1k", 1000], ["3TiB", 3 * 2 ** 40]];
  for (const [memory, bytes] of amounts) {
    const [task] = readTasks(JSON.stringify({ ...x, limits: { memory } }), options);
    assertEquals(task?.limits?.memory, bytes);
  }
});

Deno.test("readTasks reports each wrong value with line and column", () => {
  const rows: readonly [unknown, string][] = [
    ['{"prompt":"x","repo":3}', "1:15: the repo is neither an address nor a path of a git repository"],
    ['{"prompt":"x","repo":"--upload-pack=x"}', "1:15: the repo is neither an address nor a path"],
    ['{"prompt":"x","repo":"ext::sh -c x"}', "1:15: the repo is no address of https, http, ssh or file"],
    ['{"prompt":"x","repo":"git://h/a"}', "1:15: the repo is no address of https, http, ssh or file"],
    ['{"prompt":"x","repo":"https:///x:y z"}', "1:15: the repo is no address"],
    ['{"prompt":"x","repo":"ssh://-oProxyCommand=x/a"}', "1:15: the repo is no address"],
    ['{"prompt":"x","ref":"main"}', '1:15: a ref is one of a repository: "repo" is missing'],
    ['{"prompt":"x","repo":"/a","ref":"-x"}', "1:27: the ref is no commit, branch or tag"],
    ['{"prompt":"x","repo":"/a","ref":"a..b"}', "1:27: the ref is no commit, branch or tag"],
    ['{"prompt":"x","repo":"/a","ref":"a:b"}', "1:27: the ref is no commit, branch or tag"],
    ['{"prompt":"x","repo":"/a","ref":"+a"}', ""],
    ['{"prompt":"x","repo":"/a","dir":"/b"}', '1:27: "/b" is no directory in the repository'],
    ['{"prompt":"x","repo":"/a","dir":"b/../../c"}', '1:27: "b/../../c" is no directory in the repository'],
    ['{"prompt":"x","repo":"/a","dir":"b/.GIT/hooks"}', '1:27: "b/.GIT/hooks" is no directory'],
    ['{"prompt":"x","repo":"ssh://-oX@h/a"}', "1:15: the repo is no address"],
    ['{"prompt":"x","setup":["a",""]}', "1:15: the setup is neither a command line nor a list of them"],
    ['{"prompt":"x","setup":{}}', "1:15: the setup is neither a command line nor a list of them"],
    ['{"prompt":"x","image":"A b"}', "1:15: the image is no name of one"],
    ['{"prompt":"x","image":"-v/:/x"}', "1:15: the image is no name of one"],
    ['{"prompt":"x","env":[]}', "1:15: the env is no object of texts"],
    ['{"prompt":"x","env":{"A":"1","B":2}}', "1:30: B is no text"],
    ['{"prompt":"x","env":{"A-B":"1"}}', '1:22: "A-B" is no name of a variable'],
    ['{"prompt":"x","env":{"REASONIX_HOME":"/"}}', "1:22: REASONIX_HOME is not for commands"],
    ['{"prompt":"x","env":{"LD_PRELOAD":"x"}}', "1:22: LD_PRELOAD is not for commands"],
    ['{"prompt":"x","env":{"PATH":"x"}}', "1:22: PATH is not for commands"],
    ['{"prompt":"x","env":{"OTEL_SERVICE_NAME":"x"}}', "1:22: OTEL_SERVICE_NAME is not for commands"],
    ['{"prompt":"x","env":{"BASH_ENV":"x"}}', "1:22: BASH_ENV is not for commands"],
    ['{"prompt":"x","env":{"GIT_CONFIG_COUNT":"1"}}', "1:22: GIT_CONFIG_COUNT is not for commands"],
    ['{"prompt":"x","env":{"OPENAI_API_KEY":"x"}}', "1:22: OPENAI_API_KEY is a key of a model's vendor"],
    ['{"prompt":"x","limits":3}', "1:15: the limits are no object"],
    ['{"prompt":"x","limits":{"step":3}}', '1:25: limits has no field "step"; "steps" is one'],
    ['{"prompt":"x","limits":{"steps":1.5}}', "1:25: the limit steps is no whole number"],
    ['{"prompt":"x","limits":{"cost":-1}}', "1:25: the limit cost is not a number above zero"],
    [
      '{"prompt":"x","limits":{"memory":"4 GB"}}',
      '1:25: the limit memory is not bytes, or a text such as "4Gi"',
    ],
    ['{"prompt":"limits","env":{"limits":"1"},"limits":0}', "1:41: the limits are no object"],
    ['{"prompt":"x","imag":"a"}', '1:15: a task has no field "imag"; "image" is one'],
  ];
  for (const [line, expected] of rows) {
    const problems = problemsOf(line);
    assertEquals(problems.length, expected === "" ? 0 : 1, `${line}: ${problems}`);
    assertEquals(problems[0]?.slice(0, expected.length) ?? "", expected, String(line));
  }
  assertEquals(problemsOf({ prompt: "x" }, "", { prompt: "x", id: "1" }), [
    '3:15: the id "1" is that of line 1 already',
  ]);
});

Deno.test("readTasks looks directories up unless the tasks run elsewhere", () => {
  for (const name of ["dir", "repo"]) {
    const line = JSON.stringify({ prompt: "x", [name]: "gone" });
    const [task] = readTasks(line, options);
    assertEquals(name === "dir" ? task?.dir : task?.repo, "/gone");
    assertThrows(() => readTasks(line, { file: "t", cwd: "/" }), Error, 'there is no directory "gone"');
  }
});
