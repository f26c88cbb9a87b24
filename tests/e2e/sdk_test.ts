/** The program started like `claude` by the Claude Agent SDKs, with a client that sends their messages. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer, textEvent } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";
import { control, LAUNCH, launch, user } from "../support/sdk_client.ts";
import { readSdkLines } from "../support/sdk_messages.ts";

const NEVER = new Promise<never>(() => {});

Deno.test("an SDK starts the program, sets the system prompt and talks over several turns", async () => {
  await using server = startModelServer([{ text: "one" }, { text: "two" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const sdk = await launch(world, ["--system-prompt", "", "--setting-sources=", "--permission-mode=default"]);
  await sdk.send(control("r1", { subtype: "initialize", hooks: null, systemPrompt: ["You are terse."] }));
  await sdk.seen('"control_response"');
  await sdk.send(user("first"));
  await sdk.seen('"type":"result"');
  await sdk.send(user([{ type: "text", text: "second" }]));
  await sdk.seen('"type":"result"', 2);
  const { code, lines } = await sdk.end();
  assertEquals(code, 0);
  assertEquals([lines[0].response.subtype, lines[0].response.request_id], ["success", "r1"]);
  const results = lines.filter(({ type }) => type === "result");
  assertEquals(results.map(({ result }) => result), ["one", "two"]);
  assertEquals(results[0].session_id, results[1].session_id);
  assertStringIncludes(server.requests[0]?.json.messages[0].content, "You are terse.");
  assertEquals(server.requests[1]?.json.messages.at(-1).content, "second");
});

Deno.test("an SDK receives can_use_tool and allows, changes or refuses a call", async () => {
  const write = (id: string, path: string) => ({
    calls: [{ id, name: "write_file", args: { path, content: "x" } }],
  });
  await using server = startModelServer([write("c1", "a.txt"), write("c2", "b.txt"), write("c3", "c.txt"), {
    text: "ok",
  }]);
  await using world = await makeWorld(mockConfig(server.url));
  const asked: string[] = [];
  const sdk = await launch(world, ["--permission-prompt-tool=stdio"], ({ input, tool_use_id }) => {
    asked.push(tool_use_id);
    if (tool_use_id === "c1") return { behavior: "allow", updatedInput: input };
    if (tool_use_id === "c2") return { behavior: "allow", updatedInput: { ...input, path: "changed.txt" } };
    return { behavior: "deny", message: "not this one" };
  });
  await sdk.send(control("r0", { subtype: "initialize", jsonSchema: { type: "thing" } }));
  await sdk.send(control("r1", { subtype: "initialize" }));
  await sdk.send(user("go"));
  await sdk.seen('"type":"result"');
  const { lines } = await sdk.end();
  assertEquals(lines.slice(0, 2).map(({ response }) => response.subtype), ["error", "success"]);
  assertEquals(asked, ["c1", "c2", "c3"]);
  const files = [...Deno.readDirSync(world.dir)].map(({ name }) => name).sort();
  assertEquals(files, ["a.txt", "changed.txt"]);
  const { permission_denials } = lines.at(-1);
  assertEquals([permission_denials.length, permission_denials[0].tool_use_id], [1, "c3"]);
  assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json.messages), "not this one");
});

Deno.test("an SDK interrupts a turn and continues with the next", async () => {
  await using server = startModelServer([{ stream: [textEvent("partial "), NEVER] }, { text: "two" }], {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const sdk = await launch(world, ["--include-partial-messages"]);
  await sdk.send(user("first"));
  await sdk.seen("partial ");
  await sdk.send(control("r2", { subtype: "interrupt" }));
  await sdk.seen('"type":"result"');
  await sdk.send(user("second"));
  await sdk.seen('"type":"result"', 2);
  const { code, lines } = await sdk.end();
  const results = lines.filter(({ type }) => type === "result");
  assertEquals([code, results[0].subtype, results[1].result], [0, "error_during_execution", "two"]);
  assert(lines.some((line) => line.response?.request_id === "r2" && line.response.subtype === "success"));
});

Deno.test("an invalid line ends the run with an error result", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:9/v1"));
  const child = await world.spawn(LAUNCH, { stdin: "open" });
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode("hello\n"));
  await writer.close();
  const done = await finished(child);
  assertEquals([done.code, readSdkLines(done.stdout).at(-1).exit_code], [2, 2]);
});
