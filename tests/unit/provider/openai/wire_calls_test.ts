import type { Message } from "../../../../src/core/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { collect, HELLO, openClient, outcomeOf, PREFIX, takeStep } from "../../../support/model_client.ts";
import { callEvent, finishEvent, startModelServer, textEvent } from "../../../support/model_server.ts";

async function argumentsFor(args: unknown, finish = "tool_calls"): Promise<string | undefined> {
  const delta = callEvent({
    index: 0,
    id: "a",
    function: { name: "ls", ...(args === undefined ? {} : { arguments: args }) },
  });
  return (await outcomeOf([delta, finishEvent(finish)])).calls[0]?.arguments;
}

for (
  const [name, args] of [["absent", undefined], ["null", null], ["empty", ""], ["blank", " \n"], [
    "the word null",
    "null",
  ]]
) {
  Deno.test(`openai provider reads arguments that are ${name} as an empty object`, async () => {
    assertEquals(await argumentsFor(args), "{}");
  });
}

Deno.test("openai provider converts object arguments to text", async () => {
  assertEquals(await argumentsFor({ path: "a\n", n: 1 }), '{"path":"a\\n","n":1}');
});

Deno.test("openai provider keeps valid arguments unchanged", async () => {
  const written = '{ "path" : "\\u00e9",\n"n":1.0 }';
  assertEquals(await argumentsFor(written), written);
});

Deno.test("openai provider unwraps arguments that are encoded twice", async () => {
  assertEquals(await argumentsFor(JSON.stringify('{"path":"x"}')), '{"path":"x"}');
});

Deno.test("openai provider repairs arguments with exactly one reading", async () => {
  assertEquals(JSON.parse(await argumentsFor('{"path":"x",}') ?? ""), { path: "x" });
});

Deno.test("openai provider keeps arguments without a single reading unchanged", async () => {
  assertEquals(await argumentsFor('{"path":"x'), '{"path":"x');
});

Deno.test("openai provider does not repair arguments of a truncated answer", async () => {
  assertEquals(await argumentsFor('{"path":"x"', "length"), '{"path":"x"');
  assertEquals(JSON.parse(await argumentsFor('{"path":"x"') ?? ""), { path: "x" });
});

Deno.test("openai provider returns unreadable arguments inside an object", async () => {
  await using server = startModelServer([{ calls: [{ id: "a", name: "ls", args: '{"path":"x' }] }, {
    text: "sorry",
  }]);
  const provider = await openClient(server);
  const messages: Message[] = [{ role: "user", content: "go" }];
  const { calls } = await collect(provider, messages);
  messages.push({ role: "assistant", content: "", calls }, {
    role: "tool",
    callId: "a",
    name: "ls",
    content: "Bad JSON",
  });
  assertEquals((await collect(provider, messages)).text, "sorry");
  const sent = server.requests[1]?.json.messages[2].tool_calls[0].function.arguments;
  assertEquals(JSON.parse(sent), { invalid_json: '{"path":"x' });
});

const callsOf = async (...deltas: unknown[][]) =>
  (await outcomeOf([...deltas.map((delta) => callEvent(...delta)), finishEvent("tool_calls")])).calls;
const fn = (name?: string, args?: unknown) => ({
  ...(name === undefined ? {} : { name }),
  ...(args === undefined ? {} : { arguments: args }),
});
const A = { id: "a", name: "ls", arguments: '{"path":"."}' };
const B = { id: "b", name: "grep", arguments: '{"pattern":"x"}' };

const DELTAS: readonly [name: string, calls: readonly unknown[], ...deltas: unknown[][]][] = [
  [
    "assembles calls when indexes have gaps",
    [A, B],
    [{ index: 2, id: "a", function: fn("ls", '{"path":') }],
    [{ index: 2, function: fn(undefined, '"."}') }],
    [{ index: 5, id: "b", function: fn("grep", '{"pattern":"x"}') }],
  ],
  [
    "assembles calls when deltas are interleaved",
    [A, B],
    [{ index: 0, id: "a", function: fn("ls", "") }, { index: 1, id: "b", function: fn("grep", "") }],
    [{ index: 1, function: fn(undefined, '{"pattern"') }],
    [{ index: 0, function: fn(undefined, '{"path":"."}') }],
    [{ index: 1, function: fn(undefined, ':"x"}') }],
  ],
  [
    "assembles calls with ids but no indexes",
    [A, B],
    [{ id: "a", function: fn("ls", '{"path":') }],
    [{ id: "b", function: fn("grep", '{"pattern":"x"}') }],
    [{ id: "a", function: fn(undefined, '"."}') }],
  ],
  [
    "separates calls that all have index 0",
    [A, B],
    [{ index: 0, id: "a", function: fn("ls", '{"path":"."}') }],
    [{ index: 0, id: "b", function: fn("grep", '{"pattern"') }],
    [{ index: 0, function: fn(undefined, ':"x"}') }],
  ],
  [
    "reads one call when id and name repeat with every delta",
    [A],
    [{ index: 0, id: "a", function: fn("ls", '{"path"') }],
    [{ index: 0, id: "a", function: fn("ls", ':"."}') }],
    [{ index: 0, id: "a", function: fn("ls", "") }],
  ],
  [
    "reads one call when the id changes without a name",
    [A],
    [{ index: 0, id: "a", function: fn("ls", '{"path"') }],
    [{ index: 0, id: "z", function: fn(undefined, ':"."}') }],
  ],
  [
    "joins a name that is split over deltas",
    [{ ...B, id: "a" }],
    [{ index: 0, id: "a", function: fn("g") }],
    [{ index: 0, function: fn("re") }],
    [{ index: 0, function: fn("p", '{"pattern":"x"}') }],
  ],
];

