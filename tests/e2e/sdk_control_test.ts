/** Control requests of an SDK, and invalid messages. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { paddedPng } from "../support/images.ts";
import { startModelServer } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";
import { launch, user } from "../support/sdk_client.ts";
import { readSdkLines } from "../support/sdk_messages.ts";

const write = (id: string, path: string) => ({
  calls: [{ id, name: "write_file", args: { path, content: "x" } }],
});
const results = (lines: readonly Record<string, unknown>[]) => lines.filter(({ type }) => type === "result");

Deno.test("an SDK changes the model between turns and receives an error for an unknown model", async () => {
  await using server = startModelServer([{ text: "one" }, { text: "two" }, { text: "three" }], {
    lane: (request) => request.json.model,
  });
  await using world = await makeWorld(mockConfig(server.url, "", 'models = ["mock-1", "mock-2"]'));
  const sdk = await launch(world, []);
  await sdk.send(user("first"));
  await sdk.seen('"type":"result"');
  const wrong = await sdk.request("m1", { subtype: "set_model", model: "mock-9" });
  assertEquals(wrong.subtype, "error");
  assertStringIncludes(wrong.error, "mock-9");
  assertEquals((await sdk.request("m2", { subtype: "set_model", model: "mock-2" })).subtype, "success");
  await sdk.send(user("second"));
  await sdk.seen('"type":"result"', 2);
  assertEquals((await sdk.request("m3", { subtype: "set_model" })).subtype, "success");
  await sdk.send(user("third"));
  const { lines } = await sdk.end();
  assertEquals(results(lines).map(({ model, result }) => [model, result]), [
    ["mock-1", "one"],
    ["mock-2", "two"],
    ["mock-1", "three"],
  ]);
  assertEquals(new Set(results(lines).map(({ session_id }) => session_id)).size, 1);
  const contents = server.requests[2]?.json.messages.map((each: { content: string }) => each.content);
  for (const said of ["first", "one", "second", "two", "third"]) assert(contents.includes(said), said);
});

Deno.test("an SDK changes the permission mode: plan refuses, bypassPermissions shows no prompt", async () => {
  await using server = startModelServer([write("c1", "a.txt"), { text: "1" }, write("c2", "b.txt"), {
    text: "2",
  }, {
    calls: [
      { id: "c3", name: "bash", args: { command: "rm -rf /home/someone" } },
      { id: "c4", name: "write_file", args: { path: ".git/config", content: "x" } },
    ],
  }, { text: "3" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const asked: string[] = [];
  const sdk = await launch(world, ["--permission-prompt-tool=stdio"], ({ tool_use_id }) => {
    asked.push(tool_use_id);
    return { behavior: "deny", message: "no" };
  });
  const mode = (id: string, name: string) => sdk.request(id, { subtype: "set_permission_mode", mode: name });
  assertEquals((await mode("p0", "wild")).subtype, "error");
  assertEquals((await mode("p1", "plan")).response.mode, "plan");
  await sdk.send(user("first"));
  await sdk.seen('"type":"result"');
  await mode("p2", "bypassPermissions");
  await sdk.send(user("second"));
  await sdk.seen('"type":"result"', 2);
  await sdk.send(user("third"));
  await sdk.seen('"type":"result"', 3);
  const { lines } = await sdk.end();
  // Destructive commands and files that other programs execute require approval in every mode.
  assertEquals(asked, ["c3", "c4"]);
  assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name), ["b.txt"]);
  const modes = lines.filter(({ subtype }) => subtype === "init").map(({ permissionMode }) => permissionMode);
  assertEquals(modes, ["plan", "bypassPermissions", "bypassPermissions"]);
});

Deno.test("requests of an SDK are executed, or answered with the reason why not", async () => {
  await using server = startModelServer([{ text: "hi" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const sdk = await launch(world, []);
  const ask = async (fields: { subtype: string; [name: string]: unknown }) =>
    await sdk.request(crypto.randomUUID(), fields);
  const greeting = (await ask({ subtype: "initialize", hooks: { PreToolUse: [] } })).response;
  assertEquals([greeting.hooks_applied, greeting.models[1].value], [false, "mock/mock-1"]);
  assertStringIncludes((await ask({ subtype: "get_context_usage" })).error, "not begun");
  await sdk.send(user("hello"));
  await sdk.seen('"type":"result"');
  assertEquals((await ask({ subtype: "mcp_status" })).response, { mcpServers: [] });
  assertEquals((await ask({ subtype: "list_models" })).response.models.length, 2);
  assert((await ask({ subtype: "get_context_usage" })).response.totalTokens > 0);
  assert(/^\d/.test((await ask({ subtype: "get_binary_version" })).response.version));
  assertEquals((await ask({ subtype: "rename_session", title: "Größe" })).subtype, "success");
  assertEquals((await ask({ subtype: "rename_session", title: " " })).subtype, "error");
  assertEquals(
    (await ask({ subtype: "set_max_thinking_tokens", max_thinking_tokens: null })).subtype,
    "success",
  );
  for (const subtype of ["set_max_thinking_tokens", "mcp_reconnect", "stop_task", "constructor"]) {
    const { subtype: kind, error } = await ask({ subtype, max_thinking_tokens: 1 });
    assertEquals([subtype, kind], [subtype, "error"]);
    assertStringIncludes(error, "Cannot");
  }
  const unknown = (await ask({ subtype: "rewind_files", user_message_id: "nobody" })).response;
  assertEquals(unknown.canRewind, false);
  assertEquals((await sdk.end()).code, 0);
  assertStringIncludes((await world.run(["session", "list"])).stdout, "Größe");
});

Deno.test("invalid lines get a separate error result, and the session continues", async () => {
  await using server = startModelServer([{ text: "one" }, { text: "two" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const sdk = await launch(world, []);
  const image = (source: unknown) => user([{ type: "text", text: "see" }, { type: "image", source }]);
  await sdk.raw("\r\n\n");
  await sdk.send({ type: "keep_alive" });
  await sdk.send(user("first"));
  await sdk.raw("{broken\n");
  await sdk.send({ type: "usr", message: {} });
  await sdk.send({ type: "user" });
  await sdk.send(user([]));
  await sdk.send(user([{ type: "video", data: "x" }]));
  await sdk.send(image({ type: "url", url: "http://127.0.0.1/a.png" }));
  await sdk.send(image({ type: "base64", media_type: "image/tiff", data: "AAAA" }));
  await sdk.send(image({ type: "base64", media_type: "image/png", data: "not base64!" }));
  await sdk.raw(`${JSON.stringify(user("second"))}\r\n`);
  const { code, lines } = await sdk.end();
  const [first, ...others] = results(lines);
  assertEquals([code, first?.result, others.pop()?.result], [0, "one", "two"]);
  const messages = others.map((each) => (each.errors as string[])[0] ?? "");
  const expected = [
    "{broken",
    'unknown type "usr"',
    "message.content",
    "says nothing",
    'content[0] has the type "video"',
    'content[1].source.type is "url"',
    'content[1].source.media_type is "image/tiff"',
    "content[1].source.data is not base64",
  ];
  for (const [index, part] of expected.entries()) assertStringIncludes(messages[index] ?? "", part);
  assertEquals(others.map(({ exit_code }) => exit_code), expected.map(() => 2));
});

/** A PNG of 16 by 16 pixels. */
const SQUARE = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mPQqDhBEmIY1TCqYfhqAADDSmgQB35GTAAAAABJRU5ErkJggg==",
);

