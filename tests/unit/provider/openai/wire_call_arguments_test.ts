import { assertEquals } from "../../../support/assert.ts";
import { type Message } from "../../../../src/core/mod.ts";
import { collect, openClient, outcomeOf } from "../../../support/model_client.ts";
import { callEvent, finishEvent, startModelServer } from "../../../support/model_server.ts";

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
  Deno.test(`openai provider takes arguments for an empty object when they are ${name}`, async () => {
    assertEquals(await argumentsFor(args), "{}");
  });
}

Deno.test("openai provider takes arguments as text when they come as an object", async () => {
  assertEquals(await argumentsFor({ path: "a\n", n: 1 }), '{"path":"a\\n","n":1}');
});

Deno.test("openai provider leaves valid arguments as they were written", async () => {
  const written = '{ "path" : "\\u00e9",\n"n":1.0 }';
  assertEquals(await argumentsFor(written), written);
});

Deno.test("openai provider unwraps arguments when they were encoded twice", async () => {
  assertEquals(await argumentsFor(JSON.stringify('{"path":"x"}')), '{"path":"x"}');
});

Deno.test("openai provider repairs arguments when there is one way to read them", async () => {
  assertEquals(JSON.parse(await argumentsFor('{"path":"x",}') ?? ""), { path: "x" });
});

Deno.test("openai provider passes arguments on as written when they cannot be read in one way", async () => {
  assertEquals(await argumentsFor('{"path":"x'), '{"path":"x');
});

Deno.test("openai provider does not repair arguments when the answer was cut at its length limit", async () => {
  assertEquals(await argumentsFor('{"path":"x"', "length"), '{"path":"x"');
  assertEquals(JSON.parse(await argumentsFor('{"path":"x"') ?? ""), { path: "x" });
});

Deno.test("openai provider sends unreadable arguments back inside an object when the conversation goes on", async () => {
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
