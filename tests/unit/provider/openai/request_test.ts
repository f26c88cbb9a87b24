import { assert, assertEquals } from "../../../support/assert.ts";
import type { Message } from "../../../../src/core/mod.ts";
import { ChatMessages } from "../../../../src/provider/kinds/openai/chat_request.ts";
import { RequestBuffer } from "../../../../src/provider/wire/request_buffer.ts";
import { providerEntry } from "../../../support/model_client.ts";
import { pairingProblems, rawMessages } from "../../../support/model_checks.ts";

const TOOL = { name: "ls", description: "Lists", parameters: { type: "object" } };
const PREFIX = { system: "Be brief", tools: [TOOL] };
const TASK: Message = { role: "user", content: "Go" };
const IMAGE = { mime: "image/png", data: "AAAA" };

function writer(fields: Record<string, unknown> = {}, effort?: string): RequestBuffer {
  const entry = providerEntry(fields);
  const options = {
    entry,
    model: {
      provider: entry.name,
      id: "m",
      vision: entry.vision ?? false,
      ...(entry.max_output_tokens === undefined ? {} : { maxOutputTokens: entry.max_output_tokens }),
    },
    ...(effort ? { effort } : {}),
  };
  return new RequestBuffer(({ prefix }) => new ChatMessages(options, prefix));
}

const decode = (bytes: Uint8Array) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

function sent(fields: Record<string, unknown>, messages: readonly Message[] = [TASK], more = {}) {
  return JSON.parse(decode(writer(fields).body({ prefix: PREFIX, messages, ...more })));
}

Deno.test("The request has only required fields by default", () => {
  assertEquals(sent({}), {
    model: "m",
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: "function", function: TOOL }],
    messages: [{ role: "system", content: "Be brief" }, { role: "user", content: "Go" }],
  });
});

Deno.test("The request sends sampling, limits and extra fields when they are configured", () => {
  const body = sent({
    temperature: 0,
    top_p: 0.9,
    seed: 7,
    max_output_tokens: 100,
    extra_body: { a: 1, b: 1 },
    extra: { b: 2, stream_options: { include_usage: false }, messages: "no" },
    compat: { max_tokens_field: "max_completion_tokens", parallel_tool_calls: false, stream_usage: false },
  });
  const { temperature, top_p, seed, max_completion_tokens, a, b, parallel_tool_calls, stream_options } = body;
  assertEquals(
    { temperature, top_p, seed, max_completion_tokens, a, b, parallel_tool_calls, stream_options },
    {
      temperature: 0,
      top_p: 0.9,
      seed: 7,
      max_completion_tokens: 100,
      a: 1,
      b: 2,
      parallel_tool_calls: false,
      stream_options: { include_usage: false },
    },
  );
  assertEquals(body.messages.length, 2);
});

Deno.test("The request leaves the limit or tool choice to extra when it sets them", () => {
  const fields = { extra: { max_tokens: 5, tool_choice: "required", tools: [{ type: "web_search" }] } };
  const plain = sent(fields);
  assertEquals([plain.max_tokens, plain.tool_choice], [5, "required"]);
  assertEquals(plain.tools.map((tool: { type: string }) => tool.type), ["function", "web_search"]);
  const own = sent(fields, [TASK], { maxOutputTokens: 9, toolChoice: "none" });
  assertEquals([own.max_tokens, own.tool_choice], [9, "none"]);
});

Deno.test("The request omits the tool choice without tools or when the server does not accept it", () => {
  assertEquals(
    sent({ compat: { tool_choice: false } }, [TASK], { toolChoice: "none" }).tool_choice,
    undefined,
  );
  const bare = { prefix: { system: "", tools: [] }, messages: [TASK], toolChoice: "none" } as const;
  const body = JSON.parse(decode(writer().body(bare)));
  assertEquals(Object.keys(body), ["model", "stream", "stream_options", "messages"]);
  assertEquals(body.messages.length, 1);
});

Deno.test("The request puts the effort into the configured field", () => {
  const request = { prefix: PREFIX, messages: [TASK] };
  const nested = writer({
    compat: { effort_field: "reasoning.effort" },
    extra: { reasoning: { exclude: true } },
  }, "low");
  assertEquals(JSON.parse(decode(nested.body(request))).reasoning, { exclude: true, effort: "low" });
  assertEquals(sent({ effort: "high" }).reasoning_effort, undefined);
  assertEquals(JSON.parse(decode(writer({ effort: "high" }, "low").body(request))).reasoning_effort, "low");
});

const CALLED: Message = {
  role: "assistant",
  content: "",
  reasoning: "hm",
  calls: [{ id: "1", name: "ls", arguments: "{}" }, { id: "2", name: "ls", arguments: "{}" }],
};
const result = (callId: string, images?: Message["role"]): Message => ({
  role: "tool",
  callId,
  name: "ls",
  content: "a.txt",
  ...(images ? { images: [IMAGE] } : {}),
});

