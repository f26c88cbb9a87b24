import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { readSdkLines } from "../support/sdk_messages.ts";

const STREAM = ["--output-format", "stream-json"];
const PRICE = "price = { input = 1, output = 2 }\ncontext_window = 64000";

Deno.test("stream-json prints the messages of the SDKs in a run with reasoning, calls and an answer", async () => {
  await using server = startModelServer([
    { reasoning: "hmm", text: "Let me look.", calls: [{ id: "c1", name: "ls", args: { path: "." } }] },
    { text: "Done.", usage: { input: 100, cached: 80, output: 7 } },
  ]);
  await using world = await makeWorld(mockConfig(server.url, "", PRICE));
  const done = await world.run(["-p", "--verbose", ...STREAM, "look"]);
  const lines = readSdkLines(done.stdout);
  const [init, result] = [lines[0], lines.at(-1)];
  assertEquals([init.subtype, init.permissionMode, init.apiKeySource], ["init", "acceptEdits", "none"]);
  assert(init.slash_commands.includes("compact"));
  const thinking = lines.find((line) => line.type === "assistant").message.content[0];
  assertEquals([thinking.type, thinking.thinking, thinking.signature], ["thinking", "hmm", ""]);
  assertEquals([result.subtype, result.result, result.stop_reason], ["success", "Done.", "end_turn"]);
  assertEquals(Object.keys(result.modelUsage), ["mock-1"]);
  assertEquals(result.modelUsage["mock-1"].contextWindow, 64000);
  assertEquals(result.modelUsage["mock-1"].costUSD, result.total_cost_usd);
  assertEquals(new Set(lines.map((line) => line.uuid)).size, lines.length);
});

Deno.test("stream-json ends failures with a result that names its errors, also without a session", async () => {
  await using server = startModelServer([{ status: 401, body: { error: { message: "no" } } }]);
  await using world = await makeWorld(mockConfig(server.url));
  const refused = readSdkLines((await world.run(["run", ...STREAM, "go"])).stdout).at(-1);
  assertEquals([refused.subtype, refused.exit_code, refused.errors.length], ["error_during_execution", 5, 1]);
  await using broken = await makeWorld('default_model = "nobody"\n');
  const [result, ...more] = readSdkLines((await broken.run(["run", ...STREAM, "go"])).stdout);
  assertEquals([result.type, result.exit_code, more.length], ["result", 6, 0]);
  const made: string[] = [result.session_id];
  for (const format of ["json", "jsonl", "stream-json"]) {
    const { stdout } = await broken.run(["-p", "--output-format", format, "go"]);
    made.push(JSON.parse(stdout).session_id);
  }
  await using unreadable = await makeWorld("default_model = [");
  made.push(readSdkLines((await unreadable.run(["-p", ...STREAM, "go"])).stdout)[0].session_id);
  for (const id of made) assert(/^[0-9a-f-]{36}$/.test(id), id);
  assertEquals(new Set(made).size, made.length);
  const given = crypto.randomUUID();
  const named = await broken.run(["-p", ...STREAM, "--session-id", given, "go"]);
  assertEquals(readSdkLines(named.stdout)[0].session_id, given);
});

