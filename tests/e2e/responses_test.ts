/** The kind `responses` through the program, with an entry of the page about OpenAI. */
import { startModelServer } from "../support/model_server.ts";
import { makeWorld } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { ResponsesWire } from "../support/wires/responses.ts";

const PAGE = new URL("../../docs/providers/openai.md", import.meta.url);

/** The first entry of the page, at another address and with more settings. */
async function entryOfPage(url: string, more = ""): Promise<string> {
  const entry = /```toml\n([^`]*)```/.exec(await Deno.readTextFile(PAGE))?.[1] ?? "";
  return entry.replace("https://api.openai.com/v1", url) + more;
}

/** The model that an entry begins with. */
function modelOf(entry: string): string {
  return /models = \["([^"]+)"/.exec(entry)?.[1] ?? "";
}

const KEY = "sk-not-a-key-of-anybody";

Deno.test("the entry of the page about OpenAI runs a task with reasoning and tools", async () => {
  const script = [
    {
      reasoning: "The file has to be read.",
      text: "Let me look.",
      calls: [{ id: "c1", name: "read_file", args: { path: "a.txt" } }],
    },
    { reasoning: "Now I know.", text: ["It says ", "hello 你好."] },
  ];
  await using server = startModelServer(script, { wire: new ResponsesWire({ counts: true }) });
  const entry = await entryOfPage(server.url);
  await using world = await makeWorld(entry);
  await world.write("a.txt", "hello 你好\n");
  const env = { OPENAI_API_KEY: KEY };
  const { code, stdout, stderr } = await world.run(["run", "--effort", "low", "what does a.txt say?"], {
    env,
  });
  assertEquals([code, stdout], [0, "It says hello 你好.\n"], stderr);
  assertStringIncludes(stderr, "✓ read a.txt · 1 line");
  const [first, second] = server.requests;
  assertEquals(first?.headers.get("authorization"), `Bearer ${KEY}`);
  const { model, store, reasoning, tools, prompt_cache_key, instructions, temperature } = first?.json;
  assertEquals([model, store, temperature], [modelOf(entry), false, undefined]);
  assertEquals(reasoning, { effort: "low", summary: "auto" });
  assert(tools.every((tool: { strict: boolean }) => tool.strict === false));
  assert(instructions.length > 1000 && /^reasonix-\w{8,}$/.test(prompt_cache_key));
  const types = second?.json.input.map((item: { type: string }) => item.type).slice(-4);
  assertEquals(types, ["reasoning", "message", "function_call", "function_call_output"]);
  const shown = await world.run(["session", "list", "--json"]);
  assert(!shown.stdout.includes(KEY));
});

Deno.test("strict tools of the program keep the vendor's rules, and their nulls reach no tool", async () => {
  const args = { path: "a.txt", offset: null, limit: null };
  const wire = new ResponsesWire();
  const script = [{ calls: [{ id: "c1", name: "read_file", args }] }, { text: "Done." }];
  await using server = startModelServer(script, { wire });
  await using world = await makeWorld(await entryOfPage(server.url, "strict = true\n"));
  await world.write("a.txt", "hello\n");
  const { code, stderr } = await world.run(["run", "go"], { env: { OPENAI_API_KEY: KEY } });
  assertEquals(code, 0, stderr);
  assertStringIncludes(stderr, "✓ read a.txt · 1 line");
  const [first, second] = server.requests;
  const strict = first?.json.tools.filter((tool: { strict: boolean }) => tool.strict);
  const loose = first?.json.tools.filter((tool: { strict: boolean }) => !tool.strict);
  assert(strict.length > loose.length, `${strict.length} strict, ${loose.length} not`);
  // The model sees what it wrote, the tool what its schema takes.
  const call = second?.json.input.find((item: { type: string }) => item.type === "function_call");
  assertEquals(JSON.parse(call.arguments), args);
});

Deno.test("a session continues with chat completions, and without the reasoning of the other model", async () => {
  const wire = new ResponsesWire();
  await using first = startModelServer([{ reasoning: "Secret.", text: "One." }, { text: "Three." }], {
    wire,
  });
  await using second = startModelServer([{ text: "Two." }]);
  const other = `[[providers]]\nname = "other"\nbase_url = "${second.url}"\nmodel = "m"\n`;
  const entry = await entryOfPage(first.url, other);
  await using world = await makeWorld(entry);
  const env = { OPENAI_API_KEY: KEY };
  assertEquals((await world.run(["run", "--quiet", "a"], { env })).stdout, "One.\n");
  const there = await world.run(["run", "-c", "--model", "other/m", "b"], { env });
  assertEquals(there.stdout, "Two.\n", there.stderr);
  assert(!second.requests[0]?.body.includes("Secret") && !second.requests[0]?.body.includes("gAAAA"));
  const back = await world.run(["run", "-c", "--quiet", "--model", `openai/${modelOf(entry)}`, "c"], { env });
  assertEquals(back.stdout, "Three.\n");
  const types = first.requests[1]?.json.input.map((item: { type: string }) => item.type);
  assertEquals(types.filter((type: string) => type === "reasoning"), ["reasoning"]);
});
