/** The program with `[sandbox] backend = "podman"`: commands run in a container, and nothing else changes. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { contained, containerStore, IMAGE, podman } from "../support/containers.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { denoDir, finished, makeWorld, mockConfig, type World } from "../support/program.ts";

const call = (command: string, more: Record<string, unknown> = {}) => ({
  name: "bash",
  args: { command, ...more },
});

const SANDBOX = `[sandbox]\nbash = "enforce"\nbackend = "podman"\nimage = "${IMAGE}"\n`;

/** Plays the turns; returns the results of the calls. */
async function play(
  turns: Turn[],
  config: string,
  work: (world: World) => Promise<void> | void = () => {},
): Promise<{ results: string[]; world: World; stdout: string; stderr: string; code: number }> {
  const env = await containerStore();
  await using server = startModelServer([...turns, { text: "done" }]);
  const world = await makeWorld(mockConfig(server.url, config));
  await work(world);
  const run = ["run", "--allowed-tools", "Bash", "--output-format", "jsonl", "go"];
  const done = await world.run(run, { env: { ...env, OTHER_API_KEY: "secret-of-the-environment" } });
  const results = done.stdout.split("\n").filter((line) => line.includes('"type":"tool.end"'))
    .map((line) => String(JSON.parse(line).content));
  return { ...done, results, world };
}

Deno.test({
  ...contained("commands run in the image, write in the workspace and get no secret"),
  fn: async () => {
    const turns: Turn[] = [
      { calls: [call("cat note; echo made > made; cd sub && env; exit 4")] },
      { calls: [call("pwd; cat /etc/passwd; ls /usr/share/doc")] },
      { calls: [call("echo x > ../.vscode/tasks.json")] },
    ];
    const { results: [first = "", second = "", third = ""], world, stdout, stderr } = await play(
      turns,
      SANDBOX,
      async (world) => {
        await world.write("note", "a note of the project\n");
        await world.write("sub/x", "");
        await world.write(".vscode/tasks.json", "{}");
      },
    );
    await using _world = world;
    assertStringIncludes(first, "a note of the project", stderr);
    assertStringIncludes(first, "[exit code 4]");
    assertStringIncludes(first, "AI_AGENT=reasonix");
    assert(!first.includes("secret-of-the-environment"), first);
    assertEquals(await world.read("made"), "made\n");
    assert(
      second.startsWith(`${await Deno.realPath(world.dir)}/sub\nroot:x:0:0:root:/root:/bin/sh\n`),
      second,
    );
    assertStringIncludes(second, "cannot access '/usr/share/doc'");
    assertMatch(third, /^blocked: .* would change what programs run or obey/);
    assertEquals(await world.read(".vscode/tasks.json"), "{}");
    assertMatch(stdout, new RegExp(`Commands run in a jail \\(podman: ${IMAGE}\\)`));
  },
});