Deno.test("the first line of stream-json lists only the offered agents and skills", async () => {
  await using server = startModelServer([{ text: "a" }, { text: "b" }], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await Deno.mkdir(`${world.home}/agents`, { recursive: true });
  await Deno.writeTextFile(
    `${world.home}/agents/scribe.md`,
    "---\nname: scribe\ndescription: writes\n---\nWrite.\n",
  );
  await Deno.mkdir(`${world.home}/skills/pdf`, { recursive: true });
  await Deno.writeTextFile(
    `${world.home}/skills/pdf/SKILL.md`,
    "---\nname: pdf\ndescription: reads\n---\nRead.\n",
  );
  const [init] = readSdkLines((await world.run(["-p", ...STREAM, "go"])).stdout);
  assert(init.agents.includes("scribe") && init.agents.includes("explore"), init.agents.join());
  const listed = JSON.parse((await world.run(["agents", "list", "--json"])).stdout).agents;
  assertEquals(init.agents, listed.map(({ name }: { name: string }) => name));
  assertEquals(init.skills, ["pdf"]);
  const [bare] = readSdkLines((await world.run(["-p", ...STREAM, "--tools", "Read", "go"])).stdout);
  assertEquals([bare.tools, bare.agents, bare.skills], [["read_file"], [], []]);
});

Deno.test("stream-json lists refusals by rules and by the confinement with their calls", async () => {
  const outside = "/etc/reasonix-outside.txt";
  await using server = startModelServer([
    {
      calls: [
        { id: "c1", name: "write_file", args: { path: outside, content: "x" } },
        { id: "c2", name: "bash", args: { command: "git push" } },
      ],
    },
    { text: "ok" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  const done = await world.run(["run", "--disallowedTools", "Bash(git push:*)", ...STREAM, "go"]);
  const { permission_denials } = readSdkLines(done.stdout).at(-1);
  assertEquals(
    permission_denials.map((denial: Record<string, unknown>) => [denial.tool_use_id, denial.tool_input]),
    [["c1", { path: outside, content: "x" }], ["c2", { command: "git push" }]],
  );
});

Deno.test("stream-json shows the pieces of messages with --include-partial-messages", async () => {
  await using server = startModelServer([
    { reasoning: "hmm", text: "Look", calls: [{ id: "c1", name: "ls", args: { path: "." } }] },
    { text: "Done." },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  const done = await world.run(["run", "--include-partial-messages", ...STREAM, "go"]);
  const events = readSdkLines(done.stdout).filter(({ type }) => type === "stream_event").map(({ event }) =>
    event
  );
  const blocks = events.filter(({ type }) => type === "content_block_start");
  assertEquals(blocks.map(({ content_block }) => content_block.type), [
    "thinking",
    "text",
    "tool_use",
    "text",
  ]);
  assertEquals(events.filter(({ type }) => type === "content_block_stop").length, blocks.length);
  assertEquals([events[0].type, events.at(-1).type], ["message_start", "message_stop"]);
  const shown = events.map(({ delta }) => delta?.text ?? "").join("");
  assertEquals(shown, "LookDone.");
});

Deno.test("a reply of reasoning only is no message in any format, and every total includes its cost", async () => {
  const script = () => [
    { reasoning: "hmm", usage: { input: 1000, cached: 0, output: 400 } },
    { text: "Done.", usage: { input: 100, cached: 0, output: 7 } },
  ];
  await using server = startModelServer([...script(), ...script(), ...script()], {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url, "", PRICE));
  const plain = await world.run(["run", "go"]);
  assertEquals([plain.code, plain.stdout], [0, "Done.\n"], plain.stderr);
  assert(!plain.stderr.includes("interrupted"), plain.stderr);
  assertEquals(server.requests[1]?.json.messages.map(({ role }: { role: string }) => role), [
    "system",
    "user",
    "user",
  ]);
  const lines = readSdkLines(
    (await world.run(["run", "--include-partial-messages", ...STREAM, "go"])).stdout,
  );
  const replies = lines.filter(({ type }) => type === "assistant");
  assertEquals(replies.map(({ message }) => message.content[0].type), ["text"]);
  const pieces = lines.filter(({ type }) => type === "stream_event").map(({ event }) => event.type);
  for (const type of ["message_start", "message_stop"]) {
    assertEquals(pieces.filter((piece) => piece === type).length, 2);
  }
  const result = lines.at(-1);
  assertEquals([result.num_turns, result.usage.output_tokens, result.stop_reason], [1, 407, "end_turn"]);
  const events = (await world.run(["run", "--output-format", "jsonl", "go"])).stdout.trimEnd().split("\n")
    .map((line) => JSON.parse(line));
  const ends = events.filter(({ type }) => type === "message.end");
  assertEquals(ends.map(({ content, usage }) => [content, usage.outputTokens]), [["", 400], ["Done.", 7]]);
  assertStringIncludes((await world.run(["session", "show", result.session_id])).stdout, "out 407");
  const stats = JSON.parse((await world.run(["stats", "--json"])).stdout);
  assert(JSON.stringify(stats).includes(String(3 * 407)), JSON.stringify(stats));
  const replayed = await world.run(["replay", result.session_id]);
  assertEquals(replayed.stdout, "Done.\n");
});
