import { agentOf, startAgentServer } from "../support/agents_stage.ts";
import { assert, assertEquals } from "../support/assert.ts";
import type { RecordedRequest } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

// deno-lint-ignore no-explicit-any
function eventsOf(stdout: string): any[] {
  return stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

const namesOf = (request: RecordedRequest | undefined): string[] =>
  (request?.json.tools ?? []).map((tool: { function: { name: string } }) => tool.function.name);

const SCOUT = `---
name: scout
description: Looks at things for the tests
tools: Read, Grep, Glob
model: no-such-model
max_steps: 3
temperature: 0.5
top_p: 0.9
---
Look closely. The word is TANGERINE.
`;

const task = (agent: string, prompt = "job-0.") => ({ name: "task", args: { agent, prompt } });

Deno.test("an agent file defines tools, prompt and limits once it is trusted", async () => {
  await using server = startAgentServer({
    main: [{ calls: [task("scout")] }, { text: "one" }, { calls: [task("scout")] }, { text: "two" }],
    "job-0.": [{ text: "scouted" }],
  });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(".claude/agents/scout.md", SCOUT);
  const before = await world.run(["run", "--output-format", "jsonl", "use the scout"]);
  const refused = eventsOf(before.stdout).find(({ type }) => type === "tool.end");
  assert(refused.content.includes("the user has not trusted it yet"), refused.content);
  assert(!(before.stdout + before.stderr).includes("Not active"), "a run does not repeat what doctor says");
  const doctor = await world.run(["doctor"]);
  assert(doctor.stdout.includes("! Not active until trusted (`reasonix trust`): scout"), doctor.stdout);
  assert(!JSON.stringify(server.requests[0]?.json.tools).includes("scout"), "it is not offered");
  assertEquals((await world.run(["trust", "--yes"])).code, 0);
  server.expectReset();
  const after = await world.run(["run", "--output-format", "jsonl", "use the scout"]);
  const events = eventsOf(after.stdout);
  assertEquals(events.find(({ type }) => type === "subagent.end")?.outcome, "ok", after.stderr);
  const notice = events.find(({ type, code }) => type === "notice" && code === "agents");
  assert(notice.text.includes("no-such-model"), notice.text);
  const child = server.requests.find((request) => agentOf(request) === "scout");
  assertEquals(namesOf(child), ["read_file", "glob", "grep"]);
  assertEquals([child?.json.temperature, child?.json.top_p], [0.5, 0.9]);
  assert(String(child?.json.messages[0].content).includes("TANGERINE"));
  const offered = server.requests.filter((request) => agentOf(request) === undefined).at(-1);
  assert(JSON.stringify(offered?.json.tools).includes("- scout: Looks at things for the tests"));
  // Trust applied to the earlier content of the file.
  await world.write(".claude/agents/scout.md", SCOUT.replace("TANGERINE", "LEMON"));
  const list = JSON.parse((await world.run(["agents", "list", "--json"])).stdout);
  assertEquals(
    list.agents.map((agent: { name: string; usable: boolean }) => [agent.name, agent.usable]),
    [["general", true], ["explore", true], ["review", true], ["plan", true], ["scout", false]],
  );
});

Deno.test("a broken agent file is reported with its line, and the others load", async () => {
  await using server = startAgentServer({ main: [{ text: "hello" }] });
  await using world = await makeWorld(mockConfig(server.url));
  await Deno.mkdir(`${world.home}/agents`);
  await Deno.writeTextFile(
    `${world.home}/agents/good.md`,
    "---\ndescription: Good\npermission: read-only\n---\nBe.\n",
  );
  await Deno.writeTextFile(`${world.home}/agents/bad.md`, "---\nname: bad\nmax_steps: many\n---\nBe.\n");
  await Deno.writeTextFile(
    `${world.home}/agents/odd.md`,
    "---\ndescription: Odd\nmax_steps: many\npermission:\n  edit: deny\n  bash: allow\n---\nBe.\n",
  );
  const run = await world.run(["run", "hi"]);
  assert(!/bad\.md|odd\.md/.test(run.stderr), run.stderr);
  const { stderr } = await world.run(["agents", "list"]);
  assert(/bad\.md:1: left out: it has no description/.test(stderr), stderr);
  assert(/odd\.md:3: max_steps "many" is passed over; write a whole number above 0/.test(stderr), stderr);
  assert(/odd\.md:4: permission bash: allow has no effect; only your own rules allow/.test(stderr), stderr);
  const shown = await world.run(["agents", "show", "good"]);
  assert(/is +user · read-only · /.test(shown.stdout), shown.stdout);
  const missing = await world.run(["agents", "show", "goood"]);
  assertEquals(missing.code, 2);
  assert(missing.stderr.includes("did you mean good?"), missing.stderr);
});

Deno.test("an agent cannot exceed the sandbox and the rules of its run", async () => {
  const outside = `/tmp/reasonix-agent-attack-${crypto.randomUUID()}`;
  const attempts = [
    { name: "write_file", args: { path: outside, content: "x" } },
    { name: "bash", args: { command: `echo x > ${outside}` } },
    { name: "bash", args: { command: "cat secret.txt" } },
    { name: "read_file", args: { path: "secret.txt" } },
    { name: "write_file", args: { path: "kept.txt", content: "x" } },
    { name: "task", args: { agent: "general", prompt: "job-0." } },
  ];
  await using server = startAgentServer({
    main: [{ calls: [task("general"), task("explore", "job-1.")] }, { text: "done" }],
    "job-0.": [{ calls: attempts }, (request) => ({ text: results(request) })],
    "job-1.": [
      {
        calls: [
          { name: "write_file", args: { path: "made.txt", content: "x" } },
          { name: "bash", args: { command: "touch made.txt" } },
          { name: "bash", args: { command: "ls", run_in_background: true } },
        ],
      },
      (request) => ({ text: results(request) }),
    ],
  });
  const rules = 'permissions.deny = ["Read(secret.txt)", "Edit(kept.txt)"]';
  await using world = await makeWorld(mockConfig(server.url, rules));
  await world.write("secret.txt", "MANGO\n");
  const { code, stdout, stderr } = await world.run(["run", "--output-format", "jsonl", "go"]);
  assertEquals(code, 0, stderr);
  assert(!stdout.includes("MANGO"), stdout);
  for (const path of [outside, `${world.dir}/kept.txt`, `${world.dir}/made.txt`]) {
    assertEquals(await Deno.stat(path).then(() => true, () => false), false, path);
  }
  const ends = eventsOf(stdout).filter(({ type }) => type === "tool.end").map(({ content }) => content);
  assert(ends[0].includes('Unknown tool "task"'), ends[0]);
  assert(ends[1].includes('Unknown tool "write_file"'), ends[1]);
  assert(ends[1].includes("permission mode read-only refuses"), ends[1]);
});

/** The results of the calls of the last message, in one text. */
function results(request: RecordedRequest): string {
  const messages = request.json.messages as { role: string; content: string }[];
  return messages.filter(({ role }) => role === "tool").map(({ content }) => content).join("\n");
}

Deno.test("a skill that runs as an agent gets a separate session with either tool", async () => {
  await using server = startAgentServer({
    main: [
      { calls: [{ name: "skill", args: { name: "survey", arguments: "job-0. of it" } }] },
      { calls: [task("survey", "job-1.")] },
      { text: "surveyed" },
    ],
    "job-0.": [{ text: "first survey" }],
    "job-1.": [{ text: "second survey" }],
  });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(
    ".reasonix/skills/survey/SKILL.md",
    "---\nname: survey\ndescription: Surveys\ncontext: fork\n---\nThe word is PAPAYA.\n",
  );
  const { stdout, stderr } = await world.run(["run", "--output-format", "jsonl", "survey it"]);
  const ends = eventsOf(stdout).filter(({ type }) => type === "tool.end");
  assertEquals(ends.map(({ content }) => content.split("\n")[0]), ["first survey", "second survey"], stderr);
  const children = server.requests.filter((request) => agentOf(request) === "survey");
  assertEquals(children.length, 2);
  for (const child of children) assert(JSON.stringify(child.json.messages).includes("PAPAYA"));
});

Deno.test("permissions of a skill apply to its agent and not to the run", async () => {
  const write = { calls: [{ name: "write_file", args: { path: "made.txt", content: "x" } }] };
  await using server = startAgentServer({
    main: [{ calls: [task("maker")] }, write, { text: "ok" }],
    "job-0.": [write, { text: "made" }],
  });
  await using world = await makeWorld(mockConfig(server.url));
  const skill =
    "---\nname: maker\ndescription: Makes\nrun-as: subagent\nallowed-tools: Edit(made.txt)\n---\nMake.\n";
  await Deno.mkdir(`${world.home}/skills/maker`, { recursive: true });
  await Deno.writeTextFile(`${world.home}/skills/maker/SKILL.md`, skill);
  const { stdout } = await world.run([
    "run",
    "--on-ask",
    "deny",
    "--output-format",
    "jsonl",
    "/maker job-0.",
  ]);
  assertEquals(await world.read("made.txt"), "x");
  const ends = eventsOf(stdout).filter(({ type }) => type === "tool.end");
  assertEquals(ends.map(({ name, outcome }) => [name, outcome]), [["task", "ok"], ["write_file", "blocked"]]);
  const first = JSON.stringify(server.requests[0]?.json.messages);
  assert(first.includes('call task with agent \\"maker\\"'), first);
});
