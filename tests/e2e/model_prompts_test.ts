/** Prompts for single models, and the model of headless runs. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer } from "../support/model_server.ts";
import { makeWorld } from "../support/program.ts";

const TWO = [{ text: "one" }, { text: "two" }];

const contents = ({ json }: RecordedRequest): string[] =>
  json.messages.map(({ content }: { content: unknown }) => String(content));

function config(url: string): string {
  return `default_model = "mock/talk"
agent_model = "mock/work"

[agent]
supplemental_prompt = "Write 中文 🦊 for all."
turn_prompt = "Turn {{turn}} of {{model}}; {{other}} stays."

[[providers]]
name = "mock"
base_url = "${url}"
models = ["talk", "work", "plain"]
supplemental_prompt = "For the entry."
turn_prompt = "Be brief."

[providers.model_settings."work"]
supplemental_prompt = "For work alone."
turn_prompt = "Be brief."

[providers.model_settings."plain"]
supplemental_prompt = "For the entry."
`;
}

Deno.test("texts for agent, entry and model are in the system prompt in that order, each once", async () => {
  await using server = await startModelServer(TWO, { lane: ({ json }) => json.model });
  await using world = await makeWorld(config(server.url));
  for (const flags of [[], ["-m", "plain"]]) {
    assertEquals((await world.run(["run", "-q", ...flags, "go"])).code, 0);
  }
  const systems = server.requests.map((request) => contents(request)[0] ?? "");
  const texts = "Write 中文 🦊 for all.\n\nFor the entry.";
  assert(systems[0]?.endsWith(`${texts}\n\nFor work alone.\n`), systems[0]);
  assert(systems[1]?.endsWith(`${texts}\n`), systems[1]);
});

Deno.test("a turn prompt follows every message of the user and stays unchanged", async () => {
  await using server = await startModelServer(TWO, { lane: ({ json }) => json.model });
  await using world = await makeWorld(config(server.url));
  await world.run(["run", "-q", "first"]);
  await world.run(["run", "-q", "-c", "second"]);
  const [, ...sent] = contents(server.requests[1] as RecordedRequest);
  const prompt = (turn: number) => `Turn ${turn} of mock/work; {{other}} stays.\n\nBe brief.`;
  assertEquals(sent.slice(-5), ["first", prompt(1), "one", "second", prompt(2)]);
});

Deno.test("agent_model answers runs, a flag overrides it, and config shows it", async () => {
  await using server = await startModelServer(TWO, { lane: ({ json }) => json.model });
  await using world = await makeWorld(config(server.url));
  await world.run(["run", "-q", "go"]);
  await world.run(["run", "-q", "--model", "mock/talk", "go"]);
  assertEquals(server.requests.map(({ json }) => json.model), ["work", "talk"]);
  const { stdout } = await world.run(["config", "show"]);
  assertStringIncludes(stdout, "# model of chat: mock/talk (default_model; --model goes before it)\n");
  assertStringIncludes(stdout, "# model of run, SDKs: mock/work (agent_model; --model goes before it)\n");
});

Deno.test("an invalid agent_model is reported with its location and keeps the chat's model", async () => {
  await using world = await makeWorld(config("http://127.0.0.1:9").replace("mock/work", "mock/wrok"));
  const { code, stderr } = await world.run(["run", "-q", "go"]);
  assertEquals(code, 6);
  assertStringIncludes(stderr, "config.toml:2:");
  assertStringIncludes(stderr, 'Unknown model "mock/wrok"');
  assertStringIncludes((await world.run(["config", "show"])).stdout, "# model of chat: mock/talk");
});

Deno.test("context lists the user's texts for a model with their settings", async () => {
  await using world = await makeWorld(config("http://127.0.0.1:9").replace("mock/talk", "mock/work"));
  const { stdout } = await world.run(["context"]);
  for (const from of ["agent", "providers.mock", 'providers.mock.model_settings."work"']) {
    assertStringIncludes(stdout, `supplemental prompt of ${from}\n`);
  }
});
