/** Hooks of a clone, or written by the model during a session. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer, type Turn } from "../support/model_server.ts";
import { gone, processesWith } from "../support/processes.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

const bash = (command: string): Turn => ({ calls: [{ name: "bash", args: { command } }] });
const OPTIONS = { check: { prefix: false } } as const;

function settings(command: string, event = "SessionStart"): string {
  return JSON.stringify({ hooks: { [event]: [{ hooks: [{ type: "command", command }] }] } });
}

async function there(world: World, name: string): Promise<boolean> {
  return await Deno.stat(`${world.dir}/${name}`).then(() => true, () => false);
}

Deno.test("hooks of a clone start nothing before trust, are named once, and run in the jail afterwards", async () => {
  const places = {
    ".claude/settings.json": settings("touch ran-a"),
    ".claude/settings.local.json": settings("touch ran-b"),
    ".reasonix/settings.json":
      '{"hooks":{"SessionStart":[{"match":"","command":"touch ran-c","timeout":5000}]}}',
    "reasonix.toml":
      '[[hooks]]\nevent = "SessionStart"\ncommand = "touch ran-d; touch \\"$HOME/ran-outside\\""\n',
  };
  const names = ["ran-a", "ran-b", "ran-c", "ran-d"];
  await using server = startModelServer([], { ...OPTIONS, fallback: { text: "ok" } });
  await using world = await makeWorld(mockConfig(server.url));
  for (const [name, text] of Object.entries(places)) await world.write(name, text);
  const first = await world.run(["run", "hello"]);
  assertEquals(first.code, 0, first.stderr);
  assertMatch(
    first.stderr,
    /hooks that do not run: SessionStart \(\.claude\/settings\.json:1.*reasonix trust/,
  );
  assertEquals((await world.run(["run", "hello"])).stderr.includes("hooks that do not run"), false);
  const list = await world.run(["hooks", "list"]);
  assertEquals(list.stdout.match(/not trusted/g)?.length, 4, list.stdout);
  for (const name of names) assertEquals(await there(world, name), false, name);
  const trust = await world.run(["trust", "--yes"]);
  assertStringIncludes(trust.stdout, "runs: touch ran-a");
  const last = await world.run(["run", "hello"]);
  for (const name of names) assert(await there(world, name), `${name}\n${last.stderr}`);
  const outside = `${world.home.replace(/\/[^/]*$/, "")}/ran-outside`;
  assertEquals(await Deno.stat(outside).then(() => true, () => false), false, "it left the jail");
});

Deno.test("hooks that a model writes do not run: their files are protected, and changed content is untrusted", async () => {
  await using server = startModelServer([
    bash(`mkdir -p .claude; echo '${settings("touch ran-a", "Stop")}' > .claude/settings.json`),
    {
      calls: [{
        name: "write_file",
        args: { path: ".reasonix/settings.json", content: settings("touch ran-b") },
      }],
    },
    bash("echo touch ran-c > check.sh"),
    { text: "done" },
    { text: "again" },
  ], OPTIONS);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("check.sh", "true\n");
  await world.write("reasonix.toml", '[[hooks]]\nevent = "Stop"\ncommand = "sh ./check.sh"\n');
  await world.run(["trust", "--yes"]);
  const done = await world.run(["run", "go"]);
  assertStringIncludes(done.stderr, "check.sh has changed since this run began");
  const next = await world.run(["run", "go on"]);
  for (const name of ["ran-a", "ran-b", "ran-c"]) assertEquals(await there(world, name), false, name);
  assertStringIncludes(next.stderr, "hooks that do not run: Stop");
});

Deno.test("a user's hook that names a project file runs in the jail, and other user hooks do not", async () => {
  await using server = startModelServer([{ text: "ok" }], OPTIONS);
  await using world = await makeWorld();
  const outside = world.home.replace(/\/[^/]*$/, "");
  await Deno.writeTextFile(
    `${world.home}/config.toml`,
    mockConfig(server.url) +
      `[[hooks]]\nevent = "SessionStart"\ncommand = "sh ./check.sh"\n` +
      `[[hooks]]\nevent = "SessionStart"\ncommand = "touch ${outside}/own"\n`,
  );
  await world.write("check.sh", `touch inside; touch ${outside}/left\n`);
  const done = await world.run(["run", "hello"]);
  const has = (name: string) => Deno.stat(`${outside}/${name}`).then(() => true, () => false);
  assertEquals(
    [await there(world, "inside"), await has("left"), await has("own")],
    [true, false, true],
    done.stderr,
  );
});

Deno.test("hooks get no secrets, end with their child processes, and leave no files", async () => {
  await using server = startModelServer([bash("true"), { text: "ok" }], OPTIONS);
  await using world = await makeWorld(
    mockConfig(server.url, "", 'api_key_env = "MOCK_KEY"') +
      `[[hooks]]\nevent = "PreToolUse"\ncommand = "env > env.txt; sleep 600 & sleep 600"\ntimeout_seconds = 3\n`,
  );
  const done = await world.run(["run", "go"], {
    env: { MOCK_KEY: "sk-mock-secret-1234", GH_TOKEN: "ghp-secret-5678" },
  });
  assertStringIncludes(done.stderr, "ended after 3 s");
  const env = await world.read("env.txt");
  assertEquals(/sk-mock-secret|ghp-secret/.test(env), false, env);
  assertMatch(env, /^CLAUDE_PROJECT_DIR=.+$/m);
  assertEquals(await gone(() => processesWith(world.dir)), []);
});

Deno.test("a hook for edits runs for every tool that changes files, also by names of other agents", async () => {
  const patch = "*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch";
  await using server = startModelServer([
    { calls: [{ name: "write_file", args: { path: "a.txt", content: "x" } }] },
    { calls: [{ name: "apply_patch", args: { patch } }] },
    { calls: [{ name: "move_file", args: { source_path: "kept.txt", destination_path: "c.txt" } }] },
    { calls: [{ name: "task", args: { agent: "general", description: "d", prompt: "write d" } }] },
    { calls: [{ name: "write_file", args: { path: "d.txt", content: "x" } }] },
    { text: "the agent is done" },
    { text: "done" },
  ], { check: { prefix: false, pairing: false } });
  await using world = await makeWorld(
    mockConfig(server.url) +
      `[[hooks]]\nevent = "PreToolUse"\nmatcher = "Edit|Write"\ncommand = "cat >> seen; exit 2"\n` +
      ["SubagentStart", "SubagentStop", "SessionStart", "UserPromptSubmit", "Stop"].map((event) =>
        `[[hooks]]\nevent = "${event}"\ncommand = "cat >> seen"\n`
      ).join(""),
  );
  await world.write("kept.txt", "x");
  const done = await world.run(["run", "go"]);
  const seen = (await world.read("seen")).trim().split("\n").map((line) => JSON.parse(line));
  for (const name of ["a.txt", "b.txt", "c.txt", "d.txt"]) {
    assertEquals(await there(world, name), false, name);
  }
  const calls = seen.filter(({ tool_name }) => tool_name !== undefined);
  assertEquals(
    calls.map(({ tool_name }) => tool_name),
    ["Write", "apply_patch", "move_file", "Write"],
    done.stderr,
  );
  assertEquals(calls.map(({ agent_type }) => agent_type), [undefined, undefined, undefined, "general"]);
  assertEquals(calls[1].tool_input.file_path, `${world.dir}/b.txt`);
  const events = seen.filter(({ tool_name }) => tool_name === undefined).map((it) => it.hook_event_name);
  assertEquals(events, ["SessionStart", "UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop"]);
});
