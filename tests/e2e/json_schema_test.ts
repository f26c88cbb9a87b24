/** Answers in the form of a JSON Schema: checked, sent back once, then an error. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { launch, user } from "../support/sdk_client.ts";
import { readSdkLines } from "../support/sdk_messages.ts";

const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { name: { type: "string" }, count: { type: "integer", minimum: 1 } },
  required: ["name", "count"],
  additionalProperties: false,
};
const FLAG = `--json-schema=${JSON.stringify(SCHEMA)}`;
const GOOD = '{"name":"größe 🦊","count":2}';

Deno.test("a valid answer is the structured output in json and stream-json, also in a fence", async () => {
  await using server = startModelServer([], {
    fallback: { text: `\`\`\`json\n${GOOD}\n\`\`\`` },
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const json = JSON.parse((await world.run(["-p", "go", FLAG, "--output-format", "json"])).stdout);
  assertEquals([json.structured_output, json.result], [JSON.parse(GOOD), GOOD]);
  const stream = (await world.run(["-p", "go", FLAG, "--output-format=stream-json"])).stdout;
  assertEquals(readSdkLines(stream).at(-1).structured_output, JSON.parse(GOOD));
  const text = await world.run(["run", "go", FLAG]);
  assertEquals(text.stdout, `${GOOD}\n`);
  const asked = server.requests[0]?.json.messages.at(-1).content;
  assertStringIncludes(asked, '"minimum":1');
  assert(asked.endsWith("\n\ngo"), asked);
});

Deno.test("an invalid answer is returned to the model once with its errors, in the same turn", async () => {
  await using server = startModelServer([
    { text: "Sure! Let me think.", calls: [{ id: "c1", name: "ls", args: { path: "." } }] },
    { text: '{"name":7,"count":0,"more":[]}' },
    { text: GOOD },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("schema.json", JSON.stringify(SCHEMA));
  const done = await world.run(["-p", "go", "--json-schema", "schema.json", "--output-format", "json"]);
  const result = JSON.parse(done.stdout);
  assertEquals([done.code, result.structured_output, result.num_turns], [0, JSON.parse(GOOD), 3]);
  const complaint = server.requests[2]?.json.messages.at(-1).content;
  for (const part of ["/name:", "/count:", "/more: is not allowed here"]) {
    assertStringIncludes(complaint, part);
  }
});

Deno.test("a second invalid answer ends the run with an error that states the reason", async () => {
  await using server = startModelServer([{ text: "no JSON" }, { text: '{"name":"x"}' }]);
  await using world = await makeWorld(mockConfig(server.url));
  const done = await world.run(["-p", "go", FLAG, "--output-format", "stream-json"]);
  const result = readSdkLines(done.stdout).at(-1);
  assertEquals([done.code, result.subtype], [4, "error_max_structured_output_retries"]);
  assert(!("structured_output" in result));
  assertStringIncludes(result.errors[0], '"count"');
  assertEquals(result.result, '{"name":"x"}');
});

Deno.test("an unusable schema is refused with its reason before the first request", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url));
  const cases: [string, string][] = [
    ["{broken", "is not a JSON object"],
    ["missing.json", "Cannot read the JSON Schema missing.json"],
    ['{"type":"strng"}', 'no type "strng"'],
    ['{"properties":{"a":{"pattern":"("}}}', "no regular expression"],
    ['{"properties":{"a":{"$ref":"#/$defs/none"}}}', "leads nowhere"],
  ];
  for (const [schema, message] of cases) {
    const done = await world.run(["-p", "go", "--json-schema", schema]);
    assertEquals([schema, done.code], [schema, 2]);
    assertStringIncludes(done.stderr, message);
  }
  assertEquals(server.requests.length, 0);
});

Deno.test("a schema of initialize applies to every turn of an SDK, and an invalid one is refused", async () => {
  await using server = startModelServer([{ text: "[1]" }, { text: "[1, 2]" }, { text: "[3, 4]" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const sdk = await launch(world, []);
  const bad = await sdk.request("r0", { subtype: "initialize", jsonSchema: { type: "lisst" } });
  assertEquals(bad.subtype, "error");
  assertStringIncludes(bad.error, "lisst");
  await sdk.request("r1", { subtype: "initialize", jsonSchema: { type: "array", minItems: 2 } });
  await sdk.send(user("one"));
  await sdk.seen('"type":"result"');
  await sdk.send(user("two"));
  const { lines } = await sdk.end();
  const results = lines.filter(({ type }) => type === "result");
  assertEquals(results.map((each) => each.structured_output), [[1, 2], [3, 4]]);
});