Deno.test({
  ...contained(
    "a time limit ends the container, a long output is cut and a background job ends with the program",
  ),
  fn: async () => {
    const turns: Turn[] = [
      { calls: [call("echo begin; sleep 1000", { timeout_ms: 3000 })] },
      { calls: [call("seq 200000")] },
      {
        calls: [
          call("while :; do echo beat >> beat; sleep 0.05; done", { run_in_background: true }),
          call("while [ ! -e beat ]; do sleep 0.05; done; echo seen"),
        ],
      },
    ];
    const { results, world } = await play(turns, SANDBOX);
    await using _world = world;
    assertMatch(results[0] ?? "", /^begin\n(?:Terminated\n)?\[stopped after 3 s/);
    const long = results[1] ?? "";
    assert(long.length < 60_000 && long.startsWith("1\n2\n") && long.includes("200000"), `${long.length}`);
    assertMatch(results[2] ?? "", /job-1/);
    assertStringIncludes(results[3] ?? "", "seen");
    for (let look = 0; look < 200 && await podman("ps", "-aq") !== ""; look++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assertEquals(await podman("ps", "-a"), await podman("ps", "-a", "--filter", "name=none"));
  },
});

Deno.test({
  ...contained("a killed program leaves no container"),
  fn: async () => {
    const env = await containerStore();
    const hold = Promise.withResolvers<void>();
    await using server = startModelServer([
      { calls: [call("while :; do echo beat >> beat; sleep 0.05; done", { run_in_background: true })] },
      { calls: [call("while [ ! -e beat ]; do sleep 0.05; done; touch ready; sleep 1000")] },
      { text: "never", before: hold.promise },
    ]);
    await using world = await makeWorld(mockConfig(server.url, SANDBOX));
    const child = await world.spawn(["run", "--allowed-tools", "Bash", "go"], { env });
    const done = finished(child);
    while (!await world.read("ready").then(() => true, () => false)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    child.kill("SIGKILL");
    hold.resolve();
    await done;
    for (let look = 0; look < 200 && await podman("ps", "-aq") !== ""; look++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assertEquals(await podman("ps", "-aq"), "");
  },
});

Deno.test({
  ...contained("a kept container survives the run with installed packages for the next run"),
  fn: async () => {
    const env = await containerStore();
    const config = `${SANDBOX}container = "kept"\n`;
    const { results, world, stderr } = await play([{ calls: [call("echo installed > /opt/tool")] }], config);
    await using _world = world;
    assertEquals(results, ["(no output)"], stderr);
    const next = await world.run(["sandbox", "exec", "--", "cat", "/opt/tool"], { env });
    assertEquals([next.code, next.stdout], [0, "installed\n"], next.stderr);
    const names = await podman("ps", "-a", "--format", "{{.Names}}");
    assertMatch(names, /^reasonix-[0-9a-f]{12}$/);
    await podman("rm", "-f", "-t", "0", names);
  },
});

Deno.test({
  ...contained(
    "a missing image ends the run before the first request, and doctor and status name the remedy",
  ),
  fn: async () => {
    const env = await containerStore();
    await using server = startModelServer([]);
    const config = '[sandbox]\nbackend = "podman"\nimage = "localhost/gone:1"\n';
    await using world = await makeWorld(mockConfig(server.url, config));
    const remedy = "the image localhost/gone:1 is not here; get it: podman pull localhost/gone:1";
    const run = await world.run(["run", "go"], { env });
    assertEquals([run.code, server.requests.length], [3, 0]);
    assertStringIncludes(run.stderr, remedy);
    const status = await world.run(["sandbox", "status"], { env });
    assertEquals(status.code, 3);
    assertStringIncludes(status.stderr, remedy);
    assertStringIncludes((await world.run(["doctor"], { env })).stdout, remedy);
  },
});

Deno.test("a project cannot choose the container of commands or its image", async () => {
  await using world = await makeWorld("");
  await world.write(
    "reasonix.toml",
    '[sandbox]\nbackend = "docker"\nimage = "hostile:1"\ncontainer = "kept"\n',
  );
  const { code, stdout, stderr } = await world.run(["config", "get", "sandbox.backend"]);
  assertEquals([code, stdout.trim()], [0, "auto"]);
  for (const key of ["backend", "image", "container"]) {
    assertStringIncludes(stderr, `Only your own file can set sandbox.${key}`);
  }
});

Deno.test({
  ...contained("a runner of a fleet takes the container that it is in as the jail"),
  fn: async () => {
    const env = await containerStore();
    const commands = ["pwd; echo ran > out.txt", "mkdir /var/tmp/x && rm -rf /var/tmp/x && echo removed"];
    await using server = startModelServer([
      ...commands.map((command): Turn => ({ calls: [call(command)] })),
      { text: "done" },
    ]);
    await using world = await makeWorld(mockConfig(server.url));
    await world.write("tasks.jsonl", JSON.stringify({ id: "t", prompt: "go", check: "grep -x ran out.txt" }));
    const root = await Deno.realPath(`${world.dir}/..`);
    const program = new URL("../../", import.meta.url).pathname;
    const shown = [root, program, Deno.execPath(), denoDir().DENO_DIR ?? ""];
    const within = [
      ...["/usr/bin/podman", "run", "--rm", "--network=host", "--workdir", world.dir],
      ...shown.flatMap((path) => ["--volume", `${path}:${path}`]),
      ...["--env", "HOME", "--env", "REASONIX_HOME", "--env", "DENO_DIR", "--env", "REASONIX_LANG", IMAGE],
    ];
    const run = ["run", "--tasks", "tasks.jsonl", "--results-dir", "../out"];
    const { code, stderr } = await world.run(run, { env, within });
    assertEquals(code, 0, stderr);
    assertMatch(stderr, /^· The container that this runs in \(\/run\/\.containerenv\) confines commands/m);
    const stored = JSON.parse(await world.read("../out/tasks/t/result.json"));
    assertEquals([stored.confinement, stored.result.ok], ["container", true]);
    assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json), "removed");
  },
});