Deno.test("blocks of a user line reach the model: images, documents and 10 MB in one line", async () => {
  await using server = startModelServer([{ text: "one" }, { text: "two" }]);
  await using world = await makeWorld(mockConfig(server.url, "", "vision = true"));
  const sdk = await launch(world, []);
  const data = paddedPng(SQUARE, 3_500_000).toBase64();
  const line = JSON.stringify(user([
    { type: "text", text: "what 是 this 🦊" },
    { type: "document", title: "notes", source: { type: "text", media_type: "text/plain", data: "A\nB" } },
    { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "from a tool" }] },
    { type: "image", source: { type: "base64", media_type: "image/png", data } },
  ]));
  await sdk.raw(`${line.slice(0, -1)}${" ".repeat(10_000_000 - line.length)}}\n`);
  const { lines } = await sdk.end();
  assertEquals(results(lines).map(({ result }) => result), ["one"]);
  const [text, image] = server.requests[0]?.json.messages.at(-1).content;
  assertEquals(text.text, 'what 是 this 🦊\n\n<document title="notes">\nA\nB\n</document>\n\nfrom a tool');
  // An image within the limits of the model is sent unchanged.
  assert(image.image_url.url === `data:image/png;base64,${data}`, image.image_url.url.slice(0, 100));
  await using blind = await makeWorld(mockConfig(server.url));
  server.expectReset();
  const other = await launch(blind, []);
  await other.send(
    user([{ type: "image", source: { type: "base64", media_type: "image/png", data: SQUARE.toBase64() } }]),
  );
  assertEquals(results((await other.end()).lines).map(({ result }) => result), ["two"]);
  assertStringIncludes(server.requests[1]?.json.messages.at(-1).content, "1 image left out");
});

