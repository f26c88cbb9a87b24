import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";

interface Result {
  readonly stderr: string;
  /** Returns the description of the environment in the prompt. */
  readonly environment: string;
  /** Results of the calls, in order. */
  readonly results: readonly string[];
}

interface Task {
  readonly flags: readonly string[];
  readonly calls: readonly (string | { readonly name: string; readonly args: Record<string, unknown> })[];
  readonly config?: string;
  readonly project?: string;
}

/** One run in which the model makes these calls, one a message; a text is a command. */
async function play(
  { flags, calls, config = "", project }: Task,
  look: (world: World, result: Result) => void | Promise<void>,
): Promise<void> {
  const turns = calls.map((call) => ({
    calls: [typeof call === "string" ? { name: "bash", args: { command: call } } : call],
  }));
  await using server = startModelServer([...turns, { text: "ok" }]);
  await using world = await makeWorld(mockConfig(server.url, config));
  if (project !== undefined) await world.write("reasonix.toml", project);
  await world.write("old.txt", "old\n");
  const { stderr } = await world.run(["run", ...flags, "go"]);
  const messages = server.requests.at(-1)?.json.messages as { role: string; content: string }[];
  await look(world, {
    stderr,
    environment: messages.find(({ content }) => content?.includes("<environment>"))?.content ?? "",
    results: messages.filter(({ role }) => role === "tool").map(({ content }) => content),
  });
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}

const FULL = ["--permission-mode", "danger-full-access"];

Deno.test("danger-full-access disables the jail and the confinement of file tools with a notice at the start", async () => {
  const calls = [
    "echo command > ../command.txt",
    { name: "write_file", args: { path: "../tool.txt", content: "tool\n" } },
    { name: "read_file", args: { path: "../home/.env" } },
    "cat ../home/.env",
  ];
  await play({ flags: FULL, calls }, async (world, { stderr, results }) => {
    assertMatch(stderr, /^! Commands run unconfined \(--permission-mode danger-full-access\)/);
    assert(!stderr.includes("Commands are not confined"), stderr);
    assertEquals(await Deno.readTextFile(`${world.dir}/../command.txt`), "command\n");
    assertEquals(await Deno.readTextFile(`${world.dir}/../tool.txt`), "tool\n");
    assertMatch(results[2] ?? "", /^(?:error|blocked): /);
    assertMatch(
      results[3] ?? "",
      /^blocked: permission rule deny Read\(.*\.env\) \(\[sandbox\] forbid_read\)/,
    );
  });
});

Deno.test("danger-full-access keeps deny rules, the destructive-command check and the user's own configuration", async () => {
  const calls = [
    "git push",
    "rm -rf ..",
    { name: "read_file", args: { path: "../home/config.toml" } },
    { name: "edit_file", args: { path: "../home/config.toml", old_string: "mock-1", new_string: "x" } },
  ];
  const config = '[permissions]\ndeny = ["Bash(git push:*)"]\n';
  await play({ flags: FULL, calls, config }, async (world, { results }) => {
    assertStringIncludes(results[0] ?? "", "permission rule deny Bash(git push:*)");
    assertStringIncludes(results[1] ?? "", "the destructive-command check refuses");
    assertMatch(results[3] ?? "", /^error: /);
    assertStringIncludes(await Deno.readTextFile(`${world.home}/config.toml`), "mock-1");
  });
});

Deno.test("an enforced jail stays in force in danger-full-access, also when the project enforces it", async () => {
  const calls = ["echo x > ../out.txt", { name: "write_file", args: { path: "../out.txt", content: "x" } }];
  const enforce = '[sandbox]\nbash = "enforce"\n';
  for (const source of [{ config: enforce }, { project: enforce }]) {
    await play({ flags: FULL, calls, ...source }, async (world, { stderr, results }) => {
      assertMatch(stderr, /^! Commands and file tools stay confined .*bash = "enforce"/);
      assertStringIncludes(stderr, "Commands run in a jail");
      assertStringIncludes(results[1] ?? "", "outside the writable roots");
      assert(!await exists(`${world.dir}/../out.txt`));
    });
  }
});

