import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const CALL =
  '<tool_call>\n{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}\n</tool_call>';

Deno.test("run completes a task with a model that writes its calls as text, when the provider entry says so", async () => {
  await using server = startModelServer([{ text: `I write.\n${CALL}` }, { text: "Done." }]);
  await using world = await makeWorld(mockConfig(server.url, "", "compat = { text_calls = true }"));
  const { code, stdout } = await world.run(["run", "write"]);
  assertEquals([code, stdout, await world.read("a.txt")], [0, "Done.\n", "x"]);
});

Deno.test("run says that a call was written as text, and how to have it executed", async () => {
  await using server = startModelServer([{ text: CALL }]);
  await using world = await makeWorld(mockConfig(server.url));
  const { stdout, stderr } = await world.run(["run", "write"]);
  assertEquals(stdout, `${CALL}\n`);
  assertStringIncludes(stderr, "! The model wrote a call of write_file as text, which is not executed");
  assertStringIncludes(stderr, 'set compat = { text_calls = true } for provider "mock"');
});
