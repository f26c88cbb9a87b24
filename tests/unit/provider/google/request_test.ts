import { assert, assertEquals } from "../../../support/assert.ts";
import type { AssistantMessage, Message, ToolSchema } from "../../../../src/core/mod.ts";
import type { ModelRequest } from "../../../../src/provider/mod.ts";
import { collect, openClient, providerEntry, takeStep } from "../../../support/model_client.ts";
import { createProvider } from "../../../../src/provider/mod.ts";
import { startModelServer } from "../../../support/model_server.ts";
import { googleWire, type PartsAnswer } from "../../../support/wires/google.ts";

const LS: ToolSchema = {
  name: "ls",
  description: "Lists files",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
const IMAGE = { mime: "image/png", data: "iVBORw0KGgo=" };
const HELLO: Message = { role: "user", content: "Hello" };

interface Sent {
  readonly model?: string;
  readonly entry?: Record<string, unknown>;
  readonly effort?: string;
  readonly generation?: number;
  readonly tools?: readonly ToolSchema[];
  readonly request?: Partial<ModelRequest>;
}

/** The body and path of the single request for these messages. */
// deno-lint-ignore no-explicit-any
async function sent(messages: readonly Message[], options: Sent = {}): Promise<any> {
  const { model = "gemini-3-pro", entry = {}, effort, generation, tools = [LS], request = {} } = options;
  const wire = googleWire({ generation: generation ?? (model.includes("-2") ? 2.5 : 3) });
  await using server = startModelServer([{ text: "ok" }], { wire });
  const provider = await createProvider({
    entry: providerEntry({ kind: "google", base_url: server.url, max_attempts: 1, ...entry }),
    model,
    version: "1",
    apiKey: "k",
    ...(effort === undefined ? {} : { effort }),
  });
  const prefix = { system: "Be brief", tools };
  let problem = "";
  const signal = new AbortController().signal;
  for await (const chunk of provider.stream({ prefix, messages, ...request }, signal)) {
    if (chunk.type === "error") problem = chunk.error.message;
  }
  assertEquals(problem, "");
  const [first] = server.requests;
  return { ...first?.json, path: first?.path, headers: first?.headers, body: first?.body };
}

function replied(calls: AssistantMessage["calls"] = [], content = ""): AssistantMessage {
  return { role: "assistant", content, calls };
}

Deno.test("google request has the model in the path, the key in a header, and stable contents first", async () => {
  const { path, headers, body, ...json } = await sent([HELLO]);
  assertEquals(path, "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse");
  assertEquals([headers.get("x-goog-api-key"), headers.get("authorization")], ["k", null]);
  assertEquals(Object.keys(JSON.parse(body)), ["systemInstruction", "tools", "contents", "generationConfig"]);
  assertEquals(json.contents, [{ role: "user", parts: [{ text: "Hello" }] }]);
  assertEquals(json.systemInstruction, { parts: [{ text: "Be brief" }] });
  assertEquals(json.tools[0].functionDeclarations[0], {
    name: "ls",
    description: "Lists files",
    parametersJsonSchema: LS.parameters,
  });
});

Deno.test("google request accepts all forms of models, base URLs and keys", async () => {
  const slashed = await sent([HELLO], { model: "models/gemini-3-pro" });
  assertEquals(slashed.path, "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse");
  const urls: string[] = [];
  const keys: (string | null)[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    urls.push(String(input));
    keys.push(headers.get("x-goog-api-key") ?? headers.get("authorization"));
    return Promise.resolve(new Response('data: {"candidates":[{"finishReason":"STOP"}]}\n\n'));
  };
  const vertex = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1";
  const cases: readonly [Record<string, unknown>, string][] = [
    [{ base_url: "https://example.test" }, "k"],
    [{ base_url: "https://example.test/v1beta/openai/" }, "k"],
    [{ base_url: `${vertex}/publishers/google` }, "k"],
    [{ base_url: `${vertex}/publishers/google` }, "ya29.token"],
    [{ base_url: "https://example.test/v1", compat: { key_header: "authorization" } }, "k"],
  ];
  for (const [fields, apiKey] of cases) {
    const entry = providerEntry({ kind: "google", ...fields });
    await collect(
      await createProvider({ entry, model: "gemini-3-pro", version: "1", apiKey, deps: { fetch } }),
    );
  }
  const path = "models/gemini-3-pro:streamGenerateContent?alt=sse";
  assertEquals(urls, [
    `https://example.test/v1beta/${path}`,
    `https://example.test/v1beta/${path}`,
    `${vertex}/publishers/google/${path}`,
    `${vertex}/publishers/google/${path}`,
    `https://example.test/v1/${path}`,
  ]);
  assertEquals(keys, ["k", "k", "k", "Bearer ya29.token", "Bearer k"]);
});

Deno.test("google request puts results of parallel calls into one turn, in the order of the calls", async () => {
  const calls = ["a", "b", "c"].map((id) => ({ id, name: "ls", arguments: `{"path":"${id}"}` }));
  const result = (callId: string): Message => ({ role: "tool", callId, name: "ls", content: `of ${callId}` });
  const { contents } = await sent([HELLO, replied(calls), result("c"), result("a"), result("b"), {
    role: "user",
    content: "and?",
  }]);
  assertEquals(contents.length, 3);
  assertEquals(
    contents[1].parts.map(({ functionCall }: { functionCall: { args: unknown } }) => functionCall.args),
    [
      { path: "a" },
      { path: "b" },
      { path: "c" },
    ],
  );
  // deno-lint-ignore no-explicit-any
  const parts = contents[2].parts.map((part: any) => part.functionResponse?.response.output ?? part.text);
  assertEquals(parts, ["of a", "of b", "of c", "and?"]);
});

Deno.test("google request marks calls of other models as unsigned for models that ask for signatures", async () => {
  const calls = ["a", "b"].map((id) => ({ id, name: "ls", arguments: "not json" }));
  const results = calls.map(({ id }): Message => ({ role: "tool", callId: id, name: "ls", content: "" }));
  const messages: Message[] = [HELLO, {
    ...replied(calls, "I look"),
    parts: [{ kind: "anthropic", provider: "x", model: "y", data: { secret: "SIGNED" } }],
  }, ...results];
  const { contents, body } = await sent(messages);
  const [text, first, second] = contents[1].parts;
  assertEquals(text, { text: "I look" });
  assertEquals(first.functionCall, { name: "ls", args: { invalid_json: "not json" } });
  assertEquals(first.thoughtSignature, "skip_thought_signature_validator");
  assertEquals(second.thoughtSignature, undefined);
  assert(!body.includes("SIGNED"));
  const old = await sent(messages, { model: "gemini-2.5-pro" });
  assert(!old.body.includes("thoughtSignature"));
});

Deno.test("google request sends images if the model generation accepts them", async () => {
  const calls = [{ id: "a", name: "ls", arguments: "{}" }];
  const messages: Message[] = [
    { role: "user", content: "", images: [IMAGE] },
    replied(calls),
    { role: "tool", callId: "a", name: "ls", content: "one", images: [IMAGE] },
  ];
  const entry = { vision: true };
  const inline = { inlineData: { mimeType: IMAGE.mime, data: IMAGE.data } };
  const newer = await sent(messages, { entry });
  assertEquals(newer.contents[0].parts, [inline]);
  assertEquals(newer.contents[2].parts, [
    { functionResponse: { name: "ls", response: { output: "one" }, parts: [inline] } },
  ]);
  const older = await sent(messages, { entry, model: "gemini-2.5-flash" });
  assertEquals(older.contents[2].parts, [
    { functionResponse: { name: "ls", response: { output: "one" } } },
    { text: "Images from the tool results above:" },
    inline,
  ]);
  const blind = await sent(messages, { entry: { vision: false } });
  assertEquals(blind.contents[0].parts, [{ text: "[1 image left out: this model takes no images]" }]);
});

Deno.test("google request enables thinking in the form of the model generation", async () => {
  const facts = { facts: "google" };
  const cases: readonly [string, string | undefined, unknown][] = [
    ["gemini-3.1-pro-preview", undefined, { includeThoughts: true }],
    ["gemini-3.1-pro-preview", "high", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3.1-pro-preview", "max", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3.1-pro-preview", "none", { includeThoughts: true, thinkingLevel: "low" }],
    ["gemini-3.5-flash", "minimal", { includeThoughts: true, thinkingLevel: "minimal" }],
    ["gemini-2.5-flash", "low", { includeThoughts: true, thinkingBudget: 4096 }],
    ["gemini-2.5-flash", "none", { thinkingBudget: 0 }],
    ["gemini-2.5-flash", "max", { includeThoughts: true, thinkingBudget: 24576 }],
    ["gemini-2.5-flash-lite", undefined, undefined],
    ["gemini-2.0-flash", undefined, undefined],
    ["gemma-3-27b-it", undefined, undefined],
    ["my-tuned-model", undefined, { includeThoughts: true }],
  ];
  for (const [model, effort, config] of cases) {
    const generation = /-2|gemma/.test(model) ? 2.5 : 3;
    const { generationConfig = {} } = await sent([HELLO], {
      model,
      generation,
      entry: facts,
      ...(effort === undefined ? {} : { effort }),
    });
    assertEquals([model, effort, generationConfig.thinkingConfig], [model, effort, config]);
  }
});

Deno.test("google request adds tokens for thinking to a short limit, and forbids calls but keeps tools", async () => {
  const { generationConfig, toolConfig, tools } = await sent([HELLO], {
    entry: { temperature: 0.5, top_p: 0.9, seed: 7 },
    request: { maxOutputTokens: 100, toolChoice: "none" },
  });
  assert(generationConfig.maxOutputTokens > 1000);
  assertEquals([generationConfig.temperature, generationConfig.topP, generationConfig.seed], [0.5, 0.9, 7]);
  assertEquals(toolConfig, { functionCallingConfig: { mode: "NONE" } });
  assertEquals(tools.length, 1);
  const auto = { request: { toolChoice: "auto" as const } };
  assertEquals((await sent([HELLO], auto)).toolConfig, { functionCallingConfig: { mode: "AUTO" } });
  const own = { functionCallingConfig: { mode: "ANY" } };
  assertEquals((await sent([HELLO], { ...auto, entry: { extra: { toolConfig: own } } })).toolConfig, own);
  const flash = await sent([HELLO], {
    model: "gemini-2.5-flash",
    effort: "none",
    entry: { facts: "google" },
    request: { maxOutputTokens: 100 },
  });
  assertEquals(flash.generationConfig.maxOutputTokens, 100);
});

Deno.test("google request merges nested user settings into the generation config", async () => {
  const { safetySettings, generationConfig, tools } = await sent([HELLO], {
    entry: {
      extra: {
        safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
        generationConfig: { topK: 3, thinkingConfig: { thinkingLevel: "low" } },
        tools: [{ googleSearch: {} }],
      },
    },
  });
  assertEquals(safetySettings.length, 1);
  assertEquals(generationConfig, {
    topK: 3,
    thinkingConfig: { includeThoughts: true, thinkingLevel: "low" },
  });
  assertEquals(tools[1], { googleSearch: {} });
});

Deno.test("google request declares tools without arguments and with unusual names", async () => {
  const odd = { name: "3d.view", description: "", parameters: { type: "object", properties: {} } };
  const { tools } = await sent([HELLO], { tools: [odd] });
  assertEquals(tools[0].functionDeclarations, [{ name: "_3d_view", description: "" }]);
});

Deno.test("google request returns each signature on its original part, and the server's ids", async () => {
  const wire = googleWire();
  const turns: PartsAnswer[] = [
    {
      parts: [
        { text: "hm", thought: true },
        { text: "deep", thought: true, signed: true },
        { text: "I " },
        { text: "look" },
        { text: " now", signed: true },
        { text: ".", signed: true },
        { functionCall: { id: "srv-1", name: "ls", args: { path: "a" } }, signed: true },
        { functionCall: { name: "ls", args: { path: "b" } } },
        { functionCall: { id: "srv-1", name: "ls" } },
      ],
    },
    { text: "done" },
    { text: "again" },
  ];
  await using server = startModelServer(turns as Record<string, unknown>[], {
    wire,
    check: { prefix: true },
  });
  const provider = await openClient(server);
  const messages: Message[] = [{ role: "user", content: "Go" }];
  for (let step = 0; step < 3; step++) {
    const { calls } = await takeStep(provider, messages);
    if (calls.length === 0) messages.push({ role: "user", content: "more" });
  }
  const last = server.requests.at(-1);
  assertEquals(wire.signatures.given.length, 6);
  for (const signature of wire.signatures.given.slice(0, 5)) assert(last?.body.includes(signature));
  assertEquals(wire.signatures.dummies.size, 0);
  const [, model, results] = last?.json.contents;
  // deno-lint-ignore no-explicit-any
  assertEquals(model.parts.map((part: any) => part.text ?? part.functionCall.id ?? ""), [
    "deep",
    "I look",
    " now",
    ".",
    "srv-1",
    "",
    "srv-1",
  ]);
  // deno-lint-ignore no-explicit-any
  assertEquals(results.parts.map((part: any) => part.functionResponse.id), ["srv-1", undefined, "srv-1"]);
});

Deno.test("google request omits signatures when their text was changed", async () => {
  const wire = googleWire();
  await using server = startModelServer([{ text: "one" }, { text: "two" }], { wire });
  const provider = await openClient(server);
  const { chunks } = await collect(provider, [HELLO]);
  const parts = chunks.flatMap((chunk) => chunk.type === "part" ? [chunk.part] : []);
  assertEquals(parts.length, 1);
  const changed: Message = { role: "assistant", content: "another", parts };
  await collect(provider, [HELLO, changed, { role: "user", content: "?" }]);
  assertEquals(server.requests[1]?.json.contents[1], { role: "model", parts: [{ text: "another" }] });
});

Deno.test("google rejects a model name that leads to another path of the host", async () => {
  for (
    const model of ["../../evil/v1", "a/../../evil", "%2e%2e/%2E%2E/evil", "..\\..\\evil", ".\t./.\n./evil"]
  ) {
    await using server = startModelServer([], { wire: googleWire({ generation: 3 }) });
    const entry = providerEntry({ kind: "google", base_url: server.url, max_attempts: 1 });
    const refused = await createProvider({ entry, model, version: "1", apiKey: "k" })
      .then((provider) => collect(provider)).then(({ error }) => error?.message, String);
    assert(refused?.includes("leads out of the path of models"), `${JSON.stringify(model)}: ${refused}`);
    assertEquals(server.requests.length, 0);
  }
});
