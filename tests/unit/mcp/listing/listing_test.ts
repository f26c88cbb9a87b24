import { canonicalListing, type RawListing } from "../../../../src/mcp/listing/listing.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

const NOTHING: RawListing = { tools: [], prompts: [], resources: [], templates: [] };
const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });

Deno.test("canonicalListing does not depend on the order in which a server lists", () => {
  const tools = [tool("b"), tool("a"), tool("Ä"), tool("c", { description: "third" })];
  const resources = [{ uri: "x://2", name: "two" }, { uri: "x://1", name: "one" }];
  const one = canonicalListing({ ...NOTHING, tools, resources });
  const two = canonicalListing({ ...NOTHING, tools: tools.toReversed(), resources: resources.toReversed() });
  assertEquals(JSON.stringify(one), JSON.stringify(two));
  assertEquals(one.tools.map(({ name }) => name), ["a", "b", "c", "Ä"]);
});

Deno.test("canonicalListing takes the first of two tools with one name and says so", () => {
  const { tools, problems } = canonicalListing({
    ...NOTHING,
    tools: [tool("echo", { description: "one" }), tool("echo", { description: "two" })],
  });
  assertEquals(tools.map(({ description }) => description), ["one"]);
  assertEquals(problems, ["the tool echo is there twice"]);
});

Deno.test("canonicalListing leaves out what has no name and bounds descriptions and schemas", () => {
  const huge = { type: "object", properties: { a: { type: "string", description: "x".repeat(40_000) } } };
  const { tools, problems } = canonicalListing({
    ...NOTHING,
    tools: [
      {},
      null,
      5,
      tool("long", { description: "d".repeat(5_000) }),
      tool("huge", { inputSchema: huge }),
    ],
  });
  assertEquals(tools.map(({ name }) => name), ["huge", "long"]);
  assert((tools[1]?.description.length ?? 0) < 2_100);
  assertEquals(tools[0]?.schema, { type: "object", properties: {} });
  assertEquals(problems.length, 2);
});

Deno.test("canonicalListing believes a read-only hint only when it is true", () => {
  const hinted = (name: string, readOnlyHint: unknown) => tool(name, { annotations: { readOnlyHint } });
  const { tools } = canonicalListing({
    ...NOTHING,
    tools: [hinted("a", true), hinted("b", "true"), tool("c")],
  });
  assertEquals(tools.map(({ readOnly }) => readOnly), [true, false, false]);
});