Deno.test("with --writes deny or dry-run jailed commands see the workspace read-only, and the model gets instructions", async () => {
  const command = "cat old.txt && echo tmp > /tmp/t && cat /tmp/t && echo new > old.txt";
  for (
    const [writes, instead] of [
      ["deny", "put the change into your answer as a unified diff"],
      ["dry-run", "use the edit tools, which show the diff without writing it"],
    ] as const
  ) {
    for (const flags of [[], FULL]) {
      const given = ["--writes", writes, "--add-dir", "..", ...flags];
      await play({ flags: given, calls: [command] }, async (world, { environment, results }) => {
        assertStringIncludes(environment, `files: not to be changed in this run`);
        assertStringIncludes(environment, instead);
        assertMatch(
          results[0] ?? "",
          /^old\ntmp\n.*Read-only file system\n\[exit code 1\]\n\[commands cannot /,
        );
        assertStringIncludes(results[0] ?? "", instead);
        assertEquals(await world.read("old.txt"), "old\n");
      });
    }
  }
});

Deno.test("without a jail --writes deny lets only listed commands through", async () => {
  const calls = ["cat old.txt | wc -l", "echo new > old.txt", "make"];
  const config = '[sandbox]\nbash = "off"\n';
  await play({ flags: ["--writes", "deny"], calls, config }, async (world, { results }) => {
    assertMatch(results[0] ?? "", /^\s*1/);
    for (const refused of results.slice(1)) {
      assertMatch(
        refused,
        /^blocked: .* is not one of the commands .*, and there is no jail .*unified diff$/,
      );
    }
    assertEquals(await world.read("old.txt"), "old\n");
    const check = await world.run(["permissions", "check", "make"]);
    assertEquals(check.code, 0);
  });
  const strict = `${config}[tools]\nwrites = "deny"\n`;
  await play({ flags: [], calls: [], config: strict }, async (world) => {
    const check = await world.run(["permissions", "check", "make"]);
    assertEquals(check.code, 3);
    assertStringIncludes(check.stdout, "there is no jail");
  });
});

Deno.test("commands about the jail leave no directory of the proxy behind", async () => {
  const config = '[sandbox]\nnetwork_hosts = ["example.org"]\n[tools]\nwrites = "deny"\n';
  await using world = await makeWorld(config);
  const env = { TMPDIR: `${world.home}/temp` };
  await Deno.mkdir(env.TMPDIR);
  for (const command of ["permissions check make", "sandbox status", "sandbox exec true", "doctor"]) {
    await world.run(command.split(" "), { env });
    assertEquals([...Deno.readDirSync(env.TMPDIR)].map(({ name }) => name), [], command);
  }
});

Deno.test("the full text of a long output can be searched by the next command", async () => {
  const file = "$(find .. -path '*/outputs/*.txt' | head -1)";
  const calls = ["seq 1 90000", `sed -n 45678p ${file}; echo x >> ${file}`];
  await play({ flags: [], calls }, (_, { results }) => {
    assertMatch(results[0] ?? "", /; full text: \/\S+\/outputs\/\S+\.txt\]/);
    assertMatch(results[1] ?? "", /^45678\n.*Read-only file system\n/);
  });
});

Deno.test("writable paths of the jail are reported once per project, and again after a change", async () => {
  await using server = startModelServer([], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const said = async (...flags: string[]) => {
    server.push({ calls: [{ name: "bash", args: { command: "true" } }] }, { text: "ok" });
    const { stderr } = await world.run(["run", ...flags, "go"]);
    return stderr.split("\n").filter((line) => line.includes("Commands run in a jail"));
  };
  const usual =
    "· Commands run in a jail (bubblewrap): they can write this project, a private /tmp and package caches; no network";
  assertEquals([await said(), await said()], [[usual], []]);
  assertStringIncludes(`${await said("--permission-mode", "read-only")}`, "the workspace is read-only");
  assertEquals(await said(), [usual]);
  const config = mockConfig(server.url, '[sandbox]\nforbid_read = ["../vault"]\n');
  await Deno.writeTextFile(`${world.home}/config.toml`, config);
  assertEquals([await said(), await said()], [[`${usual}; 1 path is hidden (forbid_read)`], []]);
  await Deno.mkdir(`${world.dir}/../other`);
  server.push({ calls: [{ name: "bash", args: { command: "true" } }] }, { text: "ok" });
  const other = await world.run(["run", "go"], { cwd: `${world.dir}/../other` });
  assertStringIncludes(other.stderr, "Commands run in a jail");
});

Deno.test("run reports unused project content of other agents once", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(".claude/rules/x.md", "x");
  await world.write(".claude/settings.json", '{"permissions": {}, "hooks": {}}');
  const named = "This project contains .claude/rules, which this version does not use";
  assertStringIncludes((await world.run(["run", "a"])).stderr, named);
  assert(!(await world.run(["run", "b"])).stderr.includes("This project contains"));
  await world.write(".claude/agents/x.md", "x");
  assert(!(await world.run(["run", "c"])).stderr.includes(".claude/agents"), "doctor names faults of agents");
  assertStringIncludes((await world.run(["doctor"])).stdout, ".claude/agents/x.md");
});
