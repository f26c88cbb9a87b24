import { BUILTIN_AGENTS, readAgent } from "../../../../src/context/agents.ts";
import { BUILTINS } from "../../../../src/tool/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

function read(text: string, file = "/p/.claude/agents/scout.md") {
  const warnings: string[] = [];
  const agent = readAgent(
    { file, text, scope: "project" },
    (line, output) => void warnings.push(`${line}: ${output}`),
  );
  return { agent, warnings };
}

Deno.test("readAgent maps tools of Claude Code, omits rules in parentheses, and is named by its file", () => {
  const { agent, warnings } = read(
    "---\ndescription: Scouts\ntools: Read, Grep, Bash(git:*), mcp__db__query\ndisallowedTools: Bash\nmodel: inherit\n---\nLook.\n",
  );
  assertEquals(agent?.name, "scout");
  assertEquals(agent?.tools, ["read_file", "grep", "bash", "mcp__db__query"]);
  assertEquals(agent?.withoutTools, ["bash"]);
  assertEquals([agent?.model, agent?.prompt, warnings], [undefined, "Look.", []]);
});

for (
  const [head, readOnly, deny, warning] of [
    ["permission: read-only", true, undefined, undefined],
    ["permissionMode: plan", true, undefined, undefined],
    ["permissionMode: acceptEdits", false, undefined, undefined],
    ["permission: everything", true, undefined, '3: permission "everything" is not known'],
    ["permission: [a, b]", true, undefined, "3: permission is a list"],
    ["permission:\n  edit: deny\n  bash: ask", false, ["Edit"], undefined],
    ["permission:\n  edit: allow", false, undefined, "3: permission edit: allow has no effect"],
    ["permission:\n  edit: maybe", false, ["Edit"], '3: permission edit: "maybe" is taken as deny'],
    ["permission:\n  webfetch: deny", false, undefined, '3: permission of "webfetch" has no counterpart'],
  ] as const
) {
  Deno.test(`readAgent reads ${JSON.stringify(head)} within the user's permissions`, () => {
    const { agent, warnings } = read(`---\ndescription: d\n${head}\n---\nx\n`);
    assertEquals([agent?.readOnly, agent?.deny], [readOnly, deny]);
    assertEquals(warnings.length, warning === undefined ? 0 : 1);
    assert(warning === undefined || warnings[0]?.startsWith(warning), warnings.join());
  });
}

for (
  const [text, warning] of [
    ["---\nname: no good\ndescription: d\n---\n", '2: left out: "no good" cannot be a name'],
    ["---\nname: a(b)\ndescription: d\n---\n", "2: left out"],
    ["no head at all", "1: left out: it has no description"],
    ["---\ndescription: d", "1: the block that begins with --- has no end"],
  ] as const
) {
  Deno.test(`readAgent omits ${JSON.stringify(text)} with the reason`, () => {
    const { agent, warnings } = read(text);
    assertEquals(agent, undefined);
    assert(warnings[0]?.startsWith(warning), warnings.join());
  });
}

Deno.test("readAgent accepts names and texts in any script", () => {
  const { agent } = read("---\nname: 审查员\ndescription: 检查改动 🔍\n---\n请仔细检查。\n");
  assertEquals([agent?.name, agent?.description, agent?.prompt], ["审查员", "检查改动 🔍", "请仔细检查。"]);
});

Deno.test("the tool description lists every built-in agent, and their tools exist", () => {
  const tool = BUILTINS.find(({ name }) => name === "task");
  const names = BUILTINS.map(({ name }) => name);
  for (const agent of BUILTIN_AGENTS) {
    assert(tool?.description.includes(agent.name), agent.name);
    assertEquals(agent.tools?.filter((name) => !names.includes(name)) ?? [], [], agent.name);
  }
});

Deno.test("readAgent accepts a top_p from 0 to 1 and reports others with their line", () => {
  const rows = [["top_p: 0.9", 0.9], ["topP: 0", 0], ["top_p: 1.5", undefined], [
    "top_p: x",
    undefined,
  ]] as const;
  for (const [head, topP] of rows) {
    const { agent, warnings } = read(`---\ndescription: d\n${head}\n---\nx\n`);
    assertEquals([agent?.topP, warnings.length], [topP, topP === undefined ? 1 : 0], head);
    if (topP === undefined) assert(warnings[0]?.endsWith("write a number from 0 to 1"), warnings[0]);
  }
});
