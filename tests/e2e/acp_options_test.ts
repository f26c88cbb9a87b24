/** An editor changes mode, model and effort, sends every kind of content, and sees what changes elsewhere. */
import {
  type ContentBlock,
  methods,
  type NewSessionRequest,
  type SessionConfigOption,
} from "@agentclientprotocol/sdk";
import { startAcp } from "../support/acp.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { scriptedServer } from "../support/mcp/scripted_mcp_server.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld } from "../support/program.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const config = (url: string) =>
  `default_model = "mock/one"
[[providers]]
name = "mock"
kind = "openai"
base_url = "${url}"
models = ["one", "two"]
context_window = 100000
price = { input = 1, output = 2 }
[[providers]]
name = "other"
kind = "openai"
base_url = "${url}"
models = ["three"]
vision = true
`;

function valuesOf(options: readonly SessionConfigOption[] | null | undefined): Record<string, string> {
  return Object.fromEntries((options ?? []).map(({ id, currentValue }) => [id, String(currentValue)]));
}

Deno.test("an editor and a user's commands change the same options, and each sees the other's change", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(config(server.url));
  await world.write(".reasonix/commands/ship.md", "---\nargument-hint: VERSION\n---\nShip $ARGUMENTS now");
  await world.write("src/a.ts", "let a = 1;\n");
  const { command, args } = scriptedServer({ startSeconds: 0.2 });
  const docs = { name: "docs", command, args: [...args], env: [] };
  const acp = await startAcp(world);

  const malformed = await acp.error(methods.agent.session.new, {
    cwd: world.dir,
    mcpServers: [docs, { name: "db", command: "x", args: [] }],
  });
  assertEquals([malformed.code, malformed.data], [-32602, undefined]);
  assertStringIncludes(malformed.message, 'mcpServers[1] ("db"): it has no env');

  const request: NewSessionRequest = { cwd: world.dir, mcpServers: [docs] };
  const opened = await acp.agent.request(methods.agent.session.new, request);
  const { sessionId } = opened;
  assertEquals(valuesOf(opened.configOptions), { mode: "ask", model: "mock/one", effort: "default" });
  assertEquals(opened.modes?.currentModeId, "ask");
  const update = (kind: string, holds: (update: unknown) => boolean = () => true) =>
    acp.tape.seen(({ params }) => params?.update?.sessionUpdate === kind && holds(params.update));
  const lists = (name: string) => (each: unknown) => JSON.stringify(each).includes(`"name":"${name}"`);
  const ship = await update("available_commands_update", lists("ship"));
  assertStringIncludes(JSON.stringify(ship), '"hint":"VERSION"');
  assertEquals(lists("quit")(ship), false);
  await update("available_commands_update", (each) => JSON.stringify(each).includes("mcp__docs__"));

  // Before the first turn: the session keeps its identifier.
  const set = async (configId: string, value: string) =>
    valuesOf(
      (await acp.agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value }))
        .configOptions,
    );
  assertEquals((await set("model", "mock/two")).model, "mock/two");
  assertEquals((await set("effort", "high")).effort, "high");
  await acp.agent.request(methods.agent.session.setMode, { sessionId, modeId: "plan" });
  await update("config_option_update", (each) => JSON.stringify(each).includes('"currentValue":"plan"'));
  for (const line of ["/mode normal", "/mode auto"]) {
    assertEquals(await acp.prompt(sessionId, line), "end_turn");
  }
  await update("current_mode_update", (each) => JSON.stringify(each).includes('"auto"'));

  const left = await acp.error(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: "text", text: "/new" }],
  });
  assertStringIncludes(left.message, "Cannot run /new here");

  // A change during a turn: the mode at once, the model after it and before the prompts that wait.
  const going = Promise.withResolvers<void>();
  server.push({ text: "first", before: going.promise }, { text: "second" });
  const first = acp.prompt(sessionId, "hello\nyou");
  await server.received(1);
  const second = acp.prompt(sessionId, "/ship 1.0");
  const changed = set("model", "mock/one");
  assertEquals((await set("mode", "ask")).mode, "ask");
  server.expectReset();
  going.resolve();
  assertEquals([await first, (await changed).model, await second], ["end_turn", "mock/one", "end_turn"]);
  assertEquals(server.requests.map(({ json }) => json.model), ["two", "one"]);
  assertEquals(server.requests[0]?.json.reasoning_effort, "high");
  assertStringIncludes(JSON.stringify(server.requests[1]?.json.messages.at(-1)), "Ship 1.0 now");
  const usage = await update("usage_update");
  assertEquals([usage.params.update.size, usage.params.update.cost.currency], [100000, "USD"]);
  await update("session_info_update", (each) => JSON.stringify(each).includes('"title":"hello"'));

  for (
    const [configId, value, expected] of [
      ["color", "red", 'Cannot change "color": there is no such setting; use one of mode, model, effort'],
      ["mode", "full-access", 'Cannot set mode to "full-access": there is no such value'],
      ["model", "nine", "use one of mock/one, mock/two, other/three"],
    ] as const
  ) {
    const { code, message } = await acp.error(methods.agent.session.setConfigOption, {
      sessionId,
      configId,
      value,
    });
    assertEquals(code, -32602);
    assertStringIncludes(message, expected);
  }
  const { code, message } = await acp.error(methods.agent.session.setMode, { sessionId, modeId: "normal" });
  assertEquals([code, message.includes("use one of ask, auto, yolo, plan, read-only")], [-32602, true]);
  assertEquals(await acp.end(), { code: 0, stderr: "" });
});