Deno.test("the transport of the Python SDK: version first, an empty system prompt, one message, end of input", async () => {
  await using server = startModelServer([{ text: '{"ok":true}' }]);
  await using world = await makeWorld(mockConfig(server.url, "", "price = { input = 1, output = 2 }"));
  const version = await world.run(["-v"]);
  assert(/^\d+\.\d+\.\d+/.test(version.stdout), version.stdout);
  const child = await world.spawn([
    ...["--output-format", "stream-json", "--verbose", "--system-prompt", "", "--tools", "Read,Bash"],
    ...["--allowedTools", "Read,Bash(git:*)", "--max-turns", "3", "--max-budget-usd", "0.5"],
    ...["--disallowedTools", "Write", "--model", "claude-sonnet-4-5", "--fallback-model", "haiku"],
    ...["--permission-prompt-tool", "stdio", "--permission-mode", "acceptEdits", "--add-dir", world.home],
    ...["--settings", "{}", "--mcp-config", '{"mcpServers":{}}', "--include-partial-messages"],
    ...["--setting-sources=", "--max-thinking-tokens", "8000", "--thinking-display", "summarized"],
    ...["--effort", "low", "--json-schema", '{"type":"object","required":["ok"]}'],
    ...["--session-id=3f0c7f6e-1111-4222-8333-444455556666", "--input-format", "stream-json"],
  ], { stdin: "open", env: { CLAUDE_CODE_ENTRYPOINT: "sdk-py", CLAUDE_AGENT_SDK_VERSION: "0.2.0" } });
  const request = {
    type: "control_request",
    request_id: "req_1_ab",
    request: { subtype: "initialize", hooks: null },
  };
  const prompt = {
    type: "user",
    session_id: "",
    message: { role: "user", content: "go" },
    parent_tool_use_id: null,
  };
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n${JSON.stringify(prompt)}\n`));
  await writer.close();
  const done = await finished(child);
  const lines = readSdkLines(done.stdout);
  assertEquals([done.code, lines[0].response.request_id], [0, "req_1_ab"]);
  assertEquals([lines.at(-1).structured_output, lines.at(-1).session_id], [
    { ok: true },
    "3f0c7f6e-1111-4222-8333-444455556666",
  ]);
  const { messages, tools } = server.requests[0]?.json;
  assertEquals(tools.map((tool: { function: { name: string } }) => tool.function.name), [
    "read_file",
    "bash",
  ]);
  assertStringIncludes(messages[0].content, "You are Reasonix");
});
