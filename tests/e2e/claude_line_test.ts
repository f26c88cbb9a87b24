/** Command lines that scripts and tools write for `claude`, run unchanged. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { readSdkLines } from "../support/sdk_messages.ts";

const PRICE = "price = { input = 1, output = 2 }";

/** Lines of wrappers: commit hooks, review bots, notebooks, CI actions, editors and loops. */
const LINES: readonly (readonly string[])[] = [
  ["-p", "say hi"],
  ["-p", "say hi", "--output-format", "json"],
  ["--print", "--output-format=stream-json", "--verbose", "say hi"],
  ["-p", "say hi", "--allowedTools", "Bash(git log:*)", "Read", "--max-turns", "3"],
  ["--dangerously-skip-permissions", "-p", "say hi"],
  ["-p", "say hi", "--permission-mode", "acceptEdits", "--append-system-prompt", "Be brief."],
  ["-p", "say hi", "--disallowedTools", "Bash,Edit,Write", "--output-format", "text"],
  ["-p", "--mcp-config", "servers.json", "--strict-mcp-config", "--output-format", "json", "say hi"],
  ["say hi", "-p", "--verbose", "--max-budget-usd", "2", "--setting-sources", "user,project"],
  ["-p", "say hi", "--session-id", "3f0c7f6e-1111-4222-8333-444455556666", "--permission-mode", "plan"],
  ["-p", "--tools", "Read,Grep,Glob", "--system-prompt", "You review.", "--", "say hi"],
];

Deno.test("command lines for claude -p run unchanged", async () => {
  await using server = startModelServer([], { fallback: { text: "hi" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url, "", PRICE));
  for (const line of LINES) {
    const done = await world.run(line);
    assertEquals([line, done.code], [line, 0]);
    const content = server.requests.at(-1)?.json.messages.at(-1).content;
    assertEquals([line, content], [line, "say hi"]);
    const answer = line.some((word) => word.includes("json")) && !line.includes("text")
      ? JSON.parse(done.stdout.trimEnd().split("\n").at(-1) ?? "").result
      : done.stdout.trim();
    assert(answer === "hi", done.stdout);
  }
  const reading = server.requests.at(-1)?.json;
  const names = reading.tools.map((tool: { function: { name: string } }) => tool.function.name);
  assertEquals(names.sort(), ["glob", "grep", "read_file"]);
  assertStringIncludes(reading.messages[0].content, "You review.");
  assertStringIncludes(server.requests[5]?.json.messages[0].content, "\n\nBe brief.\n");
});

Deno.test("a session gets the given identifier once and can be forked under another one", async () => {
  await using server = startModelServer([], { fallback: { text: "hi" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const [first, second] = ["3f0c7f6e-1111-4222-8333-444455556666", "3f0c7f6e-1111-4222-8333-777788889999"];
  const stream = ["-p", "go", "--output-format", "stream-json"];
  const id = async (...flags: string[]) =>
    readSdkLines((await world.run([...stream, ...flags])).stdout)[0].session_id;
  assertEquals(await id(`--session-id=${first}`), first);
  assertEquals(await id(`--resume=${first}`, "--fork-session", `--session-id=${second}`), second);
  assertEquals((await world.run([...stream, "--session-id", first])).code, 2);
  assertEquals((await world.run([...stream, "--session-id", "../up"])).code, 2);
});

Deno.test("-v prints the version, and flags without effect are reported", async () => {
  await using server = startModelServer([{ text: "hi" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const version = await world.run(["-v"]);
  assert(/^\d+\.\d+\.\d+/.test(version.stdout) && version.code === 0, version.stdout + version.stderr);
  const done = await world.run(["-p", "go", "--mcp-config={}", "--settings", "x"]);
  assertStringIncludes(done.stderr, "Without effect here: --mcp-config, --settings");
});
