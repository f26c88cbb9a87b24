import type { Message } from "../../../../src/core/mod.ts";
import type { Provider } from "../../../../src/provider/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  collect,
  HELLO,
  messageOf,
  openClient,
  type Outcome,
  takeStep,
} from "../../../support/model_client.ts";
import { startModelServer } from "../../../support/model_server.ts";
import { ResponsesWire } from "../../../support/wires/responses.ts";

const CALLS = [{ id: "c1", name: "read_file", args: { path: "a" } }, { id: "c2", name: "ls" }];

/** Runs replies in one conversation; every call gets a result. */
async function converse(provider: Provider, messages: Message[], replies: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let at = 0; at < replies; at++) {
    const outcome = await takeStep(provider, messages, { result: ({ id }) => `result of ${id}` });
    outcomes.push(outcome);
    if (outcome.calls.length === 0) messages.push({ role: "user", content: `and ${at}?` });
  }
  return outcomes;
}

Deno.test("responses returns encrypted reasoning before its calls", async () => {
  const script = [{ reasoning: "First this.\n\nThen that.", text: "Looking.", calls: CALLS }, {
    text: "Done.",
  }];
  await using server = startModelServer(script, { wire: new ResponsesWire() });
  const [first, second] = await converse(await openClient(server), [...HELLO], 2);
  assertEquals([first?.reasoning, first?.text, first?.reason], [
    "First this.\n\nThen that.",
    "Looking.",
    "tool_calls",
  ]);
  assertEquals(second?.text, "Done.");
  const { input, store, include, instructions } = server.requests[1]?.json;
  assertEquals([store, include, instructions], [false, ["reasoning.encrypted_content"], "Be brief"]);
  const [user, reasoning, text, ...calls] = input;
  assertEquals(user, { type: "message", role: "user", content: "Hello" });
  assertEquals(reasoning.summary.map((part: { text: string }) => part.text), ["First this.", "Then that."]);
  assert(reasoning.id.startsWith("rs_") && reasoning.encrypted_content.startsWith("gAAAA"));
  assertEquals(text, { type: "message", role: "assistant", content: "Looking." });
  assertEquals(calls, [
    { type: "function_call", call_id: "c1", name: "read_file", arguments: '{"path":"a"}' },
    { type: "function_call", call_id: "c2", name: "ls", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "result of c1" },
    { type: "function_call_output", call_id: "c2", output: "result of c2" },
  ]);
});

Deno.test("responses omits reasoning of another model or provider", async () => {
  const script = [{ reasoning: "Mine.", text: "Hi." }, { text: "Hello." }, { text: "Ho." }];
  await using server = startModelServer(script, { wire: new ResponsesWire(), check: { prefix: false } });
  const messages: Message[] = [...HELLO];
  await converse(await openClient(server), messages, 1);
  await converse(await openClient(server, { entry: { name: "other" } }), messages, 1);
  const types = (at: number) => server.requests[at]?.json.input.map((item: { type: string }) => item.type);
  assertEquals(types(1), ["message", "message", "message"]);
  await converse(await openClient(server), messages, 1);
  assertEquals(types(2), ["message", "reasoning", "message", "message", "message", "message"]);
});

Deno.test("responses sends only text and calls when message and part do not match", async () => {
  const script = [{ reasoning: "Mine.", text: "Hi." }, { text: "Hello." }];
  await using server = startModelServer(script, { wire: new ResponsesWire() });
  const provider = await openClient(server);
  const reply = messageOf(await collect(provider));
  await collect(provider, [...HELLO, { ...reply, content: "Changed." }, ...HELLO]);
  assertEquals(server.requests[1]?.json.input[1], {
    type: "message",
    role: "assistant",
    content: "Changed.",
  });
});

Deno.test("responses drops reasoning that another server or key has encrypted", async () => {
  const messages: Message[] = [...HELLO];
  await using first = startModelServer([{ reasoning: "Hm.", text: "a" }], { wire: new ResponsesWire() });
  await converse(await openClient(first), messages, 1);
  // Another server cannot decrypt the reasoning of the first.
  const wire = new ResponsesWire();
  await using second = startModelServer([{ reasoning: "Ha.", text: "b" }, { text: "c" }], { wire });
  const [noisy, quiet] = await converse(await openClient(second), messages, 2);
  assertEquals([noisy?.text, noisy?.retries.length, quiet?.retries.length], ["b", 1, 0]);
  assert(noisy?.retries[0]?.reason.includes("omits reasoning.encrypted_content"));
  const types = second.requests.map(({ json }) => json.input.map((item: { type: string }) => item.type));
  const plain = ["message", "message", "message"];
  assertEquals(types, [["message", "reasoning", "message", "message"], plain, [
    ...plain,
    "reasoning",
    "message",
    "message",
  ]]);
  // The server rejects the same item again, which no agent could know before.
  second.violations.length = 0;
});

Deno.test("responses returns server items unchanged and in order", async () => {
  const search = { id: "ws_1", type: "web_search_call", status: "completed", action: { query: "weather" } };
  const message = (text: string) => ({ type: "message", content: [{ type: "output_text", text }] });
  const output = [message("I search."), search, message("Sunny.")];
  const body = { id: "resp_x", object: "response", status: "completed", output };
  await using server = startModelServer([{ body }, { text: "b" }], { wire: new ResponsesWire() });
  const [first] = await converse(await openClient(server), [...HELLO], 2);
  assertEquals([first?.text, first?.reason], ["I search.\n\nSunny.", "stop"]);
  const said = (content: string) => ({ type: "message", role: "assistant", content });
  assertEquals(server.requests[1]?.json.input.slice(1, 4), [said("I search."), search, said("Sunny.")]);
});

