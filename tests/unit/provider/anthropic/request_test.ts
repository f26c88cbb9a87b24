import { assert, assertEquals } from "../../../support/assert.ts";
import type { Message, ToolSchema } from "../../../../src/core/mod.ts";
import { InstantClock, openClient, PREFIX } from "../../../support/model_client.ts";
import { startModelServer } from "../../../support/model_server.ts";
import { anthropicWire } from "../../../support/wires/anthropic.ts";

interface Asked {
  readonly entry?: Record<string, unknown>;
  readonly tools?: readonly ToolSchema[];
  readonly system?: string;
  readonly toolChoice?: "auto" | "none";
  readonly maxOutputTokens?: number;
  readonly apiKey?: string;
}

/** The request for these messages; the server rejects what its vendor rejects. */
async function sent(messages: readonly Message[], asked: Asked = {}) {
  const { entry = {}, tools = [], system = PREFIX.system, apiKey, ...rest } = asked;
  await using server = startModelServer([{ text: "ok" }], { wire: anthropicWire() });
  const provider = await openClient(server, {
    entry,
    clock: new InstantClock(),
    ...(apiKey ? { apiKey } : {}),
  });
  const request = { prefix: { system, tools }, messages, ...rest };
  for await (const chunk of provider.stream(request, new AbortController().signal)) {
    if (chunk.type === "error") throw new Error(chunk.error.message);
  }
  const [first] = server.requests;
  assert(first);
  return first;
}

const USER: Message = { role: "user", content: "Hello" };
const TOOL: ToolSchema = { name: "ls", description: "Lists", parameters: { type: "object", properties: {} } };
const MARK = { type: "ephemeral" };

function call(id: string, args = "{}"): Message {
  return { role: "assistant", content: "", calls: [{ id, name: "ls", arguments: args }] };
}

function result(callId: string, content = "ok"): Message {
  return { role: "tool", callId, name: "ls", content };
}

Deno.test("anthropic request sets cache breakpoints after tools, system prompt and conversation", async () => {
  const { json } = await sent([USER, call("a"), result("a")], { tools: [TOOL, { ...TOOL, name: "glob" }] });
  assertEquals(json.tools.map((tool: Message & { cache_control?: unknown }) => tool.cache_control), [
    undefined,
    MARK,
  ]);
  assertEquals(json.system, [{ type: "text", text: "Be brief", cache_control: MARK }]);
  assertEquals(json.messages, [
    { role: "user", content: [{ type: "text", text: "Hello", cache_control: MARK }] },
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "ls", input: {} }] },
    {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: "a",
        content: [{ type: "text", text: "ok" }],
        cache_control: MARK,
      }],
    },
  ]);
  assertEquals(Object.keys(json), ["model", "stream", "tools", "system", "messages", "max_tokens"]);
});

Deno.test("anthropic request puts all results of a reply into one message, before the user's text", async () => {
  const calls = ["a", "b"].map((id) => ({ id, name: "ls", arguments: "{}" }));
  const { json } = await sent([
    USER,
    { role: "assistant", content: "Both", calls },
    result("a"),
    result("b"),
    { role: "user", content: "and now?" },
  ]);
  const types = json.messages[2].content.map(({ type }: { type: string }) => type);
  assertEquals([json.messages.length, types], [3, ["tool_result", "tool_result", "text"]]);
});

Deno.test("anthropic request joins consecutive user messages", async () => {
  const { json } = await sent([USER, { role: "user", content: "more" }]);
  assertEquals(json.messages[0].content.map(({ text }: { text: string }) => text), ["Hello", "more"]);
});

Deno.test("anthropic request never has an empty text", async () => {
  const { json } = await sent([
    { role: "user", content: " \n" },
    { role: "assistant", content: "  " },
    { role: "assistant", content: "", calls: [{ id: "a", name: "ls", arguments: "" }] },
    result("a", ""),
  ], { system: " " });
  assertEquals(json.system, undefined);
  assertEquals(json.messages[0].content[0].text, "(empty message)");
  assertEquals(json.messages[2].content[0].content, undefined);
});

Deno.test("anthropic request ends with a user message when the conversation ends with an answer", async () => {
  const { json } = await sent([USER, { role: "assistant", content: "half an ans" }]);
  assertEquals(json.messages.at(-1).content[0].text, "Continue.");
  const between = await sent([
    { role: "assistant", content: "first" },
    { role: "assistant", content: "second" },
    USER,
  ]);
  assertEquals(
    between.json.messages.map(({ role }: { role: string }) => role),
    [
      ..."ua".repeat(2),
      "u",
    ].map((role) => role === "u" ? "user" : "assistant"),
  );
});

Deno.test("anthropic request keeps arguments unchanged and wraps those that are not objects", async () => {
  const { body, json } = await sent([
    USER,
    call("a", '{ "n": 1.0e3 }'),
    result("a"),
    call("b", "[1"),
    result("b"),
  ]);
  assert(body.includes('"input":{ "n": 1.0e3 }'));
  assertEquals(json.messages[3].content[0].input, { invalid_json: "[1" });
});

