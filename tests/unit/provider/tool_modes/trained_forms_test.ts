import { readTextCalls } from "../../../../src/provider/tool_modes/call_scanner.ts";
import { assertEquals } from "../../../support/assert.ts";
import { TOOLS } from "./scan.ts";

const LS = { name: "bash", arguments: '{"command":"ls"}' };
const json = '{"name": "bash", "arguments": {"command": "ls"}}';

const CALLS: readonly (readonly [form: string, text: string])[] = [
  ["tool_call tags", `<tool_call>\n${json}\n</tool_call>`],
  ["prose before the tags", `I will look: 看.\n\n<tool_call>${json}</tool_call>\n`],
  ["prose on the line of the tags", `I will look: 看. <tool_call>${json}</tool_call>`],
  ["a closing tag that the server kept", `<tool_call>\n${json}\n`],
  ["a fence", "```json\n" + json + "\n```"],
  ["tags in a fence", "```xml\n<tool_call>" + json + "</tool_call>\n```"],
  ["the bare object", ` ${json}\n`],
  ["a list", `[${json}]`],
  ["a function object", '{"type":"function","function":{"name":"bash","parameters":{"command":"ls"}}}'],
  ["arguments as text", '{"name":"bash","arguments":"{\\"command\\":\\"ls\\"}"}'],
  ["Mistral's mark", `[TOOL_CALLS][${json}]`],
  ["Mistral's mark and name", '[TOOL_CALLS]bash[ARGS]{"command": "ls"}'],
  ["Llama's mark and word", '<|python_tag|>{"name":"bash","parameters":{"command":"ls"}}'],
  ["parameters as tags", "<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>"],
  [
    "parameters as tags inside tool_call",
    "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
  ],
  [
    "parameters as tags with only the closing tag around",
    "<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
  ],
  ["an invoke", '<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>'],
  [
    "an invoke in its list",
    '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</function_calls>',
  ],
];

for (const [form, text] of CALLS) {
  Deno.test(`readTextCalls reads a call in the form of ${form}`, () => {
    const calls = readTextCalls(text, TOOLS).map((call) => ({
      ...call,
      arguments: JSON.parse(call.arguments),
    }));
    assertEquals(calls, [{ name: "bash", arguments: { command: "ls" } }]);
  });
}

/** Long enough that quadratic code would not end in time. */
const BLANKS = "\n ".repeat(500_000);

const TEXTS: readonly (readonly [why: string, text: string])[] = [
  ["words follow", `<tool_call>${json}</tool_call> is how a call looks`],
  ["text follows on the next line", `<tool_call>${json}</tool_call>\nThat is how a call looks`],
  ["the tool was not offered", '<tool_call>{"name":"rm","arguments":{}}</tool_call>'],
  ["one of two tools was not offered", `[TOOL_CALLS][${json},{"name":"rm","arguments":{}}]`],
  ["it is truncated", '<tool_call>{"name":"bash","arguments":{"command":"l</tool_call>'],
  ["the arguments are not an object", '{"name":"bash","arguments":["ls"]}'],
  ["there are no arguments", '{"name":"bash","version":"5.2"}'],
  ["the object has other keys", '{"name":"bash","arguments":{},"description":"a shell"}'],
  ["prose precedes a fence", "Send this:\n```json\n" + json + "\n```"],
  ["a second fence follows", "```json\n" + json + "\n```\n```json\n{}\n```"],
  ["a tag is only mentioned", "Use <tool_call> for this"],
  ["it is quoted", `He wrote "<tool_call>${json}</tool_call>`],
  ["it is inline code", `Write \`<tool_call>${json}</tool_call>`],
  ["it is an indented code block", `    <tool_call>${json}</tool_call>`],
  ["it is a citation", `> <tool_call>${json}</tool_call>`],
  ["it is the taught form without its prompt", '%%CMD%% name="bash" command="ls"\n%%END%%'],
  ["there is nothing", ""],
  ["a fence has endless blanks", `\`\`\`json\n{${BLANKS}.`],
  ["a tag has endless blanks", `<tool_call>{${BLANKS}.`],
  ["parameters have endless blanks", `<function=bash>.${BLANKS}.`],
  ["it has endless blanks", `${BLANKS}.`],
];

for (const [why, text] of TEXTS) {
  Deno.test(`readTextCalls reads no call when ${why}`, () => {
    assertEquals(readTextCalls(text, TOOLS), []);
  });
}

Deno.test("readTextCalls reads several calls in their order", () => {
  const read = '<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call>';
  for (const between of ["\n", "", "\n\n"]) {
    const text = `${read}${between}<tool_call>${json}</tool_call>`;
    assertEquals(readTextCalls(text, TOOLS).map(({ name }) => name), ["read_file", "bash"]);
  }
  assertEquals(readTextCalls(LS.arguments, TOOLS), []);
});
