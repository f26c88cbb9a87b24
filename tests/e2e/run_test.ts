import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, withoutTimes } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

const READ_AND_EDIT = [
  { text: "Let me look.", calls: [{ id: "c1", name: "read_file", args: { path: "a.txt" } }] },
  {
    calls: [{ id: "c2", name: "edit_file", args: { path: "a.txt", old_string: "hello", new_string: "bye" } }],
  },
  { text: "Done.", usage: { input: 100, cached: 80, output: 7 } },
];

Deno.test("run reads, edits and answers with the answer alone on standard output", async () => {
  await using server = startModelServer(READ_AND_EDIT);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "hello\r\n");
  const { code, stdout, stderr } = await world.run(["run", "change", "it"]);
  assertEquals([code, stdout], [0, "Done.\n"]);
  assertStringIncludes(withoutTimes(stderr), "Let me look.\n✓ read a.txt · 1 line\n✓ edit a.txt · +1 −1\n");
  assertEquals(await world.read("a.txt"), "bye\r\n");
});

Deno.test("run has the short form -p with flags before and after it", async () => {
  await using server = startModelServer([{ text: "one" }, { text: "two" }], {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  assertEquals((await world.run(["-p", "say one", "--quiet"])).stdout, "one\n");
  assertEquals((await world.run(["--quiet", "--print", "say two"])).stdout, "two\n");
});

Deno.test("run answers to ask with allow by default, deny and fail with refusals", async () => {
  const script = [{ calls: [{ id: "c", name: "write_file", args: { path: "new.txt", content: "x" } }] }, {
    text: "ok",
  }];
  for (
    const [answer, code, written, refusals] of [["allow", 0, true, 0], ["deny", 0, false, 1], [
      "fail",
      3,
      false,
      1,
    ]] as const
  ) {
    await using server = startModelServer(script);
    await using world = await makeWorld(mockConfig(server.url));
    const done = await world.run(["run", "--on-ask", answer, "--output-format", "json", "write"]);
    const result = JSON.parse(done.stdout);
    const exists = await Deno.stat(`${world.dir}/new.txt`).then(() => true, () => false);
    assertEquals([done.code, exists, result.permission_denials.length], [code, written, refusals], answer);
    assertEquals(result.exit_code, code);
    assertEquals(done.stdout.includes("see reasonix permissions check"), answer === "fail", done.stdout);
  }
});

Deno.test("run lets a deny rule win over an allow rule and sends the model the reason", async () => {
  await using server = startModelServer([
    { calls: [{ id: "c", name: "bash", args: { command: "git push origin main" } }] },
    { text: "understood" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  const done = await world.run([
    "run",
    "--allowed-tools",
    "Bash",
    "--disallowed-tools",
    "Bash(git push:*), Bash(rm:*)",
    "go",
  ]);
  assertEquals(done.code, 0);
  const message = server.requests[1]?.json.messages.at(-1);
  assertEquals(message.role, "tool");
  assertStringIncludes(message.content, "blocked: ");
  assertStringIncludes(message.content, "Bash(git push:*)");
});

Deno.test("run keeps file tools inside the workspace for every form of path", async () => {
  const attempts = ["../out.txt", "/etc/reasonix-test", "link/out.txt", "a/../../out.txt"];
  await using server = startModelServer([
    { calls: attempts.map((path, i) => ({ id: `c${i}`, name: "write_file", args: { path, content: "x" } })) },
    { text: "ok" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await Deno.symlink(world.home, `${world.dir}/link`);
  assertEquals((await world.run(["run", "--allowed-tools", "Edit", "escape"])).code, 0);
  const results = server.requests[1]?.json.messages.filter((m: { role: string }) => m.role === "tool");
  assertEquals(results.length, attempts.length);
  for (const { content } of results) assert(/^(error|blocked): /.test(content), content);
  for (const path of [`${world.dir}/../out.txt`, "/etc/reasonix-test", `${world.home}/out.txt`]) {
    assert(await Deno.stat(path).then(() => false, () => true), path);
  }
});

Deno.test("run continues a session with a byte-identical prefix", async () => {
  await using server = startModelServer([
    { text: "first", calls: [{ id: "c", name: "ls", args: {} }] },
    { text: "one" },
    { text: "two" },
    { text: "three" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("AGENTS.md", "Be kind.");
  await world.run(["run", "start"]);
  await world.write("AGENTS.md", "Be kinder.");
  assertEquals((await world.run(["run", "-c", "go on"])).stdout, "two\n");
  const sessions = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  assertEquals(sessions.length, 1);
  const resume = ["run", "--resume", sessions[0].id, "--output-format", "stream-json", "again"];
  const lines = (await world.run(resume)).stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals([lines[0].subtype, lines.at(-1).result], ["init", "three"]);
  assertEquals(new Set(lines.map((line) => line.session_id)), new Set([sessions[0].id]));
  const system = server.requests.map((request) => request.json.messages[0].content);
  assertEquals(new Set(system).size, 1);
  assertStringIncludes(JSON.stringify(server.requests[2]?.json.messages), "Be kinder.");
});

Deno.test("run --copy continues in a copy and leaves the original unchanged", async () => {
  await using server = startModelServer([{ text: "one" }, { text: "two" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "start"]);
  await world.run(["run", "-c", "--copy", "go on"]);
  const sessions = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  assertEquals(sessions.length, 2);
  const shown = await world.run(["session", "show", sessions[1].id]);
  assertStringIncludes(shown.stdout, "turns      1");
});

Deno.test("run reads the task from standard input only without a task argument or for -", async () => {
  await using server = startModelServer([{ text: "a" }, { text: "b" }, { text: "c" }], {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const last = (request: { json: { messages: { content: string }[] } } | undefined) =>
    request?.json.messages.at(-1)?.content;
  await world.run(["run"], { stdin: "from the pipe\n" });
  assertEquals(last(server.requests[0]), "from the pipe");
  await world.run(["run", "review", "-"], { stdin: "diff text\n" });
  assertEquals(last(server.requests[1]), "<stdin>\ndiff text\n</stdin>\n\nreview");
  const hanging = await world.run(["run", "no pipe"], { stdin: "open" });
  assertEquals([hanging.code, last(server.requests[2])], [0, "no pipe"]);
  assertEquals((await world.run(["run"], { stdin: "  \n" })).code, 2);
});

Deno.test("run attaches @references and leaves other words unchanged", async () => {
  await using server = startModelServer([{ text: "ok" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("src/a.ts", "export const a = 1;\n");
  await world.run(["run", "explain @src/a.ts to @nobody"]);
  assertEquals(
    server.requests[0]?.json.messages.at(-1).content,
    '<file path="src/a.ts">\nexport const a = 1;\n</file>\n\nexplain @src/a.ts to @nobody',
  );
});

Deno.test("run writes metrics, also for a failed run", async () => {
  await using server = startModelServer(READ_AND_EDIT);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "hello\n");
  await world.run(["run", "--metrics", "m.json", "--max-steps", "1", "go"]);
  const metrics = JSON.parse(await world.read("m.json"));
  assertEquals([metrics.exit_code, metrics.requests, metrics.tools.read_file.calls], [4, 1, 1]);
});

Deno.test("run redacts secrets in model replies from results, metrics and logs", async () => {
  const key = "sk-live-0123456789abcdefghij0123";
  const script = () => [{ text: "Let me look.", calls: [{ id: "c1", name: "ls", args: { path: "." } }] }, {
    text: `Key: ${key}`,
  }];
  for (const format of ["json", "stream-json", "jsonl"]) {
    await using server = startModelServer(script());
    await using world = await makeWorld(mockConfig(server.url, "", 'api_key_env = "MY_KEY"'));
    const args = ["run", "--metrics", "m.json", "--output-format", format, "--max-steps", "5", "tell me"];
    const done = await world.run(args, { env: { MY_KEY: key } });
    const metrics = await world.read("m.json");
    assertStringIncludes(JSON.parse(metrics).result, "Key: [redacted]");
    // Pieces of an answer are shown as they come.
    const shown = done.stdout.split("\n").filter((line) => !line.includes('"message.delta"')).join("\n");
    assert(!(metrics + shown + done.stderr).includes(key), format);
    const session = await world.run(["session", "export", "--format", "json"]);
    assert(!session.stdout.includes(key));
  }
});

Deno.test("run attaches no file that a Read rule denies, by any of its names", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  const rules = '[permissions]\ndeny = ["Read(secret.txt)", "Read(hidden/**)"]\n';
  await using world = await makeWorld(mockConfig(server.url, rules));
  await world.write("secret.txt", "the-content\n");
  await world.write("hidden/a.txt", "the-content\n");
  await world.write("open.txt", "an open file\n");
  await Deno.symlink("secret.txt", `${world.dir}/link.txt`);
  for (
    const name of [
      "secret.txt",
      "./secret.txt",
      "secret.txt:1-2",
      "link.txt",
      "hidden/a.txt",
      `${world.dir}/secret.txt`,
    ]
  ) {
    const done = await world.run(["run", `see @${name} and @open.txt`]);
    assertEquals(done.code, 0, done.stderr);
    assertStringIncludes(done.stderr, `@${name} was not attached`);
    const sent = JSON.stringify(server.requests.at(-1));
    assert(sent.includes("an open file") && !sent.includes("the-content"), name);
  }
});

Deno.test("run sends agent.temperature and agent.top_p if the provider sets none", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  for (const [provider, sent] of [["", [0, 0.9]], ["temperature = 0.5\ntop_p = 0.8", [0.5, 0.8]]] as const) {
    await using world = await makeWorld(
      mockConfig(server.url, "[agent]\ntemperature = 0.0\ntop_p = 0.9", provider),
    );
    await world.run(["run", "go"]);
    const { temperature, top_p } = server.requests.at(-1)?.json;
    assertEquals([temperature, top_p], sent);
  }
});

Deno.test("run sends a first request of at most 14 KB for an empty conversation", async () => {
  await using server = startModelServer([{ text: "hi" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "hi"]);
  const bytes = new TextEncoder().encode(server.requests[0]?.body ?? "").length;
  assert(bytes > 1000 && bytes <= 14 * 1024, `${bytes} bytes`);
});

Deno.test("run with preset ra offers its five tools and executes one call per step", async () => {
  const two = [1, 2].map((n) => ({
    id: `c${n}`,
    name: "shell_command",
    args: { command: `echo ${n} >> calls` },
  }));
  await using server = startModelServer([{ calls: two }, { text: "done" }]);
  await using world = await makeWorld(mockConfig(server.url));
  assertEquals((await world.run(["run", "--preset", "ra", "go"])).stdout, "done\n");
  assertEquals(await world.read("calls"), "1\n");
  const { tools, parallel_tool_calls } = server.requests[0]?.json ?? {};
  assertEquals(
    tools.map((tool: { function: { name: string } }) => tool.function.name).sort(),
    ["apply_patch", "grep_files", "list_dir", "read_file", "shell_command"],
  );
  assertEquals(parallel_tool_calls, false);
});

Deno.test("run refuses a cost limit for a model without a price", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:1/v1"));
  const done = await world.run(["run", "--max-cost", "1", "go"]);
  assertEquals(done.code, 6);
  assertStringIncludes(done.stderr, "price");
});
