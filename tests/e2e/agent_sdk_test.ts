/** The Claude Agent SDK for TypeScript from npm, with this program instead of `claude`. */
import { loadAgentSdk } from "../support/agent_sdk.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import {
  type ModelServerOptions,
  type ScriptedTurn,
  startModelServer,
  textEvent,
} from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { needs } from "../support/tools.ts";

const { sdk, missing } = await loadAgentSdk();
const NEVER = new Promise<never>(() => {});
const write = (id: string, path: string) => ({
  calls: [{ id, name: "write_file", args: { path, content: "x" } }],
});
const message = (content: unknown, uuid: string = crypto.randomUUID()) => ({
  type: "user",
  message: { role: "user", content },
  parent_tool_use_id: null,
  uuid,
});

/** Lines of a user that are sent one by one. */
class Script {
  readonly #lines: unknown[] = [];
  #wake = () => {};
  #ended = false;

  say(...lines: readonly unknown[]): void {
    this.#lines.push(...lines);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#lines.length > 0) yield this.#lines.shift();
      if (this.#ended) return;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}

async function world(
  script: readonly ScriptedTurn[],
  { config = "", provider = "", ...server }: ModelServerOptions & { config?: string; provider?: string } = {},
) {
  const model = startModelServer(script, server);
  const made = await makeWorld(mockConfig(model.url, config, provider));
  const pathToClaudeCodeExecutable = await made.shim("claude");
  const env = {
    PATH: Deno.env.get("PATH"),
    HOME: made.home,
    NO_COLOR: "1",
    DENO_DIR: Deno.env.get("DENO_DIR"),
  };
  return {
    model,
    made,
    options: { pathToClaudeCodeExecutable, cwd: made.dir, env, settingSources: [] },
    async [Symbol.asyncDispose]() {
      await made[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

function test(title: string, run: () => Promise<void>): void {
  const options = needs("Claude Agent SDK", missing === undefined, title, missing);
  const fn = () => missing === undefined ? run() : Promise.reject(new Error(missing));
  // The SDK keeps its timers for a while.
  Deno.test({ ...options, sanitizeOps: false, sanitizeResources: false, fn });
}

test("query of the SDK runs one task with a system prompt, a model's name and partial messages", async () => {
  await using place = await world([{ reasoning: "hmm", text: "hello" }]);
  const seen: string[] = [];
  const options = {
    ...place.options,
    model: "sonnet",
    systemPrompt: "You are terse.",
    maxTurns: 3,
    tools: ["Read", "Grep"],
    allowedTools: ["Read"],
    disallowedTools: ["Bash(rm:*)"],
    includePartialMessages: true,
  };
  let result;
  for await (const each of sdk.query({ prompt: "hi", options })) {
    seen.push(each.type);
    if (each.type === "result") result = each;
  }
  assertEquals([result.subtype, result.result, result.is_error], ["success", "hello", false]);
  for (const type of ["system", "stream_event", "assistant"]) assert(seen.includes(type), type);
  const { messages, tools } = place.model.requests[0]?.json;
  assertStringIncludes(messages[0].content, "You are terse.");
  assertEquals(tools.map((tool: { function: { name: string } }) => tool.function.name).sort(), [
    "grep",
    "read_file",
  ]);
});

test("the SDK sends several turns with images and receives errors for invalid content", async () => {
  await using place = await world([{ text: "one" }, { text: "two" }], { provider: "vision = true" });
  const script = new Script();
  // 16 by 16 pixels: a smaller one would be enlarged.
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mPQqDhBEmIY1TCqYfhqAADDSmgQB35GTAAAAABJRU5ErkJggg==";
  const image = (source: unknown) => ({ type: "image", source });
  const results: Record<string, unknown>[] = [];
  script.say(message("first"));
  for await (const each of sdk.query({ prompt: script, options: place.options })) {
    if (each.type !== "result") continue;
    results.push(each);
    if (results.length === 1) script.say(message([image({ type: "url", url: "http://127.0.0.1/x.png" })]));
    if (results.length === 2) {
      const block = image({ type: "base64", media_type: "image/png", data: png });
      script.say(message([{ type: "text", text: "look" }, block]));
    }
    if (results.length === 3) script.end();
  }
  assertEquals(results.map(({ is_error }) => is_error), [false, true, false]);
  assertStringIncludes(String((results[1]?.errors as string[])[0]), 'content[0].source.type is "url"');
  const [text, picture] = place.model.requests[1]?.json.messages.at(-1).content;
  assertEquals([text.text, picture.image_url.url], ["look", `data:image/png;base64,${png}`]);
});

test("canUseTool of the SDK allows, changes and refuses calls", async () => {
  await using place = await world([write("c1", "a.txt"), write("c2", "b.txt"), write("c3", "c.txt"), {
    text: "ok",
  }]);
  const asked: string[] = [];
  const canUseTool = (name: string, input: Record<string, unknown>) => {
    asked.push(name);
    if (input.path === "a.txt") return Promise.resolve({ behavior: "allow", updatedInput: input });
    if (input.path === "b.txt") {
      return Promise.resolve({ behavior: "allow", updatedInput: { ...input, path: "changed.txt" } });
    }
    return Promise.resolve({ behavior: "deny", message: "not this one" });
  };
  const script = new Script();
  script.say(message("go"));
  let result;
  for await (const each of sdk.query({ prompt: script, options: { ...place.options, canUseTool } })) {
    if (each.type !== "result") continue;
    result = each;
    script.end();
  }
  assertEquals(asked, ["write_file", "write_file", "write_file"]);
  assertEquals([...Deno.readDirSync(place.made.dir)].map(({ name }) => name).sort(), [
    "a.txt",
    "changed.txt",
  ]);
  assertEquals(result.permission_denials.map((each: { tool_use_id: string }) => each.tool_use_id), ["c3"]);
  assertStringIncludes(JSON.stringify(place.model.requests.at(-1)?.json.messages), "not this one");
});

test("interrupt of the SDK stops the turn, and the next turn continues", async () => {
  await using place = await world([{ stream: [textEvent("partial "), NEVER] }, { text: "two" }], {
    check: { prefix: false },
  });
  const script = new Script();
  script.say(message("first"));
  const running = sdk.query({ prompt: script, options: { ...place.options, includePartialMessages: true } });
  const results: string[] = [];
  for await (const each of running) {
    if (each.type === "stream_event" && each.event.delta?.text === "partial ") await running.interrupt();
    if (each.type !== "result") continue;
    results.push(each.subtype);
    if (results.length === 1) script.say(message("second"));
    else script.end();
  }
  assertEquals(results, ["error_during_execution", "success"]);
});

test("the SDK gets structured output, also after a repair", async () => {
  await using place = await world([{ text: "six" }, { text: '{"n":6}' }]);
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const options = { ...place.options, outputFormat: { type: "json_schema", schema } };
  let result;
  for await (const each of sdk.query({ prompt: "count", options })) if (each.type === "result") result = each;
  assertEquals([result.subtype, result.structured_output], ["success", { n: 6 }]);
});

test("the SDK changes model and mode, asks about the conversation and rewinds files", async () => {
  await using place = await world([{ text: "one" }, write("c1", "a.txt"), { text: "two" }], {
    provider: 'models = ["mock-1", "mock-2"]',
    lane: (request) => request.json.model,
  });
  const script = new Script();
  const uuid = crypto.randomUUID();
  script.say(message("first"));
  const running = sdk.query({ prompt: script, options: place.options });
  const inits: Record<string, unknown>[] = [];
  let results = 0;
  for await (const each of running) {
    if (each.subtype === "init") inits.push(each);
    if (each.type !== "result") continue;
    if (++results === 1) {
      const models = await running.supportedModels();
      assertEquals(models.map((model: { value: string }) => model.value), [
        "mock",
        "mock/mock-1",
        "mock/mock-2",
      ]);
      assertEquals(await running.mcpServerStatus(), []);
      assert((await running.getContextUsage()).totalTokens > 0);
      const wrong = await running.setModel("nobody").then(() => "", (error: Error) => error.message);
      assertStringIncludes(wrong, "nobody");
      await running.setModel("mock-2");
      await running.setPermissionMode("acceptEdits");
      script.say(message("second", uuid));
    } else {
      assertEquals(await place.made.read("a.txt"), "x");
      assertEquals((await running.rewindFiles(uuid)).canRewind, true);
      script.end();
    }
  }
  assertEquals(inits.map(({ model, permissionMode }) => [model, permissionMode]), [
    ["mock-1", "acceptEdits"],
    ["mock-2", "acceptEdits"],
  ]);
  assertEquals(inits[0]?.session_id, inits[1]?.session_id);
  assertEquals([...Deno.readDirSync(place.made.dir)].length, 0);
});
