import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

const SKILL =
  "---\nname: marks\ndescription: Makes marks\nallowed-tools: Bash(touch:*) TodoWrite\n---\nTouch.\n";
const touch = (name: string) => ({ calls: [{ name: "bash", args: { command: `touch ${name}` } }] });
const activate = { calls: [{ name: "skill", args: { name: "marks" } }] };
const DENY = ["--on-ask", "deny"] as const;

/** Returns the files of this list that the commands created. */
async function made(dir: string, names: readonly string[]): Promise<string[]> {
  const there = await Promise.all(
    names.map((name) => Deno.stat(`${dir}/${name}`).then(() => true, () => false)),
  );
  return names.filter((_, i) => there[i]);
}

Deno.test("allowed-tools of a skill apply from its activation to the end of the turn, below deny, ask and the destructive-command check", async () => {
  await using server = startModelServer([
    touch("before"),
    activate,
    touch("during"),
    touch("secret"),
    touch("asked"),
    { calls: [{ name: "bash", args: { command: "mkdir other" } }] },
    touch(".git/hooks/pre-commit"),
    { text: "one" },
    touch("after"),
    { text: "two" },
    touch("slash"),
    { text: "three" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(
    mockConfig(server.url) + '[permissions]\ndeny = ["Bash(touch secret)"]\nask = ["Bash(touch asked)"]\n',
  );
  await Deno.mkdir(`${world.dir}/.git/hooks`, { recursive: true });
  await Deno.mkdir(`${world.home}/skills/marks`, { recursive: true });
  await Deno.writeTextFile(`${world.home}/skills/marks/SKILL.md`, SKILL);
  const names = ["before", "during", "secret", "asked", "other", ".git/hooks/pre-commit", "after", "slash"];
  const first = await world.run(["run", ...DENY, "make marks"]);
  assertEquals(first.code, 0, first.stderr);
  assertEquals(await made(world.dir, names), ["during"], first.stderr);
  await world.run(["run", "-c", ...DENY, "go on"]);
  assertEquals(await made(world.dir, names), ["during"]);
  await world.run(["run", ...DENY, "/marks once more"]);
  assertEquals(await made(world.dir, names), ["during", "slash"]);
  const plan = server.requests.length;
  server.push(activate, touch("planned"), { text: "four" });
  await world.run(["run", ...DENY, "--permission-mode", "plan", "make marks"]);
  assert(server.requests.length > plan);
  assertEquals(await made(world.dir, ["planned"]), []);
});

Deno.test("a denied skill is hidden from the model, and neither the skill tool nor an agent loads it", async () => {
  await using server = startModelServer([
    { calls: [{ name: "skill", args: { name: "marks" } }] },
    { calls: [{ name: "task", args: { agent: "helper-b", prompt: "go" } }] },
    { calls: [{ name: "skill", args: { name: "nothing" } }] },
    { text: "done" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(
    mockConfig(server.url) + '[permissions]\ndeny = ["Skill(marks)", "Skill(helper-*)"]\n',
  );
  for (const name of ["marks", "helper-b", "plain"]) {
    await Deno.mkdir(`${world.home}/skills/${name}`, { recursive: true });
    const field = name === "helper-b" ? "run-as: subagent\n" : "";
    await Deno.writeTextFile(
      `${world.home}/skills/${name}/SKILL.md`,
      `---\nname: ${name}\ndescription: Knows ${name}\n${field}---\nBody of ${name}.\n`,
    );
  }
  const { code, stderr } = await world.run(["run", "go"]);
  assertEquals(code, 0, stderr);
  const first = JSON.stringify(server.requests[0]?.json);
  assertEquals(
    ["marks", "helper-b", "plain"].map((name) => first.includes(`Knows ${name}`)),
    [false, false, true],
  );
  const last = JSON.stringify(server.requests.at(-1)?.json.messages);
  assert(!last.includes("Body of"), last);
  assertStringIncludes(last, "deny Skill(marks)");
  assertStringIncludes(last, 'There is no skill \\"nothing\\"; there are plain');
});

Deno.test("a project's skill pre-approves nothing until the user trusts it as it is", async () => {
  await using server = startModelServer([], { check: { prefix: false } });
  const place = ".agents/skills/marks/SKILL.md";
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(place, SKILL);
  const attempt = async (name: string, ...flags: string[]) => {
    server.push(activate, touch(name), { text: "done" });
    const done = await world.run(["run", ...DENY, ...flags, "make marks"]);
    return { stderr: done.stderr, made: (await made(world.dir, [name])).length === 1 };
  };
  const untrusted = await attempt("a");
  assertEquals(untrusted.made, false);
  assertStringIncludes(untrusted.stderr, "reasonix trust");
  assertEquals((await attempt("b", "--trust-project")).made, true);
  const list = await world.run(["trust", "--yes"]);
  assertStringIncludes(list.stdout, "without a question: Bash(touch:*), TodoWrite");
  assertEquals((await attempt("c")).made, true);
  await world.write(place, SKILL.replace("Touch.", "Touch more."));
  assertEquals((await attempt("d")).made, false);
});

Deno.test("a skill that allows every command allows neither denied nor always-ask commands", async () => {
  const names = ["untrusted", "kept/a", "secret", ".git/hooks/pre-commit", "plain", "asked"];
  const bare = SKILL.replace("Bash(touch:*) TodoWrite", "Bash Edit *");
  const lines = [
    "touch secret",
    "touch .git/hooks/pre-commit",
    "rm -rf ~/kept ..",
    "git push --force",
    "touch asked",
    "touch plain",
  ];
  await using server = startModelServer([activate, touch("untrusted"), { text: "one" }], {
    check: { prefix: false },
  });
  await using world = await makeWorld(
    mockConfig(server.url) + '[permissions]\ndeny = ["Bash(touch secret)"]\nask = ["Bash(touch asked)"]\n',
  );
  await world.write(".agents/skills/marks/SKILL.md", bare);
  await world.write("kept/a", "");
  await Deno.mkdir(`${world.dir}/.git/hooks`, { recursive: true });
  await world.run(["run", ...DENY, "make marks"]);
  assertEquals(await made(world.dir, names), ["kept/a"]);
  server.push(
    activate,
    ...lines.map((command) => ({ calls: [{ name: "bash", args: { command } }] })),
    { calls: [{ name: "write_file", args: { path: ".git/hooks/pre-commit", content: "x" } }] },
    { text: "two" },
  );
  await world.run(["run", ...DENY, "--trust-project", "make marks"], { env: { HOME: world.dir } });
  assertEquals(await made(world.dir, names), ["kept/a", "plain"]);
  server.push(touch("untrusted"), { text: "three" });
  await world.run(["run", "-c", ...DENY, "--trust-project", "go on"]);
  assertEquals(await made(world.dir, names), ["kept/a", "plain"]);
});

Deno.test("a project's own file cannot name skills outside of the project", async () => {
  await using server = startModelServer([activate, touch("a"), { text: "done" }], {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const outside = `${world.dir}/../elsewhere`;
  await Deno.mkdir(`${outside}/marks`, { recursive: true });
  await Deno.writeTextFile(`${outside}/marks/SKILL.md`, SKILL);
  await world.write("reasonix.toml", '[skills]\npaths = ["../elsewhere"]\n');
  const refused = await world.run(["run", ...DENY, "make marks"]);
  assertEquals(await made(world.dir, ["a"]), []);
  assertStringIncludes(refused.stderr, 'skills.paths[0] may not leave the project with "../elsewhere"');
  assert(!JSON.stringify(server.requests[0]?.json).includes("marks/SKILL.md"), "the skill was offered");
  await Deno.remove(`${world.dir}/reasonix.toml`);
  await Deno.writeTextFile(
    `${world.home}/config.toml`,
    mockConfig(server.url) + `[skills]\npaths = ["${outside}"]\n`,
  );
  server.push(activate, touch("b"), { text: "done" });
  await world.run(["run", ...DENY, "make marks"]);
  assertEquals(await made(world.dir, ["b"]), ["b"]);
});

Deno.test("a skill that a deny rule refuses is not offered to the model, and the others are", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const skill = (name: string) => `---\nname: ${name}\ndescription: About ${name}\n---\nBody\n`;
  for (const name of ["one", "own-a", "own-b"]) {
    await world.write(`.agents/skills/${name}/SKILL.md`, skill(name));
  }
  const rows: readonly [rule: string, offered: readonly string[]][] = [
    ["Skill(one)", ["own-a", "own-b"]],
    ["Skill(own-*)", ["one"]],
    ["Skill", []],
    ["Bash(one)", ["one", "own-a", "own-b"]],
  ];
  for (const [rule, offered] of rows) {
    await Deno.writeTextFile(
      `${world.home}/config.toml`,
      `${mockConfig(server.url)}[permissions]\ndeny = ["${rule}"]\n`,
    );
    await world.run(["run", "hello"]);
    const sent = JSON.stringify(server.requests.at(-1)?.json.messages);
    assertEquals(sent.match(/(?<=About )[\w-]+/g) ?? [], offered, rule);
  }
});