for (const [name, calls, ...deltas] of DELTAS) {
  Deno.test(`openai provider ${name}`, async () => assertEquals(await callsOf(...deltas), calls));
}

Deno.test("openai provider separates calls with the same index and neither ids nor different names", async () => {
  const call = { index: 0, function: fn("ls", "{}") };
  assertEquals((await callsOf([call], [call])).length, 2);
});

Deno.test("openai provider assembles calls without ids and indexes", async () => {
  const calls = await callsOf(
    [{ function: fn("ls", '{"path":') }],
    [{ function: fn(undefined, '"."}') }],
    [{ function: fn("grep", '{"pattern":"x"}') }],
  );
  assertEquals(
    calls.map(({ name, arguments: text }) => [name, text]),
    [A, B].map((it) => [it.name, it.arguments]),
  );
});

Deno.test("openai provider reads a call in the older function_call form", async () => {
  const outcome = await outcomeOf([
    { choices: [{ delta: { function_call: fn("ls", '{"path":') } }] },
    { choices: [{ delta: { function_call: fn(undefined, '"."}') }, finish_reason: "function_call" }] },
  ]);
  assertEquals(outcome.calls.map((call) => [call.name, call.arguments]), [["ls", A.arguments]]);
});

Deno.test("openai provider reports a failure when a call has no name", async () => {
  const outcome = await outcomeOf([
    callEvent({ index: 0, id: "a", function: fn(undefined, "{}") }),
    finishEvent(),
  ]);
  assertEquals([outcome.error?.kind, outcome.calls.length], ["protocol", 0]);
});

const call = (index: number, id?: string) => ({
  index,
  ...(id === undefined ? {} : { id }),
  function: { name: "ls", arguments: "{}" },
});

Deno.test("openai provider creates stable ids when a server sends none", async () => {
  const stream = [callEvent(call(0), call(1, "")), finishEvent()];
  const first = await outcomeOf(stream);
  assertEquals(first.calls.map((c) => c.id), ["call_1_0", "call_1_1"]);
  assertEquals((await outcomeOf(stream)).calls, first.calls);
});

Deno.test("openai provider makes repeated ids within a message unique", async () => {
  const outcome = await outcomeOf([callEvent(call(0, "x"), call(1, "x"), call(2, "x")), finishEvent()]);
  assertEquals(outcome.calls.map((c) => c.id), ["x", "x_2", "x_3"]);
});

Deno.test("openai provider makes ids unique that restart with every message", async () => {
  await using server = startModelServer([], { fallback: { calls: [{ id: "call_0", name: "ls" }] } });
  const provider = await openClient(server);
  const messages: Message[] = [{ role: "user", content: "go" }];
  const ids: string[] = [];
  for (let step = 0; step < 3; step++) {
    const { calls } = await takeStep(provider, messages);
    ids.push(...calls.map((c) => c.id));
  }
  assertEquals(ids, ["call_0", "call_0_2", "call_0_3"]);
});

Deno.test("openai provider announces a call by name, then a few times with more of its arguments", async () => {
  const args = JSON.stringify({ path: "a.ts", content: "\u{1F98A}".repeat(3000) });
  const pieces = args.match(/[\s\S]{1,7}/g) ?? [];
  await using server = startModelServer([{
    stream: [
      textEvent("I write"),
      callEvent({ index: 0, id: "a", function: { name: "write" } }),
      ...pieces.map((piece) => callEvent({ index: 0, function: { arguments: piece } })),
      callEvent({ index: 1, function: { name: "ls", arguments: "" } }),
      callEvent({ index: 1, id: "b", function: { arguments: "{}" } }),
      finishEvent("tool_calls"),
    ],
  }]);
  const provider = await openClient(server);
  const request = { prefix: PREFIX, messages: HELLO, announceCalls: true as const };
  const chunks = await Array.fromAsync(provider.stream(request, new AbortController().signal));
  assertEquals(chunks.slice(0, 2), [
    { type: "text", text: "I write" },
    { type: "call_progress", id: "a", name: "write" },
  ]);
  const begun = chunks.flatMap((chunk) => chunk.type === "call_progress" ? [chunk] : []);
  const written = begun.flatMap(({ id, arguments: text }) => id === "a" && text !== undefined ? [text] : []);
  assertEquals(written.map(({ length }) => length >> 6), [1, 2, 4, 8, 17, 32]);
  assert(written.every((text) => args.startsWith(text) && text.isWellFormed()));
  // A call without an id is announced when it has one.
  assertEquals(begun.at(-1), { type: "call_progress", id: "b", name: "ls" });
});

Deno.test("openai provider announces calls with the ids that they get", async () => {
  const call = { index: 0, id: "a", function: { name: "ls", arguments: "{}" } };
  await using server = startModelServer([{
    stream: [callEvent(call), callEvent({ ...call, index: 1 }), finishEvent("tool_calls")],
  }]);
  const provider = await openClient(server);
  const earlier: Message[] = [...HELLO, {
    role: "assistant",
    content: "",
    calls: [{ id: "a", name: "ls", arguments: "{}" }],
  }, { role: "tool", callId: "a", name: "ls", content: "" }];
  const request = { prefix: PREFIX, messages: earlier, announceCalls: true as const };
  const chunks = await Array.fromAsync(provider.stream(request, new AbortController().signal));
  assertEquals(chunks.flatMap((chunk) => chunk.type === "call_progress" ? [chunk.id] : []), ["a_2", "a_3"]);
  assertEquals(chunks.flatMap((chunk) => chunk.type === "tool_call" ? [chunk.call.id] : []), ["a_2", "a_3"]);
});
