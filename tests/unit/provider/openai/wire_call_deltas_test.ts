import { assertEquals } from "../../../support/assert.ts";
import { outcomeOf } from "../../../support/model_client.ts";
import { callEvent, finishEvent } from "../../../support/model_server.ts";

const callsOf = async (...deltas: unknown[][]) =>
  (await outcomeOf([...deltas.map((delta) => callEvent(...delta)), finishEvent("tool_calls")])).calls;
const fn = (name?: string, args?: unknown) => ({
  ...(name === undefined ? {} : { name }),
  ...(args === undefined ? {} : { arguments: args }),
});
const A = { id: "a", name: "ls", arguments: '{"path":"."}' };
const B = { id: "b", name: "grep", arguments: '{"pattern":"x"}' };

Deno.test("openai provider puts calls together when indexes have gaps", async () => {
  const calls = await callsOf(
    [{ index: 2, id: "a", function: fn("ls", '{"path":') }],
    [{ index: 2, function: fn(undefined, '"."}') }],
    [{ index: 5, id: "b", function: fn("grep", '{"pattern":"x"}') }],
  );
  assertEquals(calls, [A, B]);
});

Deno.test("openai provider puts calls together when their deltas are interleaved", async () => {
  const calls = await callsOf(
    [{ index: 0, id: "a", function: fn("ls", "") }, { index: 1, id: "b", function: fn("grep", "") }],
    [{ index: 1, function: fn(undefined, '{"pattern"') }],
    [{ index: 0, function: fn(undefined, '{"path":"."}') }],
    [{ index: 1, function: fn(undefined, ':"x"}') }],
  );
  assertEquals(calls, [A, B]);
});

Deno.test("openai provider puts calls together when there are ids but no indexes", async () => {
  const calls = await callsOf(
    [{ id: "a", function: fn("ls", '{"path":') }],
    [{ id: "b", function: fn("grep", '{"pattern":"x"}') }],
    [{ id: "a", function: fn(undefined, '"."}') }],
  );
  assertEquals(calls, [A, B]);
});

Deno.test("openai provider puts calls together when there are neither ids nor indexes", async () => {
  const calls = await callsOf(
    [{ function: fn("ls", '{"path":') }],
    [{ function: fn(undefined, '"."}') }],
    [{ function: fn("grep", '{"pattern":"x"}') }],
  );
  assertEquals(calls.map((call) => [call.name, call.arguments]), [["ls", A.arguments], [
    "grep",
    B.arguments,
  ]]);
});

Deno.test("openai provider tells calls apart when all of them carry index 0", async () => {
  const ids = await callsOf(
    [{ index: 0, id: "a", function: fn("ls", '{"path":"."}') }],
    [{ index: 0, id: "b", function: fn("grep", '{"pattern"') }],
    [{ index: 0, function: fn(undefined, ':"x"}') }],
  );
  assertEquals(ids, [A, B]);
  const bare = await callsOf([{ index: 0, function: fn("ls", "{}") }], [{
    index: 0,
    function: fn("ls", "{}"),
  }]);
  assertEquals(bare.length, 2);
});

Deno.test("openai provider takes one call when id and name are repeated with every delta", async () => {
  const calls = await callsOf(
    [{ index: 0, id: "a", function: fn("ls", '{"path"') }],
    [{ index: 0, id: "a", function: fn("ls", ':"."}') }],
    [{ index: 0, id: "a", function: fn("ls", "") }],
  );
  assertEquals(calls, [A]);
});

Deno.test("openai provider takes one call when the id changes but no name comes with it", async () => {
  const calls = await callsOf(
    [{ index: 0, id: "a", function: fn("ls", '{"path"') }],
    [{ index: 0, id: "z", function: fn(undefined, ':"."}') }],
  );
  assertEquals(calls, [A]);
});

Deno.test("openai provider joins a name when it is split over deltas", async () => {
  const pieces = await callsOf(
    [{ index: 0, id: "a", function: fn("g") }],
    [{ index: 0, function: fn("re") }],
    [{ index: 0, function: fn("p", '{"pattern":"x"}') }],
  );
  assertEquals(pieces, [{ ...B, id: "a" }]);
});

Deno.test("openai provider reads a call when it comes in the older function_call form", async () => {
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
