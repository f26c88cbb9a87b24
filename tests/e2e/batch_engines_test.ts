/** Batches on engines for many machines: what `batch emit` writes runs on the real ones to merged results. */
import { assert, assertEquals, assertMatch } from "../support/assert.ts";
import { isInstalled } from "../support/containers.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { denoDir, makeWorld, mockConfig } from "../support/program.ts";
import { clustered, startSlurm } from "../support/slurm.ts";
import { startSsh } from "../support/ssh.ts";
import { needs } from "../support/tools.ts";
import { runWorkflow } from "../support/workflow.ts";

const KEY = "sk-model-0a1b2c3d4e5f6a7b8c9d";
const TASKS = 8;
/** The task whose check fails, and the one whose provider fails in its first attempt. */
const [UNCHECKED, REFUSED] = [3, 5];

const decoder = new TextDecoder();

/** A repository with eight tasks, and their results of one machine. */
async function makeFleet() {
  const refusals = { left: 0 };
  const server = startModelServer([], {
    check: { prefix: false },
    fallback: (request: RecordedRequest): Turn => {
      const text = JSON.stringify(request.json.messages);
      const id = /task-(\w+)/.exec(text)?.[1] ?? "none";
      if (id === `n${REFUSED}` && refusals.left-- > 0) return { status: 503, body: "busy" };
      const isDone = request.json.messages.some(({ role }: { role: string }) => role === "tool");
      if (isDone) return { text: `did ${id}` };
      return { calls: [{ id: `call-${id}`, name: "bash", args: { command: `echo ${id} > out.txt` } }] };
    },
  });
  const world = await makeWorld(mockConfig(server.url, "", 'api_key_env = "MODEL_KEY"'));
  const bin = (await world.shim("reasonix")).replace(/\/[^/]*$/, "");
  // No wait between attempts.
  await Deno.writeTextFile(`${bin}/sleep`, "#!/bin/sh\n", { mode: 0o755 });
  const lines = Array.from({ length: TASKS }, (_, at) => {
    const check = at === UNCHECKED ? "false" : `grep -qx n${at} out.txt`;
    return JSON.stringify({ id: `t${at}`, prompt: `do task-n${at}`, check });
  });
  await world.write("tasks.jsonl", lines.join("\n"));
  const user = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  for (const args of [["init", "-q", "-b", "main"], ["add", "-A"], [...user, "commit", "-qm", "first"]]) {
    assert((await new Deno.Command("git", { args, cwd: world.dir }).output()).success);
  }
  const { PATH = "" } = Deno.env.toObject();
  const env = {
    PATH: `${bin}:${PATH}`,
    HOME: world.dir.replace(/\/[^/]*$/, ""),
    ...denoDir(),
    ...{ NO_COLOR: "1", REASONIX_LANG: "en", DENO_NO_UPDATE_CHECK: "1" },
  };
  const keyed = { env: { MODEL_KEY: KEY } };
  const masked = async (results: string, directory: string) =>
    results.replaceAll(/"session":"[^"]*"/g, '"session":""')
      .replaceAll(/"duration_ms":\d+/g, '"duration_ms":0')
      .replaceAll(await Deno.realPath(directory), "DIRECTORY");
  const merged = async (directory: string) => {
    const { code, stdout } = await world.run(["batch", "merge", directory]);
    return { code, stdout: await masked(stdout, `${world.dir}/${directory}`) };
  };
  const whole = ["run", "--tasks", "tasks.jsonl", "--worktree", "-j", "2", "--results-dir", "../one"];
  const one = await world.run(whole, keyed);
  assertEquals(one.code, 1, one.stderr);
  const expected = await merged("../one");
  assertEquals(expected.code, 1);
  assertEquals(expected.stdout.trim().split("\n").length, TASKS);
  // Two refusals end an attempt.
  refusals.left = 2;
  return {
    ...{ world, server, env, expected: expected.stdout },
    /** Writes what an engine runs to a file, and returns its path. */
    async emit(engine: string, resultsDir: string, ...more: string[]) {
      const flags = ["--tasks", "tasks.jsonl", "--results-dir", resultsDir, ...more];
      const { code, stdout, stderr } = await world.run([
        "batch",
        "emit",
        engine,
        ...flags,
        "--",
        "--worktree",
      ]);
      assertEquals([code, stderr], [0, ""]);
      assert(!stdout.includes(KEY));
      const file = `${env.HOME}/${engine}.sh`;
      await Deno.writeTextFile(file, stdout);
      return file;
    },
    ...{ merged, masked },
    async sh(line: string, more: Readonly<Record<string, string>> = {}) {
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: ["-c", line],
        cwd: world.dir,
        clearEnv: true,
        env: { ...env, ...more },
        stdin: "null",
      }).output();
      return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

Deno.test(clustered("SLURM runs an emitted array to the results of one machine"), async () => {
  await using fleet = await makeFleet();
  await using slurm = await startSlurm({ maxArraySize: 9 });
  const file = await fleet.emit("slurm", "../slurm results");
  const { stdout, stderr, code } = await fleet.sh(`sbatch --parsable ${file}`, {
    ...slurm.env,
    MODEL_KEY: KEY,
  });
  assertEquals([code, stderr], [0, ""]);
  const elements = await slurm.ended(stdout.trim());
  const log = async (at: number) => await Deno.readTextFile(`${fleet.env.HOME}/slurm results/log/${at}.txt`);
  assertEquals(
    elements.map(({ index, code, restarts }) => [index, code, restarts]),
    Array.from({ length: TASKS }, (_, at) => [`${at}`, Number(at === UNCHECKED), Number(at === REFUSED)]),
    await log(0),
  );
  const merged = await fleet.merged("../slurm results");
  assertEquals([merged.code, merged.stdout], [1, fleet.expected]);
  assertMatch(await log(REFUSED), /\[1\/1\] t5: the provider failed[^]*\[1\/1\] t5: done/);

  // More tasks than an array may have elements.
  const { world, env } = fleet;
  await world.write("../many.jsonl", '{"prompt": "x"}\n'.repeat(12));
  const many = ["batch", "emit", "slurm", "--tasks", "../many.jsonl", "--results-dir", "../many"];
  const { stdout: script } = await world.run(many, { env: slurm.env });
  assertMatch(script, /^#SBATCH --array=0-8$/m);

  // An array that is cancelled stays so, although its task says that it was stopped.
  const waiting = `trap 'exit 143' TERM; touch "$HOME/is-waiting"; /bin/sleep 60 & wait`;
  await world.write("../waiting/reasonix", `#!/bin/bash\n${waiting}\n`);
  await Deno.chmod(`${env.HOME}/waiting/reasonix`, 0o755);
  const more = { ...slurm.env, PATH: `${env.HOME}/waiting:${env.PATH}` };
  const id = (await fleet.sh(`sbatch --parsable --array=0 ${file}`, more)).stdout.trim();
  while (!await Deno.stat(`${env.HOME}/is-waiting`).then(() => true, () => false)) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await slurm.run("scancel", [id]);
  const cancelled = await slurm.ended(id);
  assertEquals(cancelled.map(({ state, restarts }) => [state, restarts]), [["CANCELLED", 0]]);
});

Deno.test(
  needs(
    "parallel",
    isInstalled("parallel"),
    "GNU parallel runs an emitted script here and behind ssh to the results of one machine",
  ),
  async () => {
    await using fleet = await makeFleet();
    const { env, world } = fleet;
    await using ssh = await startSsh({ env, accept: ["MODEL_KEY"] });
    const file = await fleet.emit("parallel", "../parallel results", "-j", "1");
    await world.write("../logins", ":\none\ntwo\ndown\n");
    const more = { PATH: `${ssh.bin}:${env.PATH}`, MODEL_KEY: KEY };
    const run = await fleet.sh(`bash ${file} ../logins`, more);
    assertEquals(run.code, 1, run.stderr);
    assertMatch(run.stderr, /Removed down/);
    assertEquals((await fleet.merged("../parallel results")).stdout, fleet.expected);
    const log = await Deno.readTextFile(`${env.HOME}/parallel results/parallel.tsv`);
    const rows = log.trim().split("\n").slice(1).map((line) => line.split("\t"));
    assertEquals(
      rows.map(([number, _host, , , , , code]) => [number, code]).sort(),
      Array.from({ length: TASKS }, (_, at) => [`${at + 1}`, at === UNCHECKED ? "1" : "0"]),
    );
    assert(rows.some(([, host]) => host === "one" || host === "two"), log);
  },
);

Deno.test("the steps of an emitted workflow lead to the results of one machine", async () => {
  await using fleet = await makeFleet();
  const { env, world } = fleet;
  const file = await fleet.emit("github", "out/results");
  // The machines of GitHub have no configuration.
  const bin = `${env.HOME}/bin`;
  const shim = await Deno.readTextFile(`${bin}/reasonix`);
  await Deno.writeTextFile(`${bin}/reasonix`, shim.replace(`'${world.home}'`, '"$RUNNER_TEMP/home"'));
  for (const name of ["npm", "sudo"]) {
    await Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\necho ${name} "$@"\n`, { mode: 0o755 });
  }
  const runner = `${env.HOME}/runner`;
  const secrets = { MODEL_KEY: KEY };
  const runs = await runWorkflow(await Deno.readTextFile(file), {
    ...{ repository: world.dir, directory: runner, env, secrets },
  });
  const failed = Array.from({ length: TASKS + 1 }, (_, at) => Number(at === UNCHECKED || at === TASKS));
  assertEquals(runs.map(({ code }) => code), failed, runs.map(({ log }) => log).join("\n"));
  assertMatch(runs[REFUSED]?.log ?? "", /t5: the provider failed[^]*t5: done/);
  assert(runs.every(({ log }) => !log.includes(KEY)));
  const results = `${runner}/artifacts/results`;
  const names = [...Deno.readDirSync(results)].map(({ name }) => name).sort();
  assertEquals(names, ["out", "results.jsonl"]);
  const lines = await Deno.readTextFile(`${results}/results.jsonl`);
  assertEquals(await fleet.masked(lines, `${runner}/merge0/work/out/results`), fleet.expected);
});
