import { readTextCalls, TextCalls } from "../../../src/provider/text_calls.ts";
import { assertEquals } from "../../support/assert.ts";

const TOOLS = new Set(["bash", "read_file"]);
const LS = { name: "bash", arguments: '{"command":"ls"}' };
const json = '{"name": "bash", "arguments": {"command": "ls"}}';

const CALLS: readonly (readonly [form: string, text: string])[] = [
  ["tool_call tags", `<tool_call>\n${json}\n</tool_call>`],
  ["prose before the tags", `I will look: 看.\n\n<tool_call>${json}</tool_call>\n`],
  ["a fence", "```json\n" + json + "\n```"],
  ["the bare object", ` ${json}\n`],
  ["arguments as text", '{"name":"bash","arguments":"{\\"command\\":\\"ls\\"}"}'],
  ["Mistral's mark", `[TOOL_CALLS][${json}]`],
  ["Llama's mark and word", '<|python_tag|>{"name":"bash","parameters":{"command":"ls"}}'],
  ["parameters as tags", "<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>"],
  [
    "parameters as tags inside tool_call",
    "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
  ],
];

for (const [form, text] of CALLS) {
  Deno.test(`readTextCalls reads a call when it has the form of ${form}`, () => {
    const calls = readTextCalls(text, TOOLS).map((call) => ({
      ...call,
      arguments: JSON.parse(call.arguments),
    }));
    assertEquals(calls, [{ name: "bash", arguments: { command: "ls" } }]);
  });
}

/** Enough that no test would end that looked at every part of it. */
const BLANKS = "\n ".repeat(500_000);

const TEXTS: readonly (readonly [why: string, text: string])[] = [
  ["words follow", `<tool_call>${json}</tool_call> is how a call looks`],
  ["the tool was not offered", '<tool_call>{"name":"rm","arguments":{}}</tool_call>'],
  ["one of two tools was not offered", `[TOOL_CALLS][${json},{"name":"rm","arguments":{}}]`],
  ["it is not closed", `<tool_call>${json}`],
  ["it is cut", '<tool_call>{"name":"bash","arguments":{"command":"l</tool_call>'],
  ["the arguments are no object", '{"name":"bash","arguments":["ls"]}'],
  ["there are no arguments", '{"name":"bash","version":"5.2"}'],
  ["the object says more", '{"name":"bash","arguments":{},"description":"a shell"}'],
  ["prose surrounds a fence", "Send this:\n```json\n" + json + "\n```"],
  ["a second fence follows", "```json\n" + json + "\n```\n```json\n{}\n```"],
  ["a tag only is mentioned", "Use <tool_call> for this"],
  ["there is nothing", ""],
  ["a fence runs away in blanks", `\`\`\`json\n{${BLANKS}.`],
  ["a tag runs away in blanks", `<tool_call>{${BLANKS}.`],
  ["parameters run away in blanks", `<function=bash>.${BLANKS}.`],
];

for (const [why, text] of TEXTS) {
  Deno.test(`readTextCalls reads no call when ${why}`, () => {
    assertEquals(readTextCalls(text, TOOLS), []);
  });
}

Deno.test("readTextCalls reads several calls in their order", () => {
  const read = '<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call>';
  const names = readTextCalls(`${read}\n<tool_call>${json}</tool_call>`, TOOLS).map(({ name }) => name);
  assertEquals(names, ["read_file", "bash"]);
});

Deno.test("TextCalls gives the text before a call and nothing of the call, wherever it is cut", () => {
  const text = `Look: <\n<tool_call>${json}</tool_call>`;
  for (let cut = 0; cut <= text.length; cut++) {
    const reader = new TextCalls(TOOLS);
    const shown = reader.push(text.slice(0, cut)) + reader.push(text.slice(cut));
    assertEquals([shown, reader.calls().length], ["Look: <\n", 1]);
  }
});

Deno.test("TextCalls gives every character of a text that is no call", () => {
  for (const text of ["```js\nlet a;\n```", '{"a": 1}', "a < b and <tool", "plain", "``", "[TOOL"]) {
    const reader = new TextCalls(TOOLS);
    const shown = [...text].map((character) => reader.push(character)).join("");
    assertEquals([shown + reader.rest, reader.calls()], [text, []]);
  }
  assertEquals(new TextCalls(TOOLS).push("plain words"), "plain words");
  assertEquals(readTextCalls(LS.arguments, TOOLS), []);
});
