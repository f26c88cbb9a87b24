import { indexTools, needsIndex } from "../../../src/mcp/tools.ts";
import { type Tool, ToolRegistry } from "../../../src/tool/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeToolContext } from "../../support/tool_context.ts";

function remote(
  server: string,
  name: string,
  description = `Does ${name} for people who need it done`,
): Tool {
  return {
    name: `mcp__${server}__${name}`,
    description: `${description}. ${"It has many words. ".repeat(8)}`,
    schema: {
      type: "object",
      properties: { id: { type: "string", description: "which one" } },
      required: ["id"],
    },
    readOnly: name.startsWith("get"),
    family: "Mcp",
    execute: ({ id }) => Promise.resolve({ content: `${name} ${id}`, summary: "" }),
  };
}

const MANY = ["alpha", "beta", "gamma"].flatMap((server) =>
  Array.from({ length: 100 }, (_, n) => remote(server, n % 2 === 0 ? `get_item_${n}` : `set_item_${n}`))
);

Deno.test("three hundred tools cost less than 2,000 tokens until they are used", () => {
  const registry = new ToolRegistry([]);
  registry.setPluginTools([...indexTools(MANY), ...MANY.map((one) => ({ ...one, offered: false }))]);
  const offered = registry.schemas();
  assertEquals(offered.map(({ name }) => name), ["mcp_search", "mcp_call"]);
  // Even at two characters a token, half of what text takes.
  const length = JSON.stringify(offered).length;
  assert(length / 3 < 2_000, `${length} characters`);
  for (const server of ["alpha", "beta", "gamma"]) {
    assert(offered[0]?.description.includes(`mcp__${server}__`));
  }
});

Deno.test("tools use an index above the token limit, and never with a limit of 0", () => {
  assertEquals(needsIndex([400, 400], 200), false);
  assertEquals(needsIndex([400, 404], 200), true);
  assertEquals(needsIndex([4_000_000], 0), false);
  assertEquals(needsIndex([], 8_000), false);
});

Deno.test("a call through the index is prepared as the tool it names", async () => {
  const registry = new ToolRegistry([]);
  registry.setPluginTools([...indexTools(MANY), ...MANY.map((one) => ({ ...one, offered: false }))]);
  const call = (args: unknown) => ({ id: "1", name: "mcp_call", arguments: JSON.stringify(args) });
  const prepared = await registry.prepare(call({ tool: "mcp__beta__set_item_1", arguments: { id: "x" } }));
  assert(typeof prepared === "object");
  assertEquals([prepared.tool, prepared.args, prepared.family, prepared.readOnly], [
    "mcp__beta__set_item_1",
    { id: "x" },
    "Mcp",
    false,
  ]);
  const reading = await registry.prepare(call({ tool: "mcp__beta__get_item_2", arguments: { id: "x" } }));
  assert(typeof reading === "object");
  assertEquals([reading.readOnly, reading.planSafe, reading.claimsToRead], [false, false, true]);
  const wrong = await registry.prepare(call({ tool: "mcp__beta__set_item_1" }));
  assert(typeof wrong === "string" && wrong.includes("id is required"), String(wrong));
});

Deno.test("the index calls only tools of servers", async () => {
  const registry = new ToolRegistry([], [{ ...remote("x", "own"), name: "own" }]);
  registry.setPluginTools([...indexTools(MANY), ...MANY.map((one) => ({ ...one, offered: false }))]);
  for (const tool of ["own", "mcp_call", "mcp_search", "bash", "mcp__beta__set_item"]) {
    const answer = await registry.prepare({ id: "1", name: "mcp_call", arguments: JSON.stringify({ tool }) });
    assert(typeof answer === "string" && answer.includes(tool), String(answer));
  }
});

Deno.test("mcp_search finds tools by words and by name, with their arguments", async () => {
  const tools = [...MANY, remote("weather", "outlook", "Reports tomorrow's 天气 and temperature")];
  const search = indexTools(tools)[0];
  assert(search);
  const find = async (query: string) =>
    (await search.execute({ query }, makeToolContext("/nowhere"))).content;
  assert((await find("temperature tomorrow")).startsWith("mcp__weather__outlook\n"));
  assert((await find("天气")).startsWith("mcp__weather__outlook\n"));
  const exact = await find("mcp__gamma__get_item_42");
  assert(exact.startsWith("mcp__gamma__get_item_42\n") && exact.includes('"required":["id"]'));
  assert((await find("the tool get_item_42 of gamma")).startsWith("mcp__gamma__get_item_42\n"));
  assertEquals(await find("zzz"), "No tool matches; try other words.");
});

Deno.test("mcp_search shows as many tools as fit and counts the rest", async () => {
  const schema = {
    type: "object",
    properties: { text: { type: "string", description: "x".repeat(30_000) } },
  };
  const large = Array.from({ length: 5 }, (_, at) => ({ ...remote("big", `tool_${at}`, "Large"), schema }));
  const search = indexTools(large)[0];
  assert(search);
  const { content } = await search.execute({ query: "large" }, makeToolContext("/nowhere"));
  assert(content.length < 42_000 && content.startsWith("mcp__big__tool_0\n"), `${content.length}`);
  assert(content.endsWith("[4 more did not fit; search for one by its name]"), content.slice(-100));
});

Deno.test("the index is deterministic", () => {
  const text = () => JSON.stringify(indexTools(MANY).map(({ description }) => description));
  assertEquals(text(), text());
});