Deno.test("The request writes assistant and tool messages as the compat flags say", () => {
  const messages = [TASK, CALLED, result("1"), result("2"), {
    role: "assistant",
    content: "So",
    reasoning: "ok",
  }] as Message[];
  const plain = sent({}, messages).messages;
  assertEquals([plain[2].content, plain[2].reasoning_content, plain[3].name], [null, undefined, undefined]);
  const compat = {
    null_content: false,
    tool_name: true,
    reasoning_field: "reasoning_content",
    system_role: "developer",
  };
  const other = sent({ compat }, messages).messages;
  assertEquals([other[0].role, other[2].content, other[2].reasoning_content, other[3].name], [
    "developer",
    "",
    "hm",
    "ls",
  ]);
  assertEquals(other[5].reasoning_content, undefined);
  const all = sent({ compat: { ...compat, reasoning_scope: "all" } }, messages).messages;
  assertEquals(all[5].reasoning_content, "ok");
});

Deno.test("The request sends images of tools after the last result of the group when the model sees", () => {
  const messages = [TASK, CALLED, result("1", "user"), result("2", "user"), {
    role: "user",
    content: "and?",
    images: [IMAGE],
  }];
  const body = sent({ vision: true }, messages as Message[]).messages;
  assertEquals(body.map((m: { role: string }) => m.role), [
    "system",
    "user",
    "assistant",
    "tool",
    "tool",
    "user",
    "user",
  ]);
  assertEquals(pairingProblems(body), []);
  assertEquals(body[5].content.filter((part: { type: string }) => part.type === "image_url").length, 2);
  assertEquals(body[6].content, [
    { type: "text", text: "and?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
  ]);
});

Deno.test("The request notes omitted images for a model without vision", () => {
  const body = sent({}, [TASK, CALLED, result("1", "user"), result("2"), {
    role: "user",
    content: "",
    images: [IMAGE, IMAGE],
  }]).messages;
  assertEquals(body[3].content, "a.txt\n[1 image left out: this model takes no images]");
  assertEquals(body[5].content, "[2 images left out: this model takes no images]");
});

Deno.test("The request body is a byte prefix of the next one when messages are appended", () => {
  const write = writer({ vision: true, max_output_tokens: 50 });
  const messages: Message[] = [TASK];
  let previous = "";
  for (let step = 0; step < 60; step++) {
    const toolChoice = step % 7 === 3 ? "none" as const : "auto" as const;
    const text = decode(write.body({ prefix: PREFIX, messages, toolChoice, maxOutputTokens: 50 + step }));
    const upToEnd = text.slice(0, text.lastIndexOf("]"));
    assert(upToEnd.startsWith(previous), `step ${step}`);
    assertEquals(JSON.parse(`[${rawMessages(text)}]`).length, JSON.parse(text).messages.length);
    previous = upToEnd;
    messages.push(CALLED, result("1", step % 5 === 0 ? "user" : undefined), result("2"));
    if (step % 9 === 0) messages.push({ role: "user", content: `é ${step} "quoted" ]` });
  }
});

Deno.test("The request has the same bytes when a session is resumed", () => {
  const write = writer({ vision: true });
  const messages: Message[] = [TASK];
  write.body({ prefix: PREFIX, messages });
  messages.push(CALLED, result("1", "user"), result("2"));
  write.body({ prefix: PREFIX, messages });
  messages.push({ role: "user", content: "more" });
  const grown = decode(write.body({ prefix: PREFIX, messages }));
  assertEquals(
    decode(writer({ vision: true }).body({ prefix: { ...PREFIX }, messages: [...messages] })),
    grown,
  );
});

Deno.test("The request is rebuilt after a compaction or a changed prefix", () => {
  const write = writer();
  const messages: Message[] = [TASK, { role: "assistant", content: "a" }];
  write.body({ prefix: PREFIX, messages });
  messages.splice(0, 2, { role: "user", content: "digest" }, { role: "user", content: "x" }, {
    role: "user",
    content: "y",
  });
  assertEquals(JSON.parse(decode(write.body({ prefix: PREFIX, messages }))).messages.length, 4);
  const other = JSON.parse(decode(write.body({ prefix: { system: "New", tools: [] }, messages })));
  assertEquals([other.messages[0].content, other.tools], ["New", undefined]);
});

Deno.test("The request serializes each message once", () => {
  let read = 0;
  const counted: Message = {
    role: "user",
    get content() {
      read++;
      return "x".repeat(100_000);
    },
  };
  const messages: Message[] = [counted];
  const write = writer();
  write.body({ prefix: PREFIX, messages });
  const once = read;
  for (let step = 0; step < 20; step++) {
    messages.push({ role: "user", content: `${step}` });
    write.body({ prefix: PREFIX, messages });
  }
  assertEquals(read, once);
});
