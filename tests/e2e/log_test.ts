/** The program's own log, as docs/log.md describes it. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startAgentServer } from "../support/agents_stage.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

const PROMPT = "prompt-text-of-the-user";
const ANSWER = "answer-text-of-the-model";

function config(url: string, level: string, more = ""): string {
  return mockConfig(url, `[sandbox]\nbash = "off"\n[log]\nlevel = "${level}"\n${more}`);
}

// deno-lint-ignore no-explicit-any
function logOf(world: World, path = `${world.home}/log/reasonix.jsonl`): any[] {
  const text = Deno.readTextFileSync(path);
  assert(text.endsWith("\n"));
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("the log has one line for each step of a run, and no text of it", async () => {
  const command = "echo output-of-the-command > /dev/null; echo other-output; exit 3";
  await using server = startModelServer([
    { text: "text-with-a-call", calls: [{ name: "bash", args: { command } }] },
    { calls: [{ name: "write_file", args: { path: "name-of-a-file.txt", content: "text-of-a-file\n" } }] },
    { text: ANSWER, usage: { input: 100, output: 7 } },
  ]);
  await using world = await makeWorld(config(server.url, "info"));
  const done = await world.run(["run", "--output-format", "json", PROMPT]);
  assertEquals(done.code, 0, done.stderr);
  const { session_id: session } = JSON.parse(done.stdout);
  const records = logOf(world);
  for (const record of records) {
    assertEquals(record.session, session);
    assertMatch(record.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert(["info", "warn"].includes(record.level) && record.pid > 0, JSON.stringify(record));
  }
  const kinds = records.map(({ event }) => event);
  const wanted = [
    "session.open",
    "turn.start",
    "message.user",
    "message.end",
    "approval.decision",
    "tool.end",
  ];
  for (const kind of [...wanted, "turn.end", "session.close"]) assert(kinds.includes(kind), kind);
  assertEquals(kinds[0], "session.open");
  const of = (kind: string) => records.filter(({ event }) => event === kind);
  assertEquals(of("session.open")[0].model, "mock-1");
  assertEquals(of("tool.end").map(({ name, outcome, exitCode, added }) => [name, outcome, exitCode, added]), [
    ["bash", "error", 3, undefined],
    ["write_file", "ok", undefined, 1],
  ]);
  assertEquals(of("message.end").at(-1).usage.outputTokens, 7);
  assertEquals(of("turn.end")[0].answerLength, ANSWER.length);
  const texts = [
    PROMPT,
    ANSWER,
    "with-a-call",
    "output-of",
    "other-output",
    "name-of-a-file",
    "text-of-a-file",
    "write to",
  ];
  for (const text of texts) assert(!JSON.stringify(records).includes(text), text);
});

Deno.test("the log at debug has commands and paths, and no secret", async () => {
  const secrets: Readonly<Record<string, string>> = {
    MOCK_KEY: "provider-value-4713",
    GITHUB_TOKEN: "github-value-4715",
    DEPLOY_KEY: "deploy-value-4717",
  };
  const token = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6";
  const command = `: seen; : -H "Authorization: Bearer ${token}" http://u:${secrets.DEPLOY_KEY}@127.0.0.1:9/`;
  // The line of the call ends in the middle of the token.
  const cut = `: ${"-".repeat(60)} ${token}`;
  await using server = startModelServer([
    { calls: [{ name: "bash", args: { command, description: secrets.GITHUB_TOKEN } }] },
    { calls: [{ name: "bash", args: { command: cut } }] },
    { status: 500, body: `{"error":{"message":"no ${secrets.MOCK_KEY} and ${token}"}}` },
    { status: 400, body: `{"error":{"message":"no ${secrets.MOCK_KEY} and ${token}"}}` },
  ]);
  const plugin = `[[plugins]]\nname = "lost"\ncommand = "/nowhere/${secrets.DEPLOY_KEY}"\n`;
  await using world = await makeWorld(
    mockConfig(
      server.url,
      '[sandbox]\nbash = "off"\n[log]\nlevel = "debug"\nfile = "own/dir.jsonl"\n',
      `api_key_env = "MOCK_KEY"\n${plugin}`,
    ),
  );
  const done = await world.run(["run", `the token is ${token}`], { env: secrets });
  assertEquals(done.code, 5, done.stderr);
  const records = logOf(world, `${world.home}/own/dir.jsonl`);
  const text = JSON.stringify(records);
  for (const secret of [...Object.values(secrets), token]) {
    assert(!text.includes(secret) && !text.includes(secret.slice(0, 10)), secret);
  }
  const of = (kind: string) => records.filter(({ event }) => event === kind);
  assertStringIncludes(of("tool.start")[0].summary, "seen");
  assertEquals(of("message.retry")[0].level, "warn");
  assertEquals(of("turn.end")[0].level, "error");
  assertStringIncludes(of("turn.end")[0].detail, "[redacted]");
  assertEquals(of("mcp.server").at(-1).level, "error");
});

Deno.test("the log is off by default, and a project cannot switch it on", async () => {
  await using server = startModelServer([{ text: ANSWER }, { text: ANSWER }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("reasonix.toml", '[log]\nlevel = "debug"\nfile = "here.jsonl"\n');
  const done = await world.run(["run", PROMPT]);
  assertEquals(done.code, 0, done.stderr);
  assertStringIncludes(done.stderr, "log.level");
  assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name), ["reasonix.toml"]);
  assert(![...Deno.readDirSync(world.home)].some(({ name }) => name === "log"));
});

Deno.test("a log that cannot be written costs one line and no run", async () => {
  await using server = startModelServer([{ calls: [{ name: "bash", args: { command: "true" } }] }, {
    text: ANSWER,
  }]);
  await using world = await makeWorld(config(server.url, "debug", 'file = "taken"\n'));
  await Deno.mkdir(`${world.home}/taken`);
  const done = await world.run(["run", PROMPT]);
  assertEquals([done.code, done.stdout.trim()], [0, ANSWER], done.stderr);
  const lines = done.stderr.split("\n").filter((line) => line.includes("taken"));
  assertEquals(lines.length, 1, done.stderr);
  assertStringIncludes(lines[0] ?? "", "it is not a file");
});

Deno.test("a failure before a session is in the log, and doctor names the file", async () => {
  await using world = await makeWorld(config("http://127.0.0.1:9", "error"));
  const file = `${world.home}/log/reasonix.jsonl`;
  const failed = await world.run(["run", "--permission-mode", "read-only", "--resume", "no-such", PROMPT]);
  assertEquals(failed.code, 2, failed.stderr);
  const [record, ...more] = logOf(world);
  assertEquals([record.event, record.level, record.exit, more.length], [
    "session.failed",
    "error",
    "usage",
    0,
  ]);
  assertStringIncludes(record.text, "no-such");
  const report = await world.run(["doctor"]);
  assertStringIncludes(report.stdout, file);
});

Deno.test("the log has turns without an outcome, commands that failed, and internal errors with their stack at debug", async () => {
  const secret = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6";
  await using world = await makeWorld(config("http://127.0.0.1:9", "debug"));
  await Deno.writeTextFile(`${world.home}/config.toml`, "[agent]\nlarge_input_tokens = 1\n", {
    append: true,
  });
  await world.write("large.txt", "many words ".repeat(100));
  const refused = await world.run(["run", "--file", "large.txt", PROMPT]);
  assertEquals(refused.code, 2, refused.stderr);
  const misused = await world.run(["run", `/context ${PROMPT}`]);
  assertEquals(misused.code, 2, misused.stderr);
  const preload = `${world.home}/broken.js`;
  await Deno.writeTextFile(
    preload,
    `Deno.permissions.querySync = () => { throw new TypeError("broken by ${secret}"); };`,
  );
  const broken = await world.run(["doctor"], { preload });
  assertEquals(broken.code, 1, broken.stderr);
  const failures = logOf(world).filter(({ level }) => level === "error");
  assertEquals(failures.map(({ event, exit, internal }) => [event, exit, internal]), [
    ["turn.failed", "usage", undefined],
    ["command.failed", "usage", undefined],
    ["program.failed", undefined, true],
  ]);
  assertStringIncludes(failures[0].text, "agent.large_input_tokens");
  assertStringIncludes(failures[1].text, "Cannot run /context");
  assertEquals(failures[2].text, "broken by [redacted]");
  assertStringIncludes(failures[2].stack, "    at ");
  assert(!JSON.stringify(failures).includes(secret));
});

Deno.test("sessions of agents are in the log with the agent and the session they work for", async () => {
  await using server = startAgentServer({
    main: [{ calls: [{ name: "task", args: { agent: "explore", prompt: "find the alpha" } }] }, {
      text: ANSWER,
    }],
    alpha: [{ text: "there" }],
  });
  await using world = await makeWorld(config(server.url, "info"));
  const done = await world.run(["run", PROMPT]);
  assertEquals(done.code, 0, done.stderr);
  const [own, agent, ...more] = logOf(world).filter(({ event }) => event === "session.open");
  assertEquals([own.agent, agent.agent, agent.parent, more], [undefined, "explore", own.session, []]);
  const ended = logOf(world).find(({ event }) => event === "subagent.end");
  assertEquals([ended.session, ended.outcome, ended.usage.inputTokens > 0], [own.session, "ok", true]);
});
