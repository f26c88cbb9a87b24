/** Lists of scripted MCP servers. */
import type { Behaviour } from "./behaviour.ts";

type Entry = Readonly<Record<string, unknown>>;

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const none = { type: "object", properties: {} };
const tool = (name: string, inputSchema: unknown = none, more: Entry = {}): Entry => ({
  name,
  description: `Scripted tool ${name}`,
  inputSchema,
  ...more,
});

/** Tools whose calls `call_tool.ts` knows. */
const PLAIN: readonly Entry[] = [
  tool("echo", text, { annotations: { readOnlyHint: true } }),
  tool("result", { type: "object", properties: { kind: { type: "string" } }, required: ["kind"] }),
  tool("size", { type: "object", properties: { bytes: { type: "integer" } }, required: ["bytes"] }),
  tool("progress", { type: "object", properties: { steps: { type: "integer" } } }),
  tool("wait"),
  tool("ask", { type: "object", properties: { mode: { enum: ["form", "url"] } } }),
  tool("sample", { type: "object", properties: { prompt: { type: "string" } } }),
  tool("roots"),
  tool("change"),
  tool("die"),
  tool("surroundings"),
];

/** The entry of a tool that comes and goes with each call of `change`. */
const LATE = tool("late");

const cyclic = {
  type: "object",
  properties: { next: { $ref: "#/$defs/node" } },
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
};

const BAD: readonly Entry[] = [
  tool("good", text),
  tool("no_type", { properties: { text: { type: "string" } } }),
  tool("not_an_object", { type: "string" }),
  tool("cycle", cyclic),
  tool("self", { $ref: "#" }),
  tool("elsewhere", { type: "object", properties: { a: { $ref: "https://schema.invalid/a.json" } } }),
  tool("empty", {}),
  tool("null_schema", null),
  tool("text_schema", "object"),
  tool("list_schema", []),
  tool("wrong_words", { type: "objekt", required: "text", properties: [] }),
  { name: "no_schema", description: "Has none" },
  { name: 7, inputSchema: none },
  { description: "Has no name", inputSchema: none },
  tool("number_description", none, { description: 5 }),
];

const STRANGE: readonly Entry[] = [
  "工具",
  "with space",
  "party 🎉",
  "dots.and/slashes",
  "UPPER",
  "__proto__",
  "constructor",
  "a__b",
  "x".repeat(100),
  `${"x".repeat(100)}y`,
  "\x1b[31mred",
  "line\nbreak",
  "",
].map((name) => tool(name, text));

const claiming = (name: string, annotations: Entry): Entry => tool(name, none, { annotations });

/** Tools that differ in the server's declarations. */
const CLAIMS: readonly Entry[] = [
  claiming("claims", { readOnlyHint: true }),
  claiming("ruled", { readOnlyHint: true }),
  claiming("known", { readOnlyHint: true }),
  claiming("nuke", { readOnlyHint: true, destructiveHint: true }),
  claiming("worldly", { readOnlyHint: true, openWorldHint: true }),
  claiming("again", { idempotentHint: true, destructiveHint: false, openWorldHint: false }),
  tool("writes"),
];

const declaring = (key: string, more: Entry): Entry => {
  const inputSchema = {
    type: "object",
    properties: { [key]: { type: "string" }, more: { type: "string" } },
    required: [key],
  };
  return tool(`of_${key}`, inputSchema, { _meta: { "reasonix/subject": { [key]: key } }, annotations: more });
};

/** Tools that declare which argument is an address, a file or a query of a search. */
const SUBJECTS: readonly Entry[] = [
  declaring("url", { readOnlyHint: true, openWorldHint: true }),
  declaring("query", { readOnlyHint: true, openWorldHint: true }),
  declaring("path", { readOnlyHint: true, openWorldHint: false }),
];

/** The tools of a server with this behavior; `late` = also the one that comes and goes. */
export function toolsOf({ tools = "plain" }: Behaviour, late: boolean): readonly Entry[] {
  if (typeof tools === "number") {
    const description = "Does one thing of many, which takes some words to describe to a model. ".repeat(4);
    return Array.from({ length: tools }, (_, at) => tool(`tool_${at}`, text, { description }));
  }
  const kinds = {
    "plain": PLAIN,
    "duplicates": [tool("echo", text), tool("echo", none, { description: "The second echo" }), tool("other")],
    "bad schemas": BAD,
    "strange names": STRANGE,
    "claims": CLAIMS,
    "subjects": SUBJECTS,
    "none": [],
  };
  return late ? [...kinds[tools], LATE] : kinds[tools];
}

export const PROMPTS: readonly Entry[] = [
  {
    name: "greet",
    description: "A greeting",
    arguments: [{ name: "name", required: true }, { name: "tone" }],
  },
  { name: "plain", description: "Without arguments" },
];

export const RESOURCES: readonly Entry[] = [
  { uri: "scripted://page/1", name: "page 1", mimeType: "text/plain" },
  { uri: "scripted://page/2", name: "page 2", mimeType: "text/plain" },
  { uri: "scripted://picture", name: "picture", mimeType: "image/png" },
];

export const TEMPLATES: readonly Entry[] = [
  { uriTemplate: "scripted://page/{number}", name: "page", mimeType: "text/plain" },
];

/** One pixel. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