Deno.test("responses sends only new items when the server stores the conversation", async () => {
  const wire = new ResponsesWire({ entry: { store: true } });
  const script = [{ reasoning: "Hm.", calls: CALLS }, { text: "Done." }, { text: "More." }, {
    text: "Again.",
  }];
  await using server = startModelServer(script, { wire });
  const messages: Message[] = [...HELLO];
  const provider = await openClient(server);
  await converse(provider, messages, 3);
  const sent = server.requests.map(({ json }) => [
    json.previous_response_id !== undefined,
    json.input.map((item: { type: string }) => item.type),
    json.instructions,
  ]);
  assertEquals(sent, [
    [false, ["message"], "Be brief"],
    [true, ["function_call_output", "function_call_output"], "Be brief"],
    [true, ["message"], "Be brief"],
  ]);
  // A resumed session, with another array of the same messages.
  await converse(await openClient(server), [...messages], 1);
  assertEquals(server.requests[3]?.json.input.length, 1);
});

Deno.test("responses sends everything again when a stored reply is missing, then only new items", async () => {
  const wire = new ResponsesWire({ entry: { store: true }, losesAt: 2 });
  await using server = startModelServer([{ text: "a" }, { text: "b" }, { text: "c" }], { wire });
  const outcomes = await converse(await openClient(server), [...HELLO], 3);
  assertEquals(outcomes.map(({ retries }) => retries.length), [0, 0, 0]);
  const sent = server.requests.map(({ json }) => [json.previous_response_id ?? "", json.input.length]);
  const [first, second] = [sent[1]?.[0], sent[3]?.[0]];
  assert(first !== second && first !== "" && second !== "");
  assertEquals(sent, [["", 1], [first, 1], ["", 3], [second, 1]]);
});

Deno.test("responses sends everything when the server stores nothing or rejects the field", async () => {
  const script = () => [{ text: "a" }, { text: "b" }, { text: "c" }, { text: "d" }];
  const forgets = new ResponsesWire({ entry: { store: true }, losesAt: "always" });
  await using one = startModelServer(script(), { wire: forgets });
  await converse(await openClient(one), [...HELLO], 4);
  const asked = (server: typeof one) =>
    server.requests.map(({ json }) => json.previous_response_id === undefined ? "all" : "rest");
  assertEquals(asked(one), ["all", "rest", "all", "rest", "all", "all"]);
  const refuses = new ResponsesWire({ entry: { store: true }, refuses: ["store"] });
  await using two = startModelServer(script(), { wire: refuses });
  await converse(await openClient(two), [...HELLO], 3);
  assertEquals(asked(two), ["all", "all", "all", "all"]);
});

Deno.test("responses never continues from a stored reply of another conversation", async () => {
  const wire = new ResponsesWire({ entry: { store: true } });
  await using server = startModelServer([{ text: "a" }, { text: "b" }, { text: "c" }, { text: "d" }], {
    wire,
  });
  const messages: Message[] = [...HELLO];
  await converse(await openClient(server), messages, 2);
  const compacted: Message[] = [{ role: "user", content: "What was before" }, ...messages.slice(3)];
  await converse(await openClient(server), compacted, 1);
  assertEquals(server.requests[2]?.json.previous_response_id, undefined);
  // After a rewind to the first reply, that reply is still stored.
  await converse(await openClient(server), [...messages.slice(0, 2), { role: "user", content: "Else?" }], 1);
  assertEquals(server.requests[3]?.json.input.length, 1);
});

Deno.test("responses drops a rejected field of the configuration and reports it once", async () => {
  const refuses = ["temperature", "reasoning.summary"];
  const wire = new ResponsesWire({ refuses, entry: { temperature: 0.2, effort: "low" } });
  await using server = startModelServer([{ text: "a" }, { text: "b" }], { wire });
  const [first, second] = await converse(await openClient(server), [...HELLO], 2);
  assertEquals([first?.retries.length, second?.retries.length], [1, 0]);
  const reason = first?.retries[0]?.reason ?? "";
  assert(
    reason.includes("temperature' is not supported") && reason.includes("omits temperature"),
    reason,
  );
  const last = server.requests.at(-1)?.json;
  assertEquals([last.temperature, last.reasoning, server.requests.length], [undefined, { effort: "low" }, 4]);
});

Deno.test("responses puts images into results, or after them if the server requires it", async () => {
  const image = { mime: "image/png", data: "iVBORw0KGgo=" };
  const messages: Message[] = [
    { role: "user", content: "Look", images: [image] },
    { role: "assistant", content: "", calls: [{ id: "c1", name: "shot", arguments: "{}" }] },
    { role: "tool", callId: "c1", name: "shot", content: "a picture", images: [image] },
  ];
  const part = { type: "input_image", detail: "auto", image_url: "data:image/png;base64,iVBORw0KGgo=" };
  const sent = async (entry: Record<string, unknown>) => {
    await using server = startModelServer([{ text: "ok" }], { wire: new ResponsesWire() });
    await collect(await openClient(server, { entry }), messages);
    return server.requests[0]?.json.input;
  };
  const [user, , output] = await sent({ vision: true });
  assertEquals(user.content, [{ type: "input_text", text: "Look" }, part]);
  assertEquals(output.output, [{ type: "input_text", text: "a picture" }, part]);
  const [, , plain, behind] = await sent({ vision: true, compat: { tool_images: false } });
  assertEquals([plain.output, behind.content[1], behind.role], ["a picture", part, "user"]);
  const blind = await sent({});
  assertEquals(blind[2].output, "a picture\n[1 image left out: this model takes no images]");
});