Deno.test("anthropic request gives calls of other providers valid and unique ids", async () => {
  const { json } = await sent([
    USER,
    call("functions.ls:0"),
    result("functions.ls:0"),
    call("functions_ls_0"),
    result("functions_ls_0"),
    call("任务"),
    result("任务"),
  ]);
  const ids = json.messages.flatMap((
    { content }: { content: readonly { id?: string; tool_use_id?: string }[] },
  ) => content.flatMap(({ id, tool_use_id }) => id ?? tool_use_id ?? []));
  assertEquals(ids, [
    "functions_ls_0",
    "functions_ls_0",
    "functions_ls_0_2",
    "functions_ls_0_2",
    "__",
    "__",
  ]);
});

Deno.test("anthropic request sends images of the user and of tools, and a note to models without vision", async () => {
  const images = [{ mime: "image/png", data: "iVBORw0K" }];
  const messages: Message[] = [
    { ...USER, images },
    call("a"),
    { ...result("a"), role: "tool", images } as Message,
  ];
  const { json } = await sent(messages, { entry: { vision: true } });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0K" } };
  assertEquals(json.messages[0].content[1].source, image.source);
  assertEquals(json.messages[2].content[0].content[1], image);
  const blind = await sent(messages);
  assertEquals(
    blind.json.messages[0].content[0].text,
    "Hello\n[1 image left out: this model takes no images]",
  );
});

Deno.test("anthropic request merges top-level alternatives of a tool's schema", async () => {
  const branch = (name: string, ...required: string[]) => ({
    properties: { [name]: { type: "string" } },
    required,
  });
  const parameters = {
    properties: { all: { type: "boolean" } },
    required: ["all"],
    anyOf: [branch("path", "path", "both"), branch("url", "url", "both")],
    allOf: [branch("both"), { required: ["extra"] }],
  };
  const { json } = await sent([USER], { tools: [{ ...TOOL, parameters }] });
  const { type, properties, required, anyOf } = json.tools[0].input_schema;
  assertEquals([type, Object.keys(properties).sort(), required.sort(), anyOf], [
    "object",
    ["all", "both", "path", "url"],
    ["all", "both", "extra"],
    undefined,
  ]);
});

Deno.test("anthropic request declares the tools when calls are forbidden", async () => {
  const none = await sent([USER], { tools: [TOOL], toolChoice: "none" });
  assertEquals([none.json.tool_choice, none.json.tools.length], [{ type: "none" }, 1]);
  const single = await sent([USER], { tools: [TOOL], entry: { compat: { parallel_tool_calls: false } } });
  assertEquals(single.json.tool_choice, { type: "auto", disable_parallel_tool_use: true });
  assertEquals((await sent([USER], { toolChoice: "none" })).json.tool_choice, undefined);
  assertEquals((await sent([USER], { tools: [TOOL], toolChoice: "auto" })).json.tool_choice, {
    type: "auto",
  });
  const mute = { tools: [TOOL], toolChoice: "auto", entry: { compat: { tool_choice: false } } } as const;
  assertEquals((await sent([USER], mute)).json.tool_choice, undefined);
});

Deno.test("anthropic request uses the token limit of the request, the entry or the default", async () => {
  const limits = [{}, { entry: { max_output_tokens: 500 } }, { maxOutputTokens: 100 }, {
    entry: { extra: { max_tokens: 7 } },
  }];
  const found = [];
  for (const asked of limits) found.push((await sent([USER], asked)).json.max_tokens);
  assertEquals(found, [32_000, 500, 100, 7]);
});

Deno.test("anthropic request merges extra and appends its tools", async () => {
  const extra = { tools: [{ type: "web_search_20250305", name: "web_search" }], metadata: { user_id: "u" } };
  const { json } = await sent([USER], { tools: [TOOL], entry: { extra } });
  assertEquals(json.tools.map(({ name }: ToolSchema) => name), ["ls", "web_search"]);
  assertEquals([json.tools[1].cache_control, json.metadata], [MARK, { user_id: "u" }]);
});

Deno.test("anthropic request sends the key as configured, and the API version", async () => {
  const { headers } = await sent([USER], { apiKey: "sk-ant-1234567" });
  assertEquals([headers.get("x-api-key"), headers.get("authorization")], ["sk-ant-1234567", null]);
  assertEquals(headers.get("anthropic-version"), "2023-06-01");
  const gateway = await sent([USER], {
    apiKey: "key-of-gateway",
    entry: { compat: { key_header: "authorization" } },
  });
  assertEquals([gateway.headers.get("x-api-key"), gateway.headers.get("authorization")], [
    null,
    "Bearer key-of-gateway",
  ]);
});

Deno.test("anthropic provider derives the messages path from any usual base URL", async () => {
  for (const path of ["", "/", "/v1", "/v1/", "/v1/messages"]) {
    await using server = startModelServer([{ text: "ok" }], { wire: anthropicWire() });
    const provider = await openClient({ url: server.url + path, wire: server.wire }, {
      clock: new InstantClock(),
    });
    const request = { prefix: PREFIX, messages: [USER] };
    for await (const chunk of provider.stream(request, new AbortController().signal)) {
      if (chunk.type === "error") throw new Error(chunk.error.message);
    }
    assertEquals(server.requests[0]?.path, "/v1/messages");
  }
});