Deno.test("a prompt takes texts, links, resources and images, and refuses the rest in one sentence", async () => {
  await using server = startModelServer([{ text: "one" }, { text: "two" }, { text: "three" }]);
  await using world = await makeWorld(config(server.url));
  await world.write("src/a.ts", "let a = 1;\nlet b = 2;\n");
  await world.write(".reasonix/commands/explain.md", "Explain: $ARGUMENTS");
  const acp = await startAcp(world);
  const sessionId = await acp.newSession();
  const prompt = (...blocks: ContentBlock[]) =>
    acp.agent.request(methods.agent.session.prompt, { sessionId, prompt: blocks });
  const sent = () => JSON.stringify(server.requests.at(-1)?.json.messages.at(-1));
  const uri = `file://${world.dir}/src/a.ts`;
  const image: ContentBlock = { type: "image", mimeType: "image/png", data: PNG };
  const buffer: ContentBlock = { type: "resource", resource: { uri: `${uri}#L1:1`, text: "let a = 99;" } };

  await prompt({ type: "text", text: "look at " }, { type: "resource_link", uri, name: "a.ts" }, buffer);
  assertStringIncludes(sent(), "let b = 2;");
  assertStringIncludes(sent(), `<resource ref=\\"${uri}#L1:1\\">\\nlet a = 99;`);
  assertStringIncludes(sent(), "look at @src/a.ts src/a.ts:1-1");

  // A command has the attachments of its line.
  await prompt({ type: "text", text: "/explain " }, buffer);
  assertStringIncludes(sent(), "let a = 99;");
  assertStringIncludes(sent(), "Explain: src/a.ts:1-1");

  for (
    const [blocks, expected] of [
      [[image], "Cannot send images alone: one takes none"],
      [[], "Cannot send an empty prompt"],
      [[{ type: "audio", mimeType: "audio/wav", data: PNG }], "Cannot use prompt[0]: audio is not supported"],
      [[{ type: "text" }], "Cannot use prompt[0]: it has no text"],
    ] as const
  ) {
    const error = await acp.error(methods.agent.session.prompt, { sessionId, prompt: blocks });
    assertEquals([error.code, error.data], [-32602, undefined]);
    assertStringIncludes(error.message, expected);
  }
  assertEquals(server.requests.length, 2);

  await acp.agent.request(methods.agent.session.setConfigOption, {
    sessionId,
    configId: "model",
    value: "other/three",
  });
  server.expectReset();
  assert((await prompt(image)).stopReason === "end_turn");
  assertStringIncludes(sent(), "[image 1]");
  assertStringIncludes(sent(), "data:image/png;base64");

  // A cancel that follows at once finds a prompt whose turn has not begun.
  server.push(async ({ gone }) => (await gone, { text: "never" }));
  const early = acp.prompt(sessionId, "Never mind");
  await acp.agent.notify(methods.agent.session.cancel, { sessionId });
  assertEquals(await early, "cancelled");
  assertEquals(await acp.end(), { code: 0, stderr: "" });
});
